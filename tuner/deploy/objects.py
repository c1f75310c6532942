"""The objects of an engine: what differs there from what a profile is rendered to, and how they are
put, and brought back as they were."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tuner.engine import normal
from tuner.engine.client import JSON, EngineClient, at, number_at, object_at
from tuner.engine.installed import (
    InstalledTemplate,
    OpenIndex,
    alias_writes,
    component_template,
    installed_templates,
    lifecycle_policy,
    old_templates,
    open_indices,
    same_template,
)
from tuner.engine.owned import MANAGER
from tuner.engines.index import Rotate
from tuner.engines.index_settings import INDEX_SETTINGS
from tuner.engines.release import Engine
from tuner.engines.settings import Update
from tuner.errors import Refused, TuneError
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.model import Profile
from tuner.render.engine_files import (
    first_index,
    index_patterns,
    live_settings,
    marked,
    place_of,
    policy,
    rendered_templates,
)
from tuner.render.templates import Templates

if TYPE_CHECKING:
    from tuner.engines.user_template import UserTemplate
    from tuner.profile.base import KeptBase


_ILM, _ISM = "/_ilm/", "/_plugins/_ism/"


@dataclass(frozen=True)
class ClusterObject:
    """One object of a cluster in normal form, None when it is missing, and as it should be.

    `body`, put at `path`, makes it so; `before` is the body that brings back what was found.
    `is_basis`: no more differs than what a profile changes in what it stands on.
    """

    name: str
    found: JSON | None
    wanted: JSON
    path: str
    body: JSON
    before: JSON | None
    is_basis: bool = False

    @property
    def differs(self) -> bool:
        """Whether there is anything to do."""
        return self.found != self.wanted

    def unified(self) -> str:
        """What would change, as a unified diff; empty when nothing would."""
        return unified_json(self.name, self.found, self.wanted, "profile")


def unified_json(name: str, found: JSON | None, wanted: JSON, whose: str) -> str:
    """What makes `wanted`, which is `whose`, of what a cluster has, as a unified diff."""
    label = name.replace(" ", "/")
    before = "/dev/null" if found is None else f"cluster/{label}"
    lines = difflib.unified_diff(_lines(found), _lines(wanted), before, f"{whose}/{label}")
    return "".join(lines)


def _lines(body: JSON | None) -> list[str]:
    """JSON without the commas at the ends of lines: a line added would change its neighbour."""
    if body is None:
        return []
    text = json.dumps(body, indent=2, sort_keys=True, ensure_ascii=True)
    return [f"{line.removesuffix(',')}\n" for line in text.splitlines()]


def compare(
    profile: Profile, client: EngineClient, site: Templates | None = None
) -> tuple[ClusterObject, ...]:
    """Every object that the profile's outputs are rendered to: component templates, the index
    template, the policy, the alias that rolls over, and the live settings of each open index.

    A template is looked for under the name of its index, else by its index patterns.  Of what a
    base has in the cluster only the template that it names is known; raises Refused without one.
    """
    if profile.base is not None:
        return (_user_template(profile.name, profile.base.kept, client),)
    installed = installed_templates(client)
    return tuple(
        cluster_object
        for output in profile.indexed
        for cluster_object in _objects(profile, output, client, site, installed)
    )


def _compared(name: str, path: str, body: JSON, before: JSON | None) -> ClusterObject:
    """An object by its name, its bodies brought to their normal form."""
    form = form_of(path)
    wanted, found = form(body), None if before is None else form(before)
    aligned = normal.respelled(found, wanted)
    found = aligned if isinstance(aligned, dict) else found
    return ClusterObject(name, found, wanted, path, body, before)


def comparable_template(kept: KeptBase) -> UserTemplate:
    """The template that a base names; raises Refused where it names none, or one that is nothing an
    engine has."""
    given = kept.template
    if given is None:
        raise Refused(
            "the profile stands on a configuration, and without base.template nothing says what "
            "the engine should have: save what GET _index_template/NAME answers, and name the file"
        )
    if not given.has_patterns:
        raise Refused(
            f"{given.file} has no index_patterns, and may be what several templates make together: "
            "save what GET _index_template/NAME answers, and name that as base.template"
        )
    return given


def _user_template(profile: str, kept: KeptBase, client: EngineClient) -> ClusterObject:
    """The template that a base names: under the name that its file says, else that of the engine's
    for the same patterns, else the profile's."""
    given = comparable_template(kept)
    kind, installed = "index template", installed_templates
    if not given.is_composable:
        kind, installed = "old index template", old_templates
    templates, ours = installed(client), None
    if given.name is None:
        ours = same_template(templates, "", given.patterns)
    ours = ours or same_template(templates, given.name or profile, ())
    path = f"/{place_of(given, profile if ours is None else ours.name)}"
    (body, _), before = marked(given), None if ours is None else ours.body
    name = f"{kind} {path.rpartition('/')[2]}"
    template = _compared(name, path, body, before)
    return replace(template, is_basis=_is_basis(template, kept.changed_settings))


