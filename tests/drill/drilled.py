"""Scenarios played and diagnosed, several at a time, each in a folder that keeps all of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from typer.testing import CliRunner

from tests.drill.judge import Verdict, judged, without_settings
from tests.drill.rows import ROWS
from tests.drill.scenario import OutputTruth, Truth, as_json, play
from tuner.cli.commands import app

AT_ONCE = 8
TRUTH = "truth.json"


def drill(name: str, into: Path) -> Verdict:
    """Play a scenario in a new folder of its name, and diagnose it."""
    folder = into / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    truth = play(ROWS[name], folder)
    (folder / TRUTH).write_text(json.dumps(as_json(truth), indent=1) + "\n", "utf-8")
    return diagnosed(name, folder)


def diagnosed(name: str, folder: Path) -> Verdict:
    """The verdict on what is in a folder, which gets what was told."""
    verdict, texts = verdict_on(name, folder)
    for file, text in zip(("told.txt", "told-conf.txt"), texts, strict=True):
        (folder / file).write_text(text, "utf-8")
    return verdict


def verdict_on(name: str, folder: Path) -> tuple[Verdict, Sequence[str]]:
    """The verdict on what is in a folder, without its configuration and with it, the worse one;
    and what was told."""
    data = json.loads((folder / TRUTH).read_text("utf-8"))
    outputs = {one: OutputTruth(**of_one) for one, of_one in data.pop("outputs").items()}
    truth = Truth(**data, outputs=outputs)
    logs = sorted(map(str, folder.glob(ROWS[name].logs)))
    both, texts = [], []
    for options in ((), ("--conf", str(folder / "rsyslog.conf"))):
        text = " ".join(_run("diagnose", *logs, *options).split())
        said = json.loads(_run("diagnose", *logs, *options, "--output", "json") or '{"hosts": []}')
        row = ROWS[name] if options else without_settings(ROWS[name])
        both.append(judged(name, row, truth, said, text))
        texts.append(text)
    return max(both, key=lambda one: (bool(one.false), bool(one.missed), not one.exact)), texts


def _run(*arguments: str) -> str:
    return CliRunner().invoke(app, list(arguments)).stdout


@contextmanager
def drilling(names: Iterable[str], into: Path) -> Iterator[Mapping[str, Future[Verdict]]]:
    """Scenarios under way, several at a time."""
    context = get_context("forkserver")
    # It imports once for all.
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(AT_ONCE, context) as pool:
        yield {name: pool.submit(drill, name, into) for name in names}
