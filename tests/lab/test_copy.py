"""A base in a lab: what stays, what is replaced, what is left out and said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.test_bind import SITE as BOUND_SITE
from tests.profile.examples import small
from tests.profile.test_base import CONF, TEMPLATE, loaded, with_template
from tuner.engines.release import Release
from tuner.errors import Refused
from tuner.lab.bind import bind_inputs
from tuner.lab.copy import LabCopy, copied
from tuner.lab.text import Replaced, Site, lab_text
from tuner.profile.model import Profile
from tuner.script.printing import printed

SITE = replace(BOUND_SITE, index_prefix="rsyslog-tune-x-", folder="/scratch",
               release=Release(rsyslog="8.2302", elasticsearch="7.17"))  # fmt: skip
ES = 'action(type="omelasticsearch" name="es" server="es1" uid="u" pwd="secret"'


def fitted(folder: Path, conf: str, site: Site = SITE, changes: str = "") -> LabCopy:
    return copy_of(loaded(folder, changes, conf).profile, site)


def copy_of(profile: Profile, site: Site = SITE) -> LabCopy:
    ports = tuple(range(20_000, 20_000 + len(profile.inputs)))
    inputs = bind_inputs(profile, ports, "/scratch", "127.0.0.1")
    return copied(lab_text(profile, inputs), site)


def said_of(made: LabCopy) -> list[Replaced]:
    """What is replaced beside the servers, logins, ports, names and folders of every lab."""
    return [part for part in made.replaced if not part.is_routine]


def text_of(folder: Path, action: str, more: str = "") -> str:
    conf = f'input(type="imtcp" port="514")\n{more}\n*.* {action}\n'
    return printed(fitted(folder, conf).block)


def test_the_engine_and_its_login_are_those_of_the_lab(tmp_path: Path) -> None:
    text = text_of(tmp_path, f'{ES} searchIndex="logs")')
    assert 'server=["http://127.0.0.1:9999"]' in text
    assert 'searchIndex="rsyslog-tune-x-logs"' in text
    assert "secret" not in text
    assert "es1" not in text


def test_inputs_have_the_ports_of_the_lab_and_keep_all_else(tmp_path: Path) -> None:
    text = printed(fitted(tmp_path, CONF).block)
    assert 'ruleset="remote"' in text
    assert 'port="20000"' in text
    assert "10514" not in text


def test_what_would_keep_the_flood_out_of_an_input_is_gone(tmp_path: Path) -> None:
    conf = f'input(type="imudp" port="514" device="eth1" rcvbufSize="4m")\n*.* {ES})\n'
    text = printed(fitted(tmp_path, conf).block)
    assert "eth1" not in text
    assert 'rcvbufSize="4m"' in text


def test_what_is_a_default_of_profiles_alone_is_not_written(tmp_path: Path) -> None:
    conf = f'module(load="imptcp" threads="4")\ninput(type="imptcp" port="514")\n*.* {ES})\n'
    lines = printed(fitted(tmp_path, conf).block).splitlines()
    assert 'module(load="imptcp" threads="4")' in lines
    # rsyslogd refuses a parameter of the module there.
    assert 'input(type="imptcp" address="127.0.0.1" port="20000")' in lines


def test_what_is_about_the_host_is_left_out_and_said(tmp_path: Path) -> None:
    conf = (
        'global(workDirectory="/var/spool/rsyslog" privdrop.user.name="syslog" '
        'maxMessageSize="32k")\n'
        'module(load="imtcp") module(load="omelasticsearch") '
        'module(load="imuxsock")\nmodule(load="imklog.so")\nmodule(load="omprog")\n'
        'input(type="imtcp" port="514")\ninput(type="imuxsock" Socket="/dev/x")\n'
        f'*.* action(type="omprog" binary="/bin/evil")\n*.* {ES})\n'
    )
    made = fitted(tmp_path, conf)
    text = printed(made.block)
    for gone in ("evil", "imuxsock", "imklog", "privdrop", "/var/spool"):
        assert gone not in text
    assert 'maxMessageSize="32k"' in text
    assert 'workDirectory="/scratch"' in text
    said = said_of(made)
    assert f"{tmp_path}/rsyslog.conf:7:5: action omprog -> left out" in map(str, said)
    assert {one.what for one in said} == {
        "module imuxsock", "module imklog", "module omprog", "input imuxsock", "action omprog",
    }  # fmt: skip
    assert {one.used for one in said} == {"left out"}


@pytest.mark.parametrize("module", ["imkubernetes", "imbeats", "imnew"])
def test_a_lab_loads_no_input_module_that_no_flood_enters_by(module: str, tmp_path: Path) -> None:
    """imkubernetes reads the logs of the host's pods, with a token, as soon as it is loaded."""
    conf = (
        f'module(load="{module}")\nmodule(load="omelasticsearch")\nmodule(load="imtcp")\n'
        'input(type="imtcp" port="514")\n'
    )
    made = fitted(tmp_path, f"{conf}*.* {ES})\n")
    assert module not in printed(made.block)
    assert 'module(load="imtcp")' in printed(made.block)
    assert [one.what for one in said_of(made)] == [f"module {module}"]


