"""The input of a lab for a base without one to be flooded: which, into which ruleset, and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.test_copy import ES, fitted
from tests.profile.test_base import loaded
from tuner.flood.workload import flood_spec, transports_for
from tuner.lab.bind import bind_inputs
from tuner.lab.entrances import furnish
from tuner.lab.text import LEFT_OUT
from tuner.modules.input import LOOPBACK
from tuner.script.printing import printed

MORE = ES.replace('"es"', '"more"')
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


@pytest.mark.parametrize("module", ["", 'module(load="imuxsock" SysSock.Use="off")\n'])
def test_an_input_of_a_socket_brings_no_socket_of_the_system(module: str, tmp_path: Path) -> None:
    made = fitted(tmp_path, f'{module}input(type="imuxsock" socket="/run/own")\n{DROP_IN}')
    assert 'module(load="imuxsock" sysSock.use="off")\n' in printed(made.block)
    said = [one.used for one in made.replaced if one.what == "inputs"]
    assert said == ["modules that it does not load: the lab loads imuxsock"] * (not module)


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
    conf = (
        'input(type="imtcp" port="1" ruleset="files")\ninput(type="imtcp" port="2" ruleset="few")\n'
        'input(type="imtcp" port="3" ruleset="all")\n'
        'ruleset(name="files") { action(type="omfile" file="/var/log/x") }\n'
        f'ruleset(name="few") {{\n  {ES})\n}}\n'
        'ruleset(name="all" queue.type="LinkedList") { call few call rest }\n'
        f'ruleset(name="rest" queue.type="LinkedList") {{\n  {MORE})\n}}\n'
    )
    profile = loaded(tmp_path, conf=conf).profile
    assert profile.flooded == (profile.inputs[2],)
    assert 'ruleset="all"' in input_of(tmp_path, conf)


def test_lines_of_files_that_are_taken_apart_come_by_an_input_of_the_lab(tmp_path: Path) -> None:
    source = 'input(type="imfile" file="/var/log/x" tag="x")'
    conf = f'{source}\naction(type="mmnormalize")\n*.* {ES})\n'
    profile = loaded(tmp_path, conf=conf).profile
    assert [one.type for one in profile.flooded] == ["imtcp"]
    assert 'type="imtcp"' in input_of(tmp_path, conf)


def test_of_equals_that_is_flooded_which_loses_nothing(tmp_path: Path) -> None:
    conf = f'input(type="imudp" port="1")\ninput(type="imtcp" port="2")\n*.* {ES})\n'
    profile = loaded(tmp_path, conf=conf).profile
    assert [one.type for one in profile.flooded] == ["imtcp"]


SEVERAL = (
    'input(type="imudp" port="1" ruleset="one")\ninput(type="imtcp" port="2" ruleset="one")\n'
    'input(type="imrelp" port="3" ruleset="two")\n'
    'input(type="imptcp" port="4" ruleset="both")\n'
    f'ruleset(name="one") {{\n  {ES})\n}}\n'
    f'ruleset(name="two") {{\n  {MORE})\n}}\n'
)


def test_as_many_inputs_are_flooded_as_lead_to_all_engine_actions(tmp_path: Path) -> None:
    conf = SEVERAL + 'ruleset(name="both") { action(type="omfile" file="/var/log/x") }\n'
    profile = loaded(tmp_path, conf=conf).profile
    assert profile.flooded_numbers == (1, 2)
    assert [one.type for one in profile.flooded] == ["imtcp", "imrelp"]
    text = printed(fitted(tmp_path, conf).block)
    assert [one for one in range(20_000, 20_004) if str(one) in text] == [20_001, 20_002]


def test_one_input_that_leads_to_all_engine_actions_is_enough(tmp_path: Path) -> None:
    conf = SEVERAL + 'ruleset(name="both") { call one call two }\n'
    assert loaded(tmp_path, conf=conf).profile.flooded_numbers == (3,)


def test_lint_looks_at_the_framing_of_every_input_that_is_flooded(tmp_path: Path) -> None:
    conf = SEVERAL.replace(
        '"imrelp" port="3"', '"imptcp" port="3" supportOctetCountedFraming="off"'
    )
    conf += 'ruleset(name="both") { action(type="omfile" file="/var/log/x") }\n'
    found = loaded(tmp_path, "workload: {framing: octet-counted}\n", conf=conf).warnings
    (framing,) = [one for one in found if one.code == "RT211"]
    assert (framing.file, framing.line) == (f"{tmp_path}/rsyslog.conf", 3)


def test_a_ruleset_that_the_module_names_is_that_of_its_inputs(tmp_path: Path) -> None:
    conf = SEVERAL.replace(' port="3" ruleset="two"', ' port="3"')
    conf += 'ruleset(name="both") { action(type="omfile" file="/var/log/x") }\n'
    assert loaded(tmp_path, conf=conf).profile.flooded_numbers == (1,)
    conf = f'module(load="imrelp" ruleset="two")\n{conf}'
    assert loaded(tmp_path, conf=conf).profile.flooded_numbers == (1, 2)


def test_files_take_turns_each_with_a_name_of_its_own(tmp_path: Path) -> None:
    conf = "".join(
        f'input(type="imfile" file="/var/log/{one}" tag="{one}" ruleset="{one}")\n'
        f'ruleset(name="{one}") {{\n  {ES.replace(chr(34) + "es", chr(34) + one)})\n}}\n'
        for one in ("a", "b")
    )
    assert loaded(tmp_path, conf=conf).profile.flooded_numbers == (0, 1)
    text = printed(fitted(tmp_path, conf).block)
    assert 'file="/scratch/input-20000.log"' in text
    assert 'file="/scratch/input-20001.log"' in text


def test_all_that_are_flooded_are_reached_from_elsewhere_and_have_the_framing_that_they_can(
    tmp_path: Path,
) -> None:
    conf = SEVERAL.replace('"imtcp" port="2"', '"imudp" port="2"').replace("imrelp", "imtcp")
    profile = loaded(tmp_path, "workload: {framing: octet-counted}\n", conf=conf).profile
    inputs = bind_inputs(profile, tuple(range(20_000, 20_004)), "/scratch", "10.0.0.5")
    bound = profile.model_copy(update={"inputs": tuple(filter(None, inputs))})
    spec = flood_spec(bound, "0a1b2c3d")
    assert [one.targets for one in spec.transports] == [("10.0.0.5:20000",), ("10.0.0.5:20002",)]
    framings = [spec.framing_of(one) for one in spec.transports]
    assert framings == ["none", "octet-counted"]


def test_inputs_with_tls_share_the_certificates_of_the_lab(tmp_path: Path) -> None:
    tls = 'streamDriver.name="gtls" streamDriver.mode="1" streamDriver.caFile="/ca.pem"'
    conf = SEVERAL.replace('"imtcp"', f'"imtcp" {tls}').replace('"imrelp"', f'"imtcp" {tls}')
    profile = loaded(tmp_path, conf=conf).profile
    inputs = bind_inputs(profile, tuple(range(20_000, 20_004)), str(tmp_path / "lab"), LOOPBACK)
    bound = profile.model_copy(update={"inputs": tuple(filter(None, inputs))})
    (tmp_path / "lab").mkdir()
    furnish(bound)
    ways = transports_for(bound)
    assert [one.kind for one in ways] == ["tls", "tls"]
    assert all(
        Path(path).exists() for one in ways if one.credentials for path in one.credentials.files
    )


OWN_LEFT_OUT = {
    'if $fromhost-ip != "127.0.0.1" then': True,
    ':fromhost-ip, !isequal, "127.0.0.1"': True,
    "if $fromhost-ip == '127.0.0.1' then { stop }": True,
    ':fromhost-ip, isequal, "127.0.0.1" ~': True,
    'if $fromhost-ip == "127.0.0.1" then': False,
    'if $fromhost-ip != "192.0.2.1" then': False,
}


@pytest.mark.parametrize("condition", OWN_LEFT_OUT)
def test_where_the_events_of_its_own_host_are_left_out_others_are_sent(
    condition: str, tmp_path: Path
) -> None:
    conf = f'input(type="imtcp" port="1")\n{condition} {ES})\n'
    (way,) = transports_for(loaded(tmp_path, conf=conf).profile)
    assert way.source is None
    profile = loaded(tmp_path, conf=conf).profile
    (source,) = bind_inputs(profile, (20_000,), "/scratch", LOOPBACK)
    (way,) = transports_for(profile.model_copy(update={"inputs": (source,)}))
    assert way.source == ("127.0.0.2" if OWN_LEFT_OUT[condition] else None)


def test_what_one_flood_cannot_send_together_is_told_with_its_place(tmp_path: Path) -> None:
    conf = (
        'input(type="imtcp" port="1" ruleset="one")\n'
        'input(type="imfile" file="/var/log/x" tag="x" ruleset="two")\n'
        f'ruleset(name="one") {{\n  {ES})\n}}\nruleset(name="two") {{\n  {MORE})\n}}\n'
    )
    assert loaded(tmp_path, conf=conf).profile.flooded_numbers == (0,)
    (said,) = [one for one in fitted(tmp_path, conf).replaced if "imfile," in one.what]
    want = "input imfile, which no flood sends to beside the others, and so action[more]"
    assert str(said) == f"{tmp_path}/rsyslog.conf:2:1: {want} -> left out"
    assert said.used == LEFT_OUT
