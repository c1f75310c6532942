"""What the profile of a configuration does as that did: kinds that generated configurations found
(tests/live/corpus.py)."""

from __future__ import annotations

import re
from pathlib import Path

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
        'ruleset(name="r" queue.size="1000") { action(type="omfile" file="/var/log/a") }\n'
        'action(type="omfile" file="/var/log/b")\n',
        tmp_path,
    )
    assert made.data["streams"] == {"r": {"queue": {"size": 1000, "dequeueBatchSize": 1000}}}
    assert [one.message for one in made.changed] == [
        "ruleset r: rsyslog lowers its batch of 1024 to the size of the queue, 1000"
    ]
    parse_profile(profile_text(made, ["rsyslog.conf"]), "site.yaml")


def test_a_piece_that_is_not_there_is_said_to_be_empty(tmp_path: Path) -> None:
    text = DOCUMENT.replace("%msg:::json%", "%msg:F,58:2:json%")
    into = 'action(type="omelasticsearch" template="d")\n'
    (said,) = (one for one in _changed(text + into, tmp_path) if "FIELD NOT FOUND" in one)
    assert said == "msg: where there are fewer pieces the profile writes none of **FIELD NOT FOUND**"
