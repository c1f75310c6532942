"""Lint for imfile: where it keeps its place, and parameters that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.imfile import ImfileInput
from tuner.profile.model import Profile
from tuner.rule import Complaint, error, warning

_WORK = {"global.workDirectory": "/var/spool/rsyslog"}
_FILE = {"type": "imfile", "file": "/var/log/app.log", "tag": "app:"}


def _files(profile: Profile) -> Iterator[tuple[int, ImfileInput]]:
    for number, source in enumerate(profile.inputs):
        if isinstance(source, ImfileInput):
            yield number, source


@warning(
    "RT225",
    why="The place in a file is saved at a good stop only, unless persistStateInterval says "
    "otherwise: a crash reads everything again.",
    source="rsyslog plugins/imfile",
    bad={**_WORK, "inputs": [{**_FILE, "persistStateInterval": 0}]},
    good={"inputs[0].persistStateInterval": 1},
)
def _reads_again(profile: Profile) -> Iterator[Complaint]:
    for number, source in _files(profile):
        if source.persist_state_interval == 0 and not source.persist_state_after_submission:
            yield Complaint(
                ("inputs", number, "persistStateInterval"),
                "rsyslog keeps its place in the file only when it stops in good order, so after a "
                "crash every line is read and sent again: use 1000, at most so many lines twice",
            )


@error(
    "RT226",
    why="imfile keeps its places in files in the work directory; without one it begins anew at "
    "every start.",
    source="rsyslog plugins/imfile",
    bad={"inputs": [_FILE]},
    good={"global.workDirectory": "/var/spool/rsyslog"},
    at="inputs[0].file",
)
def _forgets_its_place(profile: Profile) -> Iterator[Complaint]:
    for number, _ in _files(profile):
        if profile.global_.work_directory is None:
            yield Complaint(
                ("inputs", number, "file"),
                "imfile has nowhere to keep its place in the file: write "
                "global: {workDirectory: /var/spool/rsyslog}",
            )


@error(
    "RT231",
    why="imfile knows one way at a time to tell where an event begins; rsyslogd refuses the input.",
    source="rsyslog plugins/imfile; seen on 8.2302",
    bad={**_WORK, "inputs": [{**_FILE, "readMode": 1, "startmsg.regex": "^a"}]},
    good={"inputs[0].readMode": 0},
    at="inputs[0].startmsg.regex",
)
def _two_ways_to_split(profile: Profile) -> Iterator[Complaint]:
    """rsyslogd refuses the input; seen on 8.2302."""
    for number, source in _files(profile):
        ways = {
            "readMode": source.read_mode or None,
            "startmsg.regex": source.startmsg_regex,
            "endmsg.regex": source.endmsg_regex,
        }
        given = [key for key, value in ways.items() if value is not None]
        if len(given) > 1:
            yield Complaint(
                ("inputs", number, given[1]),
                f"{' and '.join(given)} exclude each other: keep one of them",
            )


@error(
    "RT232",
    why="The parameter is for polling only: imfile ignores it.",
    source="rsyslog plugins/imfile; seen on 8.2302",
    bad={**_WORK, "inputs": [{**_FILE, "maxLinesAtOnce": 100}]},
    good={"inputs[0].mode": "polling"},
    at="inputs[0].maxLinesAtOnce",
)
def _only_when_polling(profile: Profile) -> Iterator[Complaint]:
    """8.2302 ignores maxLinesAtOnce with a complaint, pollingInterval without one."""
    for number, source in _files(profile):
        if source.mode == "polling":
            continue
        for key, value in (
            ("maxLinesAtOnce", source.max_lines_at_once),
            ("pollingInterval", source.polling_interval),
        ):
            if value:
                yield Complaint(
                    ("inputs", number, key),
                    f"imfile takes {key} only with mode polling, and inotify is better wherever "
                    f"the file system has it: remove {key}",
                )