def test_files_are_written_below_the_folder_of_the_lab(tmp_path: Path) -> None:
    more = 'template(name="hosts" type="string" string="/var/log/%HOSTNAME%.log")\n*.* ?hosts\n'
    text = text_of(tmp_path, f"{ES})", f"{more}*.* /var/log/all.log\n")
    assert 'file="/scratch/files/var/log/all.log"' in text
    assert 'string="/scratch/files/var/log/%HOSTNAME:::secpath-replace%.log"' in text


NUMBER = "%timereported:5:10:date-unixtimestamp%%timereported:::date-subseconds%"
TEMPLATES = {
    "none": ("", "", f'"rsyslog_tune_seq":10{NUMBER}}}'),
    "string": (
        'template="t"',
        r'template(name="t" type="string" string="{\"m\":\"%msg:::json%\"}\n")',
        rf"\"rsyslog_tune_seq\":10{NUMBER}}}\n",
    ),
    "list": (
        'template="t"',
        'template(name="t" type="list") { constant(value="{\\"m\\":\\"") '
        'property(name="msg" format="json") constant(value="\\"}") }',
        'constant(value="\\",\\"rsyslog_tune_seq\\":")',
    ),
    "a line end after it": (
        'template="t"',
        'template(name="t" type="list") { constant(value="{\\"m\\":\\"") property(name="msg" '
        'format="json") constant(value="\\"}") constant(value="\\n") }',
        'constant(value="\\",\\"rsyslog_tune_seq\\":")',
    ),
    "parsed JSON at its end": (
        'template="t"',
        'template(name="t" type="list") { constant(value="{\\"t\\":\\"") '
        'property(name="timereported") constant(value="\\",") '
        'property(name="$!all-json" position.from="2") }',
        'constant(value="{\\"rsyslog_tune_seq\\":")',
    ),
    "parsed JSON at the end of a string": (
        'template="t"',
        r'template(name="t" type="string" string="{\"o\":{\"m\":1},%$!all-json:2:$%\n")',
        rf"{{\"rsyslog_tune_seq\":10{NUMBER},\"o\":",
    ),
    "jsonf": (
        'template="t"',
        'template(name="t" type="list" option.jsonf="on") '
        '{ property(outname="m" name="msg" format="jsonf") }',
        'property(name="$.rsyslog_tune_seq_0" outname="rsyslog_tune_seq" format="jsonf")',
    ),
    "subtree": (
        'template="t"',
        'template(name="t" type="subtree" subtree="$!")',
        'set $!rsyslog_tune_seq = exec_template("rsyslog-tune-number-0");',
    ),
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_documents_get_the_number_of_their_event(kind: str, tmp_path: Path) -> None:
    parameters, template, member = TEMPLATES[kind]
    text = text_of(tmp_path, f"{ES} {parameters})", template)
    assert member.replace('"', '\\"') in text or member in text
    assert 'template="rsyslog-tune-document-0"' in text


def test_a_list_writes_the_number_itself(tmp_path: Path) -> None:
    """A variable that is set for each event costs rsyslogd half as much CPU again."""
    parameters, template, _ = TEMPLATES["a line end after it"]
    text = text_of(tmp_path, f"{ES} {parameters})", template)
    assert 'constant(value="10")' in text
    assert 'position.from="5" position.to="10" dateformat="unixtimestamp"' in text
    assert "exec_template" not in text


def test_each_output_has_a_number_of_its_own(tmp_path: Path) -> None:
    other = ES.replace('"es"', '"two"')
    made = fitted(tmp_path, f'input(type="imtcp" port="514")\n*.* {ES})\n*.* {other})\n')
    assert made.outputs == ("action[es]", "action[two]")
    text = printed(made.block)
    assert f"10{NUMBER}" in text
    assert f"11{NUMBER}" in text


OBJECTS = {
    "all of it": ("%$!all-json%", "$!"),
    "all of it as a property": ("%$!%\\n", "$!"),
    "all of it without blanks": ("%$!all-json-plain%", "$!"),
    "a part of it": ("%$!user!session%", "$!user!session"),
    "a local variable": ("%$.doc%", "$.doc"),
}


@pytest.mark.parametrize("case", OBJECTS)
@pytest.mark.parametrize("kind", ["string", "list"])
def test_an_object_that_is_the_document_gets_the_number(
    case: str, kind: str, tmp_path: Path
) -> None:
    written, variable = OBJECTS[case]
    name = written.split("%")[1]
    template = f'template(name="t" type="string" string="{written}")'
    if kind == "list":
        template = f'template(name="t" type="list") {{ property(name="{name}") }}'
    text = text_of(tmp_path, f'{ES} template="t")', template)
    assert f'set {variable.rstrip("!")}!rsyslog_tune_seq = exec_template("rsyslog-tune-' in text


@pytest.mark.parametrize("written", ["%msg%", "%msg:2:$%\\n", "%msg:::drop-last-lf%"])
def test_a_message_that_is_the_document_gets_the_number(written: str, tmp_path: Path) -> None:
    template = f'template(name="t" type="string" string="{written}")'
    text = text_of(tmp_path, f'{ES} template="t")', template)
    assert f'%msg:1000000:2:pos-end-relative%,\\"rsyslog_tune_seq\\":10{NUMBER}}}"' in text


@pytest.mark.parametrize("written", ["%rawmsg%", "%msg:::json%", "%$!a% %$!b%", "%hostname%"])
def test_what_has_no_room_for_a_number_is_left_out(written: str, tmp_path: Path) -> None:
    template = f'template(name="t" type="string" string="{written}")\n'
    with pytest.raises(Refused, match=r"no room for a number|never gives a JSON object"):
        text_of(tmp_path, f'{ES} template="t")', template)


def test_files_are_not_polled_for_lines_in_a_lab(tmp_path: Path) -> None:
    conf = (
        'module(load="imfile" mode="polling" pollingInterval="10")\n'
        f'input(type="imfile" File="/var/log/x" Tag="x" maxLinesAtOnce="5")\n*.* {ES})\n'
    )
    script = fitted(tmp_path, conf)
    assert 'module(load="imfile")' in printed(script.block)
    assert "maxLinesAtOnce" not in printed(script.block)
    (said,) = [one for one in script.replaced if "polling" in one.what]
    assert str(said) == f"{tmp_path}/rsyslog.conf:1:1: mode polling -> inotify"


def test_an_action_with_a_template_that_is_nowhere_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="an action with the template nowhere, which is not defined"):
        text_of(tmp_path, f'{ES} template="nowhere")')


