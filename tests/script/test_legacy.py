"""The old form as the objects that stand for it today."""

from __future__ import annotations

import pytest

from tuner.script.legacy import modernised
from tuner.script.parser import parse
from tuner.script.printing import printed
from tuner.script.script import ScriptObject
from tuner.script.template import TemplateProperty, template_of


def today(text: str) -> list[str]:
    block, refused = parse(text, "x.conf")
    assert not refused
    return printed(modernised(block)[0]).splitlines()


def test_another_default_ruleset_takes_the_events_of_the_rules_outside() -> None:
    lines = today(
        '$DefaultRuleset local\n*.* /var/log/never\nmodule(load="imudp")\n'
        'ruleset(name="local") { action(type="omfile" file="/var/log/all") }\n'
    )
    unused = lines.index('ruleset(name="RSYSLOG_DefaultRuleset, not used") {')
    assert "/var/log/never" in "".join(lines[unused:])
    assert lines[0] == 'module(load="imudp")'
    assert lines[-1] == "call local"


def test_the_default_ruleset_may_be_rsyslogs_own_again() -> None:
    lines = today("$DefaultRuleset local\n$DefaultRuleset RSYSLOG_DefaultRuleset\n*.* /var/log/x\n")
    assert "call local" not in lines
    assert any("/var/log/x" in one for one in lines)


@pytest.mark.parametrize("first", ["$RuleSet r", 'ruleset(name="r") {}'])
def test_rules_go_to_the_first_ruleset_of_a_name_as_in_rsyslogd(first: str) -> None:
    lines = today(
        f"{first}\n$RuleSet R\n*.* /a\n$RuleSet RSYSLOG_DefaultRuleset\n*.* /c\n$RuleSet r\n"
        '*.* /b\nruleset(name="R") { stop }\n'
    )
    text = "".join(lines)
    begin = text.index('ruleset(name="r") {')
    inside = text[begin : text.index("}", text.index("/b"))]
    assert ("/a" in inside, "/c" in inside, "stop" in text) == (True, False, False)


def pieces(text: str) -> tuple[object, ...]:
    """The pieces of the one template of a configuration."""
    block, refused = parse(text, "x.conf")
    (one,) = modernised(block)[0]
    assert not refused
    assert isinstance(one, ScriptObject)
    (again,) = modernised(parse(printed((one,)), "x.conf")[0])[0]
    assert isinstance(again, ScriptObject)
    template = template_of(one)
    assert template is not None
    assert template_of(again) == template
    return template.pieces


# What rsyslogd 8.2302 wrote into a file for each.
ESCAPES = {
    r'template(name="t" type="string" string="1[a\\nb]2[c\\\\d]3[e\\\"f]5[\\t]6[\\x41]8[\\101]\n")':
        '1[a\\nb]2[c\\\\d]3[e\\"f]5[\\t]6[\\x41]8[\\101]\n',
    r'template(name="t" type="list") { constant(value="1[a\\nb]2[c\\\\d]3[e\\\"f]4[g\\%h%]5[\\t]'
    r'6[\\x41]7[\\101]8[\\q]9[\\r]A[\\b]B[\\a]C[\\f]D[\\v]E[\\?]F[\\\']\n") }':
        '1[a\nb]2[c\\d]3[e"f]4[g\\%h%]5[\t]6[A]7[\\101]8[\\q]9[\r]A[\b]B[\a]C[\f]D[\\v]E[?]F[\']\n',
    r'$template t,"1[a\nb]2[c\\d]3[e\"f]4[g\%h]5[\t]6[\x41]7[\65]8[\q]9[\\n]\n"':
        '1[a\nb]2[c\\d]3[e"f]4[g%h]5[t]6[x41]7[A]8[q]9[\\n]\n',
}  # fmt: skip


@pytest.mark.parametrize("text", ESCAPES, ids=["string", "list", "old"])
def test_a_template_is_unescaped_as_often_as_rsyslogd_does(text: str) -> None:
    assert pieces(f"{text}\n") == (ESCAPES[text],)


