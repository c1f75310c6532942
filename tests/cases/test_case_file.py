"""A file of cases: what is wrong with it, all at once, and the messages that it is read as."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.factory import cases_of
from tuner.cases.case_file import messages
from tuner.cases.run import Surface
from tuner.errors import BadProfile

SURFACE = Surface(
    {"imtcp:514": "tcp", "imudp:514": "udp", "imudp:515": "udp", "imuxsock": "unix"},
    ("logs", "archive"),
    (),
)
ONE = "cases: [{name: one, line: x, outputs: []}]\n"


def refused(text: str, folder: Path) -> list[str]:
    with pytest.raises(BadProfile) as bad:
        messages(cases_of(text, folder), SURFACE)
    return [f"{one.line}:{one.column} {one.message} [{one.code}]" for one in bad.value.problems]


def sent(case: str, folder: Path, zone: str = "UTC") -> str:
    text = f"timezone: {zone}\ncases: [{{name: one, outputs: [], {case}}}]\n"
    (one,) = messages(cases_of(text, folder), SURFACE)
    return one.message.decode()


def test_names_that_the_configuration_lacks_are_all_said_at_once(tmp_path: Path) -> None:
    text = """\
cases:
- {name: a, line: x, input: imtcpp, outputs: [log]}
- {name: b, line: x, input: imudp, outputs: []}
- {name: c, line: x, expect: [{output: other, line: x}]}
- {name: d, line: x, sender: 198.51.100.7, outputs: []}
- {name: e, line: x, input: imuxsock, sender: 127.0.0.2, outputs: []}
- {name: f, line: x, outputs: [], expect: [{fields: {a: 1}}]}
- {name: g, line: x, outputs: [logs], expect: [{output: archive, line: x}]}
"""
    assert refused(text, tmp_path) == [
        "2:29 no input imtcpp is tested: did you mean imtcp:514? [RT021]",
        "2:47 no output log is tested: did you mean logs? [RT021]",
        "3:29 several inputs are imudp: write imudp:514 or imudp:515 [RT021]",
        "4:40 no output other is tested: there are logs, archive [RT021]",
        "5:30 this machine has no address 198.51.100.7 to send from: use one of 127.0.0.0/8, or "
        "give it one first (ip address add 198.51.100.7/32 dev lo) [RT021]",
        "6:47 imuxsock takes nothing from other machines: remove sender [RT021]",
        "7:44 this comes by no output that `outputs` lists: add that there, or remove it [RT021]",
        "8:48 this comes by no output that `outputs` lists: add that there, or remove it [RT021]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1 cases is missing: add it [RT003]"),
        ("cases: []\n", "1:8 cases must not be empty [RT002]"),
        (f"bogus: 1\n{ONE}", "1:1 there is no key bogus: known keys: profile, conf, timezone, cases"
         " [RT001]"),
        (f"timezone: Mars/X\n{ONE}", "1:11 timezone is wrong: this machine knows no such time zone:"
         " write one as Europe/Berlin, not 'Mars/X' [RT002]"),
        ("cases: [{name: a, line: x}]\n", "1:9 cases[0] is wrong: it expects nothing: write expect,"
         " or outputs: [] where nothing comes [RT002]"),
        ("cases: [{name: a, outputs: []}]\n", "1:9 cases[0] is wrong: write line, the message as it"
         " is, or message, its text alone [RT002]"),
        ("cases: [{name: a, line: x, host: h, outputs: []}]\n", "1:9 cases[0] is wrong: host: only "
         "with message, as line has its own head [RT002]"),
        ("cases: [{name: a, line: x, expect: nothing}]\n", "1:36 cases[0].expect is wrong: write a "
         "list of what must come; where that is nothing, outputs: [], not 'nothing' [RT002]"),
        ("cases: [{name: a, line: x, expect: [{output: logs}]}]\n", "1:37 cases[0].expect[0] is "
         "wrong: write fields, or line, of what must come [RT002]"),
        ("cases: [{name: a, line: x, expect: [{index: i, line: l}]}]\n", "1:37 cases[0].expect[0] "
         "is wrong: index, id, pipeline and fields are of documents, file and line of lines"
         " [RT002]"),
        ("cases: [{name: a, line: x, expect: [{line: {pattern: '('}}]}]\n", "1:54 "
         "cases[0].expect[0].line.pattern is wrong: it is no regular expression: missing ), "
         "unterminated subpattern at position 0, not '(' [RT002]"),
        ("cases: [{name: a, line: x, expect: [{fields: {a: {patern: x}}}]}]\n", "1:51 there is no "
         "key patern in cases[0].expect[0].fields.a: did you mean pattern? [RT001]"),
        ("cases: [{name: a, message: x, time: noon, outputs: []}]\n", "1:37 cases[0].time is wrong:"
         " write a time as 2026-11-21T06:30:00+01:00, not 'noon' [RT002]"),
        ("cases: [{name: a, line: x, outputs: []}, {name: a, line: y, outputs: []}]\n", "1:49 two "
         "cases are called a: give each a name of its own [RT002]"),
        (f"profile: a.yaml\nconf: b.conf\n{ONE}", "2:1 write profile or conf, not both [RT002]"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    assert refused(text, tmp_path)[0] == said


def test_a_line_is_sent_as_it_is(tmp_path: Path) -> None:
    assert sent('line: "<38>no head, \\u00e9"', tmp_path) == "<38>no head, \u00e9"


TIME = 'time: "2026-11-05T06:30:00+05:30", message: hello'


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        (TIME, "<13>Nov  5 06:30:00 host1 app: hello"),
        (f"{TIME}, facility: local3, severity: err, host: web1, program: 'sshd[42]'",
         "<155>Nov  5 06:30:00 web1 sshd[42]: hello"),
        (f"{TIME}, format: rfc5424, program: 'sshd[42]'",
         "<13>1 2026-11-05T06:30:00+05:30 host1 sshd 42 - - hello"),
        (f"{TIME}, format: rfc5424", "<13>1 2026-11-05T06:30:00+05:30 host1 app - - - hello"),
        (f"{TIME}, input: imuxsock", "<13>Nov  5 06:30:00 app: hello"),
        (f"{TIME}, format: bare", "hello"),
        ("time: 2026-11-05T06:30, message: hello, format: rfc5424",
         "<13>1 2026-11-05T06:30:00+00:00 host1 app - - - hello"),
    ],
)  # fmt: skip
def test_a_text_gets_a_head(case: str, wanted: str, tmp_path: Path) -> None:
    assert sent(case, tmp_path) == wanted


def test_without_a_time_it_is_now_where_rsyslogd_is(tmp_path: Path) -> None:
    made = sent("message: hello, format: rfc5424", tmp_path, "Asia/Kolkata")
    assert "+05:30 host1 " in made
