"""Binding replaces only what a lab must, and says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.engines.node import fitting_heap
from tuner.engines.release import Release
from tuner.errors import BadProfile, Refused
from tuner.host.usage import memory_bytes
from tuner.lab.bind import Bound, bind
from tuner.lab.nodes import nodes_here, plan_for
from tuner.lab.text import Site
from tuner.lint.load import parse_profile
from tuner.schema.units import size_bytes
from tuner.script.printing import printed
from tuner.script.script import objects_in

PRODUCTION = """\
name: prod
release: {rsyslog: "8.2312", elasticsearch: "8.15"}
inputs:
  - {type: imptcp, address: 10.0.0.5, port: 514, threads: 4}
main_queue: {type: FixedArray, size: 200000, dequeueBatchSize: 1024, workerThreads: 1}
outputs:
  - name: logs
    type: omelasticsearch
    servers: ["https://es1.example:9200", "https://es2.example:9200", "https://es3.example:9200"]
    auth: {uid: shipper, pwd: {file: /etc/rsyslog.d/es.pwd}}
    tls: {cacert: /etc/ssl/es-ca.pem}
    queue: {type: LinkedList, size: 50000, dequeueBatchSize: 2000, workerThreads: 2,
            workerThreadMinimumMessages: 2000, filename: logs, spoolDirectory: /var/spool/rsyslog}
    index:
      name: syslog
      settings: {number_of_shards: 2, number_of_replicas: 1, refresh_interval: 5s,
                 translog.durability: request}
