"""Which objects `config.enabled` switches off."""

from __future__ import annotations

from tuner.script.script import Block, Include, ScriptObject, Statement, rewritten

ENABLED = "config.enabled"


def is_enabled(one: ScriptObject | Include) -> bool | None:
    """Whether rsyslogd takes an object, which any text but "on" forbids (nvlstChkDisabled() of
    grammar/rainerscript.c); None where that is known only when it starts."""
    given = [each for each in one.parameters if each.key == ENABLED]
    if not given:
        return True
    return None if given[-1].text is None else given[-1].text == "on"


def enabled(block: Block) -> Block:
    """The block without the objects that are switched off."""
    return rewritten(block, _if_enabled)


def _if_enabled(one: Statement) -> Block:
    is_off = isinstance(one, ScriptObject) and is_enabled(one) is False
    return () if is_off else (one,)
