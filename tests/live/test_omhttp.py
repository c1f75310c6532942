"""omhttp with a real rsyslogd: what a server gets of each shape, and what becomes of refusals."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.house.pages import outputs_over_http
from tests.live.http_receiver import HTML, OK, RESET, Answer, Answers, Receiver, http_receiver
from tests.live.outputs import NO_OMHTTP, Place, daemon, has_module, lines, place, wait
from tests.live.test_inputs import make_certificates
from tests.profile.examples import SMALL
from tests.render.test_parameters_accepted import accepted, parameters
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.engines.release import Release
from tuner.host.process import give_to_daemons
from tuner.host.programs import rsyslog_version
from tuner.lab.entrances import TcpPort
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.modules.omhttp import OmhttpOutput
from tuner.modules.output import Lines
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.profile.source import read
from tuner.render.artefacts import rsyslog_conf
from tuner.render.form import Form

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("outputs"),
    pytest.mark.skipif(not has_module("omhttp"), reason=NO_OMHTTP),
]

EVENTS = 1000
BATCH = 250
LOST = 2 * BATCH
SENT = [b"<13>Nov 21 06:30:00 web1 app[77]: n%06d" % number for number in range(EVENTS)]
QUEUE: dict[str, object] = {
    "type": "LinkedList", "size": 20000, "dequeueBatchSize": BATCH, "minDequeueBatchSize": BATCH,
    "minDequeueBatchSize.timeout": 300, "timeoutEnqueue": 86400000, "timeoutShutdown": 10000,
}  # fmt: skip
BATCHES: dict[str, Any] = {"batch": True, "batch.maxsize": BATCH}
HOSTILE = [
    b'"quoted" \\ and \\n {"index":{}}', b"%msg% $x `id` '", b"caf\xc3\xa9", b"latin \xe9 \xff",
    b"a\x01b\tc", b"}", b"x" * 3000,
]  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def posting(receiver: Receiver, **more: object) -> dict[str, object]:
    return {
        "name": "up", "type": "omhttp", "server": [f"http://127.0.0.1:{receiver.port}"],
        "line": [{"property": "msg"}], "action.resumeInterval": 1, "queue": QUEUE, **more,
    }  # fmt: skip


def at_hand() -> dict[str, object]:
    """Parameters are those of the rsyslogd that runs."""
    return {"release.rsyslog": rsyslog_version(), "guardrails.tier": "relaxed"}


def running(site: Place, output: Mapping[str, object]) -> AbstractContextManager[Rsyslogd]:
    return site.running([output], at_hand())


def arrived(receiver: Receiver) -> Counter[str]:
    """How often each event was accepted."""
    return Counter(
        number.decode() for one in receiver.taken for number in re.findall(rb"n(\d{6})", one.body)
    )


def outcome(
    site: Place, answers: Answers, snippet: str = "", missing: int = 0, **more: object
) -> tuple[int, int, Receiver]:
    """Of all events that are sent, how many are missing and how many were accepted twice; waits
    until all have come but those that are to be missing."""
    with http_receiver(answers) as receiver:
        profile = site.profile(
            [posting(receiver, **more)], at_hand() | {"snippets": {"end": ["again.conf"]}}
        )
        text = snippet.replace("PORT", str(receiver.port))
        config = rsyslog_conf(profile, form=Form({"again.conf": text}))
        with daemon(config, site.folder, [TcpPort(site.port)]):
            site.send(SENT)
            wait(lambda: len(arrived(receiver)) == EVENTS - missing, 40)
        counts = arrived(receiver)
    return EVENTS - len(counts), sum(counts.values()) - len(counts), receiver


def first(count: int, answer: Answer) -> Answers:
    return lambda number, _: answer if number < count else OK


def nth(place: int, answer: Answer) -> Answers:
    return lambda number, _: answer if number == place else OK


def html(status: int) -> Answer:
    """What a proxy says."""
    return Answer(status, HTML, "text/html")


@pytest.mark.parametrize("status", [301, 400, 413])
def test_a_refused_batch_is_dropped_and_kept_in_errorfile(site: Place, status: int) -> None:
    errors = site.folder / "errors"
    more: dict[str, Any] = {"errorfile": str(errors)}
    answers = first(2, html(status))
    assert outcome(site, answers, "", LOST, **BATCHES, **more)[:2] == (LOST, 0)
    said = [json.loads(line) for line in lines(errors)]
    assert [one["response"]["status"] for one in said] == [status, status]
    assert [one["request"]["postdata"].count("n0") for one in said] == [BATCH, BATCH]


@pytest.mark.full
@pytest.mark.parametrize("status", [401, 403, 404, 408])
def test_other_refusals_are_dropped_too(site: Place, status: int) -> None:
    assert outcome(site, first(2, Answer(status)), "", LOST, **BATCHES)[:2] == (LOST, 0)


@pytest.mark.parametrize("answer", [Answer(429), html(503), RESET], ids=["429", "503", "reset"])
def test_what_passes_is_waited_for_and_nothing_is_doubled(site: Place, answer: Answer) -> None:
    missing, doubled, receiver = outcome(site, first(2, answer), **BATCHES)
    assert (missing, doubled) == (0, 0)
    singles = [one for one in receiver.taken if one.body.count(b"n0") == 1]
    assert len(singles) == BATCH


@pytest.mark.full
@pytest.mark.parametrize("status", [500, 502])
def test_other_errors_of_a_server_are_waited_for_too(site: Place, status: int) -> None:
    assert outcome(site, first(2, html(status)), **BATCHES)[:2] == (0, 0)


def test_with_httpretrycodes_a_refusal_is_waited_for(site: Place) -> None:
    codes: dict[str, Any] = {"httpretrycodes": [401, 403]}
    assert outcome(site, first(2, Answer(403)), **BATCHES, **codes)[:2] == (0, 0)


def test_what_is_ignorable_is_lost_and_stands_nowhere(site: Place) -> None:
    errors = site.folder / "errors"
    more: dict[str, Any] = {"httpignorablecodes": [400], "errorfile": str(errors)}
    assert outcome(site, first(2, Answer(400)), "", LOST, **BATCHES, **more)[:2] == (LOST, 0)
    assert lines(errors) == []


PARTS: list[tuple[dict[str, Any], int, int]] = [
    ({"batch": True, "batch.maxsize": 100}, 1, 100),
    ({}, 99, 99),
    ({"batch": True, "batch.maxsize": BATCH, "batch.maxbytes": "1k"}, 1, -1),
]


@pytest.mark.parametrize(("more", "fails", "again"), PARTS)
def test_a_batch_of_the_queue_in_parts_arrives_twice_in_part(
    site: Place, more: dict[str, Any], fails: int, again: int
) -> None:
    missing, doubled, receiver = outcome(site, nth(fails, Answer(503)), **more)
    before = sum(one.body.count(b"n0") for one in receiver.posts[:fails])
    assert missing == 0
    assert doubled == before
    assert again in {before, -1}


def test_an_answer_after_the_timeout_has_the_batch_sent_again(site: Place) -> None:
    late = nth(0, Answer(after_s=3))
    more: dict[str, Any] = {**BATCHES, "restpathtimeout": 500}
    assert outcome(site, late, **more)[:2] == (0, BATCH)


AGAIN = """\
template(name="again" type="string" string="%msg%")
ruleset(name="again" queue.type="LinkedList" queue.size="20000") {
    action(type="omhttp" server="127.0.0.1" serverport="PORT" useHttps="off" template="again"
           batch="on" batch.maxsize="250" action.resumeRetryCount="-1" action.resumeInterval="1")
}
"""
RETRIES: dict[str, Any] = {"retry": True, "retry.ruleset": "again"}


def test_retry_ruleset_doubles_a_batch_whose_connection_breaks(site: Place) -> None:
    assert outcome(site, first(1, RESET), AGAIN, **BATCHES, **RETRIES)[:2] == (0, BATCH)


def test_retry_ruleset_drops_what_exceeds_its_limit(site: Place) -> None:
    limit: dict[str, Any] = {"ratelimit.interval": 60, "ratelimit.burst": 100}
    more: dict[str, Any] = {**BATCHES, **RETRIES, **limit}
    assert outcome(site, first(1, Answer(503)), AGAIN, BATCH - 100, **more)[:2] == (BATCH - 100, 0)


@pytest.mark.parametrize(("count", "loses"), [(0, True), (-1, False)])
def test_a_lasting_outage_loses_events_without_retries_only(
    site: Place, count: int, loses: bool
) -> None:
    """It outlasts the ten tries that rsyslog makes at once."""
    outage = first(BATCH + 15, Answer(503))
    with http_receiver(outage) as receiver:
        output = posting(receiver, **BATCHES, **{"action.resumeRetryCount": count})
        with running(site, output):
            site.send(SENT)
            wait(lambda: bool(receiver.taken), 5 if loses else 60)
            wait(lambda: len(arrived(receiver)) == EVENTS, 1 if loses else 60)
    assert (len(arrived(receiver)) < EVENTS) is loses


@pytest.mark.parametrize("form", ["jsonarray", "kafkarest"])
def test_what_is_not_json_is_dropped(site: Place, form: str) -> None:
    """Lint refuses such a profile (RT290): here it is rendered all the same."""
    with http_receiver() as receiver:
        output = posting(receiver, **BATCHES, **{"batch.format": form})
        changes = {"outputs": [output], "inputs[0].port": site.port}
        profile = Profile.model_validate(read(edit(SMALL, changes), "p.yaml").data)
        with daemon(rsyslog_conf(profile), site.folder, [TcpPort(site.port)]):
            site.send(SENT[:50])
            wait(lambda: bool(receiver.taken))
    assert arrived(receiver) == Counter()
    assert [json.loads(one.body) for one in receiver.taken] in ([[]], [{"records": []}])


def test_any_answer_to_a_health_check_will_do(site: Place) -> None:
    with http_receiver() as receiver:
        receiver.health = 503
        output = posting(receiver, **BATCHES, checkpath="ready")
        output["server"] = [*[f"http://127.0.0.1:{receiver.port}"] * 2]
        with running(site, output):
            site.send(SENT)
            wait(lambda: len(arrived(receiver)) == EVENTS)
    assert len(arrived(receiver)) == EVENTS
    assert {one.path for one in receiver.requests if one.method == "GET"} == {"/ready"}


def documents_of_json_array(receiver: Receiver) -> list[object]:
    return [one for post in receiver.taken for one in json.loads(post.body)]


def documents_of_kafka(receiver: Receiver) -> list[object]:
    found = [one for post in receiver.taken for one in json.loads(post.body)["records"]]
    assert all(set(one) == {"value"} for one in found)
    return [one["value"] for one in found]


def documents_of_lines(receiver: Receiver) -> list[object]:
    return [json.loads(line) for post in receiver.taken for line in post.body.splitlines()]


FORMS = [
    ("newline", documents_of_lines), ("jsonarray", documents_of_json_array),
    ("kafkarest", documents_of_kafka),
]  # fmt: skip


@pytest.mark.parametrize(("form", "documents"), FORMS)
@pytest.mark.parametrize("compress", [False, True])
def test_every_event_is_a_document(
    site: Place, form: str, documents: Callable[[Receiver], list[object]], compress: bool
) -> None:
    sent = [b"<13>Nov 21 06:30:00 web1 app[%d]: %b" % pair for pair in enumerate(HOSTILE)]
    with http_receiver() as receiver:
        output = posting(receiver, **BATCHES, **{"batch.format": form, "compress": compress})
        del output["line"]
        output["document"] = [{"property": "procid", "name": "n"}, {"property": "msg", "name": "m"}]
        with running(site, output):
            site.send(sent)
            wait(lambda: len(documents(receiver)) == len(sent))
    found = documents(receiver)
    assert sorted(int(one["n"]) for one in found if isinstance(one, dict)) == list(range(len(sent)))
    texts = [one["m"] for one in found if isinstance(one, dict)]
    assert ' "quoted" \\ and \\n {"index":{}}' in texts
    assert ("content-encoding" in receiver.taken[0].headers) is compress


def test_a_path_follows_the_host_and_never_leaves_its_place(site: Place) -> None:
    hosts = ["WEB-1", "web2", "..", "../../admin", "a?b", "x y"]
    sent = [
        b"<13>1 2026-11-21T06:30:00Z %b app 77 - - n%06d" % (host.encode(), number)
        for number, host in enumerate(hosts[:5])
    ]
    with http_receiver() as receiver:
        path = {"before": "logs-", "property": "hostname", "after": "/_bulk", "fallback": "none"}
        with running(site, posting(receiver, **BATCHES, dynrestpath=path)):
            site.send(sent)
            wait(lambda: len(arrived(receiver)) == len(sent))
    found = {one.path: one.body.count(b"n0") for one in receiver.taken}
    assert found.keys() == {"/logs-web-1/_bulk", "/logs-web2/_bulk", "/logs-none/_bulk"}
    assert len(arrived(receiver)) == len(sent)


def test_secrets_reach_the_server_and_no_configuration(site: Place) -> None:
    files = {name: site.folder / name for name in ("pwd", "header", "key")}
    files["pwd"].write_text("geheim1")
    files["header"].write_text("Authorization: Splunk geheim2")
    files["key"].write_text("geheim3")
    secrets = {name: {"file": str(path)} for name, path in files.items()}
    more: dict[str, Any] = {
        "httpheaders": ["X-Scope-OrgID: logs", secrets["header"]],
        "httpheaderkey": "X-Api-Key", "httpheadervalue": secrets["key"],
    }  # fmt: skip
    with http_receiver() as receiver:
        with running(site, posting(receiver, **BATCHES, **more)):
            site.send(SENT[:10])
            wait(lambda: bool(receiver.taken))
        with running(site, posting(receiver, auth={"uid": "me", "pwd": secrets["pwd"]})):
            site.send(SENT[:10])
            wait(lambda: len(receiver.taken) > 1)
    headers, basic = receiver.taken[0].headers, receiver.taken[-1].headers
    assert headers["authorization"] == "Splunk geheim2"
    assert headers["x-api-key"] == "geheim3"
    assert headers["x-scope-orgid"] == "logs"
    assert basic["authorization"].startswith("Basic ")
    written = [path for path in site.folder.parent.rglob("*") if path.is_file()]
    holding = {path.name for path in written if b"geheim" in path.read_bytes()}
    assert holding == {"pwd", "header", "key"}


@pytest.mark.parametrize("trusts", [True, False])
def test_over_tls_events_go_to_the_right_server_only(
    site: Place, tmp_path: Path, trusts: bool
) -> None:
    """The certificate is one for another name than the address that events go to."""
    with scratch(tmp_path) as below:
        folder = subfolder(below, "certificates")
        make_certificates(folder)
        both = folder / "both.pem"
        both.write_text((folder / "server.pem").read_text() + (folder / "server.key").read_text())
        give_to_daemons(folder)
        with http_receiver(certificate=both) as receiver:
            output = posting(receiver, **BATCHES)
            output["tls"] = {"cacert": f"{folder}/ca.pem", "skipverifyhost": trusts}
            output["server"] = [f"https://127.0.0.1:{receiver.port}"]
            output["queue"] = QUEUE | {"timeoutShutdown": 100}
            with running(site, output):
                site.send(SENT)
                wait(lambda: len(arrived(receiver)) == EVENTS, 10 if trusts else 2)
            assert len(arrived(receiver)) == (EVENTS if trusts else 0)


def is_loki(body: bytes) -> list[str]:
    """The texts of a push, as Loki takes it; raises AssertionError."""
    data = json.loads(body)
    assert set(data) == {"streams"}
    texts = []
    for stream in data["streams"]:
        assert set(stream) == {"stream", "values"}
        assert stream["stream"]
        assert all(isinstance(value, str) for value in stream["stream"].values())
        assert all(re.fullmatch(r"[a-zA-Z_]\w*", name) for name in stream["stream"])
        for time, text in stream["values"]:
            assert re.fullmatch(r"[1-9][0-9]{18}", time)
            texts.append(text)
    return texts


def is_hec(body: bytes) -> list[str]:
    """The texts of events, as Splunk's collector takes them; raises AssertionError."""
    texts = []
    for line in body.splitlines():
        event = json.loads(line)
        assert set(event) <= {"time", "host", "source", "sourcetype", "index", "event", "fields"}
        assert isinstance(event["time"], int)
        assert event["event"]
        texts.append(event["event"]["message"])
    return texts


