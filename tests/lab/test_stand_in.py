"""The input of a lab for a base without one to be flooded: which, into which ruleset, and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.test_base_script import ES, fitted
from tests.profile.test_base import loaded
from tuner.profile.bind_inputs import flooded
from tuner.rainerscript.script import printed

DROP_IN = f'module(load="omelasticsearch")\n*.* {ES})\n'


def input_of(folder: Path, conf: str) -> str:
    lines = printed(fitted(folder, conf).block).splitlines()
    (found,) = [one for one in lines if one.startswith("input(")]
    return found


def test_a_drop_in_gets_an_input_into_the_default_ruleset(tmp_path: Path) -> None:
    made = fitted(tmp_path, DROP_IN)
    assert 'module(load="imtcp")\n' in printed(made.block)
    assert input_of(tmp_path, DROP_IN) == 'input(type="imtcp" address="127.0.0.1" port="20000")'
    (said,) = [one for one in made.replaced if one.what == "inputs"]
    assert said.used == "no input that can be flooded: the lab adds an imtcp"


def test_a_module_that_the_base_loads_is_not_loaded_again(tmp_path: Path) -> None:
    conf = f'module(load="imtcp" streamDriver.mode="1")\n{DROP_IN}'
    assert 'type="imptcp"' in input_of(tmp_path, conf)
    assert printed(fitted(tmp_path, conf).block).count('load="imtcp"') == 1


def test_modules_that_the_file_around_a_drop_in_loads_are_loaded(tmp_path: Path) -> None:
    conf = f'input(type="imtcp" port="1")\naction(type="mmjsonparse")\n*.* /x\n*.* {ES})\n'
    lines = printed(fitted(tmp_path, conf).block).splitlines()
    assert lines[1:4] == [
        f'module(load="{name}")' for name in ("imtcp", "mmjsonparse", "omelasticsearch")
    ]
    (said,) = [one for one in fitted(tmp_path, conf).replaced if one.what == "inputs"]
    what = "modules that it does not load: the lab loads imtcp, mmjsonparse, omelasticsearch"
    assert said.used == what


@pytest.mark.parametrize(
    "source",
    [
        'input(type="imbeats" port="5044" ruleset="r")',
        'input(type="imkafka" broker="b:9092" topic="t" consumerGroup="g" ruleset="r")',
        'input(type="imfile" file="/var/log/x" tag="x" startmsg.regex="^a" ruleset="r")',
        'module(load="impstats" ruleset="r")',
        'ruleset(name="other") { action(type="omfile" file="/var/log/x") }',
    ],
)
def test_events_enter_where_they_come_to_the_engine(source: str, tmp_path: Path) -> None:
    conf = f'{source}\nruleset(name="r") {{\n  {ES})\n}}\n*.* /var/log/all\n'
    assert 'ruleset="r"' in input_of(tmp_path, conf)


def test_of_several_inputs_that_is_flooded_which_leads_to_most_engine_actions(
    tmp_path: Path,
) -> None:
    more = ES.replace('"es"', '"more"')
    conf = (
        'input(type="imtcp" port="1" ruleset="files")\ninput(type="imtcp" port="2" ruleset="few")\n'
        'input(type="imtcp" port="3" ruleset="all")\n'
        'ruleset(name="files") { action(type="omfile" file="/var/log/x") }\n'
        f'ruleset(name="few") {{\n  {ES})\n}}\n'
        'ruleset(name="all" queue.type="LinkedList") { call few call rest }\n'
        f'ruleset(name="rest" queue.type="LinkedList") {{\n  {more})\n}}\n'
    )
    profile = loaded(tmp_path, conf=conf).profile
    assert flooded(profile) is profile.inputs[2]
    assert 'ruleset="all"' in input_of(tmp_path, conf)


def test_lines_of_files_that_are_taken_apart_come_by_an_input_of_the_lab(tmp_path: Path) -> None:
    source = 'input(type="imfile" file="/var/log/x" tag="x")'
    conf = f'{source}\naction(type="mmnormalize")\n*.* {ES})\n'
    profile = loaded(tmp_path, conf=conf).profile
    assert flooded(profile).type == "imtcp"
    assert 'type="imtcp"' in input_of(tmp_path, conf)


def test_of_equals_that_is_flooded_which_loses_nothing(tmp_path: Path) -> None:
    conf = f'input(type="imudp" port="1")\ninput(type="imtcp" port="2")\n*.* {ES})\n'
    profile = loaded(tmp_path, conf=conf).profile
    assert flooded(profile).type == "imtcp"