def _is_basis(template: ClusterObject, changed: Collection[str]) -> bool:
    """Whether nothing differs but values of these settings."""

    def unchanged(body: JSON) -> JSON:
        flat = object_at(body, "settings")
        return body | {"settings": {name: flat[name] for name in flat if name not in changed}}

    found = template.found
    return found is not None and unchanged(found) == unchanged(template.wanted)


def _objects(
    profile: Profile,
    output: OmelasticsearchOutput,
    client: EngineClient,
    site: Templates | None,
    installed: Sequence[InstalledTemplate],
) -> Iterator[ClusterObject]:
    """The objects of one output."""
    index, engine, target = output.index, profile.release.engine, output.index.target
    body, components = rendered_templates(profile, output, site)
    for part, component in components.items():
        name, path = f"component template {target}-{part}", f"/_component_template/{target}-{part}"
        yield _compared(name, path, component, object_there(client, path, component))
    ours = same_template(installed, target, index_patterns(index))
    name, before = (target, None) if ours is None else (ours.name, ours.body)
    path = f"/_index_template/{name}"
    yield _compared(f"index template {name}", path, body, before)
    lifecycle = policy(engine, index, site)
    if lifecycle is not None:
        folder = "_plugins/_ism/policies" if engine is Engine.OPENSEARCH else "_ilm/policy"
        name, path = f"lifecycle policy {target}", f"/{folder}/{target}"
        yield _compared(name, path, lifecycle, object_there(client, path, lifecycle))
    if index.rotate is Rotate.ROLLOVER:
        writes = alias_writes(client, target)
        found: JSON | None = None if writes is None else {"is_write_index": writes}
        name, path = f"alias {target}", f"/{target}-000001"
        yield ClusterObject(name, found, {"is_write_index": True}, path, first_index(index), None)
    yield from _open_indices(output, client, site)


def _open_indices(
    output: OmelasticsearchOutput, client: EngineClient, site: Templates | None
) -> Iterator[ClusterObject]:
    """The live settings of each open index."""
    body = live_settings(output, site)
    wanted = normal.settings(body)
    for pattern in index_patterns(output.index):
        for index in open_indices(client, pattern):
            found = normal.respelled(_live_of(index, wanted), wanted)
            given = normal.settings(index.settings)
            yield ClusterObject(
                name=f"index {index.name}",
                found=found if isinstance(found, dict) else {},
                wanted=wanted,
                path=f"/{index.name}/_settings",
                body=body,
                before={name: given.get(name) for name in wanted},
            )


# Elasticsearch gives it to every new index.
_TIERS = "index.routing.allocation.include._tier_preference"


def _live_of(index: OpenIndex, wanted: JSON) -> JSON:
    """The settings of an open index that a profile may write and a running index takes; those that
    nobody gave count where their default is what the profile writes."""
    live = {
        name: value
        for name, value in normal.settings(index.settings).items()
        if (setting := INDEX_SETTINGS.get(name.removeprefix("index."))) is not None
        and setting.update is Update.DYNAMIC
        and (name in wanted or name != _TIERS)
    }
    defaults = normal.settings(index.defaults)
    implied = {
        name: value
        for name, value in wanted.items()
        if name not in live and normal.same(str(defaults.get(name)).lower(), str(value).lower())
    }
    return live | implied


