"""Lint for outputs: names that clash, failovers that never take over, files and what a
crash costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from tuner.lint.sections import Placed, outputs, outputs_of, where_durable
from tuner.modules.imfile import ImfileInput
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.omfile import DYNA_FILES, OmfileOutput, file_pattern
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omrelp import OmrelpOutput
from tuner.modules.output import Neighbours, Output
from tuner.profile.documents import fields_of, mapping_of
from tuner.profile.model import Profile
from tuner.profile.placement import in_flight, output_neighbours
from tuner.rule import Complaint, Cure, advice, error, loss
from tuner.schema.numerals import listed
from tuner.schema.units import size_bytes

# The properties with a fixed number of values.
_VALUES = {"syslogseverity-text": 8, "syslogfacility-text": 24}
# With rsyslog's own 4 KiB such a file is 2.3 times as long as with 64, and costs up to 3.3 us of
# CPU time per event instead of 1.4 (8.2302, level 3).
_ROBUST_BUFFER_BYTES = 32 * 1024


@loss("RT260").for_each(where_durable(outputs_of(OmfileOutput)))
def _held_back(output: OmfileOutput, _: Profile) -> Iterator[Complaint]:
    """Writing a file at the end of each batch costs no more than otherwise (8.2302: 1.1 us an
    event); asyncWriting costs 1.4."""
    if output.flush_on_tx_end is False:
        yield Complaint(
            ("flushOnTXEnd",),
            "what the buffer holds when rsyslogd dies is lost, which the durable tier "
            "forbids, and writing after each batch costs no more: remove flushOnTXEnd",
            Cure(True, "events that the file's buffer holds are lost when rsyslogd dies"),
        )


@loss("RT261").for_each(where_durable(outputs_of(OmfileOutput)))
def _cut_off(output: OmfileOutput, _: Profile) -> Iterator[Complaint]:
    if output.zip_level and not output.very_robust_zip:
        yield Complaint(
            ("veryRobustZip",),
            "if rsyslogd dies, the compressed file has no end, and what is "
            "appended after the restart cannot be unpacked: set veryRobustZip to true",
            Cure(True, "events that are written after a crash of rsyslogd cannot be unpacked"),
        )


@advice("RT267").for_each(outputs_of(OmfileOutput), "ioBufferSize")
def _small_pieces(output: OmfileOutput, _: Profile) -> Iterator[str]:
    small = size_bytes(output.io_buffer_size) < _ROBUST_BUFFER_BYTES
    if output.zip_level and output.very_robust_zip and small:
        yield (
            "with veryRobustZip each buffer is compressed by itself, and one of less than 32k "
            "makes the file about twice as large: use 64k"
        )


@advice("RT262").for_each(outputs_of(OmfileOutput), "dynaFileCacheSize")
def _few_open_files(output: OmfileOutput, profile: Profile) -> Iterator[str]:
    if output.dyna_file is None:
        return
    varies = output.dyna_file.property
    file_count = _VALUES.get(varies, profile.workload.connections) if varies else 1
    if (output.dyna_file_cache_size or DYNA_FILES) < file_count:
        yield (
            f"the workload writes to {file_count} files, and every event for a file that is "
            f"not open closes another one: use at least {file_count}"
        )


@error("RT263")
def _same_file(profile: Profile) -> Iterator[Complaint]:
    writers: dict[str, str] = {}
    for number, output in enumerate(profile.outputs):
        for key, path in _written(output):
            clash = next((file for file in writers if _may_be_same(file, path)), None)
            if clash is not None:
                yield Complaint(
                    ("outputs", number, key),
                    f"{writers[clash]} writes to {path} too, and they would break up each other's "
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


def _may_be_same(path: str, other: str) -> bool:
    """Whether two paths can be the same file; a * stands for no slash."""
    return any(
        fnmatchcase(a, b) and a.count("/") == b.count("/")
        for a, b in ((path, other), (other, path))
    )


@error("RT264").for_each(outputs_of(OmfileOutput))
def _read_again(output: OmfileOutput, profile: Profile) -> Iterator[Complaint]:
    path = _pattern(output)
    files = [source.file for source in profile.inputs if isinstance(source, ImfileInput)]
    if any(_may_be_same(path, file) for file in files):
        yield Complaint(
            ("file" if output.dyna_file is None else "dynaFile",),
            f"an imfile input reads {path}, so every event comes back forever: write to a "
            "file that no input reads",
        )


_OF_SYSLOG = {
    **dict.fromkeys(("keepAlive.time", "keepAlive.interval", "keepAlive.probes"), "keepAlive"),
    **dict.fromkeys(
        ("zipLevel", "compression.driver", "compression.stream.flushOnTXEnd"), "compression.mode"
    ),
    "rateLimit.burst": "rateLimit.interval",
}
# What has no effect without another parameter, or a value of it, by the module.
_NEEDS = {
    "omelasticsearch": {
        "erroronly": "errorfile", "interleaved": "errorfile", "dynPipelineName": "pipelineName",
        "skipPipelineIfEmpty": "pipelineName",
    },
    "omfile": {
        "veryRobustZip": "zipLevel", "compression.driver zstd": "zipLevel",
        "compression.zstd.workers": "compression.driver zstd", "flushInterval": "asyncWriting",
        "dynaFileCacheSize": "dynaFile", "rotation.sizeLimit": "rotation.sizeLimitCommand",
        "rotation.sizeLimitCommand": "rotation.sizeLimit",
    },
    "omfwd": _OF_SYSLOG
    | dict.fromkeys(
        (
            "TCP_Framing", "TCP_FrameDelimiter", "TCP_User_Timeout", "keepAlive", "conErrSkip",
            "resendLastMSGOnReconnect", "extendedConnectionCheck", "streamDriver",
            "streamDriverMode",
        ),
        "protocol tcp",
    )
    | dict.fromkeys(("address", "udp.sendToAll", "udp.sendDelay", "udp.sendBuf"), "protocol udp"),
    "omrelp": _OF_SYSLOG,
}  # fmt: skip


@error("RT245").for_each(outputs)
def _without_effect(output: Output, _: Profile) -> Iterator[Complaint]:
    needs = _NEEDS.get(output.type, {})
    written = output.model_dump(by_alias=True, exclude_none=True) if needs else {}
    for what, needed in needs.items():
        if _says(written, what) and not _says(written, needed):
            key = what.partition(" ")[0]
            yield Complaint(
                (key,), f"{key} has no effect without {needed}: add it, or remove {key}"
            )


def _says(written: Mapping[str, object], what: str) -> bool:
    """Whether a parameter has a value that is not off, or the value behind its name."""
    key, _, value = what.partition(" ")
    return str(written.get(key)) == value if value else bool(written.get(key))


_SUSPENDED = "action.execOnlyWhenPreviousIsSuspended"


class _Led(NamedTuple):
    """An output that others take over from: with its number, the first of those by name, and
    whether it takes over from one itself."""

    number: int
    output: Output
    after: str
    stands_in: bool


def _followed(profile: Profile) -> Iterator[Placed[_Led]]:
    """Each output that others take over from."""
    for number, output in enumerate(profile.outputs):
        around = output_neighbours(profile, number)
        if around.take_over:
            led = _Led(number, output, around.take_over[0], bool(around.before))
            yield ("outputs", number), led


def _waiting_beside_others(profile: Profile) -> Iterator[Placed[Neighbours]]:
    """The neighbours of each output to a server that stops others while it waits."""
    for number, output in enumerate(profile.outputs):
        waits = isinstance(output, OmelasticsearchOutput | OmfwdOutput | OmrelpOutput)
        waits &= not (isinstance(output, OmfwdOutput) and output.protocol == "udp")
        around = output_neighbours(profile, number)
        if waits and output.action_resume_retry_count and output.is_direct and around.at_once:
            yield ("outputs", number), around


@error("RT250")
def _first_stands_in(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        stands_in = output.exec_only_when_previous_is_suspended
        if stands_in and not output_neighbours(profile, number).before:
            yield Complaint(
                ("outputs", number, _SUSPENDED),
                "there is no output of its stream before this one that could be suspended: "
                "put the one that it takes over from first",
            )


@error("RT251").for_each(_followed, "action.resumeRetryCount")
def _never_suspended(led: _Led, _: Profile) -> Iterator[str]:
    if led.output.action_resume_retry_count == -1:
        yield (
            f"this output is retried forever, so {led.after} never takes over: set "
            "action.resumeRetryCount to 0 or a few"
        )


@error("RT252").for_each(_followed, "queue")
def _queue_between(led: _Led, profile: Profile) -> Iterator[str]:
    """Of a profile the first output's queue is rendered before all of them."""
    if led.output.is_direct or not (led.stands_in or profile.base):
        return
    yield (
        f"an output with a queue accepts everything, so {led.after} never takes over, and what "
        "this one gives up is lost: remove this queue; that of the first output, or in a "
        "configuration of your own that of a ruleset around both, serves them all"
    )


