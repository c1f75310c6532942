"""Generated configurations, each run as it is and as import and render make it anew: a line of JSON
for each in a log, and the table of what they showed.

    python -m tests.live.corpus LOG COUNT [FROM]     run those that LOG does not have
    python -m tests.live.corpus LOG --only 7,19      run these again, and print what they show
    python -m tests.live.corpus LOG --table

It needs root, or a user who may make a network of his own.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
import traceback
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from subprocess import run
from typing import Any

from tests.live.generated import Grammar
from tests.live.generated_lab import GeneratedLab, dealt
from tuner.errors import BadProfile
from tuner.host.programs import rsyslog_version
from tuner.importer.translate import translate
from tuner.importer.written import profile_text
from tuner.lint.load import parse_profile
from tuner.profile.starter import on_top_of
from tuner.rainerscript.configuration import Configuration, configuration
from tuner.rainerscript.tokens import SURROGATES
from tuner.render.artefacts import base_files, rsyslog_conf
from tuner.render.form import Form
from tuner.validate.equality import discrepancies
from tuner.validate.varied import varied_events, words_asked_for

Case = dict[str, Any]
REJECTED, SAME, NOTHING, DIFFERS, SAID = (
    "rejected by rsyslogd", "same", "nothing arrived", "differs", "differs as said",
)  # fmt: skip
GOOD = frozenset({REJECTED, SAME, NOTHING, SAID})
_BUGS = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
# What may send over UDP, which loses some of a thousand datagrams at once.
_UDP = frozenset({"omfwd", "old forward"})
# Events that queued actions share with what changes them differ from run to run by themselves.
_MOST_RUNS = 2
# What import lists as changed or left out, and the differences that this explains.
_EXPLAINS = {
    "does not escape": "^(JSON|documents|/|tcp|udp|relp)",
    "becomes a new one": r"^_id\b",
    "in small letters in the index's name": r"^(_index|documents)\b",
    "does not drop blanks or line ends": "",
    "FIELD NOT FOUND": r"\*\*FIELD NOT FOUND\*\*",
    "an event without JSON": r"^(JSON|documents)\b",
    "leads to no other folder": "^/",
    "is _ where it is empty": "^/",
    "inputname of its events becomes": "",
    "does not escape control characters": r"^JSON\b",
    "of large batches may be torn": "^/",
    "that its position cuts in two is left out": r"\\ufffd",
    "with its own offset instead of UTC": r"T\d\d:\d\d:\d\d",
}


def one_case(number: int, lab: GeneratedLab) -> Case:
    """What one configuration showed."""
    made = Grammar(number).case()
    found: Case = {"number": number, "features": sorted(made.features)}
    folder = lab.home.with_name("conf")
    for name, content in made.files.items():
        lab.written(lab.home / name, content)
    path = lab.written(folder / "site.conf", made.text)
    read = configuration([path])
    events = dealt(varied_events(words_asked_for(read.block)), number, not _UDP & made.features)
    before = lab.run(path.read_text("utf-8"), made, events)
    if before.refused:
        return found | {"state": REJECTED, "why": before.refused}
    found |= {"base": _base(path), "text": made.text}
    try:
        rendered, listed = _rendered(read)
    except BadProfile as bad:
        return found | {"state": "profile does not load", "why": [str(one) for one in bad.problems]}
    except _BUGS:
        return found | {"state": "crash", "why": traceback.format_exc()}
    found |= listed
    lab.written(folder / "rendered.conf", rendered)
    for runs in range(1, _MOST_RUNS + 1):
        after = lab.run(rendered, made, events)
        if after.refused:
            return found | {"state": "rendered rejected by rsyslogd", "why": after.refused}
        differences = [str(one) for one in discrepancies(before.delivered, after.delivered)]
        arrived = len(before.delivered.arrivals)
        state = DIFFERS if differences else SAME if arrived else NOTHING
        found |= {"state": state, "arrived": arrived, "runs": runs, "differences": differences}
        if state_of(found) != DIFFERS:
            break
        before = lab.run(path.read_text("utf-8"), made, events)
    return found


def _rendered(read: Configuration) -> tuple[str, Case]:
    """What `import --convert` and `render` make of a configuration, and what import lists."""
    made = translate(read, "site", rsyslog_version())
    listed = {
        key: [f"{one.origin.line}: {one.message}" for one in gaps]
        for key, gaps in (("missing", made.missing), ("changed", made.changed), ("kept", made.kept))
    }
    loaded = parse_profile(profile_text(made, list(read.files)), "site.yaml")
    return rsyslog_conf(loaded.profile, form=Form(made.snippets)), listed


def _base(path: Path) -> str:
    """Whether `import` without --convert, and `render`, give the files as they are."""
    try:
        base = parse_profile(on_top_of(str(path), "site", None, None), "base.yaml").profile.base
        files = {} if base is None else base_files(base.kept)
    except BadProfile as bad:
        return "; ".join(map(str, bad.problems))
    except _BUGS:
        return traceback.format_exc()
    given = {name: Path(name).read_bytes() for name in files}
    is_same = given == {name: one.text.encode("utf-8", SURROGATES) for name, one in files.items()}
    return SAME if is_same and str(path) in files else DIFFERS


def state_of(case: Mapping[str, Any]) -> str:
    """What became of a case; differences that import lists are told apart."""
    listed = [*case.get("missing", ()), *case.get("changed", ())]
    patterns = [one for words, one in _EXPLAINS.items() if any(words in each for each in listed)]
    differences: Sequence[str] = case.get("differences", ())
    explained = all(any(re.search(one, each) for one in patterns) for each in differences)
    return SAID if case["state"] == DIFFERS and explained else str(case["state"])


def cases_of(log: Path) -> dict[int, Case]:
    """The cases of a log by their numbers, each as it was last."""
    lines = log.read_text("utf-8").splitlines() if log.exists() else ()
    return {one["number"]: one for one in map(json.loads, lines)}


def table(cases: Mapping[int, Case]) -> Iterator[str]:
    """What cases showed, in lines."""
    states = Counter(map(state_of, cases.values()))
    taken = [one for one in cases.values() if one["state"] != REJECTED]
    yield f"{len(cases):6,} generated"
    yield f"{len(taken):6,} accepted by rsyslogd"
    yield f"{sum('missing' in one for one in taken):6,} imported"
    yield f"{sum('arrived' in one for one in taken):6,} rendered, and accepted by rsyslogd"
    yield f"{states[SAME]:6,} the same documents, files, lines sent and sockets"
    for state, count in states.most_common():
        if state not in {SAME, REJECTED}:
            yield f"{count:6,} {state}"
    again = sum(one["state"] == SAME and one.get("runs", 1) > 1 for one in taken)
    yield f"{again:6,} of the same in a second run"
    yield f"{sum(one.get('base') == SAME for one in taken):6,} with a base rendered byte for byte"
    yield f"{sum(bool(one.get('kept')) for one in taken):6,} with statements kept as RainerScript"
    yield f"{sum(bool(one.get('missing')) for one in taken):6,} with something not imported"
    features = Counter(each for one in taken for each in one["features"])
    pairs = {each for one in taken for each in combinations(one["features"], 2)}
    most = len(features) * (len(features) - 1) // 2
    yield f"{len(features):6,} features, {len(pairs):,} of {most:,} pairs of them together"
    yield f"{sum(one.get('arrived', 0) for one in taken):6,} documents and lines compared"


_INSIDE = "RSYSLOG_TUNE_CORPUS_INSIDE"


def _inside(words: Sequence[str]) -> int:
    """The same in a network of our own."""
    own = ["-n"] if os.geteuid() == 0 else ["-cn", "--keep-caps"]
    command = ["unshare", *own, sys.executable, "-m", "tests.live.corpus", *words]
    return run(command, check=False, env={**os.environ, _INSIDE: "1"}).returncode


def main(words: Sequence[str]) -> int:
    """Run what is asked for, and print the table; 1 where something differs, or worse."""
    parser = ArgumentParser(prog="python -m tests.live.corpus")
    parser.add_argument("log", type=Path)
    parser.add_argument("count", type=int, nargs="?", default=0)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args(words)
    done = cases_of(asked.log)
    only = [int(one) for one in asked.only.split(",") if one]
    wanted = range(asked.first, asked.first + asked.count)
    numbers = [] if asked.table else only or [one for one in wanted if one not in done]
    if numbers and _INSIDE not in os.environ:
        return _inside(words)
    if numbers:
        run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        lab = GeneratedLab(Path(folder) / "home") if numbers else None
        for number in numbers if lab is not None else ():
            began = time.monotonic()
            assert lab is not None
            done[number] = one_case(number, lab) | {"took_s": round(time.monotonic() - began, 2)}
            with asked.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[number]) + "\n")
            if only:
                sys.stdout.write(
                    f"{state_of(done[number])}: {json.dumps(done[number], indent=1)}\n"
                )
    sys.stdout.write("\n".join(table(done)) + "\n")
    return int(any(state_of(one) not in GOOD for one in done.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
