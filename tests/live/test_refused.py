"""Documents that real engines refuse from a real rsyslogd: named rightly, and mended by what is
said to mend them."""

from __future__ import annotations

import json
import secrets
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path

import pytest
import requests

from tests.live.engines import EACH_RELEASE, RELEASES, release_text, require_taken, running
from tests.live.outputs import NO_OMHTTP, has_module
from tests.live.refusals import (
    LIMITED,
    LOGINS,
    MADE,
    PASSWORD,
    REFUSED_LOGINS,
    MadeRefusal,
    Request,
)
from tests.shipped import release_at_hand
from tuner.cli.refused import LONGEST
from tuner.diagnose.files import lines_of
from tuner.diagnose.refusal import read_refusals
from tuner.diagnose.refused import RefusedGroup, grouped
from tuner.engine.client import (
    EngineClient,
    EngineRefused,
    at,
    list_at,
    number_at,
    object_at,
)
from tuner.engines.release import Engine, Release
from tuner.engines.versions import DEFAULT
from tuner.host.process import give_to_daemons, wait_until
from tuner.lab.entrances import TcpPort, free_port, free_ports
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.report.refused import mapping_of

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("faults"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
    pytest.mark.usefixtures("nothing_left_behind"),
]
DEADLINE_S = 20.0
# Before 8.2206 an empty type is sent as such, which no engine takes.
EMPTY_TYPE = "_doc" if release_at_hand() < 2206 else ""
# The forms of errorfile, one after the other.
FORMS = ("", 'erroronly="on"', 'interleaved="on"', 'erroronly="on" interleaved="on"')
HEAD = """\
global(maxMessageSize="64k" parser.escapeControlCharactersOnReceive="off")
module(load="imptcp")
module(load="omelasticsearch")
module(load="mmjsonparse")
module(load="mmutf8fix")
template(name="same" type="string" string="1")
template(name="unique" type="string" string="%uuid%")
template(name="whole" type="string" string="%msg:2:$%")
"""
PIPE = """\
template(name="t{number}" type="string" string="{template}")
input(type="imptcp" port="{port}" address="127.0.0.1" ruleset="r{number}")
ruleset(name="r{number}" queue.type="LinkedList") {{
{before}action(type="omelasticsearch" name="a{number}" server="127.0.0.1" serverport="{engine_port}"
       template="t{number}" searchIndex="{index}" searchType="" bulkmode="on" {form}
       errorFile="{errorfile}" {action})
}}
"""


@dataclass
class Tried:
    """A refusal that is tried: its index, its port, and where its error file is."""

    made: MadeRefusal
    number: int
    index: str
    errorfile: Path
    port: int

    def asked(self, requests: Sequence[Request], client: EngineClient) -> None:
        for method, path, body in requests:
            text = json.dumps(body).replace("{index}", self.index)
            with_body = None if body is None else json.loads(text)
            client.request(method, path.replace("{index}", self.index), with_body)

    def script(self, client: EngineClient) -> str:
        made = self.made
        searched = made.index.replace("{index}", self.index)
        form = "" if made.is_whole else FORMS[self.number % len(FORMS)]
        quoted = made.template.replace('"', '\\"')
        # One parameter of a name: a searchType of the scenario's own comes instead.
        own_type = "" if "searchType" in made.action else f'searchType="{EMPTY_TYPE}"'
        return PIPE.format(
            number=self.number, template=quoted, port=self.port,
            before=made.before, engine_port=client.url.rpartition(":")[2], index=searched,
            form=form, errorfile=self.errorfile,
            action=made.action.replace("{index}", self.index),
        ).replace('searchType=""', own_type, 1)  # fmt: skip

    def send(self) -> None:
        made = self.made
        line = b"<13>Nov 30 12:00:00 web1 %b: %b" % (made.program, made.message)
        with socket.create_connection(("127.0.0.1", self.port), DEADLINE_S) as connection:
            connection.sendall(b"".join(b"%d %b" % (len(line), line) for _ in range(made.repeats)))

    def groups(self) -> tuple[RefusedGroup, ...]:
        if not self.errorfile.is_file():
            return ()
        return grouped(read_refusals(lines_of(self.errorfile, print, LONGEST))).groups

    def stored(self, client: EngineClient) -> int:
        return count_of(client, self.made.index.replace("{index}", self.index))