@loss("RT256").for_each(_waiting_beside_others, "queue")
def _stops_others(around: Neighbours, _: Profile) -> Iterator[str]:
    lost = f", and {listed(around.lossy)} then loses events" if around.lossy else ""
    yield (
        f"while its target is down, this output without a queue also stops {listed(around.at_once)}"
        f"{lost}: give it a queue, which holds an outage, best one on disk (type LinkedList, "
        "filename, and a size of twenty batches or more)"
    )


@error("RT253")
def _same_name(profile: Profile) -> Iterator[Complaint]:
    names: set[str] = set()
    for number, output in enumerate(profile.outputs):
        if output.name in names:
            yield Complaint(
                ("outputs", number, "name"),
                f"another output is called {output.name}: rename one, because queues, templates "
                "and files are named after their output",
            )
        names.add(output.name)


@error("RT254")
def _same_index(profile: Profile) -> Iterator[Complaint]:
    writers: dict[str, OmelasticsearchOutput] = {}
    for number, output in profile.enumerated:
        writer = writers.setdefault(output.index.target, output)
        if writer is output:
            continue
        clash = next(_clashes(_mapped(writer), _mapped(output)), None)
        difference = "with other settings" if writer.index != output.index else clash
        if difference is not None:
            yield Complaint(
                ("outputs", number, "index"),
                f"{writer.name} writes to {output.index.target} too, {difference}, and an index "
                "has one template: give each output its own index, or both the same settings "
                "and uses",
            )


