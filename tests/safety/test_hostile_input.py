"""F20, F21: whatever a profile says or a search proposes, rsyslogd gets what was meant."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import Phase

from tests.live.conftest import COMMAND
from tests.property.test_safety import check
from tests.render.tokens import parse
from tests.safety.conftest import furnished
from tests.safety.invariants import require_one_cause
from tests.safety.scorecard import control, row
from tests.safety.searches import surroundings_of
from tests.shipped import PROFILES
from tuner.errors import Refused
from tuner.lab.engine import SinkEngine
from tuner.lab.entrances import entrances, furnish
from tuner.lab.lab import Lab, lab_of, new_run_id
from tuner.lab.rsyslogd import Rsyslogd, RsyslogdDied
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.lint.candidate import Checker
from tuner.lint.load import load_profile
from tuner.script import quoting
from tuner.script.printing import printed
from tuner.space.knobs import knobs, of_rsyslog

pytestmark = [pytest.mark.live, pytest.mark.full]

CASES = 200
MIB = 1024 * 1024
CPU_S, EXTRA_BYTES = 30, 200 * MIB
BOMBS: Mapping[str, bytes] = {
    "aliases": b"a: &a [x, x]\n"
    + b"".join(b"%c: &%c [*%c, *%c, *%c]\n" % (n + 1, n + 1, n, n, n) for n in range(97, 120)),
    "depth": b"name: " + b"[" * 100_000,
    "long text": b"name: " + b"x" * MIB,
    "many keys": b"".join(b"key%d: 1\n" % n for n in range(60_000)),
    "too large": b"# " + b"x" * (5 * MIB),
    "tag": b"name: !!python/object/apply:os.system [touch /tmp/owned]\n",
    "NUL": b"name: \0\n",
    "not UTF-8": b"name: \xff\xfe\xfd\n",
    "bidi": "name: \u202e\u2066evil\u2069\n".encode(),
    "emoji": "name: \U0001f418\n".encode(),
    "twice": b"name: a\nname: b\n",
    "only CR": b"name: a\rinputs: []\r",
    "backticks": b"name: `id`\n",
    "empty": b"",
}


def validated(site: Path, text: bytes) -> tuple[int, str, int]:
    """Exit code, messages and most memory in bytes of `validate` of a text."""
    (site / "p.yaml").write_bytes(text)

    with (site / "err").open("wb") as err:
        process = subprocess.Popen(
            ["prlimit", f"--cpu={CPU_S}", *COMMAND, "validate", "p.yaml"],
            cwd=site, stdout=err, stderr=err, env=surroundings_of(site),
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, (site / "err").read_text("utf-8", "replace"), used.ru_maxrss * 1024


@pytest.fixture(scope="module")
def plain_bytes() -> int:
    """What `validate` of next to nothing takes of memory."""
    with furnished() as folder:
        return validated(folder, b"name: x\n")[2]


@row("F20")
@pytest.mark.parametrize("name", list(BOMBS))
def test_f20_a_bomb_is_refused_in_a_sentence(
    site: Path, plain_bytes: int, name: str, run: int
) -> None:
    code, said, most_bytes = validated(site, BOMBS[name])
    require_one_cause(code, 78, said, "p.yaml:")
    assert most_bytes - plain_bytes < EXTRA_BYTES, f"{most_bytes / MIB:.0f} MiB"


@row("F20")
def test_f20_no_text_becomes_syntax(run: int) -> None:
    tally = check(CASES, known=False)
    assert tally["accepted"] > 0


@control("F20")
def test_control_f20(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that are only put between quotes, as templates of others do."""
    monkeypatch.setattr(quoting, "_escaped", lambda character: character)
    with pytest.raises((AssertionError, ValueError, ExceptionGroup)):
        # That one is found is enough: the smallest takes minutes to find.
        check(CASES, known=True, phases=[Phase.generate])


def started(lab: Lab, number: int, bend: Callable[[str], str]) -> str | None:
    """Why rsyslogd does not start with a random point of a random profile's space; None where it
    does."""
    written = load_profile(random.choice(PROFILES))
    checker = Checker(written)
    space = of_rsyslog(knobs(written.profile))
    while True:
        some = random.sample(space, random.randint(1, len(space)))
        point = tuple((str(knob.path), random.choice(knob.levels)) for knob in some)
        if checker.is_valid(point):
            break
    try:
        fitted = lab.bind(checker.profile(point), f"t{number}")
    except Refused:
        return None
    bound, config = fitted.profile, printed(fitted.copy.block)
    _require_fitting(config)
    folder = subfolder(lab.folder, f"trial-t{number}")
    furnish(bound)
    try:
        Rsyslogd(bend(config), folder, entrances(bound)).stop()
    except RsyslogdDied as died:
        return f"{written.path.name} {point}: {died}"
    return None


def _require_fitting(config: str) -> None:
    """What -N1 does not look at: batches and marks that lie within their queue."""
    for found in parse(config):
        values = {key.lower(): value for key, value in found.parameters.items()}
        size = values.get("queue.size")
        for key in ("queue.dequeuebatchsize", "queue.highwatermark", "queue.lightdelaymark"):
            if size is not None and key in values:
                assert int(str(values[key])) <= int(str(size)), (key, values)


def feasible(site: Path, bend: Callable[[str], str] = str) -> None:
    """F21: at least 95 % of the points that may be proposed start."""
    points = 40
    with Sink() as sink, scratch(site) as folder:
        lab = lab_of(SinkEngine(sink), folder, new_run_id())
        reasons = [started(lab, number, bend) for number in range(points)]
        lab.client.close()
    failed = [reason for reason in reasons if reason is not None]
    assert len(failed) <= 0.05 * points, f"{len(failed)} of {points} do not start: {failed[:3]}"


@row("F21")
def test_f21_whatever_may_be_proposed_starts(site: Path, run: int) -> None:
    feasible(site)


@control("F21")
def test_control_f21(site: Path) -> None:
    with pytest.raises(AssertionError, match="do not start"):
        feasible(site, lambda config: config.replace(' template="', ' template="no'))
