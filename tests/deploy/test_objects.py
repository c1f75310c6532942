"""How the engine's objects are brought back, and what is never deleted."""

from __future__ import annotations

import pytest

from tests.deploy.fleet import AFTER, BEFORE, TEMPLATE, Fleet, Holding
from tests.measure.test_watch import Script
from tests.profile.examples import small
from tuner.deploy.apply import awaited, findable
from tuner.deploy.objects import EngineChange, bring_back, compare, put
from tuner.engine.client import JSON, EngineRefused

FIRST = "/logs-000001"
OURS: JSON = {"logs-000001": {"mappings": {"_meta": {"managed_by": "rsyslog-tune"}}}}


def brought_back(
    objects: dict[str, JSON], path: str, before: JSON | None, put: JSON = AFTER
) -> tuple[Fleet, str]:
    """What was done twice, and what was said."""
    fleet = Fleet()
    engine = Holding(fleet, objects)
    said = bring_back(engine, EngineChange(path, before, put))
    assert bring_back(engine, EngineChange(path, before, put)) == said
    return fleet, said or ""


def test_what_was_there_is_there_again() -> None:
    objects = {TEMPLATE: AFTER}
    fleet, said = brought_back(objects, TEMPLATE, BEFORE)
    assert (objects, said) == ({TEMPLATE: BEFORE}, "")
    assert {step for _, step in fleet.steps} == {f"PUT {TEMPLATE}"}


def test_what_was_not_there_is_gone() -> None:
    objects = {TEMPLATE: AFTER, "/_index_template/other": AFTER}
    fleet, _ = brought_back(objects, TEMPLATE, None)
    assert objects == {"/_index_template/other": AFTER}
    assert fleet.steps == [("engine", f"DELETE {TEMPLATE}")]


@pytest.mark.parametrize("before", [BEFORE, None])
def test_what_somebody_else_put_there_meanwhile_stays(before: JSON | None) -> None:
    theirs: JSON = {"index_patterns": ["syslog"], "priority": 9}
    objects = {TEMPLATE: theirs}
    fleet, said = brought_back(objects, TEMPLATE, before)
    assert (fleet.steps, objects) == ([], {TEMPLATE: theirs})
    assert said == "_index_template/syslog was changed by somebody else meanwhile and stays"


@pytest.mark.parametrize("folder", ["_ilm/policy", "_plugins/_ism/policies"])
def test_a_policy_is_told_from_one_of_others_in_the_words_of_its_engine(folder: str) -> None:
    """Engines add what they note down for themselves, and keep numbers as texts."""
    path, of_elasticsearch = f"/{folder}/logs", folder.startswith("_ilm")
    ours: JSON = {"policy": {"phases": {"delete": {"min_age": "30d"}}}}

    def there(days: int) -> JSON:
        body: JSON = {"version": 3, "policy": {"phases": {"delete": {"min_age": f"{days}d"}}}}
        return {"logs": body} if of_elasticsearch else body

    mine, _ = brought_back({path: there(30)}, path, None, ours)
    assert mine.steps == [("engine", f"DELETE {path}")]
    theirs, said = brought_back({path: there(90)}, path, None, ours)
    assert (theirs.steps, "changed by somebody else" in said) == ([], True)


class Keeping(Holding):
    """An engine that keeps policies: Elasticsearch answers with them under their names; OpenSearch
    counts their changes, and takes one only from who names both numbers of the last."""

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        if method != "PUT":
            return super().request(method, path, body, timeout_s=timeout_s)
        place, _, condition = path.partition("?")
        folder, _, name = place.rpartition("/")
        if folder == "/_ilm/policy":
            self.objects[place] = {name: body}
            return {}
        assert folder == "/_plugins/_ism/policies"
        there = self.objects.get(place, {})
        numbers = [f"if{key}={there[key]}" for key in ("_seq_no", "_primary_term") if key in there]
        if condition != "&".join(numbers):
            raise EngineRefused("somebody changed it", 409, "version conflict")
        self.objects[place] = {**(body or {}), "_seq_no": len(condition), "_primary_term": 7}
        return {}


@pytest.mark.parametrize(
    ("engine", "release", "folder"),
    [("elasticsearch", "8.19", "_ilm/policy"), ("opensearch", "2.19", "_plugins/_ism/policies")],
)
def test_a_policy_is_put_where_its_engine_has_them_and_as_often_as_it_changes(
    engine: str, release: str, folder: str
) -> None:
    client = Keeping(Fleet(), {})
    for retention in ("30d", "60d", "90d"):
        profile = small({
            "release": {"rsyslog": "8.2302", engine: release},
            "outputs[logs].index": {
                "name": "syslog", "rotate": "daily", "lifecycle": {"retention": retention},
            },
        })  # fmt: skip
        for is_new in (True, False):
            (one,) = [each for each in compare(profile, client) if "policy" in each.name]
            assert (one.path, one.differs) == (f"/{folder}/syslog", is_new)
            if is_new:
                put(client, one.path, one.body)


