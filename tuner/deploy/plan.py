"""What apply would change: the file of each host, the objects of the engine; shown, saved, held."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property

from pydantic import TypeAdapter, ValidationError

from tuner.deploy.inventory import InventoryHost
from tuner.deploy.target import Candidate, Facts, RemoteHost
from tuner.engine import normal
from tuner.engine.client import JSON, EngineClient, at
from tuner.engine.installed import (
    alias_writes,
    component_template,
    installed_templates,
    lifecycle_policy,
    open_indices,
)
from tuner.engine.owned import MANAGER
from tuner.engines.release import Engine
from tuner.errors import BadUsage, Refused
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.render.artefacts import Artefact, mark_of
from tuner.render.templates import Templates
from tuner.render.tree import unified
from tuner.validate.difference import ClusterObject, compare

KIND = "apply-plan"
# In the order in which one needs the other.
_ORDER = ("/_ilm/", "/_plugins/_ism/", "/_component_template/", "/_index_template/")
# Passwords and keys that others wrote into a configuration: of ours none holds one.
_SECRET = re.compile(
    r"""((?:pwd|pass\w*|apikey|secret|token|key)\s*=\s*)(["'])(?!`).*?\2""", re.IGNORECASE
)


@dataclass(frozen=True)
class HostChange:
    """The file of a host: `before` is the hash of what was there when the plan was made, None for
    no file; `diff` shows what changes, empty for nothing."""

    machine: InventoryHost
    fragment: str | None
    candidate: Candidate
    before: str | None
    diff: str


@dataclass(frozen=True)
class EngineChange:
    """An object of the engine: what is put at `path`, and what was there, None for nothing."""

    name: str
    path: str
    body: JSON
    before: JSON | None
    diff: str


@dataclass(frozen=True)
class DeployPlan:
    """All that one apply does; `text` and `layers` are the profile's, `url` is the engine's."""

    profile: str
    text: str
    layers: tuple[tuple[str, str], ...]
    hosts: tuple[HostChange, ...]
    url: str | None = None
    objects: tuple[EngineChange, ...] = ()
    schema: int = 1
    kind: str = KIND

    @cached_property
    def loaded(self) -> LoadedProfile:
        """The profile as it was planned."""
        return parse_profile(self.text, self.profile, self.layers)

    @property
    def diff(self) -> str:
        """Everything that changes, as unified diffs; empty for nothing."""
        return "".join((*(one.diff for one in self.objects), *(one.diff for one in self.hosts)))


_PLAN = TypeAdapter(DeployPlan)


def saved(plan: DeployPlan) -> str:
    """A plan as the text of a file."""
    return _PLAN.dump_json(plan, indent=2).decode() + "\n"


def read_plan(text: str, name: str) -> DeployPlan | None:
    """The plan in a text, None where it is something else; raises BadUsage for one that is not
    whole."""
    if not text.lstrip().startswith("{") or f'"{KIND}"' not in text:
        return None
    try:
        return _PLAN.validate_json(text)
    except ValidationError as bad:
        first = bad.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise BadUsage(f"{name} is not a plan of this version: {where}: {first['msg']}") from None


def host_change(
    target: RemoteHost, facts: Facts, fragment: str | None, file: Artefact, profile: Profile
) -> HostChange:
    """What a rendered configuration changes on a host."""
    candidate = Candidate(file.text, "600" if file.private else "644", sockets_of(profile))
    live = None if facts.live is None else facts.live.content
    old = None if live is None else live.decode("utf-8", "replace")
    label = f"{target.machine.name}{target.live}"
    return HostChange(
        machine=target.machine,
        fragment=fragment,
        candidate=candidate,
        before=digest_of(live),
        diff="".join(masked(line) for line in unified(label, old, file.text)),
    )


def engine_changes(
    profile: Profile, client: EngineClient, site: Templates | None, take_over: bool
) -> tuple[EngineChange, ...]:
    """What differs in the engine, in the order in which it is to be put; raises Refused for an
    object that is not ours to change."""
    differing = [one for one in compare(profile, client, site) if one.differs]
    for one in differing:
        _require_ours(one, take_over)
    changes = (
        EngineChange(one.name, one.path, one.body, one.before, one.unified()) for one in differing
    )
    return tuple(sorted(changes, key=lambda one: _rank(one.path)))


def require_unchanged(change: HostChange, facts: Facts) -> None:
    """Raise Refused where the live file is not the one that the plan was made for."""
    if digest_of(None if facts.live is None else facts.live.content) != change.before:
        raise Refused(f"{change.machine.name}: the file changed since the plan: make a new one")


def require_same_engine(plan: DeployPlan, client: EngineClient) -> None:
    """Raise Refused where an object of the engine is not the one that the plan was made for."""
    engine = plan.loaded.profile.release.engine
    for one in plan.objects:
        if _now(one, client, engine) != one.before:
            raise Refused(f"the engine changed since the plan: {one.name}: make a new one")


def _now(change: EngineChange, client: EngineClient, engine: Engine) -> JSON | None:
    """What is there, in the form of `before`."""
    place, _, name = change.path.rpartition("/")
    if name == "_settings":
        given = [normal.settings(one.settings) for one in open_indices(client, place[1:])]
        return {key: given[0].get(key) for key in change.before or {}} if given else None
    if place == "/_index_template":
        return {one.name: one.body for one in installed_templates(client)}.get(name)
    if place == "/_component_template":
        return component_template(client, name)
    if place:
        return lifecycle_policy(client, engine, name)
    # The first index of an alias that rolls over.
    return None if alias_writes(client, name.removesuffix("-000001")) is None else {}


def require_fit(
    target: RemoteHost, facts: Facts, profile: Profile, file: Artefact, take_over: bool
) -> None:
    """Raise Refused where the host is not one for this profile, or the file not ours."""
    name = target.machine.name
    if release_number(facts.rsyslogd) < release_number(profile.release.rsyslog):
        found = facts.rsyslogd or "no rsyslogd"
        raise Refused(
            f"{name} has {found}, the profile is for rsyslog {profile.release.rsyslog} or newer: "
            "change release.rsyslog, and render again"
        )
    mark = mark_of(file.path) or ""
    if facts.live is not None and mark.encode() not in facts.live.content and not take_over:
        raise Refused(
            f"{name}: {target.live} is not rendered by rsyslog-tune, and what it does (such as the "
            "host's own logs) would end: use --fragment, or --take-over to replace it"
        )
    busy = [one for one in sockets_of(profile) if one in facts.taken]
    if busy:
        raise Refused(f"{name}: {', '.join(busy)} is taken by another program than its rsyslogd")


def masked(line: str) -> str:
    """A line of a configuration without the value of a password or a key."""
    return _SECRET.sub(r"\1\2***\2", line)


def digest_of(content: bytes | None) -> str | None:
    """What tells two files apart."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def release_number(text: str) -> tuple[int, ...]:
    """The first two parts of a version, for comparing: 8.2302.0 gives (8, 2302)."""
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


def _rank(path: str) -> int:
    """Policies, components, templates, then indices, the settings of open ones last."""
    for number, start in enumerate(_ORDER):
        if path.startswith(start):
            return number
    return len(_ORDER) + path.endswith("/_settings")


def _require_ours(one: ClusterObject, take_over: bool) -> None:
    if one.name.startswith("alias ") and one.found is not None:
        raise Refused(f"{one.name} writes to no index: set is_write_index for one of its indices")
    if one.before is None or one.path.endswith("/_settings") or take_over:
        return
    policy = at(one.before, "policy")
    marks = at(one.before, "_meta", "managed_by"), at(policy, "_meta", "managed_by")
    if MANAGER not in marks and MANAGER not in str(at(policy, "description")):
        raise Refused(
            f"{one.name} was not made by rsyslog-tune (no _meta.managed_by): use --take-over to "
            "replace it"
        )