def test_names_that_events_make_begin_with_our_prefix(tmp_path: Path) -> None:
    more = 'template(name="i" type="string" string="logs-%$year%")\n'
    text = text_of(tmp_path, f'{ES} dynSearchIndex="on" searchIndex="i")', more)
    assert 'string="rsyslog-tune-x-logs-%$year%"' in text


def test_queues_keep_their_files_in_the_lab(tmp_path: Path) -> None:
    queue = 'queue.type="Disk" queue.filename="q" queue.spoolDirectory="/data"'
    text = text_of(tmp_path, f"{ES} {queue})")
    assert 'queue.spoolDirectory="/scratch"' in text
    assert 'queue.filename="q"' in text
    assert "/data" not in text


FORWARDING = {
    "datagrams": ("*.* @elsewhere", 'protocol="udp"', 30_000),
    "a stream": ("*.* @@(o)elsewhere:10514", 'tcp_framing="octet-counted"', 30_000),
    "an object": (
        'action(type="omfwd" target="elsewhere" port="6514" protocol="tcp" device="eth1" '
        'StreamDriver="gtls" StreamDriverMode="1" queue.type="LinkedList")',
        'queue.type="LinkedList"',
        30_000,
    ),
    "a target that DNS names": (
        'action(type="omfwd" targetSrv="elsewhere" protocol="tcp")',
        'protocol="tcp"',
        30_000,
    ),
    "RELP": (
        'action(type="omrelp" target="elsewhere" port="2514" tls="on" windowSize="64")',
        'windowSize="64"',
        30_001,
    ),
}


