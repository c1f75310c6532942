"""The order of statements: what may change places in a profile, where steps come before outputs,
and what keeps its whole ruleset as it is because it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importer.test_import import DOCUMENT, imported, listed

_TEMPLATES = (
    'template(name="all" type="list") { property(name="$!all-json") }\n'
    'template(name="a" type="string" string="{\\"a\\":\\"%$!a:::json%\\"}")\n'
)
_WHOLE, _A, _MESSAGE = (
    f'action(type="omelasticsearch" template="{name}")\n' for name in ("all", "a", "d")
)
_LOOP = "foreach ($.one in $!list) do {{ set $!{name} = $.one!name; }}\n"


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param('action(type="mmjsonparse")\n' + _WHOLE, id="parsed, then written"),
        pytest.param('set $!a = "1";\n' + _A, id="set, then written"),
        pytest.param(_MESSAGE + 'set $!a = "1";\n', id="set after an output that has no JSON"),
        pytest.param(_A + 'set $!ab = "1";\n', id="set after an output that has another member"),
        pytest.param(_A + 'set $.a = "1";\n', id="set after an output that has a member so called"),
        pytest.param('set $!a = "1";\nset $!b = $!a & "2";\n' + _WHOLE, id="set from what is set"),
        pytest.param(_LOOP.format(name="b") + 'set $!a = "1";\n' + _A, id="set after a loop"),
    ],
)
def test_what_may_change_places_is_a_step_or_an_output(rules: str, tmp_path: Path) -> None:
    made = imported(f"{DOCUMENT}{_TEMPLATES}{rules}", tmp_path)
    assert len(listed(made, "outputs")) == 1
    assert not [one.message for one in made.kept if "whole ruleset" in one.message]


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        pytest.param(_WHOLE + 'action(type="mmjsonparse")\n', 6, id="written, then parsed"),
        pytest.param(_A + 'set $!a = "1";\n', 6, id="written, then set"),
        pytest.param(_A + 'set $!a!b = "1";\n', 6, id="written, then a part of it set"),
        pytest.param(_A + "unset $!a;\n", 6, id="written, then taken away"),
        pytest.param(_A + _LOOP.format(name="a"), 6, id="written, then set by a loop"),
        pytest.param(
            _LOOP.format(name="a") + 'set $!b = $!a & "2";\n' + _A,
            6,
            id="set from what a loop sets",
        ),
        pytest.param(
            _LOOP.format(name="a") + 'set $!a = "1";\n' + _A, 6, id="set where a loop sets before"
        ),
        pytest.param(
            'if $!a == "1" then set $!b = "1";\n'
            'if $!a == "1" then {\nset $!a = "2";\n' + _A + "}\n",
            8,
            id="set between a condition and what it guards",
        ),
        pytest.param(
            'if $programname == "a" then {\naction(type="mmjsonparse")\n}\n' + _WHOLE,
            6,
            id="parsed for some, written for all",
        ),
    ],
)
def test_what_may_not_keeps_its_whole_ruleset(rules: str, line: int, tmp_path: Path) -> None:
    made = imported(f"{DOCUMENT}{_TEMPLATES}{rules}", tmp_path)
    assert made.data["outputs"] == []
    (kept,) = [one for one in made.kept if "whole ruleset" in one.message]
    assert kept.origin.line == line
    assert [one for one in made.snippets["site-outputs.conf"].splitlines() if one]


def test_a_message_that_is_changed_after_an_output_is_not_changed_before_it(tmp_path: Path) -> None:
    """Formats of rsyslog's own write the message too."""
    files = [f'action(type="omfile" file="/var/log/{name}")\n' for name in "ab"]
    between = f'{files[0]}module(load="mmanon")\naction(type="mmanon")\n{files[1]}'
    before = f'module(load="mmanon")\naction(type="mmanon")\n{files[0]}{files[1]}'
    assert imported(f"{DOCUMENT}{between}", tmp_path).data["outputs"] == []
    assert len(listed(imported(f"{DOCUMENT}{before}", tmp_path), "outputs")) == 2
