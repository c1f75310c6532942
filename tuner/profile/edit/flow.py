"""Values as YAML text that is safe anywhere on one line."""

from __future__ import annotations

import math
import re

import yaml

_TEXT = "tag:yaml.org,2002:str"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*|[0-9]+[A-Za-z%][A-Za-z0-9_%]*|-1[a-z]+")
_ONE_LINE = re.compile(r"[\x20-\x7e]*")


class _Dumper(yaml.SafeDumper):
    """Quotes every text but words that all versions of YAML read as text."""

    def text(self, value: str) -> yaml.ScalarNode:
        style = None if _WORD.fullmatch(value) and _stays_text(value) else '"'
        return self.represent_scalar(_TEXT, str(value), style)


_Dumper.add_multi_representer(str, _Dumper.text)
_Dumper.add_representer(str, _Dumper.text)


def _stays_text(word: str) -> bool:
    """Whether YAML reads a bare word as text, not as a switch or a number."""
    node = yaml.compose(word, Loader=yaml.SafeLoader)
    return node is not None and node.tag == _TEXT


def flow(value: object, style: str | None = None) -> str:
    """`value` in flow style; strings keep the quotes of `style` (' or ") where they can."""
    keeps = isinstance(value, str) and (
        style == '"' or (style == "'" and _ONE_LINE.fullmatch(value) is not None)
    )
    text = yaml.dump(
        value,
        Dumper=yaml.SafeDumper if keeps else _Dumper,
        default_style=style if keeps else None,
        default_flow_style=True,
        sort_keys=False,
        width=math.inf,
    )
    return text.removesuffix("\n").removesuffix("\n...")