@pytest.mark.parametrize("case", FORWARDING)
def test_what_goes_to_others_goes_to_a_receiver_of_the_lab(case: str, tmp_path: Path) -> None:
    action, stays, port = FORWARDING[case]
    made = fitted(tmp_path, f'input(type="imtcp" port="514")\n{action}\n*.* {ES})\n')
    text = printed(made.block)
    assert 'target="127.0.0.1"' in text
    assert f'port="{port}"' in text
    assert stays in text
    for gone in ("elsewhere", "eth1", "gtls", 'tls="on"'):
        assert gone not in text
    assert made.forwards
    (said,) = [one for one in said_of(made) if one.what != "inputs"]
    assert said.used == "to a receiver of the lab"
    assert ("with TLS" in said.what) == (case in {"an object", "RELP"})


FILE = 'module(load="imfile")\ninput(type="imfile" File="/var/log/app.log" Tag="app:")\n'


def test_lines_of_files_have_their_number_before_them(tmp_path: Path) -> None:
    made = fitted(tmp_path, f"{FILE}*.* {ES})\n")
    assert '\\"rsyslog_tune_seq\\":10%rawmsg:5:16%}' in printed(made.block)
    assert [one.used for one in said_of(made)][1:] == ["with a number before each"]


def test_lines_of_files_that_would_be_parsed_are_refused() -> None:
    lines = {"type": "imfile", "file": "/var/log/app.log", "tag": "app:"}
    parse = {"parse": {"format": "json", "cookie": ""}, "global.workDirectory": "/var/spool"}
    profile = small({"inputs": [lines], **parse})
    with pytest.raises(Refused, match="mmjsonparse would take apart lines of a file"):
        copy_of(profile)


def test_without_forwarding_no_receiver_is_needed(tmp_path: Path) -> None:
    assert not fitted(tmp_path, f'input(type="imtcp" port="514")\n*.* {ES})\n').forwards


@pytest.mark.parametrize("name", ["pipelineName", "dynPipelineName"])
def test_an_action_into_a_pipeline_goes_past_it_and_says_so(name: str, tmp_path: Path) -> None:
    made = fitted(tmp_path, f'input(type="imtcp" port="514")\n*.* {ES} {name}="p")\n')
    assert name not in printed(made.block)
    (_, said) = said_of(made)
    assert str(said) == f"{tmp_path}/rsyslog.conf:2:5: {name}, of which a lab has none -> left out"


def test_ids_that_messages_of_a_flood_could_share_are_others(tmp_path: Path) -> None:
    conf = (
        'template(name="id" type="string" string="%msg%")\n'
        'template(name="own" type="string" string="%uuid%")\ninput(type="imtcp" port="514")\n'
    )
    for name, stays in (("id", False), ("own", True)):
        made = fitted(tmp_path, f'{conf}*.* {ES} dynbulkid="on" bulkid="{name}")\n')
        assert (f'bulkid="{name}"' in printed(made.block)) == stays
        assert any("bulkid" in one.what for one in made.replaced) != stays


def test_a_socket_takes_the_time_of_a_message_from_its_head(tmp_path: Path) -> None:
    made = fitted(tmp_path, f'input(type="imuxsock" socket="/run/x")\n*.* {ES})\n')
    text = printed(made.block)
    assert 'ignoreTimestamp="off"' in text
    assert 'useSysTimeStamp="off"' in text


SEVERAL_LINES = ('startmsg.regex="^a"', 'endmsg.regex="z$"', 'readMode="2"')


@pytest.mark.parametrize("parameter", SEVERAL_LINES)
def test_events_of_several_lines_are_events_of_one(parameter: str, tmp_path: Path) -> None:
    conf = FILE.replace("Tag=", f"{parameter} Tag=")
    made = fitted(tmp_path, f"{conf}*.* {ES})\n")
    assert 'endmsg.regex="^[0-9]{16} "' in printed(made.block)
    assert parameter not in printed(made.block)
    assert "events of one line" in {one.used for one in made.replaced}


