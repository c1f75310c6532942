"""Whether a host, and the engine, still are what the profile says; what a host's counters say
of its queues, and which files of queues its rsyslogd does not read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from posixpath import join

from tuner.deploy.host_files import HostFiles
from tuner.deploy.host_profile import HostProfile, needs_of
from tuner.deploy.objects import compare
from tuner.deploy.plan import release_number
from tuner.deploy.target import Examined, RemoteHost, file_diff
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import diagnose
from tuner.diagnose.settings import of_profile
from tuner.engine.client import EngineClient
from tuner.engine.status import facts
from tuner.host.process import wait_until
from tuner.modules.imudp import ImudpInput
from tuner.modules.input import TRANSPORTS
from tuner.modules.queue import SEGMENTED_SINCE
from tuner.modules.stats_rounds import StatsRound, rounds
from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.render.modules import packages_of
from tuner.render.templates import Templates
from tuner.schema.units import size_bytes
from tuner.script.parser import parse
from tuner.script.script import Block, ScriptObject, objects_in
from tuner.writing import raw_of

# Of rsyslog's own descriptors, beside one for each connection.
_OWN_FILES = 100
_DEFAULT_SESSIONS = 200


@dataclass(frozen=True)
class Drift:
    """One thing that is not as the profile says: where, what, and how the files differ."""

    where: str
    what: str
    diff: str = ""


def host_drift(host: RemoteHost, run: HostProfile) -> Iterator[Drift]:
    """What differs on a host from what it is to run."""
    name, profile = host.machine.name, run.profile
    needs = needs_of(profile, run.text)
    files = [f"file {path}" for path in needs.files]
    files += [f"secret {path}" for path in needs.secrets]
    files += [f"certificate {path}" for path in needs.certificates]
    seen = host.examined(needs.ports, tuple(files))
    for path, text in run.files.items():
        live = seen.facts.live.get(path)
        if live != raw_of(text):
            problem = "is missing" if live is None else "differs"
            diff = file_diff(host.machine, path, live, raw_of(text))
            yield Drift(name, f"{path} {problem}", diff)
    others = (
        _files(host, seen),
        _process(seen, profile),
        _needs(seen, profile),
        stranded_files(host, block_of(profile, run.text), seen.facts.rsyslogd),
    )
    yield from (Drift(name, text) for text in chain.from_iterable(others))
    for package, module in packages_of(run.text).items():
        if host.host.package(package) is None:
            yield Drift(name, f"the package {package} is not installed, {module} needs it")


def engine_drift(profile: Profile, client: EngineClient, site: Templates | None) -> Iterator[Drift]:
    """What differs in the engine."""
    engine, wanted = facts(client), profile.release
    if engine.distribution != wanted.engine.value:
        yield Drift("engine", f"is {engine.distribution}, the profile is for {wanted.engine.value}")
    elif release_number(engine.version) < wanted.engine_version:
        text = ".".join(map(str, wanted.engine_version))
        yield Drift(
            "engine", f"version {engine.version} is older than the profile's release {text}"
        )
    for compared in compare(profile, client, site):
        if compared.differs:
            problem = "is missing" if compared.found is None else "differs"
            yield Drift("engine", f"{compared.name} {problem}", compared.unified())


def _files(host: RemoteHost, seen: Examined) -> Iterator[str]:
    main = host.machine.paths.configuration
    if not seen.accepted:
        yield f"rsyslogd -N1 rejects {main}"
    if set(host.paths) - {main} and not seen.included:
        yield f"{main} does not include {host.machine.paths.fragments}"
    for path in seen.stale:
        yield f"rsyslogd started before {path} changed: restart it"
    for path in seen.missing:
        yield f"{path} is missing"
    for path in seen.ends:
        yield f"the certificate {path} ends within 30 days, or is not one"
    for path, mode in seen.modes.items():
        if int(mode, 8) & 0o007:
            yield f"{path} has mode {mode}: others can reach a secret"


def _process(seen: Examined, profile: Profile) -> Iterator[str]:
    facts, wanted = seen.facts, profile.release.rsyslog
    if release_number(facts.rsyslogd) < release_number(wanted):
        yield f"rsyslogd {facts.rsyslogd} is older than the profile's release {wanted}"
    if not facts.pid:
        yield "rsyslogd does not run"
    for socket in sockets_of(profile):
        if socket in facts.taken:
            yield f"{socket} is taken by another program than rsyslogd"
        elif socket not in facts.opened:
            yield f"rsyslogd does not listen on {socket}"
    if facts.pending is not None:
        yield f"a change by {facts.pending} is not finished: confirm or recover"


def _needs(seen: Examined, profile: Profile) -> Iterator[str]:
    """Limits of the kernel that would bite later."""
    sessions = sum(
        getattr(source, "max_sessions", None) or _DEFAULT_SESSIONS
        for source in profile.host_inputs
        if source.transport is not None and TRANSPORTS[source.transport].place == "tcp port"
    )
    wanted = sessions + _OWN_FILES
    if seen.facts.pid and seen.open_files is not None and seen.open_files < wanted:
        yield f"{seen.open_files} open files are too few for {sessions} connections: LimitNOFILE"
    # Root may exceed it (socket(7), SO_RCVBUFFORCE).
    for source in profile.host_inputs if seen.uid else ():
        asked = source.rcvbuf_size if isinstance(source, ImudpInput) else None
        if asked is not None and size_bytes(asked) > seen.rmem_bytes:
            yield f"net.core.rmem_max is {seen.rmem_bytes}, below rcvbufSize {asked}"


# Enough for a set of counters of a large configuration.
_TAIL_BYTES = 262_144
# What an apply waits for new counters beyond their interval, and the longest interval it awaits.
_SLACK_S = 5
_LONGEST_S = 30


def last_round(host: RemoteHost, profile: Profile) -> tuple[StatsRound, ...]:
    """The last whole round in the file of counters; none where the profile has no such file, or
    the host not yet."""
    path = None if profile.impstats is None else profile.impstats.log_file
    if path is None:
        return ()
    answer = host.host.run(["tail", "-c", str(_TAIL_BYTES), "--", str(path)])
    return rounds(answer.out.decode(errors="replace"))[-1:]


def figures_note(
    host: RemoteHost, profile: Profile, last: tuple[StatsRound, ...] | None = None
) -> str:
    """A sentence on what the last round of its counters says, else this one."""
    name, impstats = host.machine.name, profile.impstats
    if impstats is None or impstats.log_file is None:
        return f"{name}: no figures of its queues: the profile has no impstats with log.file"
    last = last_round(host, profile) if last is None else last
    diagnosed = diagnose(courses(last), of_profile(profile))
    if not diagnosed:
        return f"{name}: no figures of its queues in {impstats.log_file}"
    wrong = "".join(f" {finding.headline}." for finding in diagnosed[-1].findings)
    more = f" See diagnose --host {name}." if wrong else ""
    return f"{name}: {diagnosed[-1].verdict}{wrong}{more}"


def movement_note(host: RemoteHost, profile: Profile, before: tuple[StatsRound, ...]) -> str:
    """The same by a round that comes after the one `before`: waits for it."""
    impstats, last = profile.impstats, before
    if impstats is None or impstats.log_file is None:
        return figures_note(host, profile, ())
    if impstats.interval > _LONGEST_S:
        every = f"its queues are counted every {impstats.interval} s"
        return f"{host.machine.name}: {every}: verify reads that"

    def is_new() -> bool:
        nonlocal last
        last = last_round(host, profile)
        return last != before

    wait_until(is_new, impstats.interval + _SLACK_S, 1.0)
    return figures_note(host, profile, last if last != before else ())


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
