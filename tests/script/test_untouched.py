"""Whatever stands around a change stays, byte for byte: blanks, tabs, comments, line ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuner.script.configuration import configuration
from tuner.script.in_place import Changes, edited
from tuner.script.objects import base_of

# Lines that say nothing to rsyslogd about the actions below, each with what an editor may mend.
NOISE = [
    "# two  blanks,\ta tab and blanks at the end   ", "\t", "", "   ",
    "/* of\tmany  \n\n lines */  ", "*.info  /var/log/a.log\t", "& stop   ",
    "mail.*\t-/var/log/mail.log  # kept",
    '$FileCreateMode  0640\t', 'if $msg contains "a  b\t"  then  /var/log/b.log ',
    'template(name="t"  type="string"\tstring="%msg%\\n  ")   ', "# Zo\u00eb\u2019s \U0001f600  ",
]  # fmt: skip
OPENING = 'action(type="omelasticsearch" name="es"'
BETWEEN = [" ", "\t", "  ", "\n  ", "\n\t", "  # why  \n   ", " /* why */ "]
MARK = "12321"
ADDED = 'queue.dequeueBatchSize="500"'

blocks = st.lists(st.sampled_from(NOISE), max_size=6)
gap = st.sampled_from(BETWEEN)
ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn, parameter: str) -> tuple[str, str]:
    """A configuration with a parameter of the action `es`, and the part of it that this is."""
    inside = draw(gap) + parameter
    before = "".join(draw(gap) + one for one in draw(st.sets(st.sampled_from(OTHERS))))
    after = "".join(draw(gap) + one for one in draw(st.sets(st.sampled_from(BEHIND))))
    closing = draw(st.sampled_from([")", " )  ", "\n)", "\t)\t# end  "]))
    action = f"{OPENING}{before}{inside}{after}{closing}"
    lines = [*draw(blocks), action, *draw(blocks)]
    text = draw(ends).join(lines).replace("\n", draw(ends)).replace("\r\r", "\r")
    return text + draw(st.sampled_from(["", "\n", "\n\n  \n"])), inside


OTHERS = ['server="a  b"', 'bulkmode="on"', 'searchIndex="x"']
BEHIND = ['queue.type="LinkedList"', 'queue.size = "9"', 'uid="a\t)"']


def after(text: str, changes: Changes, folder: Path) -> str:
    path = folder / "rsyslog.conf"
    path.write_bytes(text.encode())
    (raw,) = edited(base_of(configuration(path)), changes).values()
    return raw.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("untouched")


many = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
KEY = ("action[es]", "queue.dequeueBatchSize")


@many
@given(texts(f'queue.dequeueBatchSize="{MARK}"'))
def test_a_value_alone_is_replaced(folder: Path, drawn: tuple[str, str]) -> None:
    text, _ = drawn
    assert after(text, {KEY: "500"}, folder) == text.replace(MARK, "500")


@many
@given(texts('bulkid="b"'))
def test_a_parameter_alone_is_added(folder: Path, drawn: tuple[str, str]) -> None:
    text, _ = drawn
    before, added, behind = after(text, {KEY: "500"}, folder).partition(ADDED)
    # With the blanks, or the line end and the indentation, that part it from its neighbour.
    parts = [
        (before[:at], behind[to:])
        for at in range(len(before.rstrip()), len(before) + 1)
        for to in range(len(behind) - len(behind.lstrip()) + 1)
    ]
    assert added
    assert text in {start + end for start, end in parts}


@many
@given(texts(f'queue.dequeueBatchSize="{MARK}"'))
def test_a_parameter_alone_goes(folder: Path, drawn: tuple[str, str]) -> None:
    text, _ = drawn
    made = after(text, {KEY: None}, folder)
    start = next(
        (n for n, (old, new) in enumerate(zip(text, made, strict=False)) if old != new), len(made)
    )
    gone = len(text) - len(made)
    # Where the same blank stands before and behind it, either may be the one that went.
    taken = [text[at : at + gone] for at in range(max(0, start - gone), start + 1)
             if text[:at] + text[at + gone :] == made]  # fmt: skip
    assert any(one.strip() == f'queue.dequeueBatchSize="{MARK}"' for one in taken), (text, made)