def _clashes(first: Mapping[str, object], second: Mapping[str, object]) -> Iterator[str]:
    """Fields that no mapping can have together."""
    for name, mapping in second.items():
        if first.get(name, mapping) != mapping:
            yield f"where the mapping of {name} differs"
        around = [field for field in first if f"{name}.".startswith(f"{field}.") and field != name]
        within = [field for field in first if field.startswith(f"{name}.")]
        for field in (*around, *within):
            yield f"where {field} and {name} cannot both be fields"


def _mapped(output: OmelasticsearchOutput) -> dict[str, object]:
    """The mapping of each field by its name."""
    return {field.name: mapping_of((field,)) for field in fields_of(output)}


@loss("RT255")
def _lost_at_the_change(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302 with omelasticsearch: when a target goes down, the batches in flight are lost,
    with resumeRetryCount 0 and 1 alike; nothing before or after, and nothing twice."""
    for _, led in where_durable(_followed)(profile):
        name, placed = led.output.name, _place_of(profile, led.after)
        if led.output.action_resume_retry_count != -1:
            yield Complaint(
                ("outputs", led.number if placed is None else placed, _SUSPENDED),
                f"when {name} goes down, the batches in flight, up to "
                f"{in_flight(profile, led.number)} events, are lost before {led.after} "
                f"takes over, which the durable tier forbids: to keep them remove {led.after}, "
                f"and give {name} a queue with a filename and action.resumeRetryCount -1",
            )


def _place_of(profile: Profile, name: str) -> int | None:
    """The number of the output that is called so; None for an action that no profile has."""
    for number, output in enumerate(profile.outputs):
        if name in {output.name, f"action[{output.name}]"}:
            return number
    return None