def is_bulk(body: bytes) -> list[str]:
    """The texts of documents, as _bulk takes them; raises AssertionError."""
    assert body.endswith(b"\n")
    parts = [line for line in body.splitlines() if line]
    assert {*parts[::2]} == {b'{"create":{}}'}
    return [json.loads(line)["message"] for line in parts[1::2]]


def is_lines(body: bytes) -> list[str]:
    """The lines of a file; raises AssertionError."""
    assert body.endswith(b"\n")
    return [line.split(" ", 2)[2] for line in body.decode().splitlines() if line]


SHAPES: dict[str, tuple[str, Callable[[bytes], list[str]]]] = {
    "loki": ("/loki/api/v1/push", is_loki),
    "splunk": ("/services/collector/event", is_hec),
    "opensearch": ("/logs-syslog/_bulk", is_bulk),
    "hdfs": ("/webhdfs/v1/logs/syslog.log?op=APPEND&data=true&user.name=rsyslog", is_lines),
}


def local(output: Mapping[str, object], folder: Path, address: str) -> dict[str, object]:
    """The output of a page with a server, files and secrets of here."""
    secret = folder / "secret"
    is_splunk = output["name"] == "splunk"
    secret.write_text("Authorization: Splunk token" if is_splunk else "geheim")
    here = dict(output) | {"server": [address], "errorfile": f"{folder}/errors"}
    if "auth" in here:
        here["auth"] = {"uid": "shipper", "pwd": {"file": str(secret)}}
    if is_splunk:
        here["httpheaders"] = [{"file": str(secret)}]
    return here


