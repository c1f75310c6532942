"""Configurations as profiles: what they become, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Expect
from tuner.errors import BadProfile
from tuner.importer.translate import translate
from tuner.importer.written import Imported, profile_text
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.rainerscript.configuration import configuration

HERE = Path(__file__).parent / "golden"
DOCUMENT = (
    'template(name="d" type="string" string="{\\"message\\":\\"%msg:::json%\\"}")\n'
    'module(load="imtcp") input(type="imtcp" port="10514")\n'
)


def imported(text: str, folder: Path) -> Imported:
    path = folder / "rsyslog.conf"
    path.write_text(text, encoding="utf-8")
    return translate(configuration([path]), "site")


def loaded(text: str, folder: Path) -> LoadedProfile:
    made = imported(text, folder)
    assert made.missing == ()
    return parse_profile(profile_text(made, ["rsyslog.conf"]), "site.yaml")


def missing(text: str, folder: Path) -> list[str]:
    return [f"{one.origin.line}: {one.message}" for one in imported(text, folder).missing]


def output(action: str, folder: Path) -> dict[str, object]:
    """The first output of a configuration with one action into the engine."""
    made = imported(f"{DOCUMENT}{action}", folder)
    assert made.missing == ()
    return listed(made, "outputs")[0]


def listed(made: Imported, section: str) -> list[dict[str, object]]:
    entries = made.data[section]
    assert isinstance(entries, list)
    return entries


@pytest.mark.parametrize("path", sorted(HERE.glob("*.conf")), ids=lambda path: path.stem)
def test_golden(path: Path, expect: Expect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    read = configuration([Path(path.name)])
    text = profile_text(translate(read, path.stem), read.files)
    expect(path.with_suffix(".yaml"), text)
    assert parse_profile(text, path.stem).profile.name == path.stem
    assert "geheim" not in text


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("$syslogseverity <= 4", {"syslogseverity": "warning"}),
        ("$syslogseverity-text == 'err'", "isequal"),
        ("prifilt('auth,authpriv.warn')",
         {"syslogseverity": "warning", "syslogfacility": ["auth", "authpriv"]}),
        ("prifilt('auth.warn,authpriv.warn')",
         {"syslogseverity": "warning", "syslogfacility": ["auth", "authpriv"]}),
        ("prifilt('auth,mail.warn,mail.none,authpriv.warn')",
         {"syslogseverity": "warning", "syslogfacility": ["auth", "authpriv"]}),
        ("$programname == ['a', 'b']", {"programname": ["a", "b"]}),
        ("$msg contains 'a' or $msg contains 'b'",
         {"match": [{"property": "msg", "contains": ["a", "b"]}]}),
        ("$msg contains 'a' and $source startswith_i 'b'",
         {"match": [{"property": "msg", "contains": ["a"]},
                    {"property": "hostname", "startswith_i": ["b"]}]}),
        ("not ($msg contains 'a' or re_match($msg, 'b+'))",
         {"match": [{"property": "msg", "contains": ["a"], "negate": True},
                    {"property": "msg", "ereregex": ["b+"], "negate": True}]}),
        ("$hostname != 'a' and $hostname <> 'b'",
         {"match": [{"property": "hostname", "isequal": ["a", "b"], "negate": True}]}),
    ],
)  # fmt: skip
def test_conditions_become_filters(condition: str, wanted: object, tmp_path: Path) -> None:
    made = output(f'if {condition} then action(type="omelasticsearch" template="d")', tmp_path)
    if wanted == "isequal":
        wanted = {"match": [{"property": "syslogseverity-text", "isequal": ["err"]}]}
    assert made["filter"] == wanted


@pytest.mark.parametrize("condition", ["$!status == 0", "$!status != 7", "not ($msg <> 5)"])
def test_no_text_is_compared_with_a_number(condition: str, tmp_path: Path) -> None:
    """For rsyslogd nothing is 0, and 007 is 7."""
    action = f'if {condition} then action(type="omelasticsearch" template="d")\n'
    made = imported(f"{DOCUMENT}{action}", tmp_path)
    assert "with a number as rsyslog does" in made.kept[0].message
    assert f"if {condition} then" in made.snippets["site-outputs.conf"].replace("((", "(")


def test_what_stops_before_is_not_taken_later(tmp_path: Path) -> None:
    rules = (
        'if $programname == "a" then { if $msg contains "b" then stop }\n'
        'if $programname == "c" then stop else action(type="omelasticsearch" template="d")\n'
    )
    made = imported(f"{DOCUMENT}{rules}", tmp_path)
    assert [one.message for one in made.kept] == [
        "action omelasticsearch: a filter says 'or' only between texts of one property, or "
        f"between severities and facilities ({tmp_path}/rsyslog.conf:3)",
    ]
    assert made.snippets["site-outputs.conf"].startswith(
        'if not (($programname == "a") and ($msg contains "b")) then {\n'
    )
    taken = output(rules.partition("\n")[2], tmp_path)["filter"]
    assert taken == {"match": [{"property": "programname", "isequal": ["c"], "negate": True}]}


def test_calls_are_followed_and_what_nothing_calls_is_said(tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}ruleset(name="a") {{ action(type="omelasticsearch" template="d") }}\n'
        'ruleset(name="b") { action(type="omfile" file="/var/log/b") }\ncall a\n'
    )
    made = imported(text, tmp_path)
    assert [one["type"] for one in listed(made, "outputs")] == ["omelasticsearch"]
    assert [one.message for one in made.missing] == [
        "ruleset b: none of the imported inputs leads to it"
    ]


def test_secrets_stay_where_they_are_or_become_references(tmp_path: Path) -> None:
    for secret, wanted in (
        ('"geheim"', {"file": "/etc/rsyslog.d/logs.pwd"}),
        ("`cat /etc/es.pwd`", {"file": "/etc/es.pwd"}),
        ("`echo $ES_PWD`", {"env": "ES_PWD"}),
    ):
        action = f'action(type="omelasticsearch" template="d" uid="u" pwd={secret})'
        assert output(action, tmp_path)["auth"] == {"uid": "u", "pwd": wanted}
    made = imported(f'{DOCUMENT}action(type="omelasticsearch" uid="u" pwd="geheim" x="geheim")\n'
                    'action(pwd="geheim" "geheim")', tmp_path)  # fmt: skip
    assert "geheim" not in repr(made)


def test_servers_as_omelasticsearch_makes_addresses_of_them(tmp_path: Path) -> None:
    action = (
        'action(type="omelasticsearch" template="d" serverport="9201" usehttps="on" '
        'server=["a", "b:9300", "http://c", "[2001:db8::1]", "http://[2001:db8::2]", "[::1]:9300"])'
    )
    assert output(action, tmp_path)["servers"] == [
        "https://a:9201", "https://b:9300", "http://c:9201", "https://[2001:db8::1]:443",
        "http://[2001:db8::2]:80", "https://[::1]:9300",
    ]  # fmt: skip
    assert output('action(type="omelasticsearch" template="d")', tmp_path)["servers"] == [
        "http://localhost:9200"
    ]


WRITE_IT = "the secret stands in the configuration: put it, without a line end, into"


@pytest.mark.parametrize(
    ("action", "server", "said"),
    [
        ('server="https://u%40x:geheim@es"', "https://es:443",
         f"{WRITE_IT} /etc/rsyslog.d/logs.pwd, readable by rsyslog alone"),
        ('server="u%40x:geheim@es:9243" useHttps="on"', "https://es:9243",
         f"{WRITE_IT} /etc/rsyslog.d/logs.pwd, readable by rsyslog alone"),
        ('server="https://es" uid="u@x"', "https://es:9200",
         "a user without a password logs in with an empty one: make the empty file "
         "/etc/rsyslog.d/logs.pwd"),
    ],
)  # fmt: skip
def test_the_file_of_each_password_is_named(
    action: str, server: str, said: str, tmp_path: Path
) -> None:
    made = imported(f'{DOCUMENT}action(type="omelasticsearch" template="d" {action})', tmp_path)
    (data,) = listed(made, "outputs")
    assert data["servers"] == [server]
    assert data["auth"] == {"uid": "u@x", "pwd": {"file": "/etc/rsyslog.d/logs.pwd"}}
    assert said in [one.message for one in made.changed]


def test_two_logins_are_not_made_one(tmp_path: Path) -> None:
    action = 'action(type="omelasticsearch" server=["http://a:geheim@es", "http://b:geheim@es"])'
    (said,) = missing(f"{DOCUMENT}{action}", tmp_path)
    assert "more than one login" in said


def test_inputs_listen_where_they_did(tmp_path: Path) -> None:
    text = (
        'input(type="imtcp" port="1514")\ninput(type="imudp" port="1515" address="10.0.0.1")\n'
        'action(type="omelasticsearch")\n'
    )
    first, second = loaded(text, tmp_path).profile.inputs
    assert (first.model_dump()["address"], second.model_dump()["address"]) == (
        "*", "10.0.0.1",
    )  # fmt: skip


def test_what_rsyslog_does_by_default_is_kept(tmp_path: Path) -> None:
    made = output('action(type="omelasticsearch")', tmp_path)
    assert (made["action.resumeRetryCount"], made["mmutf8fix"]) == (0, False)
    assert made["index"] == {"name": "system", "mapping": "dynamic"}
    forwarded = output('action(type="omfwd" target="up.example.org" port="514")', tmp_path)
    assert forwarded["protocol"] == "udp"
    assert forwarded["template"] == "RSYSLOG_TraditionalForwardFormat"
    by_dns = output('action(type="omfwd" targetSrv="example.org" protocol="tcp")', tmp_path)
    assert "port" not in by_dns
    acknowledged = output('action(type="omrelp" target="up.example.org" port="514")', tmp_path)
    assert acknowledged["template"] == "RSYSLOG_ForwardFormat"


def test_includes_are_followed_from_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for name in ("20-b", "10-a"):
        rule = f'action(name="{name}" type="omfile" file="/var/log/{name}")'
        (tmp_path / "parts" / f"{name}.conf").write_text(rule, encoding="utf-8")
    text = (
        f'{DOCUMENT}$IncludeConfig parts/*.conf\ninclude(file="gone.conf" mode="optional")\n'
        'include(file="gone.conf")\n'
    )
    line = "$IncludeConfig parts/*.conf"
    for one in (text, text.replace(line, f'include(text="{line}")')):
        outputs = listed(imported(one, tmp_path), "outputs")
        assert [each["file"] for each in outputs] == ["/var/log/10-a", "/var/log/20-b"]
    assert missing(text, tmp_path) == ["5: there is no file gone.conf to include"]


def test_the_first_template_of_a_name_holds(tmp_path: Path) -> None:
    second = 'template(name="D" type="string" string="{\\"text\\":\\"%msg:::json%\\"}")\n'
    made = output(f'{second}action(type="omelasticsearch" template="d")', tmp_path)
    assert made["document"] == [{"property": "msg", "name": "message"}]


def test_the_first_main_queue_and_ruleset_of_a_name_hold(tmp_path: Path) -> None:
    text = (
        'input(type="imtcp" port="1515" ruleset="r")\n'
        '$MainMsgQueueSize 5000\nmain_queue(queue.size="2000") main_queue(queue.size="3000")\n'
        'ruleset(name="r") { action(type="omfile" file="/a") }\n'
        'ruleset(name="R") { action(type="omfile" file="/b") }\n*.* /c\n'
    )
    made = imported(f"{DOCUMENT}{text}", tmp_path)
    assert made.data["main_queue"] == {"size": 2000}
    assert sorted(str(one["file"]) for one in listed(made, "outputs")) == ["/a", "/c"]


def test_a_circle_of_includes_is_said(tmp_path: Path) -> None:
    assert missing(f'{DOCUMENT}include(file="rsyslog.conf")\n', tmp_path) == [
        f"3: {tmp_path}/rsyslog.conf includes itself"
    ]


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone.conf"
    said = [one.message for one in translate(configuration([gone]), "x").missing]
    assert f"{gone} cannot be read: No such file or directory" in said


def test_an_unescaped_value_is_said(tmp_path: Path) -> None:
    text = DOCUMENT.replace(":::json", "") + 'action(type="omelasticsearch" template="d")'
    (change,) = [one for one in imported(text, tmp_path).changed if "escape" in one.message]
    assert change.message.startswith('template d does not escape message (format="json")')


@pytest.mark.parametrize("more", ["", '\naction(type="omfile" file="/var/log/auth.log")'])
def test_what_loses_events_is_warned_of_and_no_check_is_switched_off(
    more: str, tmp_path: Path
) -> None:
    action = (
        'action(type="omelasticsearch" template="d" bulkmode="on" queue.type="LinkedList" '
        'queue.timeoutShutdown="10"'
    )
    retried = f'{action} action.resumeRetryCount="-1"){more}'
    lost = {"RT113", "RT115", "RT208"}
    given_up = {one.code for one in loaded(f"{DOCUMENT}{action})", tmp_path).warnings}
    assert given_up & lost == lost
    kept = {one.code for one in loaded(DOCUMENT + retried, tmp_path).warnings}
    assert kept & lost == (lost if more else lost - {"RT208"})


def test_a_secret_in_the_clear_is_said_with_the_guardrail_that_lets_it(tmp_path: Path) -> None:
    action = 'action(type="omelasticsearch" server="es" template="d" uid="u" pwd="geheim")'
    made = imported(f"{DOCUMENT}{action}", tmp_path)
    assert made.data["guardrails"] == {"secrets_in_clear": True}
    assert made.changed[0].message.startswith("logs logs in over HTTP without TLS")


def test_a_profile_without_outputs_does_not_load(tmp_path: Path) -> None:
    with pytest.raises(BadProfile):
        parse_profile(profile_text(imported(DOCUMENT, tmp_path), ["x"]), "x")


def test_each_ruleset_with_inputs_is_a_stream(tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}module(load="imudp") module(load="mmjsonparse")\n'
        'input(type="imudp" port="1515" ruleset="Apps")\n'
        'template(name="all" type="list") { property(name="$!all-json") }\n'
        'ruleset(name="Apps" queue.type="linkedlist" queue.size="5000") {\n'
        '  if $programname startswith "app" then {\n'
        '    action(type="mmjsonparse" cookie="")\n'
        '    if $parsesuccess == "OK" and $!user != "root" then\n'
        '      action(type="omelasticsearch" template="all" searchIndex="apps")\n'
        "  }\n}\n"
        'action(type="omelasticsearch" template="d" searchIndex="rest")\n'
    )
    profile = loaded(text, tmp_path).profile
    assert [one.stream for one in profile.inputs] == [None, "apps"]
    assert [(one.stream, one.name) for one in profile.outputs] == [
        (None, "logs"), ("apps", "logs-2"),
    ]  # fmt: skip
    stream = profile.streams["apps"].model_dump(mode="json", by_alias=True, exclude_none=True)
    assert stream["parse"] == {"format": "json", "cookie": "", "useRawMsg": False}
    assert (stream["queue"]["type"], stream["queue"]["size"]) == ("LinkedList", 5000)
    wanted = profile.outputs[1].filter
    assert wanted is not None
    assert wanted.parsesuccess is True
    assert [one.json_path for one in wanted.match or ()] == [None, "user"]


@pytest.mark.parametrize("more", ["", ' maxsessions="3"'])
def test_imrelp_names_the_ruleset_of_all_its_inputs(more: str, tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}module(load="imrelp" ruleset="Apps")\n'
        f'input(type="imrelp" port="2514"{more}) input(type="imrelp" port="2515" ruleset="own")\n'
        'ruleset(name="apps") { action(type="omfile" file="/a") }\n'
        'ruleset(name="own") { action(type="omfile" file="/b") }\n'
        'action(type="omfile" file="/c")\n'
    )
    made = imported(text, tmp_path)
    inputs = [(one["port"], one.get("stream")) for one in listed(made, "inputs")]
    apps = [] if more else [(2514, "apps")]
    assert inputs == [(10514, None), *apps, (2515, "own")]
    kept = "".join(made.snippets.values())
    assert ('port="2514"' in kept and 'ruleset="Apps"' in kept) is bool(more)


def test_what_no_key_says_is_kept_with_what_it_needs(tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}module(load="ommail") lookup_table(name="t" file="/etc/t.json")\n'
        "set $.level = field($msg, 32, 2);\n"
        'if $.level == "1" then action(type="ommail" server="mx" template="d")\n'
        'action(type="omelasticsearch" template="d")\n'
    )
    made = imported(text, tmp_path)
    assert made.missing == ()
    assert [one.origin.line for one in made.kept] == [3, 4, 5]
    assert made.snippets["site-outputs.conf"] == (
        "set $.level = field($msg, 32, 2);\n"
        'if $.level == "1" then {\n'
        '    action(type="ommail" server="mx" template="d")\n}\n'
    )
    start = made.snippets["site-start.conf"]
    assert [line.partition("(")[0] for line in start.splitlines()] == ["template", "lookup_table"]
    assert made.data["snippets"] == {
        "modules": ["ommail"], "start": ["site-start.conf"], "outputs": ["site-outputs.conf"],
    }  # fmt: skip


def test_the_logs_of_the_host_come_from_the_modules_that_take_them(tmp_path: Path) -> None:
    text = (
        'module(load="imuxsock") module(load="imklog" permitNonKernelFacility="on")\n'
        '*.* action(type="omfile" file="/var/log/syslog")\n'
    )
    made = imported(text, tmp_path)
    assert made.missing == ()
    assert made.data["inputs"] == [
        {"type": "imuxsock"}, {"type": "imklog", "permitNonKernelFacility": True},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("%timereported:1:10:date-rfc3339%", {"rotate": "daily", "separator": "-"}),
        ("%$year%.%$month%.%$day%", {"rotate": "daily", "clock": "generated"}),
        ("%timegenerated:::date-year%%timegenerated:::date-month%",
         {"rotate": "monthly", "separator": "none", "clock": "generated"}),
        ("%timereported:1:4:date-rfc3339%.%timereported:6:7:date-rfc3339%", {"rotate": "monthly"}),
        ("%timereported:1:10:date-rfc3339,date-utc%",
         {"rotate": "daily", "separator": "-", "date.inUTC": True}),
        ("%$now-utc%",
         {"rotate": "daily", "separator": "-", "clock": "generated", "date.inUTC": True}),
    ],
)  # fmt: skip
def test_dates_in_index_names(name: str, wanted: dict[str, str], tmp_path: Path) -> None:
    text = f'template(name="i" type="string" string="logs-{name}")\n'
    action = 'action(type="omelasticsearch" template="d" searchIndex="i" dynSearchIndex="on")\n'
    index = output(text + action, tmp_path)["index"]
    assert index == {"name": "logs", "mapping": "dynamic"} | wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("%programname%-%$YEAR%.%$MONTH%.%$DAY%",
         {"rotate": "daily", "clock": "generated", "by": {"property": "programname"}}),
        ("%hostname:::lowercase%", {"by": {"property": "hostname"}}),
        ("%$!app%-%timereported:1:10:date-rfc3339%",
         {"rotate": "daily", "separator": "-", "by": {"json": "app"}}),
    ],
)  # fmt: skip
def test_a_value_in_the_name_of_an_index(
    name: str, wanted: dict[str, object], tmp_path: Path
) -> None:
    text = f'template(name="i" type="string" string="syslog-{name}")\n'
    action = 'action(type="omelasticsearch" template="d" searchIndex="i" dynSearchIndex="on")\n'
    made = imported(f"{DOCUMENT}{text}{action}", tmp_path)
    (one,) = listed(made, "outputs")
    assert one["index"] == {"name": "syslog", "mapping": "dynamic"} | wanted
    assert "is in small letters in the index's name" in " ".join(c.message for c in made.changed)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("syslog-%msgid%", "%msgid% in a name"),
        ("syslog-%programname%.%$YEAR%", "a - before its date"),
        ("%programname%-%$YEAR%", "%programname% in a name"),
        ("syslog-%programname:1:3%", "an option of %programname% in a name"),
        ("syslog-%$year%.%$month%%$day%", "template i: not one date"),
        ("syslog-%$year%.%$month%.", "template i: not one date"),
    ],
)
def test_a_value_that_no_index_of_a_profile_has(name: str, why: str, tmp_path: Path) -> None:
    text = f'template(name="i" type="string" string="{name}")\n'
    action = 'action(type="omelasticsearch" template="d" searchIndex="i" dynSearchIndex="on")\n'
    (kept,) = imported(f"{DOCUMENT}{text}{action}", tmp_path).kept
    assert why in kept.message


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("%hostname%.log", {"property": "hostname", "after": ".log"}),
        ("%hostname%/%$year%-%$month%-%$day%.log",
         {"property": "hostname", "between": "/", "rotate": "daily", "after": ".log"}),
        ("%fromhost-ip%-%timereported:::date-year%%timereported:::date-month%",
         {"property": "fromhost-ip", "between": "-", "rotate": "monthly", "separator": "none",
          "clock": "reported"}),
        ("%timegenerated:1:10:date-rfc3339%/all", {"rotate": "daily", "after": "/all"}),
        ("%$year-utc%/%$month-utc%",
         {"rotate": "monthly", "separator": "/", "date.inUTC": True}),
    ],
)  # fmt: skip
def test_dates_in_the_names_of_files(path: str, wanted: dict[str, str], tmp_path: Path) -> None:
    text = (
        f'template(name="f" type="string" string="/var/log/from/{path}")\n'
        'action(type="omfile" dynaFile="f")\n'
    )
    assert output(text, tmp_path)["dynaFile"] == {"before": "/var/log/from/"} | wanted


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("%hostname%/%programname%.log", "has 2 properties: dynaFile takes one"),
        ("%$year%/%hostname%.log", "has its date before the property"),
        ("%hostname:::lowercase%.log", "has options of its property"),
        ("%$year%.log", "a profile does not take yearly as dynaFile.rotate"),
        ("%$year%/%$month%%$day%.log", "template f: not one date"),
        ("%$now%%$hour%.log", "template f: not one date"),
    ],
)
def test_names_of_files_that_stay_rsyslogs(path: str, why: str, tmp_path: Path) -> None:
    text = (
        f'template(name="f" type="string" string="/var/log/from/{path}")\n'
        'action(type="omfile" dynaFile="f")\n'
    )
    made = imported(f"{DOCUMENT}{text}", tmp_path)
    assert [one.message.partition(why)[1] for one in made.kept] == [why]
    assert "/var/log/from/" in "".join(made.snippets.values())


def test_what_is_cut_out_of_a_message_is_said_with_what_the_profile_cannot(tmp_path: Path) -> None:
    template = (
        'template(name="t" type="list") { constant(value="{") '
        'property(name="msg" regex.expression="{\\\\(.*\\\\)" regex.submatch="1") }\n'
    )
    made = imported(f'{DOCUMENT}{template}action(type="omelasticsearch" template="t")\n', tmp_path)
    assert made.data["parse"] == {"format": "json", "cookie": ""}
    (said,) = [one for one in made.changed if "first {" in one.message]
    assert "such as with @cee: before it" in said.message
    assert said.origin.line == 3


def test_a_message_without_its_blank_is_a_text(tmp_path: Path) -> None:
    template = (
        'template(name="t" type="list") { constant(value="{\\"t\\":\\"") '
        'property(name="syslogtag" position.to="-2") constant(value="\\",\\"m\\":\\"") '
        'property(name="msg" position.from="2" format="json") constant(value="\\"}") }\n'
    )
    made = imported(f'{DOCUMENT}{template}action(type="omelasticsearch" template="t")\n', tmp_path)
    assert "parse" not in made.data
    assert listed(made, "outputs")[0]["document"] == [
        {"property": "syslogtag", "position": {"to": -2}, "name": "t"},
        {"property": "msg", "position": {"from": 2}, "name": "m"},
    ]


IDS = 'action(type="omelasticsearch" template="d" bulkmode="on" bulkid="i" dynBulkId="on" {})\n'


@pytest.mark.parametrize(
    ("source", "wanted"), [("msgid", {"property": "msgid"}), ("$!event!id", {"json": "event.id"})]
)
def test_ids_of_documents_from_the_event(
    source: str, wanted: dict[str, str], tmp_path: Path
) -> None:
    parse = 'action(type="mmjsonparse" cookie="")\n'
    template = f'template(name="i" type="string" string="%{source}%")\n'
    text = f"{DOCUMENT}{parse}{template}{IDS.format('')}"
    made = imported(text, tmp_path)
    assert listed(made, "outputs")[0]["bulkid"] == wanted
    assert [one.message for one in made.changed if "an id that is not" in one.message]
    loaded(text, tmp_path)


@pytest.mark.parametrize(
    ("source", "more"),
    [("%hostname%-%msgid%", ""), ("%msgid:::lowercase%", ""), ("%msgid%", 'retryFailures="on"')],
)
def test_ids_that_stay_rsyslogs(source: str, more: str, tmp_path: Path) -> None:
    template = f'template(name="i" type="string" string="{source}")\n'
    made = imported(f"{DOCUMENT}{template}{IDS.format(more)}", tmp_path)
    assert made.data["outputs"] == []
    (kept,) = made.kept
    assert kept.origin.line == 4


@pytest.mark.parametrize(
    "queue", ['main_queue(queue.type="Direct" queue.size="7")', "$MainMsgQueueType Direct"]
)
def test_a_direct_main_queue_is_left_out_and_said(queue: str, tmp_path: Path) -> None:
    text = f'{DOCUMENT}{queue}\naction(type="omelasticsearch" template="d")\n'
    assert "main_queue" not in imported(text, tmp_path).data
    (said,) = [one for one in imported(text, tmp_path).changed if "Direct" in one.message]
    assert said.origin.line == 3
    loaded(text, tmp_path)


@pytest.mark.parametrize(
    "action",
    [
        "*.* >db.example.org,syslog,user,geheim",
        "*.* :ommysql:db.example.org,syslog,user,geheim",
        '*.* action(type="ompgsql" server="db" user="u" pass="geheim")',
        '*.* action(type="omelasticsearch" template="gone" uid="u" pwd="geheim")',
        '*.* action(type="omhttp" server="http://user:geheim@es")',
        '*.* action(type="omelasticsearch" server="http://user:geheim@es:9200")',
        '*.* action(type="omkafka" topic="t" confParam=["sasl.password=geheim"])',
        '*.* action(type="ommail" server="m" x="--token geheim")',
    ],
)
def test_no_secret_gets_into_a_profile_a_snippet_or_a_message(action: str, tmp_path: Path) -> None:
    made = imported(f"{DOCUMENT}{action}\n", tmp_path)
    text = profile_text(made, ["rsyslog.conf"])
    assert "geheim" not in text + repr(made)


@pytest.mark.parametrize("counters_first", [True, False])
def test_an_input_keeps_its_stream_where_counters_have_a_ruleset_too(
    counters_first: bool, tmp_path: Path
) -> None:
    counters = (
        'module(load="impstats" interval="60" format="json" ruleset="stats")\n'
        'ruleset(name="stats") { action(type="omfile" file="/var/log/stats") }\n'
    )
    way = (
        'template(name="d" type="string" string="{\\"message\\":\\"%msg:::json%\\"}")\n'
        'module(load="imtcp")\ninput(type="imtcp" port="10514" ruleset="a")\n'
        'ruleset(name="a" queue.type="LinkedList" queue.size="20000") {\n'
        '  action(type="omelasticsearch" template="d")\n}\n'
    )
    profile = loaded(counters + way if counters_first else way + counters, tmp_path).profile
    assert profile.inputs[0].stream == "a"
    assert profile.impstats is not None
    assert {one.name: one.stream for one in profile.outputs} == {
        profile.measured.name: "a", "stats": profile.impstats.stream,
    }  # fmt: skip


def test_inputs_without_a_ruleset_lead_to_the_default_one_that_is_named(tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}ruleset(name="main") {{ action(type="omelasticsearch" template="d") }}\n'
        "$DefaultRuleset main\n*.* /var/log/never\n"
    )
    made = imported(text, tmp_path)
    assert [one["type"] for one in listed(made, "outputs")] == ["omelasticsearch"]
    assert [one.message for one in made.missing] == [
        "ruleset RSYSLOG_DefaultRuleset, not used: none of the imported inputs leads to it"
    ]
    (source,) = parse_profile(profile_text(made, ["rsyslog.conf"]), "site.yaml").profile.inputs
    assert source.stream is None


@pytest.mark.parametrize(
    ("more", "release", "accepted"),
    [
        ("", "8.2302", False),
        ('esVersion.major="7"', "8.2302", False),
        ('esVersion.major="8"', "8.2302", True),
        ("", "8.2510", True),
    ],
)
def test_an_action_that_rsyslogd_refuses_is_not_revived(
    more: str, release: str, accepted: bool, tmp_path: Path
) -> None:
    action = 'action(type="omelasticsearch" template="d" bulkmode="on" writeOperation="create" '
    path = tmp_path / "rsyslog.conf"
    path.write_text(f"{DOCUMENT}{action}{more})\n", encoding="utf-8")
    made = translate(configuration([path]), "site", release)
    refused = "rsyslogd refuses writeOperation create without a bulkid, and the action with it"
    assert any(refused in one.message for one in made.missing) is not accepted
    new_ids = "writeOperation create: the profile gives each document a new id"
    assert any(one.message == new_ids for one in made.changed) is accepted
    assert bool(made.data["outputs"]) is accepted
    assert "omelasticsearch" not in "".join(made.snippets.values())


def test_what_the_retries_of_a_profile_add_is_said(tmp_path: Path) -> None:
    text = (
        f'{DOCUMENT}ruleset(name="again") {{ action(type="omfile" file="/var/log/refused") }}\n'
        'action(type="omelasticsearch" template="d" retryFailures="on" retryRuleset="again")\n'
    )
    said = [one.message for one in imported(text, tmp_path).changed]
    assert (
        "retryFailures: the profile gives each document a new id, and only creates documents, and "
        "sends again what the engine may take later by a ruleset of its own instead of again"
    ) in said