# What rsyslogd 8.2302 wrote for each, between the brackets; one NUL in a constant ends its part.
BYTES = {
    r'template(name="t" type="string" string="[\200]")': b"\x80",
    r'template(name="t" type="string" string="[\303\251]")': "\u00e9".encode(),
    r'template(name="t" type="string" string="[\0]]")': b"-",
    r'template(name="t" type="list") { constant(value="[\377]") }': b"\xff",
    r'template(name="t" type="list") { constant(value="[\\x80\\xe9]") }': b"\x80\xe9",
    r'template(name="t" type="list") { constant(value="[\0\0\0]]") }': b",0-",
    r'template(name="t" type="list") { constant(value="[\501]") }': b"A",
    r'$template t,"[\127\128\255\300]"': b"\x7f\x80\xff,",
    r'$template t,"[\195\169]"': "\u00e9".encode(),
}


@pytest.mark.parametrize("text", BYTES)
def test_an_escape_is_the_byte_that_rsyslogd_writes(text: str) -> None:
    (written,) = pieces(f"{text}\n")
    assert str(written).encode("utf-8", "surrogateescape") == b"[" + BYTES[text] + b"]"


def test_the_old_form_alone_writes_nul() -> None:
    """A text of the new form ends there."""
    assert today(r'$template t,"a[\0]b"' + "\n") == [r'$template t,"a[\0]b"']
    assert pieces(r'template(name="t" type="string" string="a[\000]b")' + "\n") == ("a[",)
    (constant,) = pieces(r'template(name="t" type="list") { constant(value="a[\\0]b") }' + "\n")
    assert constant == "a[\0]b"


@pytest.mark.parametrize("percent", ["", r"100\% "])
def test_properties_of_the_old_form_have_no_escapes(percent: str) -> None:
    regex = r'%msg:R,ERE,1,BLANK:"\.(a\\b)"--end:json%'
    before, found, *after = pieces(f'$template t,"{percent}{{\\"a{regex}\\"}}",sql # x\n')
    assert (before, after) == (f'{percent and "100% "}{{"a', ['"}'])
    assert isinstance(found, TemplateProperty)
    assert found.options == {
        "regex.expression": r'"\.(a\\b)"', "regex.type": "ERE", "regex.submatch": "1",
        "regex.nomatchmode": "BLANK", "format": "json",
    }  # fmt: skip


def test_main_queue_beats_the_directives_of_it() -> None:
    assert today('$MainMsgQueueSize 10\nmain_queue(queue.size="20")\n') == [
        'main_queue(queue.size="20")'
    ]


def test_a_filter_stays_as_it_is_written() -> None:
    """In an expression rsyslogd takes other names for a priority too, and matches no basic regular
    expressions."""
    filters = [
        ':syslogseverity-text, isequal, "error"', ':syslogfacility-text, !isequal, "app"',
        ':msg, isempty, ""', r':msg, regex, "a\(b\|[[:digit:]]\)\\{2\\}\"c"', "mail.*;auth.=info",
    ]  # fmt: skip
    lines = today("".join(f"{one} /var/log/a\n" for one in filters))
    assert [one.removesuffix(" {") for one in lines if one.endswith("{")] == filters


def test_what_waits_for_the_next_action_is_gone_after_it() -> None:
    waiting = "$ActionResumeRetryCount -1\n$ActionQueueType LinkedList\n$ActionName far\n"
    new = 'action(type="omfwd" target="c")'
    lines = today(f"{waiting}*.* @@a\n*.* @@b\n{waiting}{new}\n*.* @@d\n")
    first, *others = (one for one in lines if "action(" in one)
    assert 'action.resumeRetryCount="-1"' in first
    assert 'queue.type="LinkedList"' in first
    assert len(others) == 3
    assert not [one for one in others if "resumeRetryCount" in one or "queue." in one]
    assert ['name="far"' in one for one in others] == [False, False, True]


