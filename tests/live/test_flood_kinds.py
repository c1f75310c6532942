"""A short trial of each kind of input: the flood speaks it, and every event is accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profile.examples import at_hand
from tuner.engine.client import EngineClient
from tuner.engine.sampled import SAMPLE, Content
from tuner.lab.lab import Lab, attached_lab, new_run_id, sink_lab
from tuner.lab.scratch import scratch
from tuner.measure.measurement import Failure, FailureKind, Measurement, TrialPlan
from tuner.measure.place import run_profile
from tuner.profile.model import Profile

pytestmark = [pytest.mark.live, pytest.mark.each_rsyslogd("inputs"), pytest.mark.full]

WORK: dict[str, object] = {"global": {"workDirectory": "/var/spool/rsyslog"}}
TLS: dict[str, object] = {
    "type": "imtcp",
    "port": 6514,
    "streamDriver.name": "gtls",
    "streamDriver.mode": 1,
    "streamDriver.authMode": "x509/name",
    "permittedPeer": ["*.example.org"],
    "streamDriver.caFile": "/etc/ssl/ca.pem",
    "streamDriver.certFile": "/etc/ssl/me.pem",
    "streamDriver.keyFile": "/etc/ssl/me.key",
}
RELP: dict[str, object] = {"type": "imrelp", "port": 2514}
RELP_TLS: dict[str, object] = {
    **RELP,
    "tls": True,
    "tls.authMode": "name",
    "tls.permittedPeer": ["*.example.org"],
    "tls.caCert": "/etc/ssl/ca.pem",
    "tls.myCert": "/etc/ssl/me.pem",
    "tls.myPrivKey": "/etc/ssl/me.key",
}
UDP: dict[str, object] = {"type": "imudp", "port": 514, "rcvbufSize": "4m"}
UNIX: dict[str, object] = {"type": "imuxsock", "socket": "/run/app.sock", "flowControl": True}
FILE: dict[str, object] = {"type": "imfile", "file": "/var/log/app.log", "tag": "app:"}
KINDS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "imtcp": ({"type": "imtcp", "port": 514}, {}),
    "imtcp-tls": (TLS, {}),
    "imtcp-tls-anyone": (
        {key: value for key, value in TLS.items() if key != "permittedPeer"}
        | {"streamDriver.authMode": "anon"},
        {},
    ),
    "imtcp-tls-counted": (TLS, {"workload.framing": "octet-counted"}),
    "imudp": (UDP, {}),
    "imudp-counted-5424": (
        UDP, {"workload.framing": "octet-counted", "workload.format": "rfc5424"},
    ),
    "imuxsock": (UNIX, {}),
    "imuxsock-5424": (UNIX, {"workload.format": "rfc5424"}),
    "imuxsock-parsed": (
        UNIX | {"useSpecialParser": False, "parseHostname": True}, {"workload.format": "rfc5424"},
    ),
    "imfile": (FILE, WORK),
    "imfile-many": (FILE | {"file": "/var/log/*/app.log"}, WORK),
    "imfile-parsed": (FILE | {"needParse": True}, WORK),
    "imrelp": (RELP, {}),
    "imrelp-tls": (RELP_TLS, {}),
}  # fmt: skip


def profile_of(kind: str) -> Profile:
    source, changes = KINDS[kind]
    return at_hand({"inputs": [source], **changes})


def measured(lab: Lab, profile: Profile) -> Measurement:
    outcome = run_profile(lab, profile, TrialPlan(0.5, 1.0), "kind", lambda _: None)
    assert isinstance(outcome, Measurement), outcome
    return outcome


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_is_accounted_for_on_the_sink(
    tmp_path: Path, kind: str, contents: list[Content]
) -> None:
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id()) as lab:
        outcome = measured(lab, profile_of(kind))
    assert outcome.delivery.exact, outcome.delivery
    assert outcome.delivery.sent > 1000
    assert contents == [Content(compared=SAMPLE)]


@pytest.mark.parametrize("kind", ["imtcp-tls", "imudp", "imuxsock", "imfile", "imrelp"])
def test_every_event_is_accounted_for_by_its_number_in_a_real_engine(
    tmp_path: Path, elasticsearch: EngineClient, kind: str, contents: list[Content]
) -> None:
    """Documents carry the number only when it was found at its place in the text."""
    # attached_lab closes the client that it is given, and the engine's is everybody's.
    client = EngineClient(elasticsearch.url)
    with (
        scratch(tmp_path) as folder,
        attached_lab(client, folder, new_run_id(), "1g") as lab,
    ):
        outcome = measured(lab, profile_of(kind))
    assert outcome.delivery.exact, outcome.delivery
    assert contents == [Content(compared=SAMPLE)]


def test_datagrams_that_the_kernel_drops_are_lost_in_the_account(tmp_path: Path) -> None:
    """A receive buffer for one or two datagrams: the flood keeps to the default size."""
    profile = at_hand(
        {
            "inputs": [UDP | {"rcvbufSize": "1k"}],
            "workload.rate": 2000,
            "workload.message_bytes": {"mean": 1000},
        }
    )
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id()) as lab:
        outcome = run_profile(lab, profile, TrialPlan(0.5, 1.0), "kind", lambda _: None)
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind is FailureKind.DELIVERY
    assert outcome.delivery is not None
    assert outcome.delivery.lost > 0
