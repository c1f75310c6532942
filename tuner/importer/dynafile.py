"""The template of a dynaFile."""

from __future__ import annotations

from tuner.importer.gaps import Inexpressible
from tuner.importer.template import Template, TemplateProperty


def dyna_file(template: Template) -> dict[str, object]:
    """The parts of a path with one property; raises Inexpressible for any other."""
    properties = [one for one in template.pieces if isinstance(one, TemplateProperty)]
    texts = [one if isinstance(one, str) else None for one in template.pieces]
    if len(properties) != 1 or len(template.pieces) > 3 or texts[0] is None:
        raise Inexpressible(
            template.origin, f"the path of template {template.name} is not one property"
        )
    only = properties[0]
    if set(only.options) - {"securepath"}:
        raise Inexpressible(template.origin, f"template {template.name} has options in a path")
    data: dict[str, object] = {"before": texts[0], "property": only.lowered}
    return data | ({"after": texts[2]} if len(texts) == 3 else {})
