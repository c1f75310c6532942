"""What apply would change: the file of each host, the objects of the engine; shown, saved, held."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from tuner.deploy.host_profile import HostProfile, PlannedProfile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.objects import (
    ClusterObject,
    EngineChange,
    compare,
    form_of,
    means_same,
    object_there,
    unified_json,
)
from tuner.deploy.target import Candidate, Facts, RemoteHost, ReplacedFile, Tell, file_diff
from tuner.engine import normal
from tuner.engine.client import EngineClient, at
from tuner.engine.owned import MANAGER
from tuner.errors import BadUsage, Refused
from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.reading import json_of
from tuner.render.artefacts import RSYSLOG, mark_of
from tuner.render.templates import Templates
from tuner.script.secrets import hidden
from tuner.script.tokens import SURROGATES
from tuner.writing import raw_of

KIND = "apply-plan"
# In the order in which one needs the other.
_ORDER = ("/_ilm/", "/_plugins/_ism/", "/_component_template/", "/_index_template/", "/_template/")


@dataclass(frozen=True)
class HostChange:
    """The files of a host that change, none where it has all of it: `before` are the hashes of what
    was there when the plan was made, None for no file; `diff` shows what changes."""

    machine: InventoryHost
    candidate: Candidate
    before: tuple[str | None, ...]
    diff: str

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are replaced."""
        return tuple(path for path, _ in self.candidate.files)


@dataclass(frozen=True)
class DeployPlan:
    """All that one apply does; `url` is the engine's.  It may be one that `undoes` a run: of that
    the profile was."""

    profile: PlannedProfile
    hosts: tuple[HostChange, ...]
    url: str | None = None
    objects: tuple[EngineChange, ...] = ()
    undoes: bool = False
    schema: int = 3
    kind: str = KIND

    @property
    def host_names(self) -> list[str]:
        """The hosts, also those on which nothing changes."""
        return [change.machine.name for change in self.hosts]

    @property
    def diffs(self) -> list[tuple[str, str]]:
        """What changes on each host, then of each object of the engine, as unified diffs."""
        of_hosts = [(change.machine.name, change.diff) for change in self.hosts]
        return of_hosts + [(change.name, change.diff) for change in self.objects]

    @property
    def diff(self) -> str:
        """Everything that changes, the engine first; empty for nothing."""
        return "".join([*(put.diff for put in self.objects), *(host.diff for host in self.hosts)])


_PLAN = TypeAdapter(DeployPlan)
_MARK = str(mark_of(RSYSLOG)).encode()


def saved(plan: DeployPlan) -> str:
    """A plan as the text of a file; bytes of a base that are no UTF-8 are escapes in it."""
    return json.dumps(_PLAN.dump_python(plan, mode="json"), indent=2) + "\n"


def read_plan(text: str, name: str) -> DeployPlan | None:
    """The plan in a text, None where it is something else; raises BadUsage for one that is not
    whole."""
    if not text.lstrip().startswith("{") or f'"{KIND}"' not in text:
        return None
    try:
        return _PLAN.validate_python(json_of(text))
    except ValidationError as bad:
        first = bad.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadUsage(f"{name} is not a plan of this version: {place}: {first['msg']}") from None
    except ValueError as bad:
        raise BadUsage(f"{name} is not a whole plan: {bad}") from None


def host_change(host: HostProfile, facts: Facts) -> HostChange:
    """What a rendered configuration changes on a host."""
    live = facts.live
    new = [(path, text) for path, text in host.files.items() if live.get(path) != raw_of(text)]
    candidate = Candidate(tuple(new), host.mode, sockets_of(host.profile))
    return _change(host.machine, candidate, facts)


def _change(machine: InventoryHost, candidate: Candidate, facts: Facts) -> HostChange:
    live = [(path, text, facts.live.get(path)) for path, text in candidate.files]
    diffs = (
        file_diff(machine, path, there, None if text is None else raw_of(text))
        for path, text, there in live
    )
    before = tuple(digest_of(there) for _, _, there in live)
    return HostChange(machine, candidate, before, "".join(diffs))


def engine_changes(
    profile: Profile, client: EngineClient, site: Templates | None, take_over: bool
) -> tuple[tuple[EngineChange, ...], tuple[str, ...]]:
    """What differs in the engine, in the order in which it is to be put, and why it must not be:
    objects that are not ours to change.  A base that names no template has none."""
    if profile.base is not None and profile.base.kept.template is None:
        return (), ()
    differing = [change for change in compare(profile, client, site) if change.differs]
    changes = (
        EngineChange(change.path, change.before, change.body, change.name, change.unified())
        for change in differing
    )
    foreign = (_why_not_ours(change, take_over) for change in differing)
    return tuple(sorted(changes, key=lambda change: _rank(change.path))), tuple(
        filter(None, foreign)
    )


def require_unchanged(change: HostChange, facts: Facts) -> None:
    """Raise Refused where a live file is not the one that the plan was made for."""
    for path, before in zip(change.paths, change.before, strict=True):
        if digest_of(facts.live.get(path)) != before:
            name = change.machine.name
            raise Refused(f"{name}: {path} changed since the plan: make a new one")


def require_same_engine(plan: DeployPlan, client: EngineClient) -> None:
    """Raise Refused where an object of the engine is not the one that the plan was made for."""
    for change in plan.objects:
        if object_there(client, change.path, change.body) != change.before:
            raise Refused(f"the engine changed since the plan: {change.name}: make a new one")


