"""What inputs become: modules, rulesets that pin parsers, and one statement each."""

from __future__ import annotations

from tests.lint.test_inputs import FILE, PTCP, RELP, TLS, UDP, UNIX, WORK
from tests.profile.examples import small
from tests.render.tokens import Object, parse
from tuner.render.artefacts import rsyslog_conf

RFC3164 = {"parser": ["rsyslog.rfc3164"]}


def objects(*inputs: dict[str, object], **changes: object) -> list[Object]:
    return parse(rsyslog_conf(small({"inputs": list(inputs), **WORK, **changes})))


def inputs_of(found: list[Object]) -> dict[str, dict[str, str | list[str]]]:
    """The parameters of every input, by type."""
    kept = (one.parameters for one in found if one.kind == "input")
    return {str(parameters["type"]): parameters for parameters in kept}


def modules_of(found: list[Object]) -> dict[str, dict[str, str | list[str]]]:
    kept = (one.parameters for one in found if one.kind == "module")
    return {str(parameters["load"]): parameters for parameters in kept}


def rulesets_of(found: list[Object]) -> dict[str, Object]:
    return {str(one.parameters["name"]): one for one in found if one.kind == "ruleset"}


def test_every_kind_loads_its_module_once_and_hands_its_events_on() -> None:
    found = objects(PTCP, UDP, FILE, RELP, UNIX, TLS, PTCP | {"port": 1})
    loads = [one.parameters["load"] for one in found if one.kind == "module"]
    kinds = ["imptcp", "imudp", "imfile", "imrelp", "imuxsock", "imtcp"]
    assert loads[:6] == kinds
    assert not set(loads[6:]) & set(kinds)
    assert {kind: one["ruleset"] for kind, one in inputs_of(found).items()} == dict.fromkeys(
        kinds, "small"
    )


def test_parameters_of_a_module_stand_there_and_nowhere_else() -> None:
    shared: dict[str, object] = {"threads": 4, "batchSize": 64, "timeRequery": 8}
    found = objects(PTCP, UDP | shared)
    assert modules_of(found)["imudp"] == {
        "load": "imudp", "threads": "4", "batchSize": "64", "timeRequery": "8",
    }  # fmt: skip
    assert inputs_of(found)["imudp"] == {
        "type": "imudp", "address": "127.0.0.1", "port": "10514", "ruleset": "small",
        "rcvbufSize": "4m",
    }  # fmt: skip


def test_files_have_a_folder_for_their_places_and_keep_them() -> None:
    found = objects(FILE)
    (settings,) = [one.parameters for one in found if one.kind == "global"]
    assert settings["workDirectory"] == "/var/spool/rsyslog"
    assert inputs_of(found)["imfile"]["persistStateInterval"] == "1000"


def test_the_log_socket_of_the_system_is_left_alone() -> None:
    assert modules_of(objects(UNIX))["imuxsock"] == {"load": "imuxsock", "sysSock.use": "off"}


def test_tls_is_written_with_paths_and_peers() -> None:
    source = inputs_of(objects(TLS))["imtcp"]
    assert source["streamDriver.mode"] == "1"
    assert source["permittedPeer"] == ["*.example.org"]
    assert source["streamDriver.keyFile"] == "/etc/ssl/me.key"


def test_a_parser_of_the_profile_is_that_of_its_ruleset() -> None:
    found = objects(PTCP, UDP | RFC3164, parser=["rsyslog.rfc3164"])
    assert list(rulesets_of(found)) == ["small"]
    assert rulesets_of(found)["small"].parameters["parser"] == ["rsyslog.rfc3164"]


def test_an_input_with_a_parser_of_its_own_enters_through_a_ruleset_that_has_it() -> None:
    """rsyslog parses with the parsers of the ruleset that a message enters."""
    found = objects(PTCP, UDP | RFC3164, UNIX | RFC3164)
    rulesets = rulesets_of(found)
    assert list(rulesets) == ["small", "small-rfc3164"]
    assert "parser" not in rulesets["small"].parameters
    assert rulesets["small-rfc3164"].parameters["parser"] == ["rsyslog.rfc3164"]
    assert [(one.kind, one.parameters) for one in rulesets["small-rfc3164"].body] == [
        ("call", {"ruleset": "small"})
    ]
    sources = inputs_of(found)
    assert sources["imptcp"]["ruleset"] == "small"
    assert sources["imudp"]["ruleset"] == sources["imuxsock"]["ruleset"] == "small-rfc3164"
    assert not any("parser" in source for source in sources.values())


def test_what_reaches_the_file_changes_its_hash() -> None:
    def header(**changes: object) -> str:
        return rsyslog_conf(small({"inputs": [PTCP], **changes})).splitlines()[0]

    assert header() != header(**WORK)
    assert header() != header(parser=["rsyslog.rfc5424"])


def test_a_value_cannot_become_syntax() -> None:
    nasty = '^" action(type="omprog") \\ %msg% `x`'
    found = objects(FILE | {"startmsg.regex": nasty, "file": "/var/log/) stop (*.log"})
    assert inputs_of(found)["imfile"]["startmsg.regex"] == nasty
    assert inputs_of(found)["imfile"]["file"] == "/var/log/) stop (*.log"
