"""Fitting a profile to a lab: a pure step that says what it replaced."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.errors import Refused
from tuner.profile.bind_delivery import bind_delivery, delivery_rows
from tuner.profile.bind_index import bind_index, index_rows
from tuner.profile.bind_inputs import bind_inputs, input_rows, require_known
from tuner.profile.model import Global, Profile
from tuner.profile.outputs import OmelasticsearchOutput
from tuner.profile.queue import Queue
from tuner.profile.release import Engine, Release
from tuner.profile.scalars import Server


@dataclass(frozen=True)
class Site:
    """Where a profile is to run: what the lab has and what it may use."""

    engine_url: Server
    engine: Engine
    engine_version: tuple[int, int]
    engine_name: str
    is_sink: bool
    data_nodes: int
    heap: str | None
    rsyslog: str
    index_prefix: str
    spool: str
    keeps_authentication: bool


@dataclass(frozen=True)
class Substitution:
    """One value of the profile that the lab replaced; values as a reader would write them."""

    path: str
    written: str
    used: str

    def __str__(self) -> str:
        return f"{self.path}: {self.written} -> {self.used}"


@dataclass(frozen=True)
class Bound:
    """A profile that a lab can run, and everything that differs from what was written."""

    profile: Profile
    substitutions: tuple[Substitution, ...]


def bind(profile: Profile, site: Site, ports: tuple[int, ...]) -> Bound:
    """Replace only what a lab must: servers, authentication, TLS, addresses, ports, index names,
    spool folders, replicas and a heap that does not fit; `ports` gives one for each input.

    Raises Refused for what a lab cannot measure.
    """
    if profile.parse is not None:
        raise Refused(
            f"parse: no flood sends {profile.parse.format} that this profile could take apart, "
            "its figures would be those of empty fields: measure it without parse"
        )
    output = profile.outputs[0]
    bound = profile.model_copy(
        update={
            "release": _release(site),
            "global_": Global(),
            "inputs": bind_inputs(profile, ports),
            "main_queue": _bind_queue(profile.main_queue, site),
            "outputs": (_bind_output(output, site),),
            "node": profile.node.model_copy(update={"heap": site.heap or profile.node.heap}),
        }
    )
    # model_copy does not validate: read the result again as if it had been written.
    checked = Profile.model_validate(bound.model_dump(by_alias=True, exclude_none=True))
    require_known(checked)
    return Bound(checked, _substitutions(profile, checked, site))


def _release(site: Site) -> Release:
    version = ".".join(map(str, site.engine_version))
    if site.engine is Engine.ELASTICSEARCH:
        return Release(rsyslog=site.rsyslog, elasticsearch=version)
    return Release(rsyslog=site.rsyslog, opensearch=version)


def _bind_queue(queue: Queue | None, site: Site) -> Queue | None:
    if queue is None or queue.filename is None:
        return queue
    return queue.model_copy(update={"spool_directory": site.spool})


def _bind_output(output: OmelasticsearchOutput, site: Site) -> OmelasticsearchOutput:
    changes: dict[str, object] = {
        "servers": (site.engine_url,),
        "index": bind_index(output.index, site.index_prefix, site.data_nodes),
        "queue": _bind_queue(output.queue, site),
        **bind_delivery(output, site.spool),
    }
    if not site.keeps_authentication:
        changes |= {"auth": None, "apikey": None, "tls": None}
    return output.model_copy(update=changes)


def _substitutions(written: Profile, used: Profile, site: Site) -> tuple[Substitution, ...]:
    """What a reviewer must know was not tested as written; index names are ours by design."""
    before, after = written.outputs[0], used.outputs[0]
    at = f"outputs[{before.name}]"
    rows = [
        ("release.rsyslog", written.release.rsyslog, used.release.rsyslog),
        (
            f"release.{written.release.engine.value}",
            _engine_text(written.release),
            site.engine_name if site.is_sink else _engine_text(used.release),
        ),
        ("global.workDirectory", _work_directory(written), _work_directory(used)),
        *input_rows(written.inputs, used.inputs),
        (f"{at}.servers", ", ".join(before.servers), ", ".join(after.servers)),
        (f"{at}.auth", _auth_text(before), _auth_text(after)),
        (f"{at}.tls", _tls_text(before), _tls_text(after)),
        *delivery_rows(at, before, after),
        *index_rows(f"{at}.index", before.index, after.index),
        ("main_queue.spoolDirectory", _spool(written.main_queue), _spool(used.main_queue)),
        (f"{at}.queue.spoolDirectory", _spool(before.queue), _spool(after.queue)),
        ("node.heap", written.node.heap, used.node.heap),
    ]
    return tuple(Substitution(path, old, new) for path, old, new in rows if old != new)


def _work_directory(profile: Profile) -> str:
    return profile.global_.work_directory or "none"


def _engine_text(release: Release) -> str:
    return f"{release.engine.value} {'.'.join(map(str, release.engine_version))}"


def _auth_text(output: OmelasticsearchOutput) -> str:
    return "none" if output.auth is None else f"user {output.auth.uid}"


def _tls_text(output: OmelasticsearchOutput) -> str:
    encrypted = any(server.startswith("https:") for server in output.servers)
    return "on" if encrypted else "off"


def _spool(queue: Queue | None) -> str:
    return "none" if queue is None or queue.filename is None else str(queue.spool_directory)