def unfit(host: HostProfile, facts: Facts, take_over: bool) -> Iterator[str]:
    """Why the host is not one for this profile, and which files are not ours to replace."""
    name, profile = host.machine.name, host.profile
    if release_number(facts.rsyslogd) < release_number(profile.release.rsyslog):
        release = facts.rsyslogd or "no rsyslogd"
        yield (
            f"{name} has {release}, the profile is for rsyslog {profile.release.rsyslog} or newer: "
            "change release.rsyslog, and render again"
        )
    if not take_over:
        yield from _unknown(host, facts)
    busy = [socket for socket in sockets_of(profile) if socket in facts.taken]
    if busy:
        yield f"{name}: {', '.join(busy)} is taken by another program than its rsyslogd"


def _unknown(host: HostProfile, facts: Facts) -> Iterator[str]:
    """Which files of the host are neither rendered by us nor, with a base, what the profile stands
    on, but for parameters that it changes."""
    name = host.machine.name
    if host.profile.base is None:
        for path in host.files:
            live = facts.live.get(path)
            if live is not None and _MARK not in live:
                yield (
                    f"{name}: {path} is not rendered by rsyslog-tune, and what it does (such as "
                    "the host's own logs) would end: use --fragment, or --take-over to replace it"
                )
        return
    base = host.profile.base.kept
    contents = {file: facts.live.get(path) for file, path in host.places.items()}
    missing = [host.places[file] for file, content in contents.items() if content is None]
    if missing:
        yield (
            f"{name} has no {', '.join(missing)}: the profile stands on other files than this host "
            f"has; import --host {name} makes one that stands on those, --take-over brings them"
        )
        return
    try:
        made = base.with_changes({file: content or b"" for file, content in contents.items()})
    except LookupError as bad:
        yield f"{name}: the changes have no place in its own files: {bad.args[0]}"
        return
    for file, path in host.places.items():
        if made[file] != raw_of(host.files[path]):
            yield (
                f"{name}: {path} differs from what the profile stands on in more than the "
                f"parameters that it changes: import --host {name} makes a profile on top of it, "
                "--take-over replaces it (see apply --take-over --diff)"
            )


def digest_of(content: bytes | None) -> str | None:
    """What tells two files apart."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def release_number(text: str) -> tuple[int, ...]:
    """The first two parts of a version, for comparing: 8.2302.0 gives (8, 2302)."""
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


def _rank(path: str) -> int:
    """Policies, components, templates, then indices, the settings of open ones last."""
    ranks = (number for number, start in enumerate(_ORDER) if path.startswith(start))
    return next(ranks, len(_ORDER) + path.endswith("/_settings"))


def _why_not_ours(differing: ClusterObject, take_over: bool) -> str | None:
    if differing.name.startswith("alias ") and differing.found is not None:
        return f"{differing.name} writes to no index: set is_write_index for one of its indices"
    if (
        differing.before is None
        or differing.is_basis
        or differing.path.endswith("/_settings")
        or take_over
    ):
        return None
    policy, mappings = at(differing.before, "policy"), at(differing.before, "mappings")
    marks = [at(part, "_meta", "managed_by") for part in (differing.before, policy, mappings)]
    if MANAGER in marks or MANAGER in str(at(policy, "description")):
        return None
    return (
        f"{differing.name} was not made by rsyslog-tune (no _meta.managed_by): use --take-over to "
        "replace it"
    )


def hosts_before(
    machines: Iterable[InventoryHost], run: str | None, tell: Tell
) -> Iterator[HostChange]:
    """What each host had before the change that it kept last, or before that by `run`; `tell` takes
    a sentence on a host without one.  Raises Refused where somebody changed a file since, and
    Locked where a change is under way."""
    for machine in machines:
        previous = RemoteHost(machine).previous()
        if previous is None:
            tell(f"{machine.name}: left alone: it keeps nothing from before an apply")
        elif run not in (None, previous.run):
            tell(f"{machine.name}: left alone: the last apply that it kept is another one")
        else:
            yield _before(machine, previous.files)


def _before(machine: InventoryHost, files: Sequence[ReplacedFile]) -> HostChange:
    name = machine.name
    facts = RemoteHost(machine, [file.path for file in files]).facts(())
    facts.require_finished(name)
    changed = [file.path for file in files if digest_of(facts.live.get(file.path)) != file.put]
    if changed:
        raise Refused(
            f"{name}: {', '.join(changed)} changed since that apply: what was there before it is "
            f"in {machine.paths.state}/deploy/previous; put back by hand what you need of it"
        )
    texts = [
        (file.path, None if file.content is None else file.content.decode("utf-8", SURROGATES))
        for file in files
    ]
    is_private = any(text and hidden(text) != text for _, text in texts)
    return _change(machine, Candidate(tuple(texts), "600" if is_private else "644", ()), facts)


def objects_before(
    puts: Sequence[EngineChange], client: EngineClient, tell: Tell
) -> tuple[EngineChange, ...]:
    """What the engine had before; `tell` takes a sentence on what was new, and stays.  Raises
    Refused where somebody changed an object since."""
    changes = []
    for put in reversed(puts):
        name, live = put.path[1:], object_there(client, put.path, put.body)
        if put.before is None:
            tell(f"engine: {name} was new, and stays: delete it when no index needs it")
        elif live is None or not means_same(put.path, live, put.body):
            raise Refused(f"the engine's {name} changed since that apply: put it back by hand")
        else:
            form, body = form_of(put.path), normal.puttable(put.before)
            diff = unified_json(name, form(live), form(body), "before")
            changes.append(EngineChange(put.path, live, body, name, diff))
    return tuple(changes)