AGAIN = (
    'ruleset(name="again") { action(type="omelasticsearch" name="again" template="t" '
    'server="es1" retryRuleset="again" searchIndex="i" dynSearchIndex="on") }\n'
    'template(name="i" type="string" string="%$.omes!_index%")\n'
    'template(name="t" type="string" string="%$!all-json%")\n'
)


def test_what_only_comes_again_has_its_number_and_its_index_already(tmp_path: Path) -> None:
    entrance = 'input(type="imtcp" port="514")\n'
    made = fitted(tmp_path, f'{AGAIN}{entrance}*.* {ES} retryRuleset="again")\n')
    assert made.outputs == ("action[es]",)
    text = printed(made.block)
    assert 'template="t"' in text
    assert 'searchIndex="i"' in text
    bound = 'input(type="imtcp" port="514" ruleset="again")\n'
    assert fitted(tmp_path, f'{AGAIN}{bound}*.* {ES} retryRuleset="again")\n').outputs == (
        "action[again]", "action[es]",
    )  # fmt: skip


def test_what_may_be_a_data_stream_is_an_index_and_said(tmp_path: Path) -> None:
    conf = f'input(type="imtcp" port="514")\n*.* {ES} writeOperation="create")\n'
    (_, said) = said_of(fitted(tmp_path, conf))
    assert (said.what, said.used) == ("data stream, if it is one", "an index")


TYPES = {
    "not set": ("", 2302, "without searchType"),
    "a name": ('searchType="events"', 2302, "with searchType 'events'"),
    "empty": ('searchType=""', 2302, None),
    "not set, of an engine without types": ('esVersion.major="8"', 2302, None),
    "not set, newer": ("", 2510, None),
    "a name, newer": ('searchType="_doc"', 2510, "with searchType '_doc'"),
    "too old to leave it out": ('searchType=""', 2112, "with searchType ''"),
}


@pytest.mark.parametrize("case", TYPES)
def test_bulks_that_the_engine_refuses_for_their_type_are_told(case: str, tmp_path: Path) -> None:
    parameters, release, refused = TYPES[case]
    conf = f'input(type="imtcp" port="514")\n*.* {ES} {parameters})\n'
    site = replace(SITE, release=Release(rsyslog=f"8.{release}", elasticsearch="8.19"))
    if refused is None:
        assert fitted(tmp_path, conf, site=site).outputs == ("action[es]",)
    else:
        with pytest.raises(Refused, match=f"2:5: an action {refused}: rsyslog 8.{release} then"):
            fitted(tmp_path, conf, site=site)
    assert fitted(tmp_path, conf).outputs == ("action[es]",)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('searchType="events"', "_doc"), ('searchType="t" dynSearchType="on"', "_doc"),
        ("", "_doc"), ('searchType=""', ""), ('searchType="_doc"', "_doc"),
    ],
)  # fmt: skip
def test_an_engine_that_takes_types_gets_that_of_the_indices_of_a_lab(
    written: str, sent: str, tmp_path: Path
) -> None:
    script = fitted(tmp_path, f'input(type="imtcp" port="514")\n*.* {ES} {written})\n')
    text = printed(script.block)
    assert f'searchType="{sent}"' in text
    assert "dynSearchType" not in text
    said = [f"{one.what} -> {one.used}" for one in script.replaced if "searchType" in one.what]
    named = written.partition('"')[2].partition('"')[0]
    assert said == ([] if named in {"", "_doc"} else [f"searchType {named} -> _doc"])


def test_what_the_lab_lacks_of_an_index_template_is_said(tmp_path: Path) -> None:
    (said,) = said_of(copy_of(with_template(tmp_path).profile))
    assert str(said) == f"{tmp_path}/t.json:1:1: data_stream -> left out"


def test_an_index_template_for_other_indices_is_said(tmp_path: Path) -> None:
    profile = with_template(tmp_path, TEMPLATE.replace('["*"]', '["logs-*"]')).profile
    *_, said = said_of(copy_of(profile))
    assert said.what == "index_patterns logs-*"
    assert said.used == "not used: none of the indices (system) matches"
