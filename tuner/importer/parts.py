"""The objects of a configuration, sorted by kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuner.importer.gaps import Inexpressible
from tuner.importer.script import Block, Parameter, ScriptPosition, Statement, Thing
from tuner.importer.template import Template, template_of


@dataclass
class Parts:
    """The objects of a configuration by kind; `rules` are those of the default ruleset."""

    globals: list[Parameter] = field(default_factory=list)
    modules: dict[str, tuple[Parameter, ...]] = field(default_factory=dict)
    module_origins: dict[str, ScriptPosition] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    rulesets: dict[str, Thing] = field(default_factory=dict)
    inputs: list[Thing] = field(default_factory=list)
    main_queue: Thing | None = None
    module_things: dict[str, Thing] = field(default_factory=dict)
    template_things: dict[str, Thing] = field(default_factory=dict)
    others: list[Thing] = field(default_factory=list)
    rules: list[Statement] = field(default_factory=list)

    def add(self, one: Thing) -> None:
        """Sort one object in."""
        match one.kind:
            case "global":
                self.globals.extend(one.parameters)
            case "module":
                kind = (one.text("load") or "").lower().removesuffix(".so").rpartition("/")[2]
                kind = kind.removeprefix("builtin:")
                self.modules[kind] = (*self.modules.get(kind, ()), *one.parameters)
                self.module_origins.setdefault(kind, one.origin)
                self.module_things.setdefault(kind, one)
            case "template":
                self._template(one)
            case "ruleset":
                self.rulesets[(one.text("name") or "").lower()] = one
            case "input":
                self.inputs.append(one)
            case "main_queue":
                self.main_queue = one
            case _:
                self.others.append(one)

    def _template(self, one: Thing) -> None:
        self.template_things[(one.text("name") or "").lower()] = one
        try:
            template = template_of(one)
        except Inexpressible:
            return  # what uses it says so
        self.templates[template.name.lower()] = template


def parts_of(block: Block) -> Parts:
    """The objects among statements; the others are the rules of the default ruleset."""
    parts = Parts()
    for statement in block:
        if isinstance(statement, Thing) and statement.kind != "action":
            parts.add(statement)
        else:
            parts.rules.append(statement)
    return parts
