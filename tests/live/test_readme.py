"""The commands of README.md and docs/ that need daemons, as they are written there; what would take
long, or is somewhere else, is replaced by name."""

from __future__ import annotations

import json
import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.cli.here import here
from tests.flood.receiver import Receiver
from tests.house.pages import ROOT, Command, blocks, commands, profile_block
from tests.live.conftest import tune, tune_and_signal
from tuner.engine.client import EngineClient
from tuner.profile.edit import edit

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

PROFILE = "rsyslog-tune.yaml"
# The shortest of each, and not what tests of its own measure; the sink needs no Java.
SHORT = {"--window": "1s", "--engine": "sink"}
SHORT_BENCH = SHORT | {"--repeat": "1", "--output": "json"}
LEFT_OUT = "--no-freshness"


def of(*names: str) -> list[Command]:
    """The commands of those names, each once however often it is written."""
    found = {one.words: one for one in commands() if one.words[0] in names}
    return list(found.values())


def with_values(words: tuple[str, ...], values: dict[str, str]) -> list[str]:
    """The words with other values of options, which come last."""
    changed = list(words)
    for option in values.keys() & set(words):
        place = changed.index(option)
        del changed[place : place + 2]
    return [*changed, *(word for pair in values.items() for word in pair)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """README.md's profile with a password that is here, one that a search could end with, and a
    configuration, in the working directory."""
    monkeypatch.chdir(tmp_path)
    text = profile_block()
    (tmp_path / "es.pwd").write_text("secret", encoding="utf-8")
    text = edit(text, {"outputs[logs].auth.pwd.file": str(tmp_path / "es.pwd")})
    (tmp_path / PROFILE).write_text(text, encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shutil.copy(ROOT / "examples/collector/rsyslog.conf", tmp_path)
    batch = {"outputs[logs].queue.dequeueBatchSize": 1000}
    (tmp_path / "best.yaml").write_text(edit(text, batch), encoding="utf-8")
    return tmp_path


def test_a_bench_has_a_number_and_every_event(folder: Path) -> None:
    """The commands of all pages are one when they are as short as they can be."""
    (words,) = {tuple(with_values(one.words, SHORT_BENCH)) for one in of("bench")}
    done = tune(*words, LEFT_OUT, folder=folder)
    assert done.code == 0, done.err
    (outcome,) = (run["result"] for run in json.loads(done.out)["runs"])
    assert outcome["eps"] > 0
    assert (outcome["delivery"]["lost"], outcome["delivery"]["duplicated"]) == (0, 0)


@pytest.mark.full
@pytest.mark.parametrize("one", of("compare"), ids=str)
def test_a_comparison_measures_both_sides(one: Command, folder: Path) -> None:
    """Ended after its first pair: tests/live/test_compare_on_the_sink.py goes to the end."""
    done = tune_and_signal(
        *with_values(one.words, SHORT), LEFT_OUT,
        folder=folder, number=signal.SIGINT, after_line="pair 2 of",
    )  # fmt: skip
    assert done.code == 130, done.err
    for side in ("A", "B"):
        assert re.search(rf"^pair 1 of \d+  {side}: [\d,]+ EPS", done.err, re.MULTILINE), done.err


@pytest.mark.parametrize("one", of("validate"), ids=str)
def test_rsyslogd_takes_what_a_profile_is_rendered_to(one: Command, folder: Path) -> None:
    """Without the engine of --smoke: tests/live/test_validate_engine.py has one."""
    words = [word for word in one.words if word != "--smoke"]
    (folder / "run").mkdir()
    (folder / "run" / "best.yaml").write_bytes((folder / "best.yaml").read_bytes())
    done = here(*words)
    assert done.code == 0, done.err
    assert "rsyslogd -N1   ok" in done.out


@pytest.mark.parametrize(
    "one", [one for one in of("flood") if "--cluster" not in one.words], ids=str
)
def test_every_message_of_a_flood_arrives(one: Command, folder: Path) -> None:
    count = int(one.words[one.words.index("--count") + 1])
    with Receiver() as receiver:
        done = here(*with_values(one.words, {"--port": str(receiver.port)}))
        assert done.code == 0, done.err
        assert receiver.numbers() == list(range(count))


@pytest.mark.parametrize(
    "one", [one for one in of("diff") if "--elasticsearch" in one.words], ids=str
)
def test_a_cluster_without_the_templates_differs(
    one: Command, folder: Path, elasticsearch: EngineClient
) -> None:
    path = folder / PROFILE
    path.write_text(edit(path.read_text("utf-8"), {"outputs[logs].auth": None}), encoding="utf-8")
    words = with_values(one.words, {"--elasticsearch": elasticsearch.url})
    done = here(*words)
    assert done.code == 2, done.err
    assert "index template syslog (missing)" in done.err


def test_the_cases_of_a_page_pass_and_new_ones_are_recorded(folder: Path) -> None:
    (text,) = (b.text for b in blocks(ROOT / "docs/test.md") if b.language == "yaml")
    (folder / PROFILE).unlink()
    assert here("init").code == 0
    (folder / "tests.yaml").write_text(text, encoding="utf-8")
    (folder / "sample.log").write_text("<38>1 - web1 sshd 42 - - hello\n", encoding="utf-8")
    record, plain = sorted(of("test"), key=lambda one: "--record" not in one.words)
    done = here(*plain.words)
    assert done.code == 0, done.err
    assert done.out == "2 cases passed\n"
    (folder / "tests.yaml").unlink()
    words = (one.replace("/etc/rsyslog.conf", "rsyslog.conf") for one in record.words)
    assert here(*words).code == 0
    done = here(*plain.words)
    assert done.code == 0, done.err
    assert done.out == "1 case passed\n"
