"""Templates of which no event can give a JSON object, and those of which some can."""

from __future__ import annotations

import pytest

from tuner.script.parser import parse
from tuner.script.script import ScriptObject
from tuner.script.template import never_json

HOST = 'property(name="hostname" format="jsonf" outname="host")'


def broken(text: str) -> str | None:
    """What is wrong with what the template writes."""
    ((one,), refused) = parse(text, "x.conf")
    assert isinstance(one, ScriptObject)
    assert not refused
    found = never_json(one)
    return None if found is None else found[1]


def listed(*parts: str, option: str = "") -> str:
    return f'template(name="t" type="list"{option}) {{ {" ".join(parts)} }}'


def constant(text: str) -> str:
    return 'constant(value="{}")'.format(text.replace('"', '\\"'))


def string(text: str) -> str:
    return 'template(name="t" type="string" string="{}")'.format(text.replace('"', '\\"'))


NEVER = {
    "a key by hand before jsonf": listed(constant('{"host":'), HOST, constant("}")),
    "no brace at the end": listed(constant("{"), HOST),
    "no comma": listed(constant("{"), HOST, constant('"a":1}')),
    "a comma too many": string('{"host":"%hostname%",}'),
    "a field twice": listed(constant("{"), HOST, constant(","), HOST, constant("}")),
    "no quotes around a text with words": string("{host:%hostname%}"),
    "a list": string('["%hostname%"]'),
    "text": string("%timereported% %hostname% text"),
    "option.jsonf without the format": listed(
        'property(name="hostname" outname="host")', option=' option.jsonf="on"'
    ),
}
SOMETIMES = {
    "members": listed(constant("{"), HOST, constant("}")),
    "made by rsyslogd": listed(HOST, option=' option.jsonf="on"'),
    "a text in quotes": string('{"host":"%hostname%","message":"%msg:::json%"}\\n'),
    "a text that may have quotes": string('{"message":"%msg%"}'),
    "all that was parsed": string("%$!all-json%"),
    "a message that is JSON": string("%msg:2:$%"),
    "members of a message": string('{"host":"%hostname%",%msg:3:$%'),
    "a part of it": string('{"host":"%hostname%","a":%$!a%}'),
    "a number": string('{"severity":%syslogseverity%}'),
    "a subtree": 'template(name="t" type="subtree" subtree="$!")',
    "csv": string('{"host":%hostname:::csv%}'),
}


@pytest.mark.parametrize("case", NEVER)
def test_what_no_event_can_mend(case: str) -> None:
    assert broken(NEVER[case])


@pytest.mark.parametrize("case", SOMETIMES)
def test_what_some_event_can_fill(case: str) -> None:
    assert broken(SOMETIMES[case]) is None
