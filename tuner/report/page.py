"""A report as one page of HTML that opens anywhere; pure.

It has no scripts and asks for nothing; every text in it that is not our own is escaped by Jinja.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache

import jinja2

from tuner.render.assets import asset_text
from tuner.report.drawing import svg
from tuner.report.sections import Report, Table, numeric_columns, shown

# What keeps the page of a search of days below a megabyte.
_MOST_ROWS = 250
_CODE = re.compile("`([^`]+)`")
# What a phone shows beside one another: 390 pixels of small type, with two characters between
# columns.
_PHONE_CHARACTERS = 48


def page(report: Report) -> str:
    """The whole page; the same bytes for the same report."""
    style = asset_text("templates", "report.css")
    template = _environment().get_template("report.html.j2")
    return template.render(report=report, style=style, style_hash=_hash(style))


def _hash(style: str) -> str:
    """The source of a style element that a Content-Security-Policy names (CSP 3, section 2.3.1)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}"


def _plain(value: object) -> object:
    """What Jinja writes: text of others steers nothing; Jinja escapes it afterwards."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else shown(value)


def _coded(text: str) -> list[str]:
    """`text` cut at what stands between backticks: each second part is code.  Lines are broken
    neither in an arrow nor before one, nor between a number and its `%`."""
    arrows = text.replace(" -> ", "\N{NO-BREAK SPACE}\N{RIGHTWARDS ARROW} ")
    return _CODE.split(arrows.replace(" %", "\N{NO-BREAK SPACE}%"))


def _is_wide(table: Table) -> bool:
    """Whether a phone shows each row as a block, because the columns do not fit beside one
    another."""
    widths = [max(map(len, head.split()), default=0) for head in table.header]
    for row in table.rows:
        lengths = (max(map(len, (cell,) if isinstance(cell, str) else cell)) for cell in row)
        widths = list(map(max, widths, lengths))
    return sum(width + 2 for width in widths) > _PHONE_CHARACTERS


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: asset_text("templates", name)),
        undefined=jinja2.StrictUndefined,
        finalize=_plain,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "coded": _coded,
        "numeric": numeric_columns,
        "svg": svg,
    }
    environment.tests["wide"] = _is_wide
    environment.globals["most_rows"] = _MOST_ROWS
    return environment
