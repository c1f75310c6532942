"""imfile: the lines of files.

None means: not written in the profile, and left to rsyslog.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from tuner.modules.in_profile import InProfile
from tuner.modules.input import Format, Input, LineHead, TransportKind
from tuner.rule import Complaint, error, warning
from tuner.schema.parameter import Doc, OfModule, Since
from tuner.schema.posix_regex import RegexLine
from tuner.schema.scalars import (
    AbsolutePath,
    Facility,
    NonNegative,
    Positive,
    SeverityName,
    Switch,
    Tag,
)

_WILDCARDS = frozenset("*?[")


class ImfileInput(Input):
    """imfile: the lines of files; `file` may hold wildcards.  Only `needParse` has them parsed.

    rsyslog keeps its place in a file only when it stops (`persistStateInterval` 0): after a crash
    it would read everything again, so here it is kept every 1000 lines.
    """

    type: Annotated[Literal["imfile"], Doc("The lines of files.")]
    file: Annotated[AbsolutePath, Doc("The file to follow; * stands for any text in a name.")]
    tag: Annotated[Tag, Doc("The tag of the events, which a file does not carry.")]
    facility: Annotated[
        Facility | None, Doc("The facility of the events, which a file does not carry.")
    ] = None
    severity: Annotated[
        SeverityName | None, Doc("The severity of the events, which a file does not carry.")
    ] = None
    mode: Annotated[
        Literal["inotify", "polling"] | None,
        OfModule(),
        Doc("inotify learns of new lines at once; polling looks every pollingInterval."),
    ] = None
    polling_interval: Annotated[
        Positive | None, OfModule(), Doc("Seconds between looks at the files, when polling.")
    ] = None
    sort_files: Annotated[
        Switch | None, OfModule(), Doc("Whether files are read in the order of their names.")
    ] = None
    inotify_fallback_interval: Annotated[
        NonNegative | None,
        OfModule(),
        Since(2602),
        Doc("Seconds after which files are looked at although no change was announced."),
    ] = None
    max_inotify_watches: Annotated[
        NonNegative | None, OfModule(), Since(2602), Doc("How many watches imfile may use.")
    ] = None
    persist_state_interval: Annotated[
        NonNegative,
        Doc(
            "After how many lines the place in the file is saved.",
            traps=("0 saves it only at an orderly stop: a crash reads lines twice.",),
        ),
    ] = 1000
    persist_state_after_submission: Annotated[
        Switch | None,
        Doc(
            "Whether the place is saved after every batch handed over.",
            traps=("Durable and slow.",),
        ),
    ] = None
    max_lines_at_once: Annotated[
        NonNegative | None,
        Doc(
            "How many lines of one file are read before the others have their turn; 0 is "
            "all. Matters when polling."
        ),
    ] = None
    max_submit_at_once: Annotated[
        Positive | None, Doc("How many lines are handed to the queue at once.")
    ] = None
    max_bytes_per_minute: Annotated[
        NonNegative | None,
        Doc(
            "How many bytes a minute are read of a file; 0 is no limit.",
            traps=("What exceeds it is dropped.",),
        ),
    ] = None
    max_lines_per_minute: Annotated[
        NonNegative | None,
        Doc(
            "How many lines a minute are read of a file; 0 is no limit.",
            traps=("What exceeds it is dropped.",),
        ),
    ] = None
    read_mode: Annotated[
        Literal[0, 1, 2] | None,
        Doc(
            "How lines become events: 0 each line, 1 paragraphs, 2 a line and the "
            "indented ones after it."
        ),
    ] = None
    startmsg_regex: Annotated[
        RegexLine | None,
        Doc(
            "What the first line of an event looks like.",
            traps=("Expressions cost much processor time.",),
        ),
    ] = Field(None, alias="startmsg.regex")
    endmsg_regex: Annotated[
        RegexLine | None,
        Doc(
            "What the last line of an event looks like.",
            traps=("Expressions cost much processor time.",),
        ),
    ] = Field(None, alias="endmsg.regex")
    read_timeout: Annotated[
        NonNegative | None,
        Doc("Seconds after which an event of several lines counts as whole; 0 waits for ever."),
    ] = None
    escape_lf: Annotated[Switch | None, Doc("Whether line ends inside an event become text.")] = (
        Field(None, alias="escapeLF")
    )
    trim_line_over_bytes: Annotated[
        NonNegative | None, Doc("Longer lines are cut to this many bytes; 0 cuts none.")
    ] = None
    discard_truncated_msg: Annotated[
        Switch | None,
        Doc(
            "Whether the rest of a message that is too long is thrown away instead of "
            "becoming an event of its own."
        ),
    ] = None
    reopen_on_truncate: Annotated[
        Switch | None, Doc("Whether a file that became shorter is read from its start.")
    ] = None
    fresh_start_tail: Annotated[
        Switch | None,
        Doc(
            "Whether a file seen for the first time is read from its end.",
            traps=("What it already holds is not delivered.",),
        ),
    ] = None
    file_not_found_error: Annotated[Switch | None, Doc("Whether a missing file is reported.")] = (
        None
    )
    ignore_older_than: Annotated[
        NonNegative | None,
        Since(2108),
        Doc("Files untouched for this many seconds are not read; 0 reads all."),
    ] = None
    add_metadata: Annotated[
        Switch | None,
        Doc(
            "Whether events carry the name and place of their line; makes a JSON object "
            "for every event."
        ),
    ] = None
    need_parse: Annotated[
        Switch | None,
        Doc(
            "Whether lines are parsed as syslog messages; without it they are taken as "
            "they are, which is the cheapest."
        ),
    ] = None
    delete_state_on_file_delete: Annotated[
        Switch | None, Doc("Whether the saved place goes when the file is deleted.")
    ] = None
    delete_state_on_file_move: Annotated[
        Switch | None, Since(2508), Doc("Whether the saved place goes when the file is moved.")
    ] = None

    thread_names: ClassVar[tuple[str, ...]] = ("in:imfile",)

    @property
    def transport(self) -> TransportKind:
        """Lines in a file."""
        return "file"

    @property
    def unmeasured(self) -> str | None:
        """Whatever makes one event of several lines."""
        key = next((key for key, value in _joins(self).items() if value), None)
        return key and (
            f"{key} makes one event of several lines, and measurements write one line for each "
            "event: measure without it"
        )

    @property
    def line_head(self) -> LineHead | None:
        """imfile's own defaults are local0 and notice."""
        return LineHead(self.facility or "local0", self.severity or "notice", self.tag)

    def in_lab(self, _port: int, spool: str, /) -> Self:
        """A file of the lab's, or several where a wildcard takes several."""
        several = not _WILDCARDS.isdisjoint(self.file)
        name = "input-*.log" if several else "input.log"
        return self.model_copy(update={"file": f"{spool}/{name}", "fresh_start_tail": None})

    def paths(self, connections: int, /) -> tuple[str, ...]:
        """One file for each connection where a wildcard takes them all."""
        if "*" not in self.file:
            return (self.file,)
        return tuple(self.file.replace("*", str(number)) for number in range(1, connections + 1))

    def format_for(self, written: Literal["rfc3164", "rfc5424"]) -> Format:
        """The whole line is the text, unless imfile is told to parse it."""
        return written if self.need_parse else "bare"


