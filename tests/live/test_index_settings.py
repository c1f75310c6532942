"""What our tables say of the settings of an index is what each Elasticsearch answers: their names,
their defaults, and when it takes them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.live.engines import RELEASES, release_text, running
from tuner.engine.client import EngineClient, EngineRefused
from tuner.engines.index_settings import IndexSettings
from tuner.engines.release import Engine, Release
from tuner.engines.settings import Update, settings_of
from tuner.profile.schema import default_of
from tuner.schema.section import doc
from tuner.schema.units import engine_bytes

pytestmark = [pytest.mark.live, pytest.mark.full]

WHOLE = IndexSettings.whole()
SETTINGS = settings_of(WHOLE)
ATTRIBUTES = {info.alias: name for name, info in WHOLE.model_fields.items()}
LEAST_KNOWN = 0.95

# What a plain engine answers another default for than it works with, or the number of cores.
IN_WORDS = frozenset({
    "codec", "merge.scheduler.max_thread_count", "merge.scheduler.max_merge_count",
    "merge.policy.type", "merge.policy.max_merged_segment", "number_of_routing_shards",
})  # fmt: skip
# Of modules and plugins that engines of Maven Central lack.
ELSEWHERE = frozenset({"downsample.interval"})


ELASTICSEARCH = [one for one in RELEASES if one.engine is Engine.ELASTICSEARCH]


@pytest.fixture(scope="module", params=ELASTICSEARCH, ids=release_text)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Release, EngineClient]]:
    release: Release = request.param
    with running(release, tmp_path_factory.mktemp("engine")) as client:
        for name in ("open", "closed"):
            client.request("PUT", f"/{name}", {"settings": {"number_of_replicas": 0}})
        client.request("POST", "/closed/_close")
        yield release, client


def answered(client: EngineClient) -> dict[str, object]:
    """The settings of an index by their names without `index.`, with their defaults."""
    answer = client.get("/open/_settings?include_defaults=true&flat_settings=true")["open"]
    assert isinstance(answer, dict)
    flat = {**answer["defaults"], **answer["settings"]}
    return {name.removeprefix("index."): value for name, value in flat.items()}


def test_nearly_every_setting_that_an_engine_answers_is_known(
    engine: tuple[Release, EngineClient],
) -> None:
    release, client = engine
    names = answered(client)
    unknown = sorted(name for name in names if name not in SETTINGS)
    assert len(unknown) <= len(names) * (1 - LEAST_KNOWN), unknown
    refused = {
        name: why
        for name in names.keys() & SETTINGS.keys()
        if SETTINGS[name].update is not Update.ENGINE
        and SETTINGS[name].until is None
        and (why := SETTINGS[name].unknown_to(release)) is not None
    }
    assert refused == {}


def test_defaults_are_those_of_the_engine(engine: tuple[Release, EngineClient]) -> None:
    release, client = engine
    wrong = {}
    for name, value in answered(client).items():
        if name not in SETTINGS or name in IN_WORDS or not value or isinstance(value, list):
            continue
        fact = doc(WHOLE, ATTRIBUTES[name])
        stated = fact.default if fact is not None else ""
        plain = str(value).lower().removesuffix(".0")
        words = re.split(r"[;, ]+", stated.lower().replace(".0", ""))
        spellings = {plain, {"true": "on", "false": "off"}.get(plain, plain)}
        sizes = {size for word in words if (size := engine_bytes(word)) is not None}
        if stated and not spellings & {*words} and engine_bytes(plain) not in sizes:
            wrong[name] = (stated, value)
    assert wrong == {}, release
    assert default_of(WHOLE.model_fields["number_of_shards"]) == "1"


def test_an_engine_takes_settings_when_we_say_that_it_does(
    engine: tuple[Release, EngineClient],
) -> None:
    release, client = engine
    wrong = {}
    for name, value in answered(client).items():
        if name not in SETTINGS or SETTINGS[name].unknown_to(release) or value in ("", [], "_na_"):
            continue
        update = taken_when(client, f"index.{name}", value)
        if update not in (None, SETTINGS[name].update):
            wrong[name] = (update, SETTINGS[name].update)
    assert wrong == {}, release


def taken_when(client: EngineClient, name: str, value: object) -> Update | None:
    """When the engine takes a setting; None where it does not say."""
    is_open = refusal(client, "open", name, value)
    if is_open is None:
        return Update.DYNAMIC
    if "private" in is_open:
        return Update.ENGINE
    if "non dynamic" not in is_open:
        return None
    is_closed = refusal(client, "closed", name, value)
    if is_closed is None:
        return Update.STATIC
    return Update.FINAL if "final" in is_closed else None


def refusal(client: EngineClient, index: str, name: str, value: object) -> str | None:
    """Why an index takes no such setting; it is as before then."""
    try:
        client.request("PUT", f"/{index}/_settings", {name: value})
    except EngineRefused as refused:
        return str(refused)
    client.request("PUT", f"/{index}/_settings", {name: None})
    return None
