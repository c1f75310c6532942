"""Plots as parts of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.report.markup import seen
from tuner.report.page import svg
from tuner.report.sections import Colour, Plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOSTILE = "</style><script>alert(1)</script> ]]> \" ' & $x$ \x1b[2J \u202e"
SHOWN = "</style><script>alert(1)</script> ]]> \" ' & $x$ [U+001B][2J [U+202E]"


def drawing(title: str = "t", says: str = "d", name: str = "p") -> str:
    return svg(Plot(name, title, says, 200, paint, (), ()))


def paint(figure: Figure) -> None:
    above, below = figure.subplots(2, 1)
    above.plot([1, 2, 3], [4, 5, 3], "o--", color=Colour.BEST.value, label=HOSTILE)
    above.set_title(HOSTILE)
    below.barh(["a", "b"], [3, 4], color=Colour.WRITTEN.value, alpha=0.4)
    figure.legend(loc="outside lower center")


def test_a_plot_is_the_same_every_time() -> None:
    assert drawing() == drawing()


def test_colours_are_left_to_the_page_and_nothing_is_styled_inline() -> None:
    drawn = drawing()
    assert "style" not in {name for _, found in seen(drawn).elements for name in found}
    assert "style" not in seen(drawn).names()
    assert not re.search(r"#[0-9a-f]{6}", drawn)
    classes = " ".join(seen(drawn).values("class")).split()
    assert {"s-best", "f-best", "f-written", "f-ink", "f-muted"} <= set(classes)


def test_hostile_text_stays_text() -> None:
    found = seen(drawing(HOSTILE, HOSTILE))
    assert found.text.count(SHOWN) == 4
    assert "script" not in found.names()


def test_a_reader_is_told_what_it_shows() -> None:
    drawn = drawing("the title", "what it shows")
    root = seen(drawn).elements[0]
    assert root == ("svg", {"viewbox": "0 0 400 200", "role": "img", "aria-labelledby": "p-t p-d"})
    assert '<title id="p-t">the title</title><desc id="p-d">what it shows</desc>' in drawn


def test_ids_are_the_plot_s_own_and_what_is_referred_to_is_there() -> None:
    drawn = drawing()
    ids = seen(drawn).values("id")
    assert len(ids) == len(set(ids))
    assert set(ids).isdisjoint(seen(drawing(name="q")).values("id"))
    referred = re.findall(r'(?:href="|url\()#([^")]+)', drawn)
    assert referred
    assert set(referred) <= set(ids)
