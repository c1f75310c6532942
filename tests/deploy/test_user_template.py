"""The index template that a base names beside the engine's: the same, missing, or different."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuner.deploy.objects import ClusterObject, compare
from tuner.deploy.plan import engine_changes
from tuner.engine.client import JSON, EngineClient, at
from tuner.errors import Refused
from tuner.lint.load import load_profile
from tuner.profile.model import Profile

CONF = 'action(type="omelasticsearch" name="es" searchIndex="logs")\n'
MAPPINGS: JSON = {"dynamic": "strict", "properties": {"message": {"type": "keyword"}}}
SETTINGS: JSON = {"number_of_shards": 1, "index.refresh_interval": "5s"}
NEW: JSON = {"index_patterns": ["logs"], "priority": 5,
             "template": {"mappings": MAPPINGS, "settings": SETTINGS}}  # fmt: skip
OLD: JSON = {"index_patterns": "logs", "mappings": {"_doc": MAPPINGS}, "settings": SETTINGS}
# The same as engines answer: numbers as texts, under their whole names, nested.
THERE: JSON = {"number_of_shards": "1", "refresh_interval": "5000ms"}
NEW_THERE: JSON = {
    **NEW, "composed_of": [],
    "template": {"mappings": MAPPINGS, "settings": {"index": THERE}},
}  # fmt: skip
OLD_THERE: JSON = {"order": 0, "index_patterns": ["logs"], "mappings": MAPPINGS,
                   "settings": {"index": THERE}, "aliases": {}}  # fmt: skip


class Holding(EngineClient):
    """An engine with these templates of each kind."""

    def __init__(self, new: JSON | None = None, old: JSON | None = None) -> None:
        super().__init__("http://engine.invalid")
        self.new, self.old = new or {}, old or {}

    def request(self, method: str, path: str, *_: object, **__: object) -> object:
        assert method == "GET", "only read"
        if path == "/_template":
            return self.old
        assert path == "/_index_template"
        named = [{"name": name, "index_template": body} for name, body in self.new.items()]
        return {"index_templates": named}


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return written(tmp_path, NEW)


def written(folder: Path, template: JSON | None, changes: str = "") -> Profile:
    (folder / "rsyslog.conf").write_text(CONF, encoding="utf-8")
    (folder / "t.json").write_text(json.dumps(template), encoding="utf-8")
    named = "" if template is None else ", template: t.json"
    text = f"name: prod\nbase: {{rsyslog: rsyslog.conf{named}}}\n{changes}"
    (folder / "prod.yaml").write_text(text, encoding="utf-8")
    return load_profile(folder / "prod.yaml").profile


def compared(profile: Profile, client: EngineClient) -> ClusterObject:
    (one,) = compare(profile, client)
    return one


def test_what_the_engine_has_of_it_is_the_same_however_it_spells_it(
    tmp_path: Path, profile: Profile
) -> None:
    one = compared(profile, Holding(new={"prod": {"index_patterns": ["x"]}, "logs": NEW_THERE}))
    assert (one.differs, one.path) == (False, "/_index_template/logs"), one.unified()
    old = compared(written(tmp_path, OLD), Holding(old={"logs": OLD_THERE}))
    assert (old.differs, old.path) == (False, "/_template/logs"), old.unified()


def test_one_value_that_differs_is_all_that_is_shown(profile: Profile) -> None:
    other = {**NEW_THERE, "template": {"mappings": MAPPINGS, "settings": {
        "index": {**THERE, "refresh_interval": "1s"}}}}  # fmt: skip
    one = compared(profile, Holding(new={"logs": other}))
    lines = [line.strip(" +-") for line in one.unified().splitlines()[2:] if line[0] in "+-"]
    assert lines == ['"index.refresh_interval": "1s"', '"index.refresh_interval": "5s"']


@pytest.mark.parametrize(
    ("template", "there", "path"),
    [
        (NEW, {}, "/_index_template/prod"),
        (OLD, {}, "/_template/prod"),
        ({"index_templates": [{"name": "mine", "index_template": NEW}]}, {"logs": NEW_THERE},
         "/_index_template/mine"),
        ({"mine": OLD}, {}, "/_template/mine"),
    ],
)  # fmt: skip
def test_one_that_is_missing_is_put_under_the_name_that_the_file_or_the_profile_has(
    tmp_path: Path, template: JSON, there: JSON, path: str
) -> None:
    one = compared(written(tmp_path, template), Holding(new=there))
    assert (one.found, one.path) == (None, path)
    marked = one.body if path.startswith("/_index") else at(one.body, "mappings")
    assert at(marked, "_meta", "managed_by") == "rsyslog-tune"


CHANGES = "changes: {template.index.refresh_interval: 30s}\n"


@pytest.mark.parametrize(
    ("there", "is_ours"),
    [
        (NEW_THERE, True),
        ({**NEW_THERE, "priority": 6}, False),
        ({**NEW_THERE, "priority": 6, "_meta": {"managed_by": "rsyslog-tune"}}, True),
    ],
    ids=["what the profile stands on", "somebody else's", "put by us, and changed"],
)
def test_only_what_the_profile_stands_on_or_we_put_is_replaced_unasked(
    tmp_path: Path, there: JSON, is_ours: bool
) -> None:
    profile, client = written(tmp_path, NEW, CHANGES), Holding(new={"logs": there})
    ((change,), foreign) = engine_changes(profile, client, None, take_over=False)
    assert change.path == "/_index_template/logs"
    assert '+    "index.refresh_interval": "30s"' in change.diff
    assert bool(foreign) is not is_ours, foreign
    assert not engine_changes(profile, client, None, take_over=True)[1]


def test_an_old_one_of_ours_is_known_by_its_mappings(tmp_path: Path) -> None:
    mine = {**MAPPINGS, "_meta": {"managed_by": "rsyslog-tune"}}
    client = Holding(old={"logs": {**OLD_THERE, "mappings": mine, "order": 3}})
    ((change,), foreign) = engine_changes(written(tmp_path, OLD), client, None, take_over=False)
    assert (foreign, "managed_by" in change.diff) == ((), False)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (None, "without base.template nothing says what the engine should have"),
        ({"template": {"settings": SETTINGS}, "overlapping": []}, "t.json has no index_patterns"),
    ],
)
def test_what_cannot_be_compared_is_not_called_the_same(
    tmp_path: Path, template: JSON | None, why: str
) -> None:
    with pytest.raises(Refused, match=why):
        compare(written(tmp_path, template), Holding())


def test_apply_leaves_the_engine_alone_where_the_base_names_no_template(tmp_path: Path) -> None:
    assert engine_changes(written(tmp_path, None), Holding(), None, take_over=False) == ((), ())
