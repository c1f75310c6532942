"""Changes of generated configurations: the parameter is changed where it stands, everything around
it stays, and rsyslogd makes of it what it made of the original.

RSYSLOG_TUNE_GENERATED says how many are tried with `make fuzz`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from random import Random

import pytest

from tests.script.grammar import FOLDER, MAIN, Grammar
from tuner.errors import BadProfile
from tuner.lab.check import check
from tuner.profile.base import KeptBase, with_base
from tuner.profile.source import read
from tuner.script.objects import GLOBAL
from tuner.script.tokens import SURROGATES

FEW, MANY = 100, int(os.environ.get("RSYSLOG_TUNE_GENERATED", "2000"))
QUEUE = {
    "queue.type": ("LinkedList", "FixedArray"), "queue.size": ("3000", "70000"),
    "queue.dequeueBatchSize": ("16", "300"), "queue.workerThreads": ("1", "3"),
    "queue.timeoutShutdown": ("1500",), "queue.timeoutEnqueue": ("86400000",),
}  # fmt: skip
CHANGES: dict[str, dict[str, tuple[str, ...]]] = {
    "main_queue": QUEUE,
    "ruleset": QUEUE,
    "action": {**QUEUE, "action.resumeRetryCount": ("-1", "5"), "action.resumeInterval": ("3",)},
    "global": {"maxMessageSize": ("16k",)},
    "input imtcp": {"keepAlive": ("on", "off"), "listenPortFileName": (f"{FOLDER}/port",)},
    "input imptcp": {"keepAlive": ("on", "off"), "rateLimit.burst": ("7000",)},
    "input imudp": {"rcvbufSize": ("2m",), "rateLimit.burst": ("7000",)},
    "module imtcp": {"maxSessions": ("300", "301")},
    "module imptcp": {"threads": ("3",)},
    "module imudp": {"timeRequery": ("4",)},
}


@dataclass(frozen=True)
class Change:
    """A change of a configuration: by its key, to a value, None where the parameter goes; what was
    made of it, None where that is refused."""

    key: str
    value: str | None
    files: dict[str, str]
    before: KeptBase
    after: KeptBase | None


def kept(files: dict[str, str], changes: str = "") -> KeptBase:
    source = read(f"name: p\nbase: {{rsyslog: {MAIN}}}\n{changes}", f"{FOLDER}/p.yaml")
    _, found = with_base(source, list(files.items()))
    assert found is not None
    return found


@cache
def change(number: int) -> Change:
    """The change of that number."""
    files = Grammar(number).case().files
    before, chance = kept(files), Random(number)
    address = chance.choice([one for one in before.written.addresses if choices_at(before, one)])
    choices = choices_at(before, address)
    written = [name for name in choices if before.written.parameter(address, name) is not None]
    is_there = bool(written) and chance.random() < 0.5
    name = chance.choice(written if is_there else sorted(choices))
    is_gone = is_there and chance.random() < 0.5
    value = None if is_gone else chance.choice(choices[name])
    key = before.written.key_of(address, name)
    try:
        after = kept(files, f'changes: {{"{key}": {"null" if is_gone else f"{value!r}"}}}\n')
    except BadProfile:
        after = None
    return Change(key, value, files, before, after)


def choices_at(base: KeptBase, address: str) -> dict[str, tuple[str, ...]]:
    """What can be set of an object, and to what."""
    thing, kind = base.written.objects.get(address), address.partition("[")[0]
    if thing is not None and kind in {"input", "module"}:
        kind = f"{kind} {thing.type or thing.text('load')}"
    return CHANGES.get(kind, {})


def parameters(base: KeptBase) -> dict[tuple[str, str], tuple[tuple[str, ...], bool]]:
    """Every parameter by address and name, and whether it may be a default of the old form."""
    found = {
        (address, one.key): (one.texts, one.key[:6] == "queue." and one.origin == thing.origin)
        for address, thing in base.changed.objects.items()
        for one in thing.parameters
    }
    return found | {(GLOBAL, one.key): (one.texts, False) for one in base.changed.shared}


@pytest.mark.parametrize("number", range(FEW))
def test_a_change_changes_that_parameter_and_nothing_else(number: int) -> None:
    require_alone(change(number))


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(FEW, FEW + MANY, 100))
def test_a_hundred_changes_change_nothing_else(first: int) -> None:
    for number in range(first, first + 100):
        require_alone(change(number))


def test_few_changes_are_refused() -> None:
    changes = [change(number) for number in range(FEW)]
    assert sum(one.after is None for one in changes) < FEW / 10
    assert sum(one.value is None for one in changes) > FEW / 20


def require_alone(made: Change) -> None:
    if made.after is None:
        return
    address, name = made.before.written.place_of(made.key) or ("", "")
    place = address, name.lower()
    before, after = parameters(made.before), parameters(made.after)
    said, is_default = after.pop(place, ((), True))
    assert is_default if made.value is None else said == (made.value,)
    was, _ = before.pop(place, ((), True))
    for other in before.keys() | after.keys():
        left, right = before.get(other), after.get(other)
        if left is not None and right is not None:
            assert left[0] == right[0], other
        else:
            assert (left or right or ((), False))[1], other
    for path, file in made.after.changed.files.items():
        require_equal_outside(made.files[path], file.text, name, was, made.value)


def require_equal_outside(
    old: str, new: str, name: str, was: tuple[str, ...], value: str | None
) -> None:
    """What was taken out is the parameter, or a part of it, and so is what was put in; or whole
    directives and the object that they make."""
    for gone, come in differing(old, new):
        lines = [one for one in come.splitlines() if one.strip()]
        if not gone and lines and all(re.match(r"\$\w+ |main_queue\(", one) for one in lines):
            continue
        assert (gone + come).strip(), "blanks alone"
        said_before, said = (f'{name}="{one}"' for one in (",".join(was), value))
        is_directive = re.fullmatch(r"\s*\$\w+ .*\n?", gone)
        assert is_directive or is_part(gone, said_before), (gone, come)
        assert is_part(come.lower(), said.lower()), (gone, come)


def is_part(stretch: str, of: str) -> bool:
    """Whether a stretch is a part of a text; it may begin in the middle of that, where what follows
    it begins as the text does."""
    turned = (stretch[at:] + stretch[:at] for at in range(len(stretch) + 1))
    return any(one.strip() in of for one in turned)


def differing(old: str, new: str) -> Iterator[tuple[str, str]]:
    """The stretches in which two texts differ, each with what stands there instead."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    matched = SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matched.get_opcodes():
        if kind == "equal":
            continue
        left, right = "".join(before[a:b]), "".join(after[c:d])
        start = shared(left, right)
        end = shared(left[start:][::-1], right[start:][::-1])
        yield left[start : len(left) - end], right[start : len(right) - end]


def shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


@pytest.mark.live
@pytest.mark.full
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
@pytest.mark.parametrize("number", range(FEW))
def test_rsyslogd_takes_or_refuses_both_alike(number: int, tmp_path: Path) -> None:
    made = change(number)
    if made.after is None:
        return
    said = [accepted(one, tmp_path / name) for name, one in (("a", made.before), ("b", made.after))]
    assert said[0] == said[1], (made.key, made.value)


def accepted(base: KeptBase, folder: Path) -> bool:
    """Whether rsyslogd takes the files of a configuration."""
    (folder / "spool").mkdir(parents=True)
    for path, file in base.changed.files.items():
        text = file.text.replace(FOLDER, str(folder))
        (folder / Path(path).name).write_text(text, encoding="utf-8", errors=SURROGATES)
    return check((folder / Path(MAIN).name).read_text("utf-8")).accepted