@pytest.mark.parametrize("meta", [None, {}, {"managed_by": "fleet"}])
def test_an_index_that_is_not_ours_stays(meta: JSON | None) -> None:
    theirs: JSON = {"logs-000001": {"mappings": {} if meta is None else {"_meta": meta}}}
    objects: dict[str, JSON] = {FIRST: theirs, f"{FIRST}/_count": {"count": 0}}
    fleet, said = brought_back(objects, FIRST, None)
    assert (fleet.steps, said) == ([], "logs-000001 is not ours and stays")


def test_an_index_that_holds_events_stays() -> None:
    objects: dict[str, JSON] = {FIRST: OURS, f"{FIRST}/_count": {"count": 1}}
    fleet, said = brought_back(objects, FIRST, None)
    assert (fleet.steps, said) == ([], "logs-000001 holds 1 events and stays")


class Unrefreshed(Holding):
    """An engine whose index has an event that only a refresh makes visible to its count."""

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        if path == f"{FIRST}/_refresh":
            self.objects[f"{FIRST}/_count"] = {"count": 1}
        return super().request(method, path, body, timeout_s=timeout_s)


def test_an_index_with_events_that_were_not_refreshed_yet_stays() -> None:
    objects: dict[str, JSON] = {FIRST: OURS, f"{FIRST}/_count": {"count": 0}}
    engine = Unrefreshed(Fleet(), objects)
    assert (
        bring_back(engine, EngineChange(FIRST, None, {})) == "logs-000001 holds 1 events and stays"
    )
    assert FIRST in objects


def test_an_empty_index_of_ours_goes() -> None:
    objects: dict[str, JSON] = {FIRST: OURS, f"{FIRST}/_count": {"count": 0}}
    fleet, _ = brought_back(objects, FIRST, None)
    assert fleet.steps == [("engine", f"DELETE {FIRST}")]


def test_settings_of_an_index_that_is_gone_are_not_brought_back() -> None:
    path = "/logs-1/_settings"
    before: JSON = {"index.refresh_interval": "1s"}
    put: JSON = {"index": {"refresh_interval": "30s"}}
    fleet, _ = brought_back({}, path, before, put)
    assert fleet.steps == []
    objects: dict[str, JSON] = {path: {"index.refresh_interval": "30s"}}
    brought_back(objects, path, before, put)
    assert objects == {path: before}
    objects = {path: {"index.refresh_interval": "5s"}}
    _, said = brought_back(objects, path, before, put)
    assert (objects[path], "changed by somebody else" in said) == (
        {"index.refresh_interval": "5s"}, True,
    )  # fmt: skip


class Refusing(Holding):
    """An engine that refuses to search, by this status."""

    def __init__(self, status: int) -> None:
        super().__init__(Fleet(), {})
        self.status = status

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        raise EngineRefused("no", self.status, "no")


def test_an_event_is_awaited_in_an_index_that_is_being_made_and_nowhere_else() -> None:
    assert awaited(Holding(Fleet(), {}), small(), "mark", 0.0)
    assert not awaited(Holding(Fleet(), {}, finds=False), small(), "mark", 0.0)
    for status in (404, 503):
        assert not awaited(Refusing(status), small(), "mark", 0.0)
    with pytest.raises(EngineRefused):
        awaited(Refusing(403), small(), "mark", 0.0)


class Late(Holding):
    """An engine that finds an event with the n-th search."""

    def __init__(self, after: int) -> None:
        super().__init__(Fleet(), {})
        self.after, self.asked = after, list[tuple[str, JSON | None]]()

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        self.asked.append((f"{method} {path.partition('?')[0]}", body))
        self.finds = len(self.asked) >= 2 * self.after
        return super().request(method, path, body, timeout_s=timeout_s)


@pytest.mark.parametrize(("patience_s", "found"), [(2.0, True), (0.9, False)])
def test_an_event_is_searched_for_again_and_again_until_the_time_is_up(
    patience_s: float, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the fields that hold it, once what came is searchable."""
    monkeypatch.setattr("tuner.host.process.time", Script())
    engine = Late(4)
    assert awaited(engine, small(), "mark7", patience_s) is found
    refreshed, searched = engine.asked[:2]
    assert refreshed == ("POST /syslog*/_refresh", None)
    fields = findable(small())
    query = {"multi_match": {"query": "mark7", "fields": fields, "lenient": True}}
    assert searched == ("POST /syslog*/_search", {"query": query, "size": 1})
    assert len(engine.asked) == (8 if found else 6)


def field(name: str, source: str, *uses: str) -> JSON:
    return {"name": name, "property": source, "uses": [*uses, "retrieve"]}


def test_an_event_is_found_by_a_word_where_the_field_holds_one() -> None:
    """A keyword holds all of a value, with what stands around the word."""
    document = [
        field("message", "msg", "full_text"), field("whole", "msg", "term"),
        field("phrase", "rawmsg", "phrase"), field("program", "programname", "term"),
        field("tag", "syslogtag", "term"), field("tagged", "syslogtag", "full_text"),
        field("host", "hostname", "full_text"), field("kept", "programname"),
    ]  # fmt: skip
    profile = small({"outputs[logs].document": document})
    assert findable(profile) == ("message", "phrase", "program", "tagged")
    index = {"name": "syslog", "mapping": "dynamic"}
    every = small({"outputs[logs].document": document, "outputs[logs].index": index})
    assert len(findable(every)) == len(document)
    based = small().model_copy(update={"base": object()})
    assert findable(based) == ("*",)
