"""Whether a host, and the engine, still are what the profile says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from tuner.deploy.difference import compare
from tuner.deploy.host_profile import HostProfile, needs_of
from tuner.deploy.plan import release_number
from tuner.deploy.queues import block_of, stranded_files
from tuner.deploy.target import Examined, RemoteHost, file_diff
from tuner.engine.client import EngineClient
from tuner.engine.status import facts
from tuner.modules.imudp import ImudpInput
from tuner.modules.input import TRANSPORTS
from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.render.modules import packages_of
from tuner.render.templates import Templates
from tuner.schema.units import size_bytes
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