def test_a_monitor_takes_what_is_said_of_its_file_alone() -> None:
    first = "$InputFileName /a\n$InputFileTag a:\n$InputFileSeverity error\n$InputFileReadMode 2\n"
    more = "$InputFilePersistStateInterval 9\n$InputFileBindRuleset r\n$InputRunFileMonitor\n"
    lines = today(f"{first}{more}$InputFileName /b\n$InputFileTag b:\n$InputRunFileMonitor\n")
    assert 'readMode="2"' in lines[0]
    assert lines[1].startswith("input(")
    for name in ("severity", "readMode", "persistStateInterval"):
        assert name in lines[0]
        assert name not in lines[1]
    assert 'ruleset="r"' in lines[1]


def test_senders_by_tcp_and_udp_open_their_connections_again_apart() -> None:
    lines = today("$ActionSendTCPRebindInterval 5\n*.* @@a\n*.* @b\n")
    assert ['rebindInterval="5"' in one for one in lines if "action(" in one] == [True, False]


def test_permitted_peers_add_up_and_the_next_sender_by_tcp_takes_them() -> None:
    peer = "$ActionSendStreamDriverPermittedPeer"
    lines = today(f"{peer} a.org\n{peer} b.org\n*.* @u\n*.* @@t\n*.* @@x\n")
    named = ['streamDriverPermittedPeers="a.org,b.org"' in one for one in lines if "action(" in one]
    assert named == [False, True, False]
    assert "".join(lines).count("PermittedPeers") == 1


def test_what_every_listener_has_stands_at_its_module() -> None:
    peer = "$InputTCPServerStreamDriverPermittedPeer"
    lines = today(
        f"$ModLoad imtcp\n{peer} a.org\n$InputTCPServerRun 514\n{peer} b.org\n"
        "$InputTCPServerStreamDriverAuthMode x509/name\n"
    )
    assert lines == [
        'module(load="imtcp" permittedPeer=["a.org", "b.org"] streamDriver.authMode="x509/name")',
        'input(type="imtcp" port="514")',
    ]


@pytest.mark.parametrize(
    ("module", "directive", "start", "expected"),
    [
        ("imfile", "InputFilePollInterval", "InputRunFileMonitor x", 'pollingInterval="3"'),
        ("imudp", "UDPServerTimeRequery", "UDPServerRun 514", 'timeRequery="3"'),
        ("imudp", "IMUDPSchedulingPriority", "UDPServerRun 514", 'schedulingPriority="3"'),
        ("imptcp", "InputPTCPServerHelperThreads", "InputPTCPServerRun 514", 'threads="3"'),
        ("imrelp", "InputRELPServerBindRuleset", "InputRELPServerRun 514", 'ruleset="3"'),
        ("imuxsock", "SystemLogSocketFlowControl", "AddUnixListenSocket /x", 'flowControl="3"'),
    ],
)
def test_what_is_said_of_a_module_holds_for_all_of_its_inputs(
    module: str, directive: str, start: str, expected: str
) -> None:
    """rsyslogd takes the last of them, and none for a module that module() has loaded."""
    lines = today(f"$ModLoad {module}\n${directive} 2\n${start}\n${directive} 3\n")
    loaded, *inputs = lines
    assert loaded.startswith(f'module(load="{module}"')
    assert loaded.endswith(f"{expected})")
    assert module == "imrelp" or not [one for one in inputs if expected[:-2] in one]
    assert today(f'module(load="{module}")\n${directive} 2\n${start}\n')[:2] == [
        f'module(load="{module}")', f"${directive} 2"
    ]  # fmt: skip


def test_imfile_of_the_old_form_has_defaults_of_its_own() -> None:
    said = "$InputFileName /a\n$InputFileTag a:\n$InputFileMaxLinesAtOnce 5\n"
    loaded, first, second = today(f"$ModLoad imfile\n{said}" + "$InputRunFileMonitor\n" * 2)
    assert loaded == 'module(load="imfile" mode="polling")'
    for name in ("escapeLF", "addMetadata", "deleteStateOnFileDelete"):
        assert f'{name}="off"' in first
    assert 'maxLinesAtOnce="5"' in first
    assert 'maxLinesAtOnce="10240"' in second


