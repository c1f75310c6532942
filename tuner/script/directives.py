"""What the directives of the form before version 6 stand for today, as directives.toml says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tuner.reading import table
from tuner.script.script import QUEUE, ScriptObject

# The only queue parameter that is called otherwise today.
_SHUTDOWN, _SHUTDOWN_TODAY = "workertimeoutthreadshutdown", "timeoutworkerthreadshutdown"


class OldInput(NamedTuple):
    """What a directive that starts an input makes: its module, the parameter that the text of the
    directive is, "" for none, and those that it uses up."""

    type: str
    parameter: str
    uses: tuple[str, ...]


@dataclass(frozen=True)
class DirectiveTable:
    """Directives, in lower case, by the parameter that each sets: of the next action, of later ones
    and later inputs, of global() and of modules, the last two with the type that they are about;
    those that start inputs; and what the old form has by default."""

    next_action: Mapping[str, str]
    later: Mapping[str, tuple[str, str]]
    inputs: Mapping[str, OldInput]
    shared: Mapping[str, str]
    modules: Mapping[str, tuple[str, str]]
    action_queue: Mapping[str, str]
    main_queue: Mapping[str, str]
    module_defaults: Mapping[str, Mapping[str, str]]
    input_defaults: Mapping[str, Mapping[str, str]]

    def named(self, item: ScriptObject, parameter: str) -> str | None:
        """The directive that sets a parameter of an object; None where none does."""
        key = parameter.lower()
        if key.startswith(QUEUE) and item.kind in {"action", "main_queue"}:
            short = parameter[len(QUEUE) :]
            suffix = _SHUTDOWN if short.lower() == _SHUTDOWN_TODAY else short
            return ("ActionQueue" if item.kind == "action" else "MainMsgQueue") + suffix
        kinds = {"", item.type, f"{item.type}/{item.text('protocol')}"}
        meanings = [(name, says) for name, (kind, says) in self.later.items() if kind in kinds]
        own = {"action": self.next_action, "global": self.shared}.get(item.kind, {})
        return next((name for name, says in (*meanings, *own.items()) if says.lower() == key), None)


@cache
def directives() -> DirectiveTable:
    """What directives.toml says."""
    written = table("script/directives.toml")
    later, modules = (
        {key: (kind, name) for kind, names in written[part].items() for key, name in names.items()}
        for part in ("later", "modules")
    )
    defaults = written["defaults"]
    return DirectiveTable(
        written["next_action"],
        later,
        {key: OldInput(**row) for key, row in written["inputs"].items()},
        written["global"],
        modules,
        defaults["action"],
        defaults["main_queue"],
        defaults["module"],
        defaults["input"],
    )


def queue_parameter(suffix: str) -> str:
    """The parameter that a directive of a queue sets, by what it is called behind the queue."""
    return f"{QUEUE}{_SHUTDOWN_TODAY if suffix == _SHUTDOWN else suffix}"
