"""Kinds of sections, built when a profile first has one: nothing else about them may differ."""

from __future__ import annotations

import subprocess
import sys
from operator import getitem
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Literal, Optional, cast, get_args
from unittest.mock import patch

import pytest
from pydantic import Field, ValidationError, create_model

from tuner.engines.index_settings import IndexSettings
from tuner.modules.registry import AnyInput, AnyOutput, Parse
from tuner.schema.section import BuiltWhenUsed, Section

ROOT = Path(__file__).parents[2]
HOOK = "__get_pydantic_core_schema__"


class Ours(Section):
    inputs: tuple[AnyInput, ...] = ()
    outputs: tuple[AnyOutput, ...] = ()
    parse: Parse | None = None


def told_apart(kinds: object, key: str) -> type:
    """The same kinds, told apart by pydantic's own way, which builds all of them."""
    return cast("type", getitem(Annotated, (get_args(kinds)[0], Field(discriminator=key))))


def several(kinds: object) -> type:
    return cast("type", GenericAlias(tuple, (told_apart(kinds, "type"), ...)))


Plain = create_model(
    "Ours",
    __base__=Section,
    inputs=(several(AnyInput), ()),
    outputs=(several(AnyOutput), ()),
    parse=(cast("type", getitem(Optional, told_apart(Parse, "format"))), None),
)
with patch.object(BuiltWhenUsed, HOOK, classmethod(lambda _, source, handler: handler(source))):
    Plain.model_rebuild()


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
        errors = caught.value.errors(include_url=False)
        said.append(str([{**one, "loc": unlabelled(one["loc"])} for one in errors]))
    assert said[0] == said[1]


def unlabelled(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """A place without the names of tuples in a union, which have those of their validators in them
    and which nobody is told."""
    return tuple(one for one in location if not str(one).startswith("tuple["))


def test_the_json_schema_is_as_pydantic_makes_it() -> None:
    """But for the rare settings of an index, which are built when a profile has one."""
    rare = Ours.model_json_schema()["$defs"]["IndexSettings"]["properties"]
    with patch.object(IndexSettings, "whole", classmethod(lambda section: section)):
        assert Ours.model_json_schema() == Plain.model_json_schema()
    assert rare["max_result_window"]
    assert rare["max_terms_count"]


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
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.lint.load import load_profile
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.filter import Filter
from tuner.profile.model import Workload
load_profile(Path({str(ROOT / "profiles/default.yaml")!r}))
for kind in (
    ImptcpInput, OmelasticsearchOutput, Workload, ImtcpInput, OmfwdOutput, Filter
):
    print(kind.__pydantic_complete__)
"""


def test_only_the_sections_that_a_profile_has_are_built() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOW], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == [*["True"] * 3, *["False"] * 3]