def test_an_outchannel_says_the_file_of_its_actions() -> None:
    lines = today(
        "$outchannel rot, /var/log/rot, 1000, /bin/rotate it\n$outchannel rot,/no\n"
        "$outchannel whole,/var/log/whole\n*.* :omfile:$rot;t\n*.* :omfile:$whole\n"
        "*.* :omfile:$none\n*.* :omfile:?dyn\n"
    )
    rotating, whole, dynamic = (one.strip() for one in lines if "action(" in one)
    assert rotating == (
        'action(type="omfile" template="t" file="/var/log/rot" rotation.sizeLimit="1000" '
        'rotation.sizeLimitCommand="/bin/rotate it")'
    )
    assert whole == 'action(type="omfile" file="/var/log/whole")'
    assert dynamic == 'action(type="omfile" dynaFile="dyn")'
    assert "    :omfile:$none" in lines


def test_a_minus_before_a_file_says_not_to_synchronise_it() -> None:
    lines = today("$ActionFileEnableSync on\n*.* /a\n*.* -/b\n*.* :omfile:-/c\n")
    assert ['sync="on"' in one for one in lines if "action(" in one] == [True, False, False]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("~ # drop the noise", "stop"),
        ("|/dev/xconsole # pipe; all of it", 'action(type="ompipe" pipe="/dev/xconsole")'),
        ("?Dyn # per host", 'action(type="omfile" dynaFile="Dyn")'),
        ("-?Dyn ; Fmt # per host", 'action(type="omfile" dynaFile="Dyn" template="Fmt")'),
        ("/var/log/messages # all; of it", 'action(type="omfile" file="/var/log/messages")'),
        ("/var/log/a;Fmt#all", 'action(type="omfile" file="/var/log/a" template="Fmt")'),
        ("./rel", 'action(type="omfile" file="./rel")'),
        ("@a # x; y", 'action(type="omfwd" protocol="udp" target="a" port="514")'),
    ],
)  # fmt: skip
def test_a_comment_may_stand_behind_an_action(action: str, expected: str) -> None:
    assert [one.strip() for one in today(f':msg, contains, "noise" {action}\n')][1] == expected


# What rsyslogd 8.2302 wrote of " a,bc..." for each says where it begins and ends.
@pytest.mark.parametrize(
    ("written", "options"),
    [
        ("2:", {"position.to": "2"}),
        ("2", {"position.to": "2"}),
        ("2:0", {"position.to": "2"}),
        ("10:9", {"position.from": "9", "position.to": "10"}),
        ("2:$", {"position.from": "2"}),
        (":3", {"position.to": "3"}),
        ("$:2", {"position.to": "2"}),
        ("::jsonf:host", {"format": "jsonf", "outname": "host"}),
        (
            "R,ERE,1,BLANK,2:(a+)--end:json:host",
            {
                "regex.expression": "(a+)", "regex.type": "ERE", "regex.submatch": "1",
                "regex.nomatchmode": "BLANK", "regex.match": "2", "format": "json",
                "outname": "host",
            },
        ),
    ],
)  # fmt: skip
def test_the_parts_of_a_property_of_the_old_form(written: str, options: object) -> None:
    (found,) = pieces(f'template(name="t" type="string" string="%msg:{written}%")\n')
    assert isinstance(found, TemplateProperty)
    assert found.options == options


@pytest.mark.parametrize("directives", ["", "$MainMsgQueueSize 7\n"])
def test_a_ruleset_gets_a_queue_like_the_main_one(directives: str) -> None:
    """With the defaults of the old form, whatever is set (doRulesetCreateQueue() of ruleset.c)."""
    lines = today(f"{directives}$RuleSet r\n$RulesetCreateMainQueue on\n*.* /a\n")
    (ruleset,) = [one for one in lines if one.startswith("ruleset(")]
    assert f'queue.size="{7 if directives else 100000}"' in ruleset
    for parameter in ('queue.dequeueBatchSize="256"', 'queue.workerThreads="2"'):
        assert parameter in ruleset
