"""imfile: the lines of files.

None means: not written in the profile, and left to rsyslog.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from tuner.modules.input import Format, Input, LineHead, TransportKind
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
        joins = {
            "readMode": self.read_mode,
            "startmsg.regex": self.startmsg_regex,
            "endmsg.regex": self.endmsg_regex,
        }
        for key, value in joins.items():
            if value:
                return (
                    f"{key} makes one event of several lines, and measurements write one line for "
                    "each event: measure without it"
                )
        return None

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