def processors(client: EngineClient) -> set[str]:
    """What the engine can do in a pipeline."""
    nodes = object_at(client.get("/_nodes/ingest"), "nodes").values()
    known = (one for node in nodes for one in list_at(node, "ingest", "processors"))
    return {str(at(one, "type")) for one in known}


def tries(
    every: Sequence[MadeRefusal], release: Release, client: EngineClient, folder: Path
) -> list[Tried]:
    """Those that this engine and the rsyslogd at hand can be given."""
    version, known = release.engine_version[0], processors(client)
    found = [
        made for made in every
        if release.engine.value in made.engines
        and (not made.processor or made.processor in known)
        and (release.engine is Engine.OPENSEARCH or version >= made.engine_since)
        and release_at_hand() < made.waits_since
    ]  # fmt: skip
    tag, ports = secrets.token_hex(4), ports_for(found)
    return [
        Tried(made, number, f"refused-{number}-{tag}", folder / f"{number}.json", port)
        for number, (made, port) in enumerate(zip(found, ports, strict=True))
    ]


def ports_for(tried: Sequence[object]) -> range:
    """A port for each."""
    first = free_ports(len(tried))
    return range(first, first + len(tried))


def passed(tried: Sequence[Tried], client: EngineClient, folder: Path) -> None:
    """Send each its messages by an rsyslogd of its own, until all are answered."""
    script = HEAD + "".join(each.script(client) for each in tried)
    own = subfolder(folder, f"rsyslogd-{secrets.token_hex(2)}")
    daemon = Rsyslogd(script, own, [TcpPort(each.port) for each in tried])
    try:
        for each in tried:
            each.send()
        wait_until(lambda: all(map(is_answered, tried)), DEADLINE_S / 4)
    finally:
        daemon.stop(DEADLINE_S)


def is_answered(each: Tried) -> bool:
    return each.errorfile.is_file() and each.errorfile.stat().st_size > 0


@pytest.fixture(scope="module", params=EACH_RELEASE, ids=release_text)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Release, EngineClient]]:
    """Each engine, one of its own: its cluster's settings change."""
    release: Release = request.param
    require_taken(release)
    with running(release, tmp_path_factory.mktemp("engine")) as client:
        yield release, client


def mended(each: Tried, group: RefusedGroup, folder: Path, port: int) -> Tried:
    """The same on an index of its own, with what mends it."""
    made = each.made

    def other(new: str | None, old: str) -> str:
        return old if new is None else new

    requests = made.requests if made.mended_requests is None else made.mended_requests
    if made.by_mapping:
        mapping = mapping_of(group.named.field, group.named.kind.mapping)
        known: dict[str, object] = {"message": {"type": "text"}}
        properties: Mapping[str, object] = json.loads(mapping)["properties"]
        requests = [("PUT", "/{index}", {"mappings": {"properties": {**known, **properties}}})]
    changed = replace(
        made,
        template=other(made.mended_template, made.template),
        action=other(made.mended_action, made.action),
        before=other(made.mended_before, made.before),
        index=made.mended_index,
        requests=requests,
    )
    return Tried(changed, each.number, f"mended-{each.index}", folder / "none.json", port)


def test_each_refusal_is_named_and_what_is_said_mends_it(
    engine: tuple[Release, EngineClient], tmp_path: Path
) -> None:
    with scratch(tmp_path) as below:
        for every in (MADE, LIMITED):
            tell_and_mend(every, *engine, below)


SECURED: Mapping[str, str | int | bool] = {
    "xpack.security.enabled": True,
    # The tests have no login.  Who has one has these roles too, so they give no right to write.
    "xpack.security.authc.anonymous.roles": "remote_monitoring_collector,asking",
}


@pytest.mark.parametrize(
    "release", [one for one in RELEASES if one.engine is Engine.ELASTICSEARCH], ids=release_text
)
@pytest.mark.full
def test_each_refused_login_is_named_and_mended(release: Release, tmp_path: Path) -> None:
    require_taken(release)
    with running(release, tmp_path, SECURED, LOGINS) as client, scratch(tmp_path) as below:
        assert wait_until(partial(may_log_in, client), DEADLINE_S * 2)
        tell_and_mend(REFUSED_LOGINS, release, client, below)


