"""imfile: the lines of files.

None means not set in the profile: rsyslog's default applies.
"""

from typing import ClassVar, Literal, Self

from tuner.modules.input import DiscardTruncated, Format, Input, RateLimit, TransportKind
from tuner.schema.scalars import (
    AbsolutePath,
    Facility,
    NonNegative,
    Positive,
    RegexLine,
    SeverityName,
    Switch,
    Tag,
)
from tuner.schema.section import parameter

_WILDCARDS = frozenset("*?[")


class ImfileInput(Input):
    """imfile: the lines of files; `file` may hold wildcards. Only `needParse` has them parsed.

    rsyslog saves its position in a file only when it stops (`persistStateInterval` 0): after a
    crash it would read everything again, so here it is saved every 1000 lines.
    """

    type: Literal["imfile"] = parameter("The lines of files.", value=...)
    file: AbsolutePath = parameter(
        "The file to follow; * stands for any text in a name.", value=...
    )
    tag: Tag = parameter("The tag of the events, which a file does not carry.", value=...)
    facility: Facility | None = parameter(
        "The facility of the events, which a file does not carry."
    )
    severity: SeverityName | None = parameter(
        "The severity of the events, which a file does not carry."
    )
    mode: Literal["inotify", "polling"] | None = parameter(
        "inotify notices new lines at once; polling checks every pollingInterval.", of_module=True
    )
    polling_interval: Positive | None = parameter(
        "Seconds between checks of the files, when polling.", of_module=True
    )
    sort_files: Switch | None = parameter(
        "Whether files are read in the order of their names.", of_module=True
    )
    inotify_fallback_interval: NonNegative | None = parameter(
        "Seconds after which files are checked even if no change was reported.",
        since=2602,
        of_module=True,
    )
    max_inotify_watches: NonNegative | None = parameter(
        "How many watches imfile may use.", since=2602, of_module=True
    )
    persist_state_interval: NonNegative = parameter(
        "After how many lines the position in the file is saved.",
        "0 saves it only at a clean shutdown: after a crash lines are read twice.",
        value=1000,
    )
    persist_state_after_submission: Switch | None = parameter(
        "Whether the position is saved after every batch.", "Durable but slow."
    )
    max_lines_at_once: NonNegative | None = parameter(
        "How many lines of one file are read before other files get their turn; 0 means all. "
        "Only for polling."
    )
    max_submit_at_once: Positive | None = parameter(
        "How many lines are handed to the queue at once."
    )
    max_bytes_per_minute: NonNegative | None = parameter(
        "How many bytes per minute are read from a file; 0 means no limit.",
        "What exceeds it is dropped.",
    )
    max_lines_per_minute: NonNegative | None = parameter(
        "How many lines per minute are read from a file; 0 means no limit.",
        "What exceeds it is dropped.",
    )
    read_mode: Literal[0, 1, 2] | None = parameter(
        "How lines become events: 0 each line, 1 paragraphs, 2 a line and the "
        "indented ones after it."
    )
    startmsg_regex: RegexLine | None = parameter(
        "A regular expression for the first line of an event.",
        "Regular expressions cost much CPU time.",
    )
    endmsg_regex: RegexLine | None = parameter(
        "A regular expression for the last line of an event.",
        "Regular expressions cost much CPU time.",
    )
    read_timeout: NonNegative | None = parameter(
        "Seconds after which an event of several lines counts as complete; 0 waits forever."
    )
    escape_lf: Switch | None = parameter("Whether line ends inside an event become text.")
    trim_line_over_bytes: NonNegative | None = parameter(
        "Longer lines are cut to this many bytes; 0 cuts none."
    )
    discard_truncated_msg: DiscardTruncated = None
    reopen_on_truncate: Switch | None = parameter(
        "Whether a file that became shorter is read from its start."
    )
    fresh_start_tail: Switch | None = parameter(
        "Whether a file seen for the first time is read from its end.",
        "What it already holds is not delivered.",
    )
    file_not_found_error: Switch | None = parameter("Whether a missing file is reported.")
    ignore_older_than: NonNegative | None = parameter(
        "Files untouched for this many seconds are not read; 0 reads all.", since=2108
    )
    add_metadata: Switch | None = parameter(
        "Whether events carry the file name and position of their line; makes a JSON object "
        "for every event."
    )
    need_parse: Switch | None = parameter(
        "Whether lines are parsed as syslog messages; if off, they are taken unparsed, which "
        "is the cheapest."
    )
    delete_state_on_file_delete: Switch | None = parameter(
        "Whether the saved position is removed when the file is deleted."
    )
    delete_state_on_file_move: Switch | None = parameter(
        "Whether the saved position is removed when the file is moved.", since=2508
    )

    thread_names: ClassVar[tuple[str, ...]] = ("in:imfile",)
    transport: ClassVar[TransportKind] = "file"

    @property
    def rate_limits(self) -> tuple[RateLimit, ...]:
        """That of lines, and that of bytes."""
        lines, size = self.max_lines_per_minute or 0, self.max_bytes_per_minute or 0
        limits = (
            RateLimit(60, lines, "maxLinesPerMinute"),
            RateLimit(60, size, "maxBytesPerMinute", is_of_bytes=True),
        )
        return tuple(limit for limit in limits if limit.burst)

    def in_lab(self, port: int, spool: str, /) -> Self:
        """A file in the lab, or several for a wildcard, called by that number."""
        several = not _WILDCARDS.isdisjoint(self.file)
        name = f"input-{port}-*.log" if several else f"input-{port}.log"
        return self.model_copy(update={"file": f"{spool}/{name}", "fresh_start_tail": None})

    def paths(self, connections: int, /) -> tuple[str, ...]:
        """One file for each connection where a wildcard takes them all."""
        if "*" not in self.file:
            return (self.file,)
        return tuple(self.file.replace("*", str(number)) for number in range(1, connections + 1))

    def format_for(self, written: Literal["rfc3164", "rfc5424"]) -> Format:
        """The whole line is the text unless needParse is on."""
        return written if self.need_parse else "bare"
