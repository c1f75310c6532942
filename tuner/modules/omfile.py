"""omfile: files on the host that runs rsyslog.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from tuner.modules.output import BuiltinTemplate, Level, Lines
from tuner.modules.text_source import NamingProperty
from tuner.schema.scalars import (
    AbsolutePath,
    Account,
    FileMode,
    MemorySize,
    NonNegative,
    PathPart,
    Positive,
    Switch,
)
from tuner.schema.section import Section, parameter

# How many numbers a date in a name has.
_PARTS = {"hourly": 4, "daily": 3, "weekly": 2, "monthly": 2}


class DynaFile(Section):
    """A file for each value of a property, or for each time, or both: `before`, the value,
    `between`, the date, `after`.

    The value comes from the network: slashes in it, and `.` and `..`, become underscores, and
    what is longer than a file name may be is cut.
    """

    before: AbsolutePath = parameter(
        "What comes before the value: a folder with its slash, or the beginning of a name.",
        value=...,
    )
    property: NamingProperty | None = parameter(
        "The property whose value names the file; cut to 160 bytes."
    )
    between: PathPart | None = parameter(
        "What stands between the value and the date, such as / or -."
    )
    rotate: Literal["hourly", "daily", "weekly", "monthly"] | None = parameter(
        "How often the date in the name changes; none without it."
    )
    separator: Literal[".", "-", "_", "/", "none"] = parameter(
        "What stands between the parts of the date; none for nothing.", value="-"
    )
    clock: Literal["reported", "generated"] = parameter(
        "Whose time the date is: generated is when rsyslog received the event, reported is "
        "the sender's.",
        value="generated",
    )
    date_in_utc: Switch = parameter(
        "Whether the date is that of UTC instead of the clock's own time zone.",
        value=False,
        alias="date.inUTC",
    )
    after: PathPart | None = parameter("What comes at the end, such as .log or /messages.")

    @model_validator(mode="after")
    def _varies(self) -> Self:
        if self.property is None and self.rotate is None:
            raise ValueError("name property, rotate or both: nothing else makes several files")
        if self.between is not None and (self.property is None or self.rotate is None):
            raise ValueError("between stands between a property and a date: remove it")
        return self


def file_pattern(name: DynaFile) -> str:
    """The paths of the files, with * for what varies."""
    value = "*" if name.property is not None else ""
    parts = 0 if name.rotate is None else _PARTS[name.rotate]
    date = "/".join(["*"] * (parts if name.separator == "/" else min(parts, 1)))
    return f"{name.before}{value}{name.between or ''}{date}{name.after or ''}"


DYNA_FILES = 500
"""How many files of an output with `dynaFile` are open at once by default: with 100 hosts rsyslog's
default of 10 costs 4.1 us of CPU time per event, a sufficient number 2.0 (8.2302)."""


class OmfileOutput(Lines):
    """omfile: a file on the host that runs rsyslog, or with `dynaFile` one for each value of a
    property.  `flushInterval` is in seconds, `closeTimeout` in minutes."""

    type: Literal["omfile"] = parameter("Files on the host that runs rsyslog.", value=...)
    file: AbsolutePath | None = parameter(
        "The file that events are written to, one a line.",
        "Log rotation must send rsyslogd a HUP, or it keeps writing to the file that was moved.",
        "No other output may write to it, and no imfile input read it.",
    )
    dyna_file: DynaFile | None = parameter(
        "A file for each value of a property, in place of file. What comes from the "
        "network cannot leave the folder: slashes, . and .. become underscores.",
        "Senders choose their host names: anyone who may send can create any number of files.",
    )
    dyna_file_cache_size: Positive | None = parameter(
        "How many files of dynaFile are open at once.",
        "With more active files than that, every event closes one and opens "
        "another: twice the CPU time.",
        "Each open file counts against rsyslogd's limit of open files.",
        default="500 with dynaFile; rsyslog's default is 10",
    )
    close_timeout: NonNegative | None = parameter(
        "Minutes without an event after which a file is closed; 0 means never.",
        default="10 with dynaFile, else 0",
    )
    async_writing: Switch | None = parameter(
        "Whether a thread of its own writes the file.",
        "It costs a fifth more CPU time per event and helps only on slow disks.",
        "What the thread has not written yet is lost when rsyslogd dies.",
        default="off",
    )
    flush_on_tx_end: Switch | None = parameter(
        "Whether the file is written at the end of each batch.",
        "If off, up to ioBufferSize bytes per file are lost when rsyslogd dies, and "
        "readers see events late.",
        default="on, which costs nothing with one file and a third more CPU time with 100 (8.2302)",
    )
    flush_interval: Positive | None = parameter(
        "Seconds after which asyncWriting writes what it holds.", default="1"
    )
    io_buffer_size: MemorySize = parameter(
        "How much is gathered before it is written or compressed, for each open file.",
        "rsyslog's default of 4k makes files with veryRobustZip twice as large.",
        value="64k",
    )
    sync: Switch | None = parameter(
        "Whether the file is synchronised to the disk after each write.",
        "Expensive: one synchronisation for each batch.",
        default="off",
    )
    zip_level: Level | None = parameter(
        "The compression level, 0 for none; level 3 costs a third more "
        "CPU time than no compression.",
        "Without veryRobustZip a file that a crash cut off cannot be unpacked beyond that point.",
        default="0",
    )
    very_robust_zip: Switch | None = parameter(
        "Whether each buffer is compressed by itself, so that a crash damages only the last.",
        default="off",
    )
    compression_driver: Literal["zlib", "zstd"] | None = parameter(
        "What compresses, a parameter of the module; zlib writes gzip files.",
        "zstd needs rsyslog's module lmzstdw, which not every distribution has.",
        since=2208,
        default="zlib",
        of_module=True,
    )
    compression_zstd_workers: Positive | None = parameter(
        "How many threads zstd compresses with; a parameter of the module.",
        since=2208,
        default="zstd's own",
        of_module=True,
    )
    rotation_size_limit: MemorySize | None = parameter(
        "The size at which rotation.sizeLimitCommand is run.", since=2302, default="0, no limit"
    )
    rotation_size_limit_command: AbsolutePath | None = parameter(
        "The program that is run when the file has that size, with its arguments after a "
        "space. It must move the file away.",
        "rsyslogd runs it with its own privileges, and waits for it.",
        since=2302,
    )
    rotation_size_limit_command_pass_file_name: Switch | None = parameter(
        "Whether that program gets the file's path as its last argument.", since=2602, default="on"
    )
    follow_symlinks: Switch | None = parameter(
        "Whether the file may be a symbolic link.",
        "What may write to the folder can have rsyslogd write to any file.",
        since=2608,
        default="on, unless compatibility.defaults.secure is strict",
    )
    dyna_file_dangerous_permit_path_escape: Switch | None = parameter(
        "Whether a value may lead out of the folder that dynaFile begins with.",
        "Values come from the network: leave it off.",
        since=2608,
        default="off",
        alias="dynafile.dangerousPermitPathEscape",
    )
    add_lf: Switch | None = parameter(
        "Whether a line end is added to a line that has none.", since=2510, default="on"
    )
    create_dirs: Switch | None = parameter("Whether missing folders are created.", default="on")
    file_create_mode: FileMode | None = parameter(
        "The mode of new files, in octal.", default='"0644", which everybody can read'
    )
    dir_create_mode: FileMode | None = parameter(
        "The mode of new folders, in octal.", default='"0700"'
    )
    file_owner: Account | None = parameter(
        "The owner of new files.",
        "The name must be known when rsyslogd starts.",
        default="rsyslogd's user",
    )
    file_group: Account | None = parameter(
        "The group of new files.",
        "The name must be known when rsyslogd starts.",
        default="rsyslogd's group",
    )
    dir_owner: Account | None = parameter("The owner of new folders.", default="rsyslogd's user")
    dir_group: Account | None = parameter("The group of new folders.", default="rsyslogd's group")
    fail_on_chown_failure: Switch | None = parameter(
        "Whether a file is not written when its owner cannot be set.",
        "If on, events are lost when rsyslogd has dropped its privileges.",
        default="on",
        alias="failOnChOwnFailure",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.dyna_file is None):
            raise ValueError("name file, or dynaFile for a file for each value of a property")
        return self

    built_in: ClassVar[bool] = True
    ends_lines: ClassVar[bool] = True
    own_format: ClassVar[BuiltinTemplate] = "RSYSLOG_FileFormat"

    @property
    def names_template(self) -> str:
        """The name of the template for its file names."""
        return f"{self.name}-file"

    def spelled(self) -> Mapping[str, str | int | tuple[str, ...]]:
        """`dynaFile` names a template."""
        if self.dyna_file is None:
            return {}
        most = self.dyna_file_cache_size or DYNA_FILES
        return {"dynaFile": self.names_template, "dynaFileCacheSize": most}
