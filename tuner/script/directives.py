"""The parameters that `$` directives of rsyslog's legacy format set, from directives.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tuner.reading import table
from tuner.script.script import QUEUE, ScriptObject

# The only queue parameter whose name differs in the legacy format.
_LEGACY_SHUTDOWN, _SHUTDOWN = "workertimeoutthreadshutdown", "timeoutworkerthreadshutdown"


class LegacyInput(NamedTuple):
    """The input that a directive starts: its module, the parameter that the directive's text gives
    ("" for none), and the parameters that later inputs do not inherit."""

    type: str
    parameter: str
    uses: tuple[str, ...]


@dataclass(frozen=True)
class DirectiveTable:
    """The directives in lower case with the parameters that they set, and the defaults of the
    legacy format.

    `next_action` applies to the next action, `later` to all later actions or inputs of a type,
    `shared` to global(), `modules` to a module; `inputs` start an input.
    """

    next_action: Mapping[str, str]
    later: Mapping[str, tuple[str, str]]
    inputs: Mapping[str, LegacyInput]
    shared: Mapping[str, str]
    modules: Mapping[str, tuple[str, str]]
    action_queue: Mapping[str, str]
    main_queue: Mapping[str, str]
    module_defaults: Mapping[str, Mapping[str, str]]
    input_defaults: Mapping[str, Mapping[str, str]]

    def setter(self, item: ScriptObject, parameter: str) -> str | None:
        """The directive that sets a parameter of an object, None if there is none."""
        key = parameter.lower()
        if key.startswith(QUEUE) and item.kind in {"action", "main_queue"}:
            short = parameter[len(QUEUE) :]
            suffix = _LEGACY_SHUTDOWN if short.lower() == _SHUTDOWN else short
            return ("ActionQueue" if item.kind == "action" else "MainMsgQueue") + suffix
        kinds = {"", item.type, f"{item.type}/{item.text('protocol')}"}
        later = [(name, sets) for name, (kind, sets) in self.later.items() if kind in kinds]
        own = {"action": self.next_action, "global": self.shared}.get(item.kind, {})
        return next((name for name, sets in (*later, *own.items()) if sets.lower() == key), None)


@cache
def directives() -> DirectiveTable:
    """The table in directives.toml."""
    toml = table("script/directives.toml")
    later, modules = (
        {key: (kind, name) for kind, names in toml[part].items() for key, name in names.items()}
        for part in ("later", "modules")
    )
    defaults = toml["defaults"]
    return DirectiveTable(
        toml["next_action"],
        later,
        {key: LegacyInput(**row) for key, row in toml["inputs"].items()},
        toml["global"],
        modules,
        defaults["action"],
        defaults["main_queue"],
        defaults["module"],
        defaults["input"],
    )


def queue_parameter(suffix: str) -> str:
    """The parameter that a queue directive sets, by the directive's name without its prefix, such
    as `size` of `$ActionQueueSize`."""
    return f"{QUEUE}{_SHUTDOWN if suffix == _LEGACY_SHUTDOWN else suffix}"