def object_there(client: EngineClient, path: str, body: JSON) -> JSON | None:
    """What is at `path` now, in the form of `EngineChange.before`; of settings those in `body`."""
    place, _, name = path.rpartition("/")
    if name == "_settings":
        given = [normal.settings(item.settings) for item in open_indices(client, place[1:])]
        return {key: given[0].get(key) for key in normal.settings(body)} if given else None
    if place in {"/_index_template", "/_template"}:
        templates = old_templates(client) if place == "/_template" else installed_templates(client)
        return {item.name: item.body for item in templates}.get(name)
    if place == "/_component_template":
        return component_template(client, name)
    if place:
        is_ism = place.startswith("/_plugins/")
        return lifecycle_policy(client, Engine.OPENSEARCH if is_ism else Engine.ELASTICSEARCH, name)
    # The first index of an alias that rolls over.
    return None if alias_writes(client, name.removesuffix("-000001")) is None else {}


@dataclass(frozen=True)
class EngineChange:
    """An object of the engine: what is at `path`, None for nothing, what is put there, and how
    these differ."""

    path: str
    before: JSON | None
    body: JSON
    name: str = ""
    diff: str = ""
    kind: Literal["put"] = "put"


def put(client: EngineClient, path: str, body: JSON) -> None:
    """Bring the object at `path` to this body; OpenSearch changes a policy only for who names its
    number (ISM API, if_seq_no)."""
    policy = client.find(path) if path.startswith(_ISM) else None
    number, term = at(policy, "_seq_no"), at(policy, "_primary_term")
    condition = "" if number is None else f"?if_seq_no={number}&if_primary_term={term}"
    client.request("PUT", path + condition, body)


def bring_all_back(
    client: EngineClient, puts: Sequence[EngineChange], tell: Callable[[str], None]
) -> list[str]:
    """Bring back what was there before these objects were put, the last one first; gives what went
    wrong."""
    failures = []
    for change in reversed(puts):
        try:
            remark = bring_back(client, change)
        except TuneError as bad:
            failures.append(str(bad))
        else:
            tell(f"engine: {change.path[1:]} as before" if remark is None else remark)
    return failures


def bring_back(client: EngineClient, was_put: EngineChange) -> str | None:
    """What was there before an object was put, or nothing; done twice it changes nothing.  What
    others changed meanwhile stays, and a first index that holds events, which is said."""
    path, before = was_put.path, was_put.before
    is_settings = path.endswith("/_settings")
    if not path.startswith("/_") and not is_settings:
        return _first_index_back(client, path)
    live = object_there(client, path, was_put.body)
    # An index that is gone has no settings to bring back.
    if live is None and (before is None or is_settings):
        return None
    if live is not None and not any(
        means_same(path, live, body) for body in (was_put.body, before) if body is not None
    ):
        return f"{path[1:]} was changed by somebody else meanwhile and stays"
    if before is None:
        client.request("DELETE", path)
    else:
        put(client, path, normal.puttable(before))
    return None


def means_same(path: str, live: JSON, body: JSON) -> bool:
    """Whether the object at `path`, as it is there now, means the same as a body."""
    form = form_of(path)
    return normal.respelled(form(live), form(body)) == form(body)


def form_of(path: str) -> Callable[[JSON], JSON]:
    """What brings the object at `path` to its normal form."""
    if path.endswith("/_settings"):
        return normal.settings
    return normal.policy if path.startswith((_ILM, _ISM)) else normal.template


def _first_index_back(client: EngineClient, path: str) -> str | None:
    """None once it is gone, else why it stays."""
    index = client.find(path)
    if not index:
        return None
    if at(index, path[1:], "mappings", "_meta", "managed_by") != MANAGER:
        return f"{path[1:]} is not ours and stays"
    # What came since the last refresh is not counted.
    client.request("POST", f"{path}/_refresh")
    count = number_at(client.find(f"{path}/_count"), "count")
    if count:
        return f"{path[1:]} holds {count:,} events and stays"
    client.request("DELETE", path)
    return None
