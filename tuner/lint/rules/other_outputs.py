"""Lint for files that outputs write: what a crash costs, who else writes them, what has no
effect."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from tuner.lint.rules.inputs import disagreements
from tuner.modules.dyna_file import file_pattern
from tuner.modules.imfile import ImfileInput
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.omfile import DYNA_FILES, OmfileOutput
from tuner.modules.output import Output
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint, Cure, advice, error, loss
from tuner.schema.units import size_bytes

# The properties with a fixed number of values.
_VALUES = {"syslogseverity-text": 8, "syslogfacility-text": 24}
# With rsyslog's own 4 KiB such a file is 2.3 times as long as with 64, and costs up to 3.3 us of
# CPU time per event instead of 1.4 (8.2302, level 3).
_ROBUST_BUFFER_BYTES = 32 * 1024

_FILE = {"name": "file", "type": "omfile", "file": "/var/log/all.log"}
_HOSTS = {
    "name": "hosts",
    "type": "omfile",
    "dynaFile": {"before": "/var/log/hosts/", "property": "hostname", "after": ".log"},
}
_ZIPPED = {"zipLevel": 3, "veryRobustZip": True}


def files(profile: Profile) -> Iterator[tuple[int, OmfileOutput]]:
    """The outputs into files, each with its number among all outputs."""
    for number, output in enumerate(profile.outputs):
        if isinstance(output, OmfileOutput):
            yield number, output


@loss(
    "RT260",
    why="A buffer that is not written at the end of each batch is lost when rsyslogd dies, and "
    "saves too little CPU time to be worth it.",
    source="rsyslog tools/omfile.c; seen on 8.2302: 1.1 us an event either way",
    bad={"outputs": [{**_FILE, "flushOnTXEnd": False}]},
    good={"outputs[file].flushOnTXEnd": True},
)
def _held_back(profile: Profile) -> Iterator[Complaint]:
    """Writing a file at the end of each batch costs no more than otherwise (8.2302: 1.1 us an
    event); asyncWriting costs 1.4."""
    for number, output in files(profile):
        if output.flush_on_tx_end is False and profile.guardrails.tier is Tier.DURABLE:
            yield Complaint(
                ("outputs", number, "flushOnTXEnd"),
                "what the buffer holds when rsyslogd dies is lost, which the durable tier "
                "forbids, and writing after each batch costs no more: remove flushOnTXEnd",
                Cure(True, "events that the file's buffer holds are lost when rsyslogd dies"),
            )


@loss(
    "RT261",
    why="What is appended to a compressed stream without an end cannot be unpacked; "
    "veryRobustZip ends the stream at every buffer.",
    source="rsyslog runtime/stream.c; seen on 8.2302",
    bad={"outputs": [{**_FILE, "zipLevel": 3}]},
    good={"outputs[file].veryRobustZip": True},
)
def _cut_off(profile: Profile) -> Iterator[Complaint]:
    durable = profile.guardrails.tier is Tier.DURABLE
    for number, output in files(profile):
        if durable and output.zip_level and not output.very_robust_zip:
            yield Complaint(
                ("outputs", number, "veryRobustZip"),
                "if rsyslogd dies, the compressed file has no end, and what is "
                "appended after the restart cannot be unpacked: set veryRobustZip to true",
                Cure(True, "events that are written after a crash of rsyslogd cannot be unpacked"),
            )


@advice(
    "RT267",
    why="With veryRobustZip each buffer is compressed by itself, and small ones compress badly: "
    "rsyslog's default of 4 KiB makes a file 2.3 times as large as 64 KiB.",
    source="seen on 8.2302, level 3",
    bad={"outputs": [{**_FILE, **_ZIPPED, "ioBufferSize": "31k"}]},
    good={"outputs[file].ioBufferSize": "32k"},
)
def _small_pieces(profile: Profile) -> Iterator[Complaint]:
    for number, output in files(profile):
        small = size_bytes(output.io_buffer_size) < _ROBUST_BUFFER_BYTES
        if output.zip_level and output.very_robust_zip and small:
            yield Complaint(
                ("outputs", number, "ioBufferSize"),
                "with veryRobustZip each buffer is compressed by itself, and one of less than 32k "
                "makes the file about twice as large: use 64k",
            )


@advice(
    "RT262",
    why=f"omfile keeps dynaFileCacheSize files open, {DYNA_FILES} by default, and closes one "
    "for every event that goes to another.",
    source="rsyslog tools/omfile.c, dynaFileCacheSize",
    bad={"workload.connections": 5, "outputs": [{**_HOSTS, "dynaFileCacheSize": 4}]},
    good={"outputs[hosts].dynaFileCacheSize": 5},
)
def _few_open_files(profile: Profile) -> Iterator[Complaint]:
    for number, output in files(profile):
        if output.dyna_file is None:
            continue
        varies = output.dyna_file.property
        file_count = _VALUES.get(varies, profile.workload.connections) if varies else 1
        if (output.dyna_file_cache_size or DYNA_FILES) < file_count:
            yield Complaint(
                ("outputs", number, "dynaFileCacheSize"),
                f"the workload writes to {file_count} files, and every event for a file that is "
                f"not open closes another one: use at least {file_count}",
            )


@error(
    "RT263",
    why="Two writers with separate buffers break up each other's lines.",
    source="rsyslog runtime/stream.c",
    bad={"outputs": [_FILE, {**_FILE, "name": "copy"}]},
    good={"outputs[copy].file": "/var/log/copy.log"},
)
def _same_file(profile: Profile) -> Iterator[Complaint]:
    writers: dict[str, str] = {}
    for number, output in enumerate(profile.outputs):
        for key, path in _written(output):
            other = next((at for at in writers if _is_one(at, path)), None)
            if other is not None:
                yield Complaint(
                    ("outputs", number, key),
                    f"{writers[other]} writes to {path} too, and they would break up each other's "
                    "lines: give each its own file",
                )
            else:
                writers[path] = output.name


def _written(output: Output) -> Iterator[tuple[str, str]]:
    """The files that an output writes, by key; * stands for what a property says."""
    if isinstance(output, OmfileOutput):
        key = "file" if output.dyna_file is None else "dynaFile"
        yield key, _pattern(output)
    if isinstance(output, OmelasticsearchOutput):
        if output.errorfile is not None:
            yield "errorfile", output.errorfile
        if output.retryfailures is not None:
            yield "retryfailures", output.retryfailures.file
    if output.action_errorfile is not None:
        yield "action.errorfile", output.action_errorfile


def _pattern(output: OmfileOutput) -> str:
    dynamic = output.dyna_file
    return output.file or "" if dynamic is None else file_pattern(dynamic)


def _is_one(path: str, other: str) -> bool:
    """Whether two paths can be the same file; a * stands for no slash."""
    return any(
        fnmatchcase(a, b) and a.count("/") == b.count("/")
        for a, b in ((path, other), (other, path))
    )


@error(
    "RT264",
    why="An input reads what the output writes, in an endless loop.",
    source="rsyslog plugins/imfile",
    bad={
        "global.workDirectory": "/var/spool/rsyslog",
        "inputs": [{"type": "imfile", "file": "/var/log/*.log", "tag": "app:"}],
        "outputs": [_FILE],
    },
    good={"outputs[file].file": "/var/log/all/all.log"},
)
def _read_again(profile: Profile) -> Iterator[Complaint]:
    for number, output in files(profile):
        path = _pattern(output)
        readers = [one.file for one in profile.inputs if isinstance(one, ImfileInput)]
        if any(_is_one(path, one) for one in readers):
            yield Complaint(
                ("outputs", number, "file" if output.dyna_file is None else "dynaFile"),
                f"an imfile input reads {path}, so every event comes back forever: write to a "
                "file that no input reads",
            )


@error(
    "RT265",
    why="Such parameters belong to the module, which is loaded once: one value serves all outputs.",
    source="rsyslog's manual of that module",
    bad={
        "outputs": [
            {**_FILE, **_ZIPPED, "compression.driver": "zstd"},
            {**_HOSTS, **_ZIPPED},
        ]
    },
    good={"outputs[hosts].compression.driver": "zstd"},
)
def _modules_disagree(profile: Profile) -> Iterator[Complaint]:
    return disagreements("outputs", profile.outputs)


@error(
    "RT266",
    why="rsyslog accepts the parameter and ignores it.",
    source="rsyslog tools/omfile.c",
    bad={"outputs": [{**_FILE, "veryRobustZip": True}]},
    good={"outputs[file].zipLevel": 1},
    at="outputs[file].veryRobustZip",
)
def _without_effect(profile: Profile) -> Iterator[Complaint]:
    for number, output in files(profile):
        zipped, zstd = bool(output.zip_level), output.compression_driver == "zstd"
        needs = (
            ("veryRobustZip", output.very_robust_zip, zipped, "zipLevel above 0"),
            ("compression.driver", zstd, zipped, "zipLevel above 0"),
            ("compression.zstd.workers", output.compression_zstd_workers, zstd,
             "compression.driver zstd"),
            ("flushInterval", output.flush_interval, output.async_writing, "asyncWriting"),
            ("dynaFileCacheSize", output.dyna_file_cache_size, output.dyna_file, "dynaFile"),
            ("rotation.sizeLimit", output.rotation_size_limit, output.rotation_size_limit_command,
             "rotation.sizeLimitCommand"),
            ("rotation.sizeLimitCommand", output.rotation_size_limit_command,
             output.rotation_size_limit, "rotation.sizeLimit"),
        )  # fmt: skip
        for key, is_set, is_there, what in needs:
            if is_set and not is_there:
                yield Complaint(
                    ("outputs", number, key), f"{key} has no effect without {what}: add it"
                )
