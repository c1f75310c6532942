"""What a client sends with every request, and how it tells what an engine refuses."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from tests.engine.answers import Raw, Refusal, answering
from tuner.engine.client import ABSENT, Access, EngineClient, EngineRefused, NoAnswer
from tuner.engine.installed import alias_writes, component_template, lifecycle_policy, open_indices
from tuner.engine.owned import Owner, create_index
from tuner.engine.status import EngineLimits, limits, lost_shards
from tuner.engines.release import Engine
from tuner.errors import JobFailed, Unreachable
from tuner.lab.entrances import free_port


@pytest.mark.parametrize(
    ("access", "header"),
    [
        (Access(), None),
        (Access(apikey="VGVzdA=="), "ApiKey VGVzdA=="),
        (Access(credentials=("shipper", "geheim")), "Basic c2hpcHBlcjpnZWhlaW0="),
        (Access(credentials=("shipper", "5€é")), "Basic c2hpcHBlcjo14oKsw6k="),
    ],
)
def test_the_login_goes_with_every_request(access: Access, header: str | None) -> None:
    with answering({}) as engine:
        client = EngineClient(engine.url, access)
        assert client.find("/_ilm/status", ABSENT) == {}
        client.close()
    assert engine.requests == [("GET", "/_ilm/status", header)]
    assert access.has_secret == (header is not None)


def test_where_an_address_is_gone_the_next_one_answers() -> None:
    with (
        answering({"/x": {"who": "first"}}) as first,
        answering({"/x": {"who": "second"}}) as second,
    ):
        gone = f"http://127.0.0.1:{free_port()}"
        client = EngineClient(gone, other_urls=[first.url, second.url])
        assert client.get("/x") == {"who": "first"}
        assert client.url == first.url
        assert client.urls == (gone, first.url, second.url)
        client.close()
    nobody = EngineClient(gone, other_urls=[first.url])
    with pytest.raises(Unreachable, match=f"{gone} does not answer.*{first.url} does not answer"):
        nobody.get("/x")


def test_an_address_of_the_wrong_scheme_is_told() -> None:
    with answering({"/": {}}) as engine:
        client = EngineClient(engine.url.replace("http:", "https:"))
        with pytest.raises(Unreachable, match=r"answer: it speaks plain HTTP: use http://$"):
            client.get("/")
        client.close()


@pytest.mark.parametrize(
    ("trusts", "says"),
    [
        (False, r"TLS: self-signed certificate: tls\.cacert names whom to trust$"),
        (
            True,
            r"TLS: IP address mismatch, .*'127\.0\.0\.1': use an address that it names$",
        ),
    ],
)
def test_a_certificate_that_is_refused_keeps_the_reason(
    trusts: bool, says: str, tmp_path: Path
) -> None:
    key, certificate = _certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def handshake() -> None:
            with contextlib.suppress(ssl.SSLError), server.accept()[0] as connection:
                context.wrap_socket(connection, server_side=True)

        thread = threading.Thread(target=handshake)
        thread.start()
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        client = EngineClient(url, Access(cacert=str(certificate) if trusts else None))
        with pytest.raises(Unreachable, match=says):
            client.get("/")
        client.close()
        thread.join()


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A key, and its certificate for another name."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", str(key), "-out", str(certificate), "-days", "2",
         "-subj", "/CN=es.example.org"],
        capture_output=True, check=True,
    )  # fmt: skip
    return key, certificate


HOSTILE: dict[str, tuple[Raw, str]] = {
    "no end": (Raw((b'{"a":"' + b"x" * 65536,), endless=True), "answers with more than 1 MiB"),
    "junk": (Raw((b"\xff\xfe{]",)), "answered with something that is not JSON"),
    "HTML": (Raw((b"<html>Welcome</html>",)), "answered with something that is not JSON"),
    "nothing": (Raw(()), "answered with something that is not JSON"),
    "depth": (Raw((b"[" * 500_000,)), "answered with something that is not JSON"),
    "digits": (Raw((b'{"a":' + b"9" * 5000 + b"}",)), "answered with something that is not JSON"),
    "a list": (Raw((b"[1]",)), "answered with JSON that is not an object"),
    "another place": (Raw((b"",), 302, location="http://127.0.0.1:9/"), "failed with HTTP 302"),
    "an error without words": (Raw((b'{"error":{"caused_by":{}}}',), 500), "failed with HTTP 500"),
    "a long error": (Raw((b"x" * 100_000,), 503), "failed with HTTP 503: xxx"),
    "a list of errors": (Raw((b"[[]]",), 400), "failed with HTTP 400: [[]]"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_answer_ends_in_one_short_message(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.engine.client.MOST_BYTES", 1 << 20)
    answer, says = HOSTILE[kind]
    with answering({"/x": answer}) as engine:
        client = EngineClient(engine.url)
        with pytest.raises(JobFailed) as caught:
            client.get("/x")
        client.close()
    assert says in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_document_that_holds_no_utf_8_comes_back_all_the_same() -> None:
    """Engines return the bytes of a document as they were sent."""
    with answering({"/x": Raw((b'{"_source":{"host":"b\xffd"}}',))}) as engine:
        client = EngineClient(engine.url)
        assert client.get("/x") == {"_source": {"host": "b\ufffdd"}}
        client.close()


@pytest.mark.parametrize("pause_s", [0.01, 5.0], ids=["drips", "stops"])
def test_an_answer_that_does_not_end_is_not_waited_for(pause_s: float) -> None:
    with answering({"/x": Raw((b" ",), endless=True, pause_s=pause_s)}) as engine:
        client = EngineClient(engine.url, timeout_s=0.2)
        with pytest.raises(NoAnswer, match=r"does not answer within 0\.2 s"):
            client.get("/x")
        client.close()


def test_an_answer_that_is_cut_off_is_none() -> None:
    with answering({"/x": Raw((b"{",), length=100)}) as engine:
        client = EngineClient(engine.url)
        with pytest.raises(Unreachable, match="does not answer: "):
            client.get("/x")
        client.close()


def test_a_cluster_says_of_how_many_shards_no_copy_is_left() -> None:
    index = {"i": {"number_of_shards": 3}}
    red = {"active_primary_shards": 2, "indices": index}
    with answering(
        {"/_cluster/health/i": red, "/_cluster/health/j": {**red, "active_primary_shards": 3}}
    ) as engine:
        client = EngineClient(engine.url)
        lost = lost_shards(client, "i", 0)
        assert str(lost) == "the index is red: no copy is left of 1 of its 3 shards"
        assert lost_shards(client, "j", 0) is None
        client.close()


def test_an_index_without_all_its_copies_is_not_measured() -> None:
    owner = Owner("abc")
    for acknowledged in (True, False):
        with answering({f"/{owner.prefix}i": {"shards_acknowledged": acknowledged}}) as engine:
            client = EngineClient(engine.url)
            refused = (
                contextlib.nullcontext()
                if acknowledged
                else pytest.raises(
                    JobFailed, match=f"{owner.prefix}i: a copy of a shard did not start within"
                )
            )
            with refused:
                create_index(client, owner, f"{owner.prefix}i")
            client.close()


def test_the_secret_is_in_no_message() -> None:
    with answering({"/x": 401}) as engine:
        client = EngineClient(engine.url, Access(apikey="VGVzdA=="))
        with pytest.raises(EngineRefused) as refused:
            client.get("/x")
        client.close()
    assert (refused.value.status, refused.value.reason) == (401, "no such thing")
    assert "VGVzdA" not in str(refused.value)


def test_a_chain_of_causes_is_told_once() -> None:
    innermost = {"reason": "Unknown pattern letter: o"}
    middle = {"reason": f"Failed to parse: {innermost['reason']}", "caused_by": innermost}
    outer = {"reason": "invalid mappings", "caused_by": middle}
    with answering({"/x": Refusal({"reason": "the template is invalid", "caused_by": outer})}) as e:
        client = EngineClient(e.url)
        with pytest.raises(EngineRefused) as refused:
            client.get("/x")
        client.close()
    said = "the template is invalid: Failed to parse: Unknown pattern letter: o"
    assert refused.value.reason == said


def test_an_error_without_a_reason_is_told_by_its_type() -> None:
    error = {
        "type": "master_not_discovered_exception",
        "reason": None,
        "caused_by": {"reason": None},
    }
    with answering({"/x": Refusal(error)}) as e:
        client = EngineClient(e.url)
        with pytest.raises(EngineRefused, match=r": master_not_discovered_exception$"):
            client.get("/x")
        client.close()


def test_limits_are_those_of_the_smallest_node() -> None:
    def node(request: int, pressure: int) -> dict[str, object]:
        return {
            "http": {"max_content_length_in_bytes": request},
            "indexing_pressure": {"memory": {"limit_in_bytes": pressure}},
        }

    nodes = {"nodes": {"a": node(100, 7), "b": node(50, 9), "c": {}}}
    answers = {"/_nodes/http": nodes, "/_nodes/stats/indexing_pressure": nodes}
    with answering(answers) as engine:
        client = EngineClient(engine.url)
        assert limits(client) == EngineLimits(50, 7)
        client.close()
    with answering({"/_nodes/http": {}, "/_nodes/stats/indexing_pressure": {}}) as engine:
        client = EngineClient(engine.url)
        assert limits(client) == EngineLimits(None, None)
        client.close()


def test_what_is_not_there_is_none() -> None:
    paths = ("/_component_template/a", "/_ilm/policy/a", "/a/_settings", "/_alias/a")
    for status in (400, 404, 405):
        gone: dict[str, object] = dict.fromkeys(paths, status)
        with answering(gone) as engine:
            client = EngineClient(engine.url)
            assert component_template(client, "a") is None
            assert lifecycle_policy(client, Engine.ELASTICSEARCH, "a") is None
            assert open_indices(client, "a") == ()
            assert alias_writes(client, "a") is None
            client.close()


@pytest.mark.parametrize(
    "answer", [{"a": 5}, {"a": []}, {"../_cluster": {"settings": {}}}, {"a b": {"settings": {}}}]
)
def test_what_is_no_index_is_not_taken_for_one(answer: dict[str, object]) -> None:
    good = {"a-1": {"settings": {"index.x": "1"}, "defaults": {}}}
    with answering({"/a/_settings": {**good, **answer}, "/b/_settings": good}) as engine:
        client = EngineClient(engine.url)
        with pytest.raises(JobFailed, match="not like Elasticsearch or OpenSearch"):
            open_indices(client, "a")
        assert [one.name for one in open_indices(client, "b")] == ["a-1"]
        client.close()


@pytest.mark.parametrize(
    ("indices", "writes"),
    [
        ({"a-1": {"is_write_index": True}, "a-2": {"is_write_index": False}}, True),
        ({"a-1": {"is_write_index": False}, "a-2": {}}, False),
        ({"a-1": {}}, True),
        ({"a-1": {}, "a-2": {}}, False),
    ],
)
def test_an_alias_writes_to_one_index(indices: dict[str, object], writes: bool) -> None:
    answer = {name: {"aliases": {"a": one}} for name, one in indices.items()}
    with answering({"/_alias/a": answer}) as engine:
        client = EngineClient(engine.url)
        assert alias_writes(client, "a") is writes
        client.close()
