"""Lint for imfile: where it keeps its place, and parameters that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rule import error, warning
from tuner.modules.imfile import ImfileInput
from tuner.profile.model import Profile
from tuner.rule import Complaint


def _files(profile: Profile) -> Iterator[tuple[int, ImfileInput]]:
    for number, source in enumerate(profile.inputs):
        if isinstance(source, ImfileInput):
            yield number, source


def _reads_again(profile: Profile) -> Iterator[Complaint]:
    for number, source in _files(profile):
        if source.persist_state_interval == 0 and not source.persist_state_after_submission:
            yield Complaint(
                ("inputs", number, "persistStateInterval"),
                "rsyslog keeps its place in the file only when it stops in good order, so after a "
                "crash every line is read and sent again: use 1000, at most so many lines twice",
            )


def _forgets_its_place(profile: Profile) -> Iterator[Complaint]:
    for number, _ in _files(profile):
        if profile.global_.work_directory is None:
            yield Complaint(
                ("inputs", number, "file"),
                "imfile has nowhere to keep its place in the file: write "
                "global: {workDirectory: /var/spool/rsyslog}",
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


RULES = (
    warning("RT225", _reads_again),
    error("RT226", _forgets_its_place),
    error("RT231", _two_ways_to_split),
    error("RT232", _only_when_polling),
)