_WORK = {"global.workDirectory": "/var/spool/rsyslog"}
_FILE = {"type": "imfile", "file": "/var/log/app.log", "tag": "app:"}


@warning(
    "RT225",
    why="The place in a file is saved at a good stop only, unless persistStateInterval says "
    "otherwise: a crash reads everything again.",
    source="rsyslog plugins/imfile",
    bad={**_WORK, "inputs": [{**_FILE, "persistStateInterval": 0}]},
    good={"inputs[0].persistStateInterval": 1},
)
def _reads_again(asked: InProfile[ImfileInput]) -> Iterator[Complaint]:
    source = asked.section
    if source.persist_state_interval == 0 and not source.persist_state_after_submission:
        yield Complaint(
            ("persistStateInterval",),
            "rsyslog keeps its place in the file only when it stops in good order, so after a "
            "crash every line is read and sent again: use 1000, so that at most 1000 lines are "
            "sent twice",
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
def _forgets_its_place(asked: InProfile[ImfileInput]) -> Iterator[Complaint]:
    if asked.work_directory is None:
        yield Complaint(
            ("file",),
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
def _two_ways_to_split(asked: InProfile[ImfileInput]) -> Iterator[Complaint]:
    given = [key for key, value in _joins(asked.section).items() if value]
    if len(given) > 1:
        yield Complaint((given[1],), f"{' and '.join(given)} exclude each other: keep one of them")


@error(
    "RT232",
    why="The parameter is for polling only: imfile ignores it.",
    source="rsyslog plugins/imfile; seen on 8.2302",
    bad={**_WORK, "inputs": [{**_FILE, "maxLinesAtOnce": 100}]},
    good={"inputs[0].mode": "polling"},
    at="inputs[0].maxLinesAtOnce",
)
def _only_when_polling(asked: InProfile[ImfileInput]) -> Iterator[Complaint]:
    """8.2302 ignores maxLinesAtOnce with a complaint, pollingInterval without one."""
    source = asked.section
    keys = {"maxLinesAtOnce": source.max_lines_at_once, "pollingInterval": source.polling_interval}
    for key in [key for key, value in keys.items() if value and source.mode != "polling"]:
        yield Complaint(
            (key,),
            f"imfile takes {key} only with mode polling, and inotify is better wherever "
            f"the file system has it: remove {key}",
        )


def _joins(source: ImfileInput) -> dict[str, object]:
    """What makes one event of several lines."""
    return {
        "readMode": source.read_mode,
        "startmsg.regex": source.startmsg_regex,
        "endmsg.regex": source.endmsg_regex,
    }
