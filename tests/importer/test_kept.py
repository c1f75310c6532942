"""What no key of a profile says: what is kept of it, with all that it needs, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importer.test_import import DOCUMENT, imported, listed, loaded
from tuner.importer.translate import translate
from tuner.importer.written import profile_text
from tuner.lint.load import parse_profile
from tuner.rainerscript.configuration import configuration
from tuner.rainerscript.template import extended
from tuner.render.artefacts import rsyslog_conf


def test_statements_that_change_what_is_asked_stay_in_their_order(tmp_path: Path) -> None:
    rules = (
        'if $!level == "1" then {\n    set $!level = "2";\n'
        '    action(type="omelasticsearch" template="d")\n}\n'
    )
    made = imported(f"{DOCUMENT}{rules}", tmp_path)
    assert made.data["outputs"] == []
    kept = made.snippets["site-outputs.conf"]
    assert kept.splitlines()[:2] == ['if $!level == "1" then {', '    set $!level = "2";']
    assert [one.message for one in made.kept] == [
        f"set $!level ({tmp_path}/rsyslog.conf:4) changes $!level, which its condition asks: "
        "its whole ruleset is kept"
    ]


def test_what_changes_events_is_a_step(tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}module(load="mmanon") lookup_table(name="owners" file="/etc/owners.json")\n'
        'template(name="owned" type="string" '
        'string="{\\"owner\\":\\"%$.owner:::json%\\",\\"m\\":\\"%msg:::json%\\"}")\n'
        'action(type="mmanon" ipv4.bits="8")\naction(type="mmjsonparse" cookie="")\n'
        'set $.owner = lookup("owners", $hostname);\n'
        'if $!kind == "login" then set $!label = $!user & "@" & $.owner;\n'
        "unset $!password;\n"
        'if $.owner == "ann" then action(type="omelasticsearch" template="owned")\n'
    )
    made = imported(text, tmp_path)
    assert (made.missing, made.kept, dict(made.snippets)) == ((), (), {})
    assert made.data["lookup_tables"] == {"owners": {"file": "/etc/owners.json"}}
    assert made.data["steps"] == [
        {"type": "mmanon", "ipv4.bits": 8},
        {"type": "parse"},
        {
            "type": "set",
            "variable": "owner",
            "value": [{"property": "hostname"}],
            "lookup": "owners",
        },
        {
            "type": "set",
            "json": "label",
            "value": [{"json": "user"}, {"constant": "@"}, {"variable": "owner"}],
            "filter": {"match": [{"json": "kind", "isequal": ["login"]}]},
        },
        {"type": "unset", "json": "password"},
    ]
    (data,) = listed(made, "outputs")
    assert data["filter"] == {"match": [{"variable": "owner", "isequal": ["ann"]}]}
    assert parse_profile(profile_text(made, ["x"]), "x").profile.steps


def test_a_line_of_texts_is_a_line(tmp_path: Path) -> None:
    text = (
        'template(name="l" type="string" string="<%pri%> %timereported:::date-rfc3339% %msg%\\n")\n'
        'action(type="omfile" file="/var/log/a" template="l")\n'
    )
    made = imported(f"{DOCUMENT}{text}", tmp_path)
    (data,) = listed(made, "outputs")
    assert data["line"] == [
        {"constant": "<"}, {"property": "pri"}, {"constant": "> "},
        {"property": "timereported"}, {"constant": " "}, {"property": "msg"},
    ]  # fmt: skip
    assert data["controlCharacters"] == "keep"
    loaded(f"{DOCUMENT}{text}", tmp_path)


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [("%msg:::escape-cc%", None), ("%msg:::space-cc% %hostname:::space-cc%", "space")],
)
def test_control_characters_become_what_they_did(
    pieces: str, wanted: str | None, tmp_path: Path
) -> None:
    text = (
        f'template(name="l" type="string" string="{pieces}\\n")\n'
        'action(type="omfile" file="/var/log/a" template="l")\n'
    )
    (data,) = listed(imported(f"{DOCUMENT}{text}", tmp_path), "outputs")
    assert data.get("controlCharacters") == wanted


def test_control_characters_of_two_kinds_stay_rsyslogs(tmp_path: Path) -> None:
    text = (
        'template(name="l" type="string" string="%msg:::escape-cc% %hostname%\\n")\n'
        'action(type="omfile" file="/var/log/a" template="l")\n'
    )
    assert imported(f"{DOCUMENT}{text}", tmp_path).data["outputs"] == []


def test_utf8_is_repaired_where_it_was(tmp_path: Path) -> None:
    actions = (
        'action(type="omfile" file="/var/log/raw")\n'
        'action(type="omfile" file="/var/log/json" template="d")\n'
    )
    fixed = 'module(load="mmutf8fix")\naction(type="mmutf8fix")\n'
    for before, wanted in (("", [None, False]), (fixed, [True, None])):
        made = imported(f"{DOCUMENT}{before}{actions}", tmp_path)
        assert [one.get("mmutf8fix") for one in listed(made, "outputs")] == wanted


@pytest.mark.parametrize(
    ("statement", "is_kept"),
    [
        ('set $!env = "prod";', True),
        ('set $.env = "prod";', False),
        ('if $!env == "x" then action(type="omfile" file="/var/log/x")', True),
    ],
)
def test_messages_sent_as_they_are_get_no_json_of_other_statements(
    statement: str, is_kept: bool, tmp_path: Path
) -> None:
    text = (
        f'{DOCUMENT}template(name="raw" type="string" string="%msg%")\n'
        f'action(type="omelasticsearch" template="raw")\n{statement}\n'
    )
    made = imported(text, tmp_path)
    assert ("parse" in made.data) is not is_kept
    assert any("sent as they are" in one.message for one in made.kept) is is_kept


def test_parsing_for_some_events_is_not_done_for_outputs_of_others(tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}template(name="all" type="list") {{ property(name="$!all-json") }}\n'
        'if $programname == "a" then action(type="mmjsonparse")\n'
        'action(type="omelasticsearch" template="all")\n'
    )
    made = imported(text, tmp_path)
    assert "parse" not in made.data
    assert 'action(type="mmjsonparse")' in made.snippets["site-outputs.conf"]
    assert made.data["snippets"] == {
        "modules": ["mmjsonparse", "omelasticsearch"],
        "start": ["site-start.conf"],
        "outputs": ["site-outputs.conf"],
    }


def test_a_snippet_has_the_modules_and_rulesets_that_it_names(tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}template(name="t" type="string" string="{{\\"%$.k%\\":1}}")\n'
        'ruleset(name="refused") { action(type="omfile" file="/var/log/refused") }\n'
        'ruleset(name="again") { call refused }\n'
        'action(type="omelasticsearch" template="t" retryFailures="on" retryRuleset="again")\n'
        'action(type="ommail" server="mx")\n'
    )
    made = imported(text, tmp_path)
    assert made.missing == ()
    assert made.data["snippets"] == {
        "modules": ["omelasticsearch", "ommail"], "start": ["site-start.conf"],
        "outputs": ["site-outputs.conf"], "end": ["site-end.conf"],
    }  # fmt: skip
    assert made.snippets["site-start.conf"].startswith('template(name="t"')
    end = made.snippets["site-end.conf"].splitlines()
    assert [line for line in end if line.startswith("ruleset")] == [
        'ruleset(name="refused") {', 'ruleset(name="again") {',
    ]  # fmt: skip


@pytest.mark.parametrize(
    "action",
    [
        'type="omkafka" broker="b:9092" topic="chosen" dynatopic="on" template="d"',
        'type="omelasticsearch" pipelineName="chosen" dynPipelineName="on" template="d" '
        'action.execOnlyEveryNthTime="2"',
        'type="omelasticsearch" searchType="chosen" dynSearchType="on" template="d" '
        'action.execOnlyEveryNthTime="2"',
        'type="omhttp" server="h" restpath="chosen" dynrestpath="on" retry="on" template="d" '
        'retry.ruleset="again"',
        'type="ommail" server="mx" subject.template="chosen"',
    ],
)
def test_a_snippet_has_the_templates_that_any_parameter_names(action: str, tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}template(name="chosen" type="string" string="x-%syslogseverity-text%")\n'
        f"action({action})\n"
    )
    made = imported(text, tmp_path)
    assert [one.origin.line for one in made.kept] == [4]
    assert 'template(name="chosen"' in made.snippets["site-start.conf"]


@pytest.mark.parametrize(
    ("asked", "has_else"),
    [
        ('not (prifilt("mail.none"))', False),
        ("$syslogseverity <= 7", False),
        ("$syslogfacility >= 0 or $syslogseverity > 3", False),
        ("$syslogseverity <= $!limit", True),
        ("$msg == 'a'", True),
    ],
)
def test_a_selector_has_no_else_which_rsyslogd_refuses_where_it_takes_all(
    tmp_path: Path, asked: str, has_else: bool
) -> None:
    """rsyslogd makes selectors of comparisons with numbers."""
    text = (
        f'{DOCUMENT}if {asked} then {{\n    action(type="ommail" server="a")\n'
        '    stop\n}\naction(type="ommail" server="b")\n'
    )
    kept = imported(text, tmp_path).snippets["site-outputs.conf"]
    assert ("else" in kept) == has_else
    assert kept.count("if ") == (1 if has_else else 2)


def test_what_is_called_and_bound_stands_after_the_modules_that_it_needs(tmp_path: Path) -> None:
    text = (
        'module(load="imtcp") module(load="imudp") module(load="omelasticsearch")\n'
        'input(type="imtcp" port="10514" ruleset="in_tcp")\n'
        'input(type="imudp" port="10514" ruleset="central")\n'
        'ruleset(name="in_tcp") { set $.secure = "false"; call central }\n'
        'ruleset(name="central" queue.type="LinkedList") {\n'
        '    action(type="omelasticsearch" server="es1" queue.type="LinkedList")\n}\n'
    )
    made = imported(text, tmp_path)
    assert 'ruleset(name="central"' in made.snippets["site-end.conf"]
    assert "site-start.conf" not in made.snippets


def test_a_kept_action_reads_its_secret_from_a_file(tmp_path: Path) -> None:
    action = 'action(type="ompgsql" server="db" user="u" pass="geheim" db="logs")\n'
    made = imported(f"{DOCUMENT}{action}", tmp_path)
    assert made.missing == ()
    assert "pass=`cat /etc/rsyslog.d/ompgsql.pass`" in made.snippets["site-outputs.conf"]
    assert [one.message for one in made.changed] == [
        "the secret stands in the configuration: put it, without a line end, into "
        "/etc/rsyslog.d/ompgsql.pass, readable by rsyslog alone"
    ]


def test_the_queue_of_a_called_ruleset_is_that_of_its_only_action(tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}ruleset(name="es" queue.type="LinkedList" queue.size="9000") {{\n'
        '  action(type="omelasticsearch" template="d")\n}\ncall es\n'
    )
    made = imported(text, tmp_path)
    assert made.missing == ()
    (data,) = listed(made, "outputs")
    assert data["queue"] == {"type": "LinkedList", "size": 9000, "dequeueBatchSize": 1024}


@pytest.mark.parametrize(
    ("action", "key", "wanted", "said"),
    [
        ('template="gone"', "document", {"property": "msg", "name": "message"},
         "no template gone: the profile writes what rsyslog does without one"),
        ('template="d" searchIndex="gone" dynSearchIndex="on"', "index",
         {"name": "gone", "mapping": "dynamic"},
         "there is no template gone: the profile takes it as the name of the index"),
    ],
)  # fmt: skip
def test_a_template_that_is_not_there_is_said(
    action: str, key: str, wanted: dict[str, object], said: str, tmp_path: Path
) -> None:
    made = imported(f'{DOCUMENT}action(type="omelasticsearch" {action})\n', tmp_path)
    (data,) = listed(made, "outputs")
    value = data[key]
    assert (value[0] if isinstance(value, list) else value) == wanted
    assert [one.message for one in made.missing] == [said]


def test_rulesets_that_nothing_leads_to_get_every_event_where_nothing_else_does(
    tmp_path: Path,
) -> None:
    text = f'{DOCUMENT}ruleset(name="send") {{ action(type="omelasticsearch" template="d") }}\n'
    made = imported(text, tmp_path)
    assert [one.message for one in made.missing] == [
        "nothing leads to ruleset send: the profile hands it every event"
    ]
    assert [one["type"] for one in listed(made, "outputs")] == ["omelasticsearch"]


@pytest.mark.parametrize(
    ("basic", "wanted"),
    [
        (r"a\(b\)*", "a(b)*"),
        ("a+b?(c)|d", r"a\+b\?\(c\)\|d"),
        (r"x\{2,3\}{", r"x{2,3}\{"),
        ("*a^b$c$", r"\*a\^b\$c$"),
        ("^*[](+]x", r"^\*[](+]x"),
        (r"\(^a\|b$\)\.", r"(^a|b$)\."),
    ],
)
def test_basic_expressions_as_extended_ones(basic: str, wanted: str) -> None:
    assert extended(basic) == wanted


def test_messages_without_their_brace_are_json_merged(tmp_path: Path) -> None:
    for piece in (
        'name="msg" position.from="2"',
        'name="msg" regex.expression="{\\\\(.*\\\\)" regex.submatch="1"',
    ):
        text = (
            'template(name="d" type="list") { constant(value="{\\"host\\":\\"") '
            f'property(name="hostname") constant(value="\\",") property({piece}) }}\n'
            'input(type="imtcp" port="10514")\naction(type="omelasticsearch" template="d")\n'
        )
        made = imported(text, tmp_path)
        (data,) = listed(made, "outputs")
        assert data["document"] == [{"property": "hostname", "name": "host"}, {"json": "*"}]
        assert made.data["parse"] == {"format": "json", "cookie": ""}


def test_no_break_spaces_are_blanks_and_said_once(tmp_path: Path) -> None:
    text = f'{DOCUMENT}action(type="omelasticsearch"\n\xa0\xa0template="d"\n\xa0bulkmode="on")\n'
    made = imported(text, tmp_path)
    assert [one.origin.line for one in made.missing] == [4]
    assert "no-break spaces" in made.missing[0].message
    assert listed(made, "outputs")


def test_inputs_and_counters_that_no_key_says_are_kept_with_their_rulesets(tmp_path: Path) -> None:
    text = (
        f'module(load="impstats" ruleset="stats" log.file.someday="on")\n{DOCUMENT}'
        'ruleset(name="stats") { action(type="omfile" file="/var/log/stats") }\n'
        'ruleset(name="pcap") { action(type="omfile" file="/var/log/pcap") }\n'
        'input(type="impcap" interface="lo" ruleset="pcap")\n'
        'input(type="imtcp" port="10515" maxFrameSize="1000")\n'
        'action(type="omelasticsearch" template="d")\n'
    )
    made = imported(text, tmp_path)
    assert made.missing == ()
    start, end = made.snippets["site-start.conf"], made.snippets["site-end.conf"]
    assert 'module(load="impstats" ruleset="stats" log.file.someday="on")' in start
    assert 'ruleset(name="stats")' in end
    assert 'input(type="impcap" interface="lo" ruleset="pcap")' in end


def test_what_rsyslog_ignores_of_queues_is_left_out_and_folders_are_found(tmp_path: Path) -> None:
    text = (
        'action(type="omelasticsearch" template="d" queue.type="LinkedList" '
        'queue.saveOnShutdown="on")\n'
        'action(type="omfile" file="/var/log/a" queue.type="LinkedList" queue.filename="a")\n'
    )
    profile = loaded(f"{DOCUMENT}{text}", tmp_path).profile
    first, second = profile.outputs
    assert first.queue is not None
    assert not first.queue.save_on_shutdown
    assert second.queue is not None
    assert second.queue.filename == "a"
    assert profile.global_.work_directory == "/var/spool/rsyslog"


def test_settings_of_the_system_socket(tmp_path: Path) -> None:
    text = (
        'module(load="imuxsock" SysSock.Annotate="on" SysSock.ParseTrusted="on" '
        'SysSock.RateLimit.Interval="0")\n'
        '*.* action(type="omfile" file="/var/log/syslog")\n'
    )
    made = loaded(text, tmp_path).profile.inputs[0].model_dump(by_alias=True, exclude_none=True)
    assert made["sysSock.annotate"] is made["sysSock.parseTrusted"] is True
    assert made["sysSock.rateLimit.interval"] == 0


def test_directives_of_modules_are_parameters_of_their_inputs(tmp_path: Path) -> None:
    text = (
        "$ModLoad imuxsock\n$ModLoad imjournal\n$ModLoad imklog\n$IMUXSockRateLimitInterval 5\n"
        "$SystemLogRateLimitInterval 7\n$SystemLogRateLimitBurst 70\n"
        "$KLogPermitNonKernelFacility on\n"
        "$IMJournalStateFile journal.state\n$imjournalRatelimitInterval 3\n*.* /var/log/all\n"
    )
    made = imported(text, tmp_path)
    assert (made.missing, made.kept) == ((), ())
    assert listed(made, "inputs") == [
        {"type": "imuxsock", "sysSock.rateLimit.interval": 7, "sysSock.rateLimit.burst": 70},
        {"type": "imjournal", "stateFile": "journal.state", "ratelimit.interval": 3},
        {"type": "imklog", "permitNonKernelFacility": True},
    ]
    without = imported(text.replace("$IMUX", "$OmitLocalLogging on\n$IMUX"), tmp_path)
    assert [one["type"] for one in listed(without, "inputs")] == ["imjournal", "imklog"]
    other = imported(text + "$AddUnixListenSocket /dev/other\n", tmp_path)
    assert (other.missing, other.kept) == ((), ())
    assert [one for one in listed(other, "inputs") if one["type"] == "imuxsock"] == [
        {"type": "imuxsock", "sysSock.rateLimit.interval": 7, "sysSock.rateLimit.burst": 70},
        {"type": "imuxsock", "socket": "/dev/other", "rateLimit.interval": 5},
    ]


@pytest.mark.parametrize(
    ("given", "sockets"),
    [("", [None, "/run/chroot/log"]), (' sysSock.use="off"', ["/run/chroot/log"])],
)
def test_a_socket_beside_the_systems_does_not_take_its_place(
    given: str, sockets: list[str | None], tmp_path: Path
) -> None:
    """What local programs log to /dev/log was lost without a word."""
    text = (
        f'module(load="imuxsock" sysSock.annotate="on"{given})\n'
        'input(type="imuxsock" socket="/run/chroot/log")\n*.* /var/log/all\n'
    )
    profile = loaded(text, tmp_path).profile
    assert [one.paths(1)[0] if one.paths(1) else None for one in profile.inputs] == sockets
    rendered = rsyslog_conf(profile)
    assert ('sysSock.use="on"' in rendered) == (None in sockets)
    assert ('sysSock.annotate="on"' in rendered) == (None in sockets)


def test_imfile_names_the_file_of_its_position_itself(tmp_path: Path) -> None:
    """stateFile changes nothing, and rsyslogd -N1 refuses it in the new form."""
    old = (
        "$ModLoad imfile\n$InputFileName /var/log/app\n$InputFileTag app:\n"
        "$InputFileStateFile stat-app\n$InputRunFileMonitor\n*.* /var/log/all\n"
    )
    new = (
        'module(load="imfile")\n*.* /var/log/all\n'
        'input(type="imfile" file="/var/log/app" tag="app:" stateFile="stat-app")\n'
    )
    made = [imported(text, tmp_path) for text in (old, new)]
    for one in made:
        assert (one.missing, one.kept) == ((), ())
        (source,) = listed(one, "inputs")
        assert (source["file"], source["tag"]) == ("/var/log/app", "app:")
    said = "imfile ignores stateFile, and names that file itself: left out"
    assert [said in [gap.message for gap in one.changed] for one in made] == [False, True]


def test_files_that_a_snippet_reads_have_a_folder_for_their_positions_too(tmp_path: Path) -> None:
    text = (
        'module(load="imfile") module(load="imtcp")\ninput(type="imtcp" port="514")\n'
        'input(type="imfile" file="/var/log/app" tag="app:" notOfAProfile="on")\n*.* /var/log/all\n'
    )
    made = imported(text, tmp_path)
    assert [one.message for one in made.kept] == [
        "input imfile: a profile has no key for the parameter notOfAProfile"
    ]
    assert made.data["global"] == {
        "workDirectory": "/var/spool/rsyslog", "net.enableDNS": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    "template",
    [
        r'$template t,"[\200]%msg%\n"',
        r'template(name="t" type="string" string="[\310]%msg%\n")',
        r'template(name="t" type="list") { constant(value="[\\xc8]\\n") }',
        r'template(name="t" type="list") { constant(value="[\\0]\\n") }',
    ],
)
def test_bytes_that_no_profile_holds_stay_in_a_snippet(tmp_path: Path, template: str) -> None:
    made = imported(f"$ModLoad imudp\n$UDPServerRun 514\n{template}\n*.* /var/log/x;t\n", tmp_path)
    assert listed(made, "outputs") == []
    assert [one.message for one in made.kept] == [
        "action omfile: it has NUL, or bytes that are no UTF-8"
    ]
    assert any(word in "".join(made.snippets.values()) for word in (r"\310", r"\\xc8", r"\\0"))


def test_a_file_that_is_no_utf_8_keeps_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rsyslog.conf"
    rules = '$template t,"caf\xe9 %msg%\\n"\n*.* /var/log/x;t\n'
    path.write_text(f"$ModLoad imudp\n$UDPServerRun 514\n{rules}", encoding="latin-1")
    made = translate(configuration([path]), "site")
    assert r"caf\351 %msg%" in "".join(made.snippets.values())


def test_a_template_with_nul_is_said(tmp_path: Path) -> None:
    rules = r'$template t,"[\0]%msg%\n"' + "\n*.* /var/log/x;t\n*.* /var/log/y\n"
    made = imported(f"$ModLoad imudp\n$UDPServerRun 514\n{rules}", tmp_path)
    assert [one["file"] for one in listed(made, "outputs")] == ["/var/log/y"]
    assert any(one.message == "the directive $template" for one in made.missing)
    assert any("there is no template t" in one.message for one in made.missing)


def test_outputs_that_no_profile_may_have_are_kept_in_their_order(tmp_path: Path) -> None:
    queue = 'queue.type="LinkedList" queue.size="100" queue.dequeueBatchSize="200"'
    rules = "".join(f'action(type="omfile" file="/{name}" {queue})\n' for name in "abc")
    made = imported(f"$ModLoad imudp\n$UDPServerRun 514\n{rules}", tmp_path)
    (text,) = made.snippets.values()
    places = [text.find(f'file="/{name}"') for name in "abc"]
    assert -1 not in places
    assert places == sorted(places)


def test_imfile_polls_where_the_old_form_loads_it_alone(tmp_path: Path) -> None:
    said = "$InputFileName /a\n$InputFileTag a:\n$InputRunFileMonitor\n$InputFilePollInterval 3\n"
    (old,) = listed(imported(f"$ModLoad imfile\n{said}*.* /x\n", tmp_path), "inputs")
    assert (old["mode"], old["pollingInterval"], old["maxLinesAtOnce"]) == ("polling", 3, 10240)
    new = imported(f'module(load="imfile")\n{said}*.* /x\n', tmp_path)
    (source,) = listed(new, "inputs")
    assert not {"mode", "pollingInterval", "maxLinesAtOnce"} & source.keys()
    assert "imfile ignores maxLinesAtOnce in mode inotify: left out" in {
        one.message for one in new.changed
    }
    assert [one.message for one in new.missing] == ["the directive $InputFilePollInterval"]


def test_rulesets_whose_names_a_stream_spells_alike_are_two_streams(tmp_path: Path) -> None:
    names = ("net.in", "net-in")
    text = "".join(
        f'input(type="imtcp" port="1051{number}" ruleset="{name}")\n'
        f'ruleset(name="{name}") {{ action(type="omfile" file="/{number}") }}\n'
        for number, name in enumerate(names, 5)
    )
    made = imported(f'{DOCUMENT}{text}action(type="omfile" file="/rest")\n', tmp_path)
    streams = {one["file"]: one.get("stream") for one in listed(made, "outputs")}
    assert streams == {"/5": "net-in", "/6": "net-in-2", "/rest": None}


def test_a_value_that_is_not_escaped_again_is_kept(tmp_path: Path) -> None:
    """What a profile writes escapes the backslash of \\n in an event, which jsonr does not."""
    text = 'template(name="r" type="string" string="{\\"a\\":\\"%msg:::jsonr%\\"}")\n'
    made = imported(f'{DOCUMENT}{text}action(type="omelasticsearch" template="r")\n', tmp_path)
    assert "format jsonr, which leaves backslashes as they are" in made.kept[0].message
    assert "jsonr" in made.snippets["site-start.conf"]


def test_a_lookup_that_rsyslogd_would_refuse_is_no_step(tmp_path: Path) -> None:
    text = f'{DOCUMENT}set $.a = lookup("t");\naction(type="omfile" file="/a")\n'
    assert [one.message[:11] for one in imported(text, tmp_path).kept] == ["set $.a: lo"]


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ('if $!log.level == "error" then action(type="omfile" file="/e")\n',
         "action omfile: a filter does not know $!log.level"),
        ('set $!event.kind = "alert";\naction(type="omfile" file="/e")\n',
         "set $!event.kind: a step does not set $!event.kind"),
        ('set $.k = $!event.kind & "";\naction(type="omfile" file="/e")\n',
         "set $.k: a step does not know $!event.kind"),
        ('action(type="omelasticsearch" template="o")\n',
         "action omelasticsearch: field level: the variable $!log.level"),
        ('action(type="omelasticsearch" template="d" searchIndex="i" dynSearchIndex="on")\n',
         "action omelasticsearch: %$!log.level% in a name"),
        ('action(type="omelasticsearch" template="d" bulkid="b" dynbulkid="on" bulkmode="on")\n',
         "action omelasticsearch: a profile does not take such a bulkid"),
    ],
)  # fmt: skip
def test_a_dot_in_the_name_of_a_variable_is_a_part_of_it(
    rules: str, kept: str, tmp_path: Path
) -> None:
    """`$!log.level` is the member "log.level", and not `level` in `log`."""
    templates = (
        'template(name="o" type="string" string="{\\"level\\":\\"%$!log.level:::json%\\"}")\n'
        'template(name="i" type="string" string="logs-%$!log.level%")\n'
        'template(name="b" type="string" string="%$!log.level%")\n'
    )
    made = imported(f"{DOCUMENT}{templates}{rules}", tmp_path)
    assert [one.message[: len(kept)] for one in made.kept] == [kept]
    assert "log!level" not in (text := "".join(made.snippets.values()))
    assert "$!log.level" in text or "$!event.kind" in text
