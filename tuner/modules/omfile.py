"""omfile: files on the host that runs rsyslog.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tuner.modules.dyna_file import DynaFile
from tuner.modules.output import BuiltinTemplate, Level, Lines, Surroundings
from tuner.schema.parameter import Doc, OfModule, Since
from tuner.schema.scalars import (
    AbsolutePath,
    Account,
    FileMode,
    MemorySize,
    NonNegative,
    Positive,
    Switch,
)

DYNA_FILES = 500
"""How many files of an output with `dynaFile` are open at once by default: with 100 hosts rsyslog's
default of 10 costs 4.1 us of CPU time per event, a sufficient number 2.0 (8.2302)."""
# A lab need not run as root, and runs no program of the profile's.
_LEFT_OUT = (
    "create_dirs", "file_owner", "file_group", "dir_owner", "dir_group", "rotation_size_limit",
    "rotation_size_limit_command",
)  # fmt: skip


class OmfileOutput(Lines):
    """omfile: a file on the host that runs rsyslog, or with `dynaFile` one for each value of a
    property.  `flushInterval` is in seconds, `closeTimeout` in minutes."""

    type: Annotated[Literal["omfile"], Doc("Files on the host that runs rsyslog.")]
    file: Annotated[
        AbsolutePath | None,
        Doc(
            "The file that events are written to, one a line.",
            traps=(
                (
                    "Log rotation must send rsyslogd a HUP, or it keeps writing to the file that "
                    "was moved."
                ),
                "No other output may write to it, and no imfile input read it.",
            ),
        ),
    ] = None
    dyna_file: Annotated[
        DynaFile | None,
        Doc(
            "A file for each value of a property, in place of file. What comes from the "
            "network cannot leave the folder: slashes, . and .. become underscores.",
            traps=(
                (
                    "Senders choose their host names: anyone who may send can create any number "
                    "of files."
                ),
            ),
        ),
    ] = None
    dyna_file_cache_size: Annotated[
        Positive | None,
        Doc(
            "How many files of dynaFile are open at once.",
            default="500 with dynaFile; rsyslog's default is 10",
            traps=(
                (
                    "With more active files than that, every event closes one and opens "
                    "another: twice the CPU time."
                ),
                "Each open file counts against rsyslogd's limit of open files.",
            ),
        ),
    ] = None
    close_timeout: Annotated[
        NonNegative | None,
        Doc(
            "Minutes without an event after which a file is closed; 0 means never.",
            default="10 with dynaFile, else 0",
        ),
    ] = None
    async_writing: Annotated[
        Switch | None,
        Doc(
            "Whether a thread of its own writes the file.",
            default="off",
            traps=(
                ("It costs a fifth more CPU time per event and helps only on slow disks."),
                "What the thread has not written yet is lost when rsyslogd dies.",
            ),
        ),
    ] = None
    flush_on_tx_end: Annotated[
        Switch | None,
        Doc(
            "Whether the file is written at the end of each batch.",
            default="on, which costs nothing with one file and a third more CPU time with 100 "
            "(8.2302)",
            traps=(
                (
                    "If off, up to ioBufferSize bytes per file are lost when rsyslogd dies, and "
                    "readers see events late."
                ),
            ),
        ),
    ] = Field(None, alias="flushOnTXEnd")
    flush_interval: Annotated[
        Positive | None, Doc("Seconds after which asyncWriting writes what it holds.", default="1")
    ] = None
    io_buffer_size: Annotated[
        MemorySize,
        Doc(
            "How much is gathered before it is written or compressed, for each open file.",
            traps=("rsyslog's default of 4k makes files with veryRobustZip twice as large.",),
        ),
    ] = "64k"
    sync: Annotated[
        Switch | None,
        Doc(
            "Whether the file is synchronised to the disk after each write.",
            default="off",
            traps=("Expensive: one synchronisation for each batch.",),
        ),
    ] = None
    zip_level: Annotated[
        Level | None,
        Doc(
            "The compression level, 0 for none; level 3 costs a third more "
            "CPU time than no compression.",
            default="0",
            traps=(
                (
                    "Without veryRobustZip a file that a crash cut off cannot be unpacked beyond "
                    "that point."
                ),
            ),
        ),
    ] = None
    very_robust_zip: Annotated[
        Switch | None,
        Doc(
            "Whether each buffer is compressed by itself, so that a crash damages only the last.",
            default="off",
        ),
    ] = None
    compression_driver: Annotated[
        Literal["zlib", "zstd"] | None,
        OfModule(),
        Since(2208),
        Doc(
            "What compresses, a parameter of the module; zlib writes gzip files.",
            default="zlib",
            traps=("zstd needs rsyslog's module lmzstdw, which not every distribution has.",),
        ),
    ] = Field(None, alias="compression.driver")
    compression_zstd_workers: Annotated[
        Positive | None,
        OfModule(),
        Since(2208),
        Doc(
            "How many threads zstd compresses with; a parameter of the module.",
            default="zstd's own",
        ),
    ] = Field(None, alias="compression.zstd.workers")
    rotation_size_limit: Annotated[
        MemorySize | None,
        Since(2302),
        Doc("The size at which rotation.sizeLimitCommand is run.", default="0, no limit"),
    ] = Field(None, alias="rotation.sizeLimit")
    rotation_size_limit_command: Annotated[
        AbsolutePath | None,
        Since(2302),
        Doc(
            "The program that is run when the file has that size, with its arguments after a "
            "space. It must move the file away.",
            traps=("rsyslogd runs it with its own privileges, and waits for it.",),
        ),
    ] = Field(None, alias="rotation.sizeLimitCommand")
    rotation_size_limit_command_pass_file_name: Annotated[
        Switch | None,
        Since(2602),
        Doc("Whether that program gets the file's path as its last argument.", default="on"),
    ] = Field(None, alias="rotation.sizeLimitCommandPassFileName")
    follow_symlinks: Annotated[
        Switch | None,
        Since(2608),
        Doc(
            "Whether the file may be a symbolic link.",
            default="on, unless compatibility.defaults.secure is strict",
            traps=("What may write to the folder can have rsyslogd write to any file.",),
        ),
    ] = None
    dyna_file_dangerous_permit_path_escape: Annotated[
        Switch | None,
        Since(2608),
        Doc(
            "Whether a value may lead out of the folder that dynaFile begins with.",
            default="off",
            traps=("Values come from the network: leave it off.",),
        ),
    ] = Field(None, alias="dynafile.dangerousPermitPathEscape")
    add_lf: Annotated[
        Switch | None,
        Since(2510),
        Doc("Whether a line end is added to a line that has none.", default="on"),
    ] = Field(None, alias="addLF")
    create_dirs: Annotated[
        Switch | None, Doc("Whether missing folders are created.", default="on")
    ] = None
    file_create_mode: Annotated[
        FileMode | None,
        Doc("The mode of new files, in octal.", default='"0644", which everybody can read'),
    ] = None
    dir_create_mode: Annotated[
        FileMode | None, Doc("The mode of new folders, in octal.", default='"0700"')
    ] = None
    file_owner: Annotated[
        Account | None,
        Doc(
            "The owner of new files.",
            default="rsyslogd's user",
            traps=("The name must be known when rsyslogd starts.",),
        ),
    ] = None
    file_group: Annotated[
        Account | None,
        Doc(
            "The group of new files.",
            default="rsyslogd's group",
            traps=("The name must be known when rsyslogd starts.",),
        ),
    ] = None
    dir_owner: Annotated[
        Account | None, Doc("The owner of new folders.", default="rsyslogd's user")
    ] = None
    dir_group: Annotated[
        Account | None, Doc("The group of new folders.", default="rsyslogd's group")
    ] = None
    fail_on_chown_failure: Annotated[
        Switch | None,
        Doc(
            "Whether a file is not written when its owner cannot be set.",
            default="on",
            traps=("If on, events are lost when rsyslogd has dropped its privileges.",),
        ),
    ] = Field(None, alias="failOnChOwnFailure")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.dyna_file is None):
            raise ValueError("name file, or dynaFile for a file for each value of a property")
        return self

    built_in: ClassVar[bool] = True
    ends_lines: ClassVar[bool] = True
    lab_takes: ClassVar[bool] = True
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

    def in_lab(self, lab: Surroundings, _index_prefix: str, /) -> Self:
        """Into the lab's folder, as rsyslogd's own user."""
        changes: dict[str, object] = dict.fromkeys(_LEFT_OUT)
        if self.dyna_file is None:
            changes["file"] = f"{lab.spool}/{self.name}.log"
        else:
            folder = f"{lab.spool}/{self.name}/"
            changes["dyna_file"] = self.dyna_file.model_copy(update={"before": folder})
        return self.model_copy(update=changes)
