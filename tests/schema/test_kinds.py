"""Kinds of sections, built when a profile first has one: nothing else about them may differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import ConfigDict, Field, ValidationError

from tuner.modules.inputs import (
    ImfileInput,
    ImptcpInput,
    ImrelpInput,
    ImtcpInput,
    ImudpInput,
    ImuxsockInput,
    Input,
)
from tuner.modules.other_outputs import OmfileOutput, OmfwdOutput, OmrelpOutput
from tuner.modules.outputs import OmelasticsearchOutput, Output
from tuner.modules.parsing import CsvParse, JsonParse, KvParse, NormalizeParse, Parse
from tuner.schema.section import Section

ROOT = Path(__file__).parents[2]

AnyInput = ImptcpInput | ImtcpInput | ImudpInput | ImfileInput | ImrelpInput | ImuxsockInput
AnyOutput = OmelasticsearchOutput | OmfileOutput | OmfwdOutput | OmrelpOutput
AnyParse = CsvParse | KvParse | JsonParse | NormalizeParse


class Ours(Section):
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    parse: Parse | None = None


# The same with pydantic's own way of telling kinds apart, which builds all of them.
class Plain(Section):
    model_config = ConfigDict(title="Ours")

    inputs: tuple[Annotated[AnyInput, Field(discriminator="type")], ...] = ()
    outputs: tuple[Annotated[AnyOutput, Field(discriminator="type")], ...] = ()
    parse: Annotated[AnyParse, Field(discriminator="format")] | None = None


ELASTIC = {"type": "omelasticsearch", "name": "logs", "servers": ["http://es:9200"]}
FIELD = {"json_path": "http.status", "name": "status"}

WRONG: list[dict[str, object]] = [
    {"inputs": [{"type": "imnope", "port": 514}]},
    {"inputs": [{"port": 514}, 3, None, []]},
    {"inputs": [{"type": "imptcp", "port": 514}, {"type": "imtcp", "port": 0, "nope": 1}]},
    {"inputs": [{"type": "imudp", "port": "514"}, {"type": "imfile", "tag": "", "file": "x"}]},
    {"outputs": [ELASTIC | {"index": {}}]},
    {"outputs": [ELASTIC | {"index": {"name": "a", "settings": {"refresh_interval": "soon"}}}]},
    {"outputs": [ELASTIC | {"index": {"name": "a", "settings": {"translog_durability": "async"}}}]},
    {"outputs": [ELASTIC | {"index": {"name": "a"}, "document": [FIELD]}]},
    {"outputs": [{"type": "omfile", "name": "file"}, {"type": "omfwd", "name": "A b"}]},
    {"parse": {"format": "csv", "columns": []}},
    {"parse": {"format": "xml"}},
]


@pytest.mark.parametrize("data", WRONG, ids=str)
def test_what_is_wrong_is_said_as_pydantic_says_it(data: dict[str, object]) -> None:
    said = []
    for pipeline in (Ours, Plain):
        with pytest.raises(ValidationError) as caught:
            pipeline.model_validate(data, by_alias=True, by_name=False)
        said.append(caught.value.errors(include_url=False))
    assert str(said[0]) == str(said[1])


def test_the_json_schema_is_as_pydantic_makes_it() -> None:
    assert Ours.model_json_schema() == Plain.model_json_schema()


@pytest.mark.parametrize("mode", ["python", "json"])
def test_what_is_right_comes_out_as_it_went_in(mode: Literal["python", "json"]) -> None:
    data = {
        "inputs": [{"type": "imptcp", "port": 514}, {"type": "imuxsock", "socket": "/run/log"}],
        "outputs": [ELASTIC | {"index": {"name": "a"}}],
        "parse": {"format": "kv"},
    }
    ours, plain = Ours.model_validate(data), Plain.model_validate(data)
    assert dict(ours) == dict(plain)
    assert Ours.model_validate(dict(ours)) == ours
    written, wanted = (
        one.model_dump(mode=mode, by_alias=True, exclude_defaults=True) for one in (ours, plain)
    )
    assert written == wanted


SHOW = f"""
from pathlib import Path
from tuner.modules.inputs import ImptcpInput, ImtcpInput
from tuner.lint.load import load_profile
from tuner.modules.other_outputs import OmfwdOutput
from tuner.modules.outputs import OmelasticsearchOutput
load_profile(Path({str(ROOT / "profiles/default.yaml")!r}))
for kind in (ImptcpInput, OmelasticsearchOutput, ImtcpInput, OmfwdOutput):
    print(kind.__pydantic_complete__)
"""


def test_only_the_kinds_that_a_profile_has_are_built() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOW], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["True", "True", "False", "False"]
