"""What a cluster has, compared with what a profile is rendered to."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tuner.engine import normal
from tuner.engine.client import JSON, EngineClient
from tuner.engine.installed import (
    InstalledTemplate,
    OpenIndex,
    alias_writes,
    component_template,
    installed_templates,
    lifecycle_policy,
    open_indices,
    same_template,
)
from tuner.engines.index import Rotate
from tuner.engines.release import Engine
from tuner.engines.settings import INDEX_SETTINGS, Update
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.model import Profile
from tuner.render.engine_files import (
    components,
    composed_template,
    first_index,
    index_patterns,
    index_template,
    live_settings,
    policy,
)
from tuner.render.templates import Templates


@dataclass(frozen=True)
class ClusterObject:
    """One object of a cluster in normal form, None when it is missing, and as it should be.

    `body`, put at `path`, makes it so; `before` is the body that brings back what was found.
    """

    name: str
    found: JSON | None
    wanted: JSON
    path: str
    body: JSON
    before: JSON | None

    @property
    def differs(self) -> bool:
        """Whether there is anything to do."""
        return self.found != self.wanted

    def unified(self) -> str:
        """What would change, as a unified diff; empty when nothing would."""
        label = self.name.replace(" ", "/")
        lines = difflib.unified_diff(
            _lines(self.found),
            _lines(self.wanted),
            "/dev/null" if self.found is None else f"cluster/{label}",
            f"profile/{label}",
        )
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

    A template is looked for under the name of its index, else by its index patterns.
    """
    templates = installed_templates(client)
    return tuple(
        one
        for output in profile.indexed
        for one in (
            *_templates(profile, output, client, templates, site),
            *_policy(profile, output, client, site),
            *_alias(output, client),
            *_live(output, client, site),
        )
    )


def _compared(
    name: str, path: str, body: JSON, before: JSON | None, form: Callable[[JSON], JSON]
) -> ClusterObject:
    """An object by its name; `form` brings bodies to their normal form."""
    wanted = form(body)
    if before is None:
        return ClusterObject(name, None, wanted, path, body, None)
    found = form(before)
    aligned = normal.respelled(found, wanted)
    return ClusterObject(
        name, aligned if isinstance(aligned, dict) else found, wanted, path, body, before
    )


def _templates(
    profile: Profile,
    output: OmelasticsearchOutput,
    client: EngineClient,
    templates: Sequence[InstalledTemplate],
    site: Templates | None,
) -> Iterator[ClusterObject]:
    target, body = output.index.target, index_template(profile, output, site)
    if output.index.components:
        body = composed_template(profile, output, site)
        for part, wanted in components(profile, output, site).items():
            name = f"{target}-{part}"
            there, path = component_template(client, name), f"/_component_template/{name}"
            yield _compared(f"component template {name}", path, wanted, there, normal.template)
    ours = same_template(templates, target, index_patterns(output.index))
    name, found = (target, None) if ours is None else (ours.name, ours.body)
    path = f"/_index_template/{name}"
    yield _compared(f"index template {name}", path, body, found, normal.template)


def _policy(
    profile: Profile, output: OmelasticsearchOutput, client: EngineClient, site: Templates | None
) -> Iterator[ClusterObject]:
    index, engine = output.index, profile.release.engine
    rendered = policy(engine, index, site)
    if rendered is not None:
        there = lifecycle_policy(client, engine, index.target)
        folder = "_plugins/_ism/policies" if engine is Engine.OPENSEARCH else "_ilm/policy"
        path, name = f"/{folder}/{index.target}", f"lifecycle policy {index.target}"
        yield _compared(name, path, rendered, there, normal.policy)


def _alias(output: OmelasticsearchOutput, client: EngineClient) -> Iterator[ClusterObject]:
    if output.index.rotate is Rotate.ROLLOVER:
        writes = alias_writes(client, output.index.target)
        found: JSON | None = None if writes is None else {"is_write_index": writes}
        target = output.index.target
        wanted: JSON = {"is_write_index": True}
        path, body = f"/{target}-000001", first_index(output.index)
        yield ClusterObject(f"alias {target}", found, wanted, path, body, None)


def _live(
    output: OmelasticsearchOutput, client: EngineClient, site: Templates | None
) -> Iterator[ClusterObject]:
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


def _live_of(index: OpenIndex, wanted: JSON) -> JSON:
    """The settings of an open index that a profile may write and a running index takes; those that
    nobody gave count where their default is what the profile writes."""
    live = {
        name: value
        for name, value in normal.settings(index.settings).items()
        if (setting := INDEX_SETTINGS.get(name.removeprefix("index."))) is not None
        and setting.update is Update.DYNAMIC
    }
    defaults = normal.settings(index.defaults)
    implied = {
        name: value
        for name, value in wanted.items()
        if name not in live and normal.same(str(defaults.get(name)).lower(), str(value).lower())
    }
    return live | implied
