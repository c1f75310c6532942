"""The settings of what counts, by the names that rsyslog's counters have: of a profile or of a
configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from tuner.modules.queue import Place, Queue, QueueType, resolve
from tuner.script.counted import MAIN, queue_of_action
from tuner.script.objects import MAIN_QUEUE, Base
from tuner.script.parameters import misfit, queue_of
from tuner.script.script import ScriptObject

if TYPE_CHECKING:
    from tuner.profile.model import Profile
    from tuner.profile.placement import PlacedQueue

ENGINE_OUTPUT = "omelasticsearch"
_COUNT = re.compile(r"-?[0-9]{1,9}")
# How rsyslogd calls an action without a name.
_NUMBERED = re.compile(r"action-\d+-(?:builtin:)?(\w+)")


def called(action: str) -> str:
    """What a reader knows an action by: `action[es]`, or the number that rsyslogd gave it."""
    return action if _NUMBERED.fullmatch(action) else f"action[{action}]"


@dataclass(frozen=True)
class QueueSettings:
    """A queue: where its parameters are written, and their values with rsyslog's defaults."""

    path: str
    queue: Queue


@dataclass(frozen=True)
class OutputSettings:
    """An output: its module, how often it tries again after a failure, -1 without end, the file
    for what was refused, and whether the next output takes what it cannot."""

    module: str
    retry_count: int
    errorfile: str = ""
    has_stand_in: bool = False


@dataclass(frozen=True)
class Settings:
    """Queues and outputs by the names of their counters; `release` is the oldest rsyslog that runs
    them, such as 2302, where that is known."""

    queues: Mapping[str, QueueSettings] = field(default_factory=dict)
    outputs: Mapping[str, OutputSettings] = field(default_factory=dict)
    release: int | None = None

    def module_of(self, action: str) -> str | None:
        """The module of an action, which the counters' names say of those without a name; None
        where it is not known."""
        if action in self.outputs:
            return self.outputs[action].module
        numbered = _NUMBERED.fullmatch(action)
        return None if numbered is None else numbered[1]


def of_profile(profile: Profile) -> Settings:
    """The settings of the text that a profile is rendered to, its queues named as in the profile;
    or of the configuration that it stands on."""
    # Counters are read without a profile.
    from tuner.profile.placement import queues
    from tuner.render.rulesets import counter_names

    release = profile.release.rsyslog_number
    rendered = of_base(base_of_profile(profile), release)
    if profile.base is not None:
        return rendered
    paths = {
        name: _path(profile, queue)
        for queue in queues(profile)
        for name in counter_names(profile, queue)
    }
    named = {
        name: replace(queue, path=paths.get(name, queue.path))
        for name, queue in rendered.queues.items()
    }
    return replace(rendered, queues=named)


def base_of_profile(profile: Profile) -> Base:
    """The configuration that a profile is rendered to, or stands on."""
    # Counters are read without a profile.
    from tuner.profile.base import read_text
    from tuner.render.artefacts import RSYSLOG, rsyslog_conf

    if profile.base is not None:
        return profile.base.kept.changed
    return read_text(RSYSLOG, rsyslog_conf(profile))


def _path(profile: Profile, queue: PlacedQueue) -> str:
    match queue.path:
        case ("outputs", int(number), _):
            return f"outputs[{profile.outputs[number].name}].queue"
        case _:
            return ".".join(map(str, queue.path))


def of_base(base: Base, release: int | None = None) -> Settings:
    """The settings of a configuration of rsyslog."""
    return Settings(dict(_queues(base, release)), dict(_outputs(base, release)), release)


def _queues(base: Base, release: int | None) -> Iterator[tuple[str, QueueSettings]]:
    main = base.objects.get(MAIN_QUEUE)
    place = Place.IMPLICIT_MAIN if main is None else Place.MAIN
    yield MAIN, QueueSettings(MAIN_QUEUE, resolve(_written(main), place))
    for address, ruleset in base.of_kind("ruleset"):
        written = _written(ruleset)
        if written is not None:
            yield ruleset.name, QueueSettings(f"{address}.queue", resolve(written, Place.MAIN))
    for address, action in base.of_kind("action"):
        resolved = resolve(_written(action), Place.ACTION)
        if resolved.type is not QueueType.DIRECT:
            for name in base.counter_names(action, release):
                yield queue_of_action(name), QueueSettings(f"{address}.queue", resolved)


def _outputs(base: Base, release: int | None) -> Iterator[tuple[str, OutputSettings]]:
    actions = [action for _, action in base.of_kind("action")]
    for action, following in zip(actions, chain(actions[1:], [None]), strict=False):
        retries = action.text("action.resumeRetryCount") or "0"
        count = int(retries) if _COUNT.fullmatch(retries) else 0
        has_stand_in = following is not None and following.is_on(
            "action.execOnlyWhenPreviousIsSuspended"
        )
        errorfile = action.text("errorFile") or ""
        for name in base.counter_names(action, release):
            yield name, OutputSettings(action.type, count, errorfile, has_stand_in)


def _written(parent: ScriptObject | None) -> Queue | None:
    """The queue that an object says, as far as it is one that rsyslogd takes."""
    data = None if parent is None else queue_of(parent)
    return Queue.model_validate(data) if data and misfit(Queue, data) is None else None