def may_log_in(client: EngineClient) -> bool:
    """Whether the node has read its files of users, which it does every five seconds."""
    answer = requests.get(f"{client.url}/", auth=("writer", PASSWORD), timeout=DEADLINE_S)
    return answer.status_code != HTTPStatus.UNAUTHORIZED


# omelasticsearch writes nothing of a request that is too large (F1), omhttp does.
OMHTTP = """\
module(load="imptcp")
module(load="omhttp")
template(name="bulk" type="string"
         string="{{\\"index\\":{{\\"_index\\":\\"INDEX\\"}}}}\\n{{\\"message\\":\\"%msg:::json%\\"}}\\n")
input(type="imptcp" port="{port}" address="127.0.0.1")
action(type="omhttp" name="http" server="127.0.0.1" serverport="{engine_port}" useHttps="off"
       restpath="_bulk" template="bulk" batch="on" batch.format="newline" {limit}
       httpContentType="application/x-ndjson" errorFile="{errorfile}"
       queue.type="LinkedList" queue.minDequeueBatchSize="{events}"
       queue.minDequeueBatchSize.timeout="2000")
"""
EVENTS, EVENT_BYTES, MOST = 10, 2000, "16kb"


@pytest.mark.full
@pytest.mark.skipif(not has_module("omhttp"), reason=NO_OMHTTP)
def test_requests_that_are_too_large_are_named_and_mended(tmp_path: Path) -> None:
    limited = {"http.max_content_length": MOST}
    with running(DEFAULT.release, tmp_path, limited) as client, scratch(tmp_path) as below:
        errors = subfolder(below, "errors")
        give_to_daemons(errors)
        for limit, stored in (("", 0), ('batch.maxbytes="8000"', EVENTS)):
            index, port = f"large-{secrets.token_hex(4)}", free_port()
            errorfile = errors / index
            text = OMHTTP.format(
                port=port, engine_port=client.url.rpartition(":")[2], limit=limit,
                errorfile=errorfile, events=EVENTS,
            ).replace("INDEX", index)  # fmt: skip
            daemon = Rsyslogd(text, subfolder(below, f"rsyslogd-{index}"), [TcpPort(port)])
            try:
                with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as connection:
                    line = b"<13>Nov 30 12:00:00 web1 app: %b\n" % (b"x" * EVENT_BYTES)
                    connection.sendall(line * EVENTS)
                wait_until(partial(is_refused_or_stored, errorfile, client, index), DEADLINE_S)
            finally:
                daemon.stop(DEADLINE_S)
            assert count_of(client, index) == stored
            if not stored:
                (group,) = grouped(read_refusals(lines_of(errorfile, print, LONGEST))).groups
                assert group.named.kind.name == "too_large"


def is_refused_or_stored(errorfile: Path, client: EngineClient, index: str) -> bool:
    return errorfile.is_file() or count_of(client, index) == EVENTS


def count_of(client: EngineClient, name: str) -> int:
    """How many documents an index has."""
    try:
        client.request("POST", f"/{name}/_refresh")
        return number_at(client.get(f"/{name}/_count"), "count")
    except EngineRefused:
        return 0


def tell_and_mend(
    every: Sequence[MadeRefusal], release: Release, client: EngineClient, below: Path
) -> None:
    folder = subfolder(below, f"errors-{secrets.token_hex(2)}")
    give_to_daemons(folder)
    tried = tries(every, release, client, folder)
    for each in tried:
        each.asked(each.made.requests, client)
    passed(tried, client, below)
    wrong = []
    for each in tried:
        made = each.made
        named = [(group.named.kind.name, group.named.field) for group in each.groups()]
        expected = {(made.kind, made.field), (made.or_kind, made.or_field)}
        if len(named) != 1 or named[0] not in expected:
            text = (
                each.errorfile.read_text(errors="replace")[:1500]
                if each.errorfile.is_file()
                else "no file"
            )
            wrong.append(f"{each.number} {made.kind} {made.field}: {named}: {text}")
    assert not wrong, "\n\n".join(wrong)
    again = [
        mended(each, each.groups()[0], folder, port)
        for each, port in zip(tried, ports_for(tried), strict=True)
        if each.made.kind != "stored_already"
    ]
    for each in again:
        each.asked(each.made.requests, client)
    passed(again, client, below)
    left = [
        f"{each.made.kind} {each.made.field}: {each.stored(client)} of {each.made.repeats}"
        for each in again
        if each.stored(client) != each.made.repeats
    ]
    assert not left, left
