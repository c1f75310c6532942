"""A report as one page of HTML that opens anywhere, with its plots as SVG; pure.

It has no scripts and asks for nothing; every text in it that is not our own is escaped by Jinja.
Plots are drawn by matplotlib without pyplot, which would keep state; text stays text, and colours
are those of the page.  Its style attributes are refused by a strict Content-Security-Policy: they
become classes and presentation attributes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from functools import cache
from typing import Any
from xml.etree import ElementTree

import jinja2

from tuner.reading import asset_text
from tuner.report.sections import Colour, Plot, Report, Table, numeric_columns, shown

# What keeps the page of a search of days below a megabyte.
_MOST_ROWS = 250
_CODE = re.compile("`([^`]+)`")
# What a phone shows beside one another: 390 pixels of small type, with two characters between
# columns.
_PHONE_CHARACTERS = 48

# In units of the drawing, near the width of a telephone: text of 10 units stays readable there.
_WIDTH = 400
_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_SIZE = re.compile(r"([\d.]+)px")
_FONT = frozenset({"font-family", "font-stretch", "font-variant", "font-style", "font-weight"})


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
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.globals["most_rows"] = _MOST_ROWS
    return environment


_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.color": Colour.INK.value,
    "font.size": 10,
    "axes.edgecolor": Colour.MUTED.value,
    "axes.facecolor": "none",
    "axes.labelcolor": Colour.MUTED.value,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": Colour.GRID.value,
    "grid.linewidth": 0.6,
    "xtick.color": Colour.MUTED.value,
    "ytick.color": Colour.MUTED.value,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.handlelength": 1.2,
    "legend.columnspacing": 1.2,
}


def svg(plot: Plot) -> str:
    """A plot as an SVG element; ids in it are made with its name, which a page has once.  The same
    every time, drawn with matplotlib's own defaults and ours: a user's matplotlibrc must not
    change, or break, what a report shows."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS | {"svg.hashsalt": plot.name})
        # Text is set in the fonts of whoever reads it.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure = Figure(figsize=(_WIDTH / 72, plot.height / 72), layout="constrained")
        plot.paint(figure)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    root = ElementTree.ElementTree().parse(io.StringIO(shown(drawn.getvalue())))
    return _embedded(root, plot)


def _embedded(root: ElementTree.Element, plot: Plot) -> str:
    """The drawing as part of a page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}:
                parent.remove(child)
    name = plot.name
    _name_definitions(root)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        _restyle(element)
    size = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib |= {"viewBox": size, "role": "img", "aria-labelledby": f"{name}-t {name}-d"}
    for position, (tag, text) in enumerate((("title", plot.title), ("desc", plot.says))):
        element = ElementTree.Element(tag, id=f"{name}-{tag[0]}")
        element.text = shown(text)
        root.insert(position, element)
    return re.sub(r">\s+<", "><", ElementTree.tostring(root, encoding="unicode"))


def _name_definitions(root: ElementTree.Element) -> None:
    """Definitions alone keep their ids, which matplotlib makes of their content and our salt."""
    defined = {id(part) for parts in root.iter(f"{{{_SVG}}}defs") for part in parts.iter()}
    for element in root.iter():
        if id(element) not in defined:
            element.attrib.pop("id", None)
        if _HREF in element.attrib:
            element.attrib["href"] = element.attrib.pop(_HREF)


def _restyle(element: ElementTree.Element) -> None:
    """Style as attributes; the colours of a page as classes: `f-ink` fills, `s-ink` strokes."""
    classes = []
    for declaration in element.attrib.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key in {"fill", "stroke"} and value.startswith("#"):
            classes.append(f"{key[0]}-{Colour(value).name.lower()}")
        elif key in {"font", "font-size"}:
            size = _SIZE.search(value)
            element.attrib["font-size"] = size[1] if size is not None else "10"
        elif key and key not in _FONT:
            element.attrib[key] = value
    if classes:
        element.attrib["class"] = " ".join(classes)