node: {heap: 31g}
"""

SITE = Site(
    engine_urls=("http://127.0.0.1:9999",),
    release=Release(rsyslog="8.2302", elasticsearch="8.19"),
    stand_in=None,
    data_nodes=1,
    heap="12g",
    index_prefix="rsyslog-tune-abc-t1-",
    folder="/run/lab",
    keeps_authentication=False,
    receiver_port=30_000,
)


def bound(site: Site = SITE, text: str = PRODUCTION) -> Bound:
    return bind(parse_profile(text, "prod.yaml").profile, site, (40514,))


def test_every_substitution_is_named_with_both_values() -> None:
    told = {str(one) for one in bound().substitutions}
    assert told == {
        "release.rsyslog: 8.2312 -> 8.2302",
        "release.elasticsearch: 8.15 -> 8.19",
        "inputs[0].address: 10.0.0.5 -> 127.0.0.1",
        "inputs[0].port: 514 -> 40514",
        "outputs[logs].servers: https://es1.example:9200, https://es2.example:9200, "
        "https://es3.example:9200 -> http://127.0.0.1:9999",
        "outputs[logs].auth.uid: shipper -> left out",
        "outputs[logs].auth.pwd: *** -> left out",
        "outputs[logs].tls.cacert: /etc/ssl/es-ca.pem -> left out",
        "outputs[logs].index: syslog -> rsyslog-tune-abc-t1-syslog",
        "outputs[logs].index: index.number_of_replicas 1 -> 0",
        "outputs[logs].queue.spoolDirectory: /var/spool/rsyslog -> /run/lab",
        "node.heap: 31g -> 12g",
    }


def test_what_a_search_tunes_and_guards_stays_as_written() -> None:
    written = parse_profile(PRODUCTION, "prod.yaml").profile
    used = bound()
    inputs = {"inputs": used.profile.inputs, "release": used.profile.release}
    assert used.profile == written.model_copy(update=inputs)
    text = printed(used.copy.block)
    assert 'queue.filename="logs"' in text
    assert 'queue.size="200000"' in text
    (template,) = used.copy.templates
    assert template.settings["index.translog.durability"] == "request"
    assert template.settings["index.number_of_shards"] == 2


def test_a_cluster_of_the_user_keeps_authentication_replicas_and_heap() -> None:
    site = replace(SITE, keeps_authentication=True, data_nodes=3, heap=None)
    used = bound(site)
    assert 'uid="shipper"' in printed(used.copy.block)
    (template,) = used.copy.templates
    assert template.settings["index.number_of_replicas"] == 1
    assert not any(part.path == "node.heap" for part in used.substitutions)


def test_as_many_servers_as_written_are_nodes_of_the_lab() -> None:
    urls = tuple(f"http://127.0.0.1:{9999 + number}" for number in range(5))
    site = replace(SITE, engine_urls=urls, data_nodes=5)
    assert servers(bound(site)) == list(urls[:3])
    one = PRODUCTION.replace(', "https://es2.example:9200", "https://es3.example:9200"', "")
    assert servers(bound(site, one)) == list(urls[:1])


def servers(used: Bound) -> list[str]:
    (action,) = (item for item in objects_in(used.copy.block, "action") if item.name == "logs")
    server = action.get("server")
    return [] if server is None else [*server.texts]


def test_the_heaps_of_all_nodes_together_take_half_of_the_memory() -> None:
    for nodes in (1, 3):
        plan = plan_for(small({"node.heap": "4096g"}), nodes_here(Path("unused"), nodes))
        assert plan.nodes == nodes
        assert 0.5 < 2 * nodes * size_bytes(plan.heap) / memory_bytes() <= 1


def test_a_heap_that_fits_is_kept_and_one_that_does_not_gets_half_of_the_memory() -> None:
    gib = 1024**3
    assert fitting_heap("2g", 24 * gib) == "2g"
    assert fitting_heap("31g", 24 * gib) == "12g"
    assert fitting_heap("4g", gib) == "512m"


def test_what_parses_json_is_sent_json() -> None:
    sample = bind(small({"parse": {"format": "json"}}), SITE, (40514,)).profile.workload.learnt
    assert sample is not None
    assert any("{" in str(one) for one in sample.sample.templates)


def test_a_lab_writes_counters_its_own_way() -> None:
    text = PRODUCTION + "impstats: {interval: 30, log.file: /var/log/rsyslog/impstats.log}\n"
    used = bound(text=text)
    assert "impstats" not in printed(used.copy.block)
    told = {str(one) for one in used.substitutions}
    assert told - {str(one) for one in bound().substitutions} == {
        "impstats: module impstats -> left out"
    }


def test_outputs_that_share_an_index_are_told_apart_by_their_numbers() -> None:
    output = small().model_dump(mode="json", by_alias=True, exclude_defaults=True)["outputs"][0]
    profile = small({"outputs": [output, {**output, "name": "copy"}]})
    made = bind(profile, SITE, (40514,)).copy
    assert made.outputs == ("action[logs]", "action[copy]")
    assert len(set(made.indices)) == 1


def test_a_profile_whose_first_output_gets_counters_alone_is_refused() -> None:
    output = small().model_dump(mode="json", by_alias=True, exclude_defaults=True)["outputs"][0]
    counters = {**output, "name": "stats", "stream": "stats", "index": {"name": "stats"}}
    changes = {
        "impstats": {"log.syslog": True, "stream": "stats"},
        "streams": {"stats": {}},
    }
    with pytest.raises(Refused, match="stats, the first output into the engine"):
        bind(small({**changes, "outputs": [counters, output]}), SITE, (40514,))


def test_the_kernels_log_is_left_out_and_never_flooded() -> None:
    inputs = [{"type": "imptcp", "port": 10514}, {"type": "imklog"}]
    told = set(map(str, bind(small({"inputs": inputs}), SITE, (1, 2)).substitutions))
    assert "inputs[1]: input imklog -> left out" in told
    with pytest.raises(Refused, match="type imklog: measurements cannot send to it"):
        bind(small({"inputs": inputs[1:]}), SITE, (1,))


def test_a_password_of_kafka_stands_elsewhere() -> None:
    kafka = {"name": "k", "type": "omkafka", "topic": "t", "confParam": ["sasl.password=secret"]}
    with pytest.raises(BadProfile, match=r"sasl\.password holds a secret: write \{file") as refused:
        small({"outputs": [kafka]})
    assert "=secret" not in str(refused.value)


def test_kafka_and_servers_over_http_are_left_out_and_named() -> None:
    output = small().model_dump(mode="json", by_alias=True, exclude_defaults=True)["outputs"][0]
    kafka = {"name": "kafka", "type": "omkafka", "topic": "t", "queue": output["queue"]}
    http = {"name": "http", "type": "omhttp", "server": ["h"], "document": "ecs", "bulk": "index"}
    used = bind(small({"outputs": [output, kafka, http]}), SITE, (1,))
    told = [str(one) for one in used.substitutions]
    for name in ("kafka", "http"):
        (said,) = (one for one in told if one.startswith(f"outputs[{name}]"))
        assert said == f"outputs[{name}]: action om{name} -> left out"


def test_a_flood_for_the_socket_of_the_system_takes_one_of_the_labs() -> None:
    used = bind(small({"inputs": [{"type": "imuxsock"}]}), SITE, (40514,))
    text = printed(used.copy.block)
    assert text.count('module(load="imuxsock"') == 1
    assert 'module(load="imuxsock" sysSock.use="off")' in text
    assert 'input(type="imuxsock" socket="/run/lab/40514.sock"' in text
    told = [str(part) for part in used.substitutions if part.path.startswith("inputs")]
    assert told == ["inputs[0]: input imuxsock -> /run/lab/40514.sock"]


def test_modules_of_inputs_that_are_left_out_need_not_be_there() -> None:
    """The machine that measures may have no package of theirs."""
    inputs = [{"type": "imptcp", "port": 10514}, {"type": "imrelp", "port": 2514}]
    text = printed(bind(small({"inputs": inputs}), SITE, (1, 2)).copy.block)
    assert 'load="imptcp"' in text
    assert "imrelp" not in text


def test_each_lane_keeps_a_port_of_its_own() -> None:
    text = printed(bind(small({"lanes": {"count": 2}}), SITE, (40514,)).copy.block)
    assert [port in text for port in ('port="40514"', 'port="40515"')] == [True, True]
