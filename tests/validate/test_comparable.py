"""A configuration in the lab that compares it: what of the host is touched there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.rainerscript.parser import parse
from tuner.validate.comparable import ComparableScript


def test_the_file_of_an_outchannel_is_in_the_lab_and_no_command_runs(tmp_path: Path) -> None:
    block, refused = parse(
        "$outchannel rot, /var/log/rot, 1000, /bin/rotate\n*.* :omfile:$rot\n", "x.conf"
    )
    assert not refused
    text = ComparableScript("http://127.0.0.1:9200", str(tmp_path)).text(block)
    assert ":omfile:$rot" in text
    (channel,) = (one for one in text.splitlines() if one.startswith("$"))
    assert channel.startswith(f"$outchannel rot,{tmp_path}/")
    assert channel.endswith("/var/log/rot")


@pytest.mark.parametrize(
    ("action", "template"),
    [
        ('type="omfwd" target="up"', "RSYSLOG_TraditionalForwardFormat"),
        ('type="omrelp" target="up" port="1"', "RSYSLOG_ForwardFormat"),
        ('type="omprog" binary="/bin/cat"', "RSYSLOG_FileFormat"),
    ],
)
def test_what_is_sent_has_the_format_that_rsyslog_gives_it(
    action: str, template: str, tmp_path: Path
) -> None:
    block, _ = parse(f"action({action})\n", "x.conf")
    text = ComparableScript("http://127.0.0.1:9200", str(tmp_path)).text(block)
    assert f'exec_template("{template}")' in text


def test_an_input_of_the_old_form_listens_on_a_port_of_the_lab(tmp_path: Path) -> None:
    block, _ = parse("$InputPTCPServerRun 514\n$InputRELPServerRun 515\n", "x.conf")
    made = ComparableScript("http://127.0.0.1:9200", str(tmp_path))
    text = made.text(block)
    assert [one.kind for one in made.entries] == ["imptcp"]
    assert f"$InputPTCPServerRun {made.entries[0].port}\n" in text
    assert " 514\n" not in text


def test_documents_that_are_created_without_ids_still_are_for_engines_that_make_them(
    tmp_path: Path,
) -> None:
    """rsyslogd refuses the action else."""
    action = 'type="omelasticsearch" writeOperation="create" esVersion.major="8"'
    block, _ = parse(f"action({action})\n", "x.conf")
    assert 'esVersion.major="8"' in ComparableScript("http://127.0.0.1:1", str(tmp_path)).text(
        block
    )
