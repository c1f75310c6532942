"""The stock quotes of examples/stocks: CSV in, the published documents out, with their types."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tuner.engine.client import EngineClient
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.render.artefacts import rsyslog_conf
from tuner.render.engine_files import index_template

pytestmark = pytest.mark.live

STOCKS = Path(__file__).parents[2] / "examples/stocks"
DEADLINE_S = 30.0
QUOTES = [
    [float(cell) for cell in line.split(",")]
    for line in (STOCKS / "stocks.csv").read_text("utf-8").splitlines()
]
DOUBLE = {"type": "double"}
SECONDS = {"type": "date", "format": "epoch_second", "ignore_malformed": True, "doc_values": False}

EXAMPLES: dict[str, dict[str, tuple[list[dict[str, Any]], dict[str, Any]]]] = {
    "stocks": {
        "stocks_original": (
            [
                {"time": str(int(time_)), "DAX": dax, "SMI": smi, "CAC": cac, "FTSE": ftse}
                for time_, dax, smi, cac, ftse in QUOTES
            ],
            {"time": SECONDS, **dict.fromkeys(("DAX", "SMI", "CAC", "FTSE"), DOUBLE)},
        ),
        "smi_data": ([{"SMI": smi} for _, _, smi, _, _ in QUOTES], {"SMI": DOUBLE}),
        "ftse_data": ([{"FTSE": ftse} for _, _, _, _, ftse in QUOTES], {"FTSE": DOUBLE}),
    },
    "stocks-whitelist": {
        "stocks_whitelist_test": (
            [{"my_nest": {"DAX": dax, "CAC": cac}, "SMI": smi} for _, dax, smi, cac, _ in QUOTES],
            {"my_nest": {"properties": {"DAX": DOUBLE, "CAC": DOUBLE}}, "SMI": DOUBLE},
        )
    },
}
"""By profile and index, what is published of P6 and P7: the documents and their types."""


@pytest.fixture
def engine(elasticsearch: EngineClient) -> Iterator[EngineClient]:
    yield elasticsearch
    for indices in EXAMPLES.values():
        for index in indices:
            elasticsearch.request("DELETE", f"/{index}?ignore_unavailable=true")


def profile_of(name: str, folder: Path, port: int, url: str) -> Profile:
    """The example with its places in `folder`, and a port to know that rsyslogd is ready."""
    text = (STOCKS / f"{name}.yaml").read_text("utf-8")
    names = [output.name for output in parse_profile(text, name).profile.outputs]
    changes = {
        "global.workDirectory": str(folder),
        "inputs": [
            {"type": "imfile", "file": str(folder / "stocks.csv"), "tag": "stocks:"},
            {"type": "imptcp", "port": port},
        ],
        **{f"outputs[{each}].servers": [url] for each in names},
    }
    return parse_profile(edit(text, changes), f"{name}.yaml").profile


def create_indices(engine: EngineClient, profile: Profile) -> None:
    for output in profile.indexed:
        body = index_template(profile, output)["template"]
        assert isinstance(body, dict)
        body["settings"] |= {"index.number_of_replicas": 0}
        engine.request("PUT", f"/{output.index.target}", body)


def documents(engine: EngineClient, index: str) -> list[dict[str, Any]]:
    """Everything in the index, once there is a document for each quote."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        engine.request("POST", f"/{index}/_refresh")
        answer: Any = engine.request("GET", f"/{index}/_search?size=1000")
        found = [hit["_source"] for hit in answer["hits"]["hits"]]
        if len(found) >= len(QUOTES) or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_quotes_become_the_published_documents(
    engine: EngineClient, name: str, tmp_path: Path
) -> None:
    with scratch(tmp_path) as below:
        folder = subfolder(below, "rsyslog")
        quotes = folder / "stocks.csv"
        quotes.write_bytes((STOCKS / "stocks.csv").read_bytes())
        port = free_port()
        profile = profile_of(name, folder, port, engine.url)
        create_indices(engine, profile)
        daemon = Rsyslogd(rsyslog_conf(profile), folder, [TcpPort(port)])
        try:
            found = {index: documents(engine, index) for index in EXAMPLES[name]}
        finally:
            daemon.stop(5.0)
    for index, (wanted, properties) in EXAMPLES[name].items():
        assert sorted(found[index], key=repr) == sorted(wanted, key=repr)
        types = engine.get(f"/{index}/_mapping")[index]
        assert types == {"mappings": {"dynamic": "false", "properties": properties}}