@pytest.mark.parametrize("name", SHAPES)
def test_what_the_page_shows_sends_what_the_server_takes(site: Place, name: str) -> None:
    path, shape = SHAPES[name]
    sent = [b"<13>Nov 21 06:30:00 web1 app[%d]: %b" % pair for pair in enumerate(HOSTILE[:3])]
    with http_receiver() as receiver:
        output = local(outputs_over_http()[name], site.folder, f"http://127.0.0.1:{receiver.port}")
        with running(site, output):
            site.send(sent)
            wait(lambda: sum(len(shape(one.body)) for one in receiver.taken) == len(sent))
    assert {one.path for one in receiver.taken} == {path}
    texts = [text for one in receiver.taken for text in shape(one.body)]
    assert sorted(text.split(":", 1)[1] if name == "loki" else text for text in texts) == sorted(
        f" {one.decode()}" if name != "hdfs" else one.decode() for one in HOSTILE[:3]
    )
    assert not (site.folder / "errors").exists()


def test_a_bulk_is_taken_by_the_sink(site: Place) -> None:
    with Sink(keep=EVENTS) as sink:
        client = EngineClient(sink.url)
        output = local(outputs_over_http()["opensearch"], site.folder, sink.url)
        # The sink unpacks nothing.
        with running(site, output | {"compress": False}):
            site.send(SENT)
            wait(lambda: kept_bulks(client).count(b"\n") >= 2 * EVENTS)
        documents = [json.loads(line) for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    assert sorted(one["message"] for one in documents) == [
        f" n{number:06d}" for number in range(EVENTS)
    ]


@pytest.mark.full
def test_a_bulk_is_taken_by_an_engine(
    site: Place, each_engine: tuple[Release, EngineClient]
) -> None:
    """The empty lines between the documents too."""
    engine, index = each_engine[1], "rsyslog-tune-omhttp"
    output = local(outputs_over_http()["opensearch"], site.folder, engine.url)
    with running(site, output | {"restpath": f"{index}/_bulk"}):
        site.send(SENT)
        wait(lambda: not (site.folder / "errors").exists(), 1)
    engine.request("POST", f"/{index}/_refresh")
    found = engine.get(f"/{index}/_count")["count"]
    engine.request("DELETE", f"/{index}")
    assert found == EVENTS


SECRET = {"env": "HOME"}
VALUES: dict[str, object] = {
    "server": ["http://127.0.0.1:80", "other:81"],
    "serverport": 8088,
    "useHttps": False,
    "tls": {"cacert": "/dev/null", "skipverifyhost": True, "allowunsignedcerts": False},
    "auth": {"uid": "me", "pwd": SECRET},
    "token": SECRET,
    "profile": "hec:splunk:raw",
    "httpheaders": ["X-Scope-OrgID: logs", SECRET],
    "httpheaderkey": "X-Api-Key",
    "httpheadervalue": SECRET,
    "httpcontenttype": "application/x-ndjson",
    "restpath": "a/b?c=d",
    "dynrestpath": {"property": "hostname", "after": "/_bulk"},
    "checkpath": "ready",
    "healthchecktimeout": 100,
    "healthchecktimedelay": 5,
    "restpathtimeout": 1000,
    "proxyhost": "127.0.0.1",
    "proxyport": 3128,
    "batch": True,
    "batch.format": "kafkarest",
    "batch.maxsize": 10,
    "batch.maxbytes": "1m",
    "labels": [{"constant": "syslog", "name": "job"}],
    "bulk": "index",
    "compress": True,
    "compress.level": 9,
    "errorfile": "/var/log/http.json",
    "httpretrycodes": [401, 403],
    "httpignorablecodes": [404],
    "retry": True,
    "retry.ruleset": "small",
    "retry.addmetadata": True,
    "ratelimit.interval": 0,
    "ratelimit.burst": 10,
    "ratelimit.name": "limit",
    "replymaxbytes": "64k",
    "reloadonhup": True,
    "statsbysenders": True,
}
TOGETHER: dict[str, dict[str, object]] = {
    "token": {"profile": "hec:splunk:event"},
    "profile": {"token": SECRET},
    "httpheaderkey": {"httpheadervalue": SECRET},
    "httpheadervalue": {"httpheaderkey": "X-Api-Key"},
    "labels": {"batch.format": "lokirest", "line": [{"property": "msg"}]},
    "bulk": {"document": "ecs"},
}
OWN = sorted(
    info.alias or name
    for name, info in OmhttpOutput.model_fields.items()
    if name not in Lines.model_fields
)


def test_every_parameter_has_a_value_here() -> None:
    assert sorted(VALUES) == OWN


@pytest.mark.full
def test_each_parameter_is_taken(tmp_path: Path) -> None:
    """Its own profiles are announced."""
    output: dict[str, object] = {"name": "up", "type": "omhttp", "server": ["https://127.0.0.1:1"]}
    for key in set(OWN) & set(parameters(OmhttpOutput)):
        changes = {"outputs": [output | TOGETHER.get(key, {}) | {key: VALUES[key]}]}
        said = accepted(tmp_path, changes).replace("omhttp: applying", "")
        assert not re.search("not known|omhttp", said), said
