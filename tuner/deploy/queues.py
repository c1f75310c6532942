"""A host's queues: how full they are and whether events move through them, by rsyslogd's own
counters where the profile has impstats write them to a file; and files that its rsyslogd does not
read."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import join

from tuner.deploy.host_files import HostFiles
from tuner.deploy.plan import release_number
from tuner.deploy.target import RemoteHost
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import diagnose
from tuner.diagnose.settings import of_profile
from tuner.host.process import wait_until
from tuner.modules.queue import SEGMENTED_SINCE
from tuner.modules.stats_rounds import rounds
from tuner.profile.model import Profile
from tuner.script.parser import parse
from tuner.script.script import Block, ScriptObject, objects_in

# Enough for a set of counters of a large configuration.
_TAIL_BYTES = 262_144
# What an apply waits for new counters beyond their interval, and the longest interval it awaits.
_SLACK_S = 5
_LONGEST_S = 30


def figures_text(host: RemoteHost, profile: Profile) -> str | None:
    """The end of the file of counters; None where the profile has none, or the host not yet."""
    path = None if profile.impstats is None else profile.impstats.log_file
    if path is None:
        return None
    answer = host.host.run(["tail", "-c", str(_TAIL_BYTES), "--", str(path)])
    return answer.out.decode(errors="replace") if answer.code == 0 else None


def figures_note(host: RemoteHost, profile: Profile, text: str | None) -> str:
    """A sentence on what the last whole round of the counters in a text says."""
    name, impstats = host.machine.name, profile.impstats
    if impstats is None or impstats.log_file is None:
        return f"{name}: no figures of its queues: the profile has no impstats with log.file"
    diagnosed = diagnose(courses(rounds(text or "")[-1:]), of_profile(profile))
    if not diagnosed:
        return f"{name}: no figures of its queues in {impstats.log_file}"
    wrong = "".join(f" {finding.headline}." for finding in diagnosed[-1].findings)
    more = f" See diagnose --host {name}." if wrong else ""
    return f"{name}: {diagnosed[-1].verdict}{wrong}{more}"


def movement_note(host: RemoteHost, profile: Profile, before: str | None) -> str:
    """The same by figures that come after the text `before`: waits for them."""
    impstats, text = profile.impstats, ""
    if impstats is None or impstats.log_file is None:
        return figures_note(host, profile, None)
    if impstats.interval > _LONGEST_S:
        every = f"its queues are counted every {impstats.interval} s"
        return f"{host.machine.name}: {every}: verify reads that"
    _, _, last_line = (before or "").rstrip().rpartition("\n")

    def are_counted() -> bool:
        nonlocal text
        text = figures_text(host, profile) or ""
        text = text.rpartition(last_line)[2] if last_line else text
        return bool(rounds(text))

    wait_until(are_counted, impstats.interval + _SLACK_S, 1.0)
    return figures_note(host, profile, text)


def block_of(profile: Profile | None, text: str) -> Block:
    """The statements of a profile's configuration: of all files of its base, else of what was
    rendered, or written by hand, as `text`."""
    base = None if profile is None else profile.base
    return parse(text, "")[0] if base is None else base.kept.changed.block


def stranded_files(host: RemoteHost, block: Block, rsyslogd: str) -> Iterator[str]:
    """A sentence for each queue of a configuration that has files on the host which its
    `rsyslogd`, such as 8.2504.0, does not read: the events in them are not delivered.

    The layouts are those of rsyslog runtime/queue_da.c: FILENAME.segq is a folder of the segmented
    one, FILENAME.qi and FILENAME.00000001 are files of the old one.
    """
    host_files = HostFiles(host.host)
    objects = [*objects_in(block)]
    folders = [item.text("workDirectory") for item in objects if item.kind == "global"]
    for queue in objects:
        prefix = queue.text("queue.filename")
        folder = queue.text("queue.spoolDirectory") or next(filter(None, folders), None)
        if prefix is None or folder is None:
            continue
        names = host_files.listed(folder)
        start = f"{prefix}."
        suffixes = {name.removeprefix(start) for name in names if name.startswith(start)}
        has_new, has_old = "segq" in suffixes, any(map(_is_old, suffixes))
        files, wanted = join(folder, prefix), _layout(queue, rsyslogd)
        if has_new and wanted == "disk":
            yield (
                f"{files}.segq holds events that this rsyslogd, with this configuration, does not "
                "read: they are not delivered until an rsyslog of 8.2608 or newer runs with "
                "diskQueueType auto"
            )
        elif has_old and (has_new or wanted == "segmentedDisk"):
            yield (
                f"{files}.qi and its files are of the old layout, and this configuration wants the "
                "segmented one: the queue does not start, until rsyslogd has emptied them with "
                "diskQueueType auto or type Disk"
            )


def _is_old(suffix: str) -> bool:
    return suffix == "qi" or suffix.isdigit()


def _layout(queue: ScriptObject, rsyslogd: str) -> str:
    """The layout of files that rsyslogd reads for a queue: auto reads either."""
    kind = (queue.text("queue.type") or "").lower()
    if release_number(rsyslogd) < (8, SEGMENTED_SINCE) or kind == "disk":
        return "disk"
    if kind == "segmenteddisk":
        return "segmentedDisk"
    chosen = (queue.text("queue.diskQueueType") or "auto").lower()
    return "segmentedDisk" if chosen == "segmenteddisk" else chosen
