"""Fitting a profile to a lab: a pure step that says what it replaced."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engines.release import Engine, Release
from tuner.errors import Refused
from tuner.lab.bind_outputs import bind_outputs, bind_queue, output_rows, spool_text
from tuner.lab.site import Site
from tuner.lint.parameters import inputs_too_new
from tuner.modules.queue import Queue
from tuner.profile.bind_inputs import bind_inputs, input_rows, work_directory
from tuner.profile.lanes import Lanes
from tuner.profile.model import Global, Profile


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
    files and spool folders, replicas and a heap that does not fit; `ports` gives the first port of
    each input.

    Raises Refused for what a lab cannot measure.
    """
    if profile.parse is not None:
        raise Refused(
            f"parse: no flood sends {profile.parse.format} that this profile could take apart, "
            "its figures would be those of empty fields: measure it without parse"
        )
    bound = profile.model_copy(
        update={
            "release": _release(site),
            "global_": Global.model_validate(
                {"workDirectory": work_directory(profile, site.spool)}
            ),
            "inputs": bind_inputs(profile, ports, site.spool),
            "main_queue": bind_queue(profile.main_queue, site),
            "lanes": _bind_lanes(profile.lanes, site),
            "outputs": bind_outputs(profile, site),
            "impstats": None,
            "node": profile.node.model_copy(update={"heap": site.heap or profile.node.heap}),
        }
    )
    # model_copy does not validate: read the result again as if it had been written.
    checked = Profile.model_validate(bound.model_dump(by_alias=True, exclude_none=True))
    _require_known(checked)
    return Bound(checked, _substitutions(profile, checked, site))


def _release(site: Site) -> Release:
    version = ".".join(map(str, site.engine_version))
    if site.engine is Engine.ELASTICSEARCH:
        return Release(rsyslog=site.rsyslog, elasticsearch=version)
    return Release(rsyslog=site.rsyslog, opensearch=version)


def _bind_lanes(lanes: Lanes | None, site: Site) -> Lanes | None:
    if lanes is None:
        return None
    return lanes.model_copy(update={"queue": bind_queue(lanes.queue, site)})


def _substitutions(written: Profile, used: Profile, site: Site) -> tuple[Substitution, ...]:
    """What a reviewer must know was not tested as written; index names are ours by design."""
    rows = [
        ("release.rsyslog", written.release.rsyslog, used.release.rsyslog),
        (
            f"release.{written.release.engine.value}",
            _engine_text(written.release),
            site.engine_name if site.is_sink else _engine_text(used.release),
        ),
        ("global.workDirectory", _work_directory(written), _work_directory(used)),
        *input_rows(written.inputs, used.inputs),
        ("main_queue.spoolDirectory", spool_text(written.main_queue), spool_text(used.main_queue)),
        ("lanes.queue.spoolDirectory", *(spool_text(_lane(one)) for one in (written, used))),
        *output_rows(written, used),
        ("impstats", *(_counters(one) for one in (written, used))),
        ("node.heap", written.node.heap, used.node.heap),
    ]
    return tuple(Substitution(path, old, new) for path, old, new in rows if old != new)


def _work_directory(profile: Profile) -> str:
    return profile.global_.work_directory or "none"


def _counters(profile: Profile) -> str:
    """A lab writes rsyslog's counters its own way, whatever a profile says."""
    if profile.impstats is None:
        return "the lab's own, every second"
    return f"every {profile.impstats.interval} s"


def _lane(profile: Profile) -> Queue | None:
    return None if profile.lanes is None else profile.lanes.queue


def _engine_text(release: Release) -> str:
    return f"{release.engine.value} {'.'.join(map(str, release.engine_version))}"


def _require_known(bound: Profile) -> None:
    """Raise Refused when the lab's rsyslog is older than a parameter of an input."""
    for complaint in inputs_too_new(bound):
        raise Refused(f"the lab cannot run this profile: {complaint.message}")
