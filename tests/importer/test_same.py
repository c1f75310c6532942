"""What the profile of a configuration does as that did: kinds that generated configurations found
(tests/live/corpus.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.importer.test_import import DOCUMENT, imported, listed
from tuner.importer.written import Imported, profile_text
from tuner.lint.load import parse_profile


def _changed(text: str, folder: Path) -> list[str]:
    return [one.message for one in imported(text, folder).changed]


def test_a_default_template_of_the_old_form_holds_for_actions_of_the_new_form(
    tmp_path: Path,
) -> None:
    made = imported(
        f"{DOCUMENT}$ActionFileDefaultTemplate RSYSLOG_TraditionalFileFormat\n"
        "$ActionForwardDefaultTemplate RSYSLOG_ForwardFormat\n"
        'action(type="omfile" file="/var/log/a")\n'
        'if $msg contains "x" then { action(type="omfwd" target="up.example" port="514") }\n'
        'action(type="omfile" file="/var/log/b" template="RSYSLOG_FileFormat")\n',
        tmp_path,
    )
    assert [one.get("template") for one in listed(made, "outputs")] == [
        "RSYSLOG_TraditionalFileFormat", "RSYSLOG_ForwardFormat", "RSYSLOG_FileFormat",
    ]  # fmt: skip


def test_documents_that_ended_no_line_are_said_to_be_one_a_line(tmp_path: Path) -> None:
    into = 'action(type="omfile" file="/var/log/a" template="d")\n'
    assert _changed(DOCUMENT + into, tmp_path) == [
        "template d ends no line: the profile writes one document a line"
    ]
    ended = DOCUMENT.replace('}")', '}\\n")')
    assert _changed(ended + into, tmp_path) == []
    sent = 'action(type="omfwd" target="up.example" port="514" template="d")\n'
    assert _changed(DOCUMENT + sent, tmp_path) == []


def test_a_queue_that_several_rulesets_lead_to_has_files_of_its_own_in_each(
    tmp_path: Path,
) -> None:
    """rsyslogd refuses a second queue of that name."""
    queued = 'queue.type="LinkedList" queue.filename="q"'
    text = (
        f'{DOCUMENT}input(type="imtcp" port="10515" ruleset="r")\n'
        f'ruleset(name="r") {{ action(type="omfile" file="/var/log/a" {queued} zipLevel="1")\n'
        '    set $.x = $!y; action(type="omusrmsg" users="root") }\n'
        'if strlen($msg) > 9 then { call r }\naction(type="omfile" file="/var/log/b")\n'
    )
    made = imported(text, tmp_path)
    names = re.findall('queue.filename="(.*?)"', "".join(made.snippets.values()))
    assert names == ["q-2"], "the other is an output of the profile"
    assert any(one.message.startswith("/var/log/a: several rulesets lead") for one in made.changed)
    (said,) = (one.message for one in made.changed if "queue.filename" in one.message)
    assert said == "queue.filename q: several queues are made of this one, another is called q-2"


def _with_main_queue(parameters: str, folder: Path) -> Imported:
    into = 'action(type="omfile" file="/var/log/a")\n'
    return imported(f"{DOCUMENT}main_queue({parameters})\n{into}", folder)


def test_what_a_newer_rsyslogd_does_better_makes_no_release_of_the_profile(tmp_path: Path) -> None:
    """Only what an older one does not know: it refuses the configuration."""
    made = _with_main_queue('queue.type="LinkedList" queue.lightDelayMark="700"', tmp_path)
    assert "release" not in made.data
    assert not [one for one in made.changed if "release.rsyslog" in one.message]
    (said,) = (one.message for one in made.missing)
    assert said.startswith("main_queue: inputs stall at about one message per second")
    assert made.data["main_queue"] == {"type": "LinkedList"}
    parse_profile(profile_text(made, ["rsyslog.conf"]), "site.yaml")


def test_a_queue_of_inputs_with_what_no_profile_takes_loads_without_that(tmp_path: Path) -> None:
    given = 'queue.type="LinkedList" queue.size="50000" queue.highWatermark="800"'
    made = _with_main_queue(given, tmp_path)
    (said,) = (one.message for one in made.missing)
    assert said.startswith("main_queue: lowWatermark 35000 must be below highWatermark 800")
    parse_profile(profile_text(made, ["rsyslog.conf"]), "site.yaml")


def test_a_batch_larger_than_its_queue_is_as_large_as_that(tmp_path: Path) -> None:
    made = imported(
        f'{DOCUMENT}input(type="imtcp" port="10515" ruleset="r")\n'
        'ruleset(name="r" queue.size="3000" queue.dequeueBatchSize="5000") '
        '{ action(type="omfile" file="/var/log/a") }\n'
        'action(type="omfile" file="/var/log/b")\n',
        tmp_path,
    )
    assert made.data["streams"] == {"r": {"queue": {"size": 3000, "dequeueBatchSize": 3000}}}
    assert [one.message for one in made.changed] == [
        "ruleset r: rsyslog lowers its batch of 5000 to the size of the queue, 3000"
    ]
    parse_profile(profile_text(made, ["rsyslog.conf"]), "site.yaml")


def test_a_piece_that_is_not_there_is_said_to_be_empty(tmp_path: Path) -> None:
    text = DOCUMENT.replace("%msg:::json%", "%msg:F,58:2:json%")
    into = 'action(type="omelasticsearch" template="d")\n'
    (said,) = (one for one in _changed(text + into, tmp_path) if "FIELD NOT FOUND" in one)
    assert (
        said == "msg: where there are fewer pieces the profile writes none of **FIELD NOT FOUND**"
    )


def test_events_without_json_are_said_to_become_empty_objects(tmp_path: Path) -> None:
    text = (
        'module(load="imtcp") input(type="imtcp" port="10514")\n'
        'template(name="d" type="subtree" subtree="$!")\naction(type="mmjsonparse")\n'
        'action(type="omelasticsearch" bulkmode="on" template="d")\n'
    )
    what = "an event without JSON becomes {}; rsyslog writes nothing, which is no document"
    assert f"template d: {what}" in _changed(text, tmp_path)


def test_the_address_of_old_udp_listeners_holds_until_another_one(tmp_path: Path) -> None:
    made = imported(
        "$ModLoad imudp\n$UDPServerRun 1001\n$UDPServerAddress 127.0.0.1\n$UDPServerRun 1002\n"
        "$UDPServerRun 1003\n$UDPServerAddress *\n$UDPServerRun 1004\n*.* /var/log/all\n",
        tmp_path,
    )
    addresses = [one["address"] for one in listed(made, "inputs")]
    assert addresses == ["*", "127.0.0.1", "127.0.0.1", "*"]


@pytest.mark.parametrize("asks", ['if $inputname == "x" then ', ""])
def test_an_input_keeps_a_name_that_something_asks_for(asks: str, tmp_path: Path) -> None:
    made = imported(
        f'{DOCUMENT}input(type="imtcp" port="10515" name="x")\n'
        f'{asks}action(type="omfile" file="/var/log/all")\n',
        tmp_path,
    )
    assert len(listed(made, "inputs")) == (1 if asks else 2)
    kept = made.snippets.get("site-end.conf", "")
    assert ('input(type="imtcp" port="10515" name="x" ruleset="site")' in kept) is bool(asks)


def test_events_that_nothing_is_done_with_are_still_dropped(tmp_path: Path) -> None:
    made = imported('module(load="imtcp") input(type="imtcp" port="10514")\n*.* ~\n', tmp_path)
    assert [one.message for one in made.kept] == ["events end here unsent"]
    parse_profile(profile_text(made, ["rsyslog.conf"]), "site.yaml")


def test_single_requests_have_neither_ids_nor_another_operation(tmp_path: Path) -> None:
    """rsyslogd writes them into bulks alone."""
    text = (
        f'{DOCUMENT}template(name="id" type="string" string="%uuid%")\n'
        'action(type="omelasticsearch" template="d" bulkid="id" dynbulkid="on" '
        'writeOperation="create")\n'
    )
    made = imported(text, tmp_path)
    assert not {"bulkid", "writeoperation"} & listed(made, "outputs")[0].keys()
    said = [one.message for one in made.changed]
    assert "rsyslog ignores bulkid without bulkmode: left out" in said
    assert "rsyslog ignores writeOperation without bulkmode: left out" in said


@pytest.mark.parametrize(
    ("around", "is_said"),
    [
        ("", False),
        ('global(parser.escapeControlCharactersOnReceive="off")\n', True),
        ('module(load="imfile") input(type="imfile" file="/srv/a" tag="a:")\n', True),
    ],
)
def test_control_characters_that_broke_documents_are_said_to_be_escaped(
    around: str, is_said: bool, tmp_path: Path
) -> None:
    text = DOCUMENT.replace(":::json%", "%").replace('}")', '}" option.json="on")')
    into = 'action(type="omelasticsearch" bulkmode="on" template="d")\n'
    said = _changed(around + text + into, tmp_path)
    assert any("control characters (option.json)" in one for one in said) is is_said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("programname", "_ stands for each slash of it, and where it is empty"),
        ("fromhost-ip", "is _ where it is empty"),
        ("hostname:::secpath-replace", None),
        ("syslogseverity-text", None),
    ],
)
def test_names_of_files_that_led_to_other_folders_are_said_not_to(
    value: str, said: str | None, tmp_path: Path
) -> None:
    text = f'template(name="p" type="string" string="/var/log/%{value}%.log")\n'
    found = [one for one in _changed(f"{DOCUMENT}{text}*.* ?p\n", tmp_path) if "of a file" in one]
    assert [said in one for one in found] == [True] if said else found == []


def test_messages_are_repaired_for_what_is_kept_too(tmp_path: Path) -> None:
    fix, kept = 'action(type="mmutf8fix")\n', 'action(type="omusrmsg" users="root")\n'
    file = 'action(type="omfile" file="/var/log/a" template="RSYSLOG_FileFormat")\n'
    behind = imported(f"{DOCUMENT}{fix}{kept}{file}", tmp_path)
    text = "".join(behind.snippets.values())
    assert text.index("mmutf8fix") < text.index("omusrmsg")
    assert listed(behind, "outputs")[0]["mmutf8fix"] is True


def test_a_time_that_a_variable_takes_has_the_form_of_a_script(tmp_path: Path) -> None:
    """Found by a public configuration: it became that of RFC 3339."""
    text = (
        'module(load="imtcp") input(type="imtcp" port="10514")\n'
        "set $!t = $timereported;\nset $!u = 'at ' & $timegenerated & $hostname;\n"
        f'{DOCUMENT}action(type="omelasticsearch" bulkmode="on" template="d")\n'
    )
    one, two = (step["value"] for step in listed(imported(text, tmp_path), "steps"))
    form = {"dateFormat": "rfc3164"}
    assert one == [{"property": "timereported", **form}]
    assert two == [
        {"constant": "at "}, {"property": "timegenerated", **form}, {"property": "hostname"},
    ]  # fmt: skip


def test_a_module_that_nothing_loads_is_said_to_be_loaded(tmp_path: Path) -> None:
    engine = 'action(type="omelasticsearch" bulkmode="on" template="d")\n'
    text = f"$InputPTCPServerRun 514\n{DOCUMENT}{engine}"
    what = "no file here loads imptcp, omelasticsearch: the profile does"
    assert what in _changed(text, tmp_path)
    loaded = f'$ModLoad imptcp.so\nmodule(load="omelasticsearch")\n{text}'
    assert not any("loads" in one for one in _changed(loaded, tmp_path))
