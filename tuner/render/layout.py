"""Jinja lays out what is already safe, and refuses everything else."""

from __future__ import annotations

from functools import cache

import jinja2

from tuner.render.assets import asset_text
from tuner.render.quoting import Emitted

# More than any rendered file nests.
_DEEPEST = 8


def _only_emitted(value: object) -> Emitted:
    """What Jinja may write: nothing that did not come through the quoter."""
    if isinstance(value, Emitted):
        return value
    if isinstance(value, jinja2.Undefined):
        str(value)  # StrictUndefined raises here, with the name in the template
    raise TypeError(f"a template tried to write {value!r}, which did not come through the quoter")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: asset_text("templates", name)),
        undefined=jinja2.StrictUndefined,
        finalize=_only_emitted,
        autoescape=jinja2.select_autoescape(enabled_extensions=()),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["indents"] = tuple(Emitted("    " * depth) for depth in range(_DEEPEST))
    return environment


def lay_out(template: str, **values: object) -> str:
    """The packaged template called `template`, filled in."""
    return _environment().get_template(template).render(values)
