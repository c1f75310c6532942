"""The engine's objects on real engines: put, found as wanted, and brought back as they were.

The engines of the tests are those without x-pack and plugins: no policy can be put there.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.deploy.apply import findable
from tuner.deploy.objects import EngineChange, bring_back, put
from tuner.deploy.plan import engine_changes
from tuner.engine.client import EngineClient, EngineRefused
from tuner.engines.release import Release
from tuner.lint.load import load_profile
from tuner.profile.model import Profile

PROFILES = sorted((Path(__file__).parents[2] / "profiles").glob("*.yaml"))


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_an_event_can_be_found_in_what_shipped_profiles_index(path: Path) -> None:
    profile = load_profile(path).profile
    assert bool(findable(profile)) is (path.stem != "berserk")


def profile_of(release: Release, name: str, refresh: str) -> Profile:
    return small(
        {
            "release": release.model_dump(mode="json", exclude_none=True),
            "outputs[logs].index": {
                "name": name,
                "rotate": "rollover",
                "components": True,
                "settings": {"refresh_interval": refresh},
            },
        }
    )


@pytest.fixture
def name(each_engine: tuple[Release, EngineClient]) -> Iterator[str]:
    one = f"apply-{secrets.token_hex(4)}"
    yield one
    _, client = each_engine
    for path in (
        f"/{one}-000001", f"/_index_template/{one}", f"/_component_template/{one}-settings",
        f"/_component_template/{one}-mappings",
    ):  # fmt: skip
        with contextlib.suppress(EngineRefused):
            client.request("DELETE", path)


def changes(profile: Profile, client: EngineClient) -> tuple[EngineChange, ...]:
    """What is put, none of it somebody else's."""
    found, foreign = engine_changes(profile, client, None, take_over=False)
    assert not foreign
    return found


@pytest.mark.live
def test_all_kinds_of_objects_are_put_and_brought_back(
    each_engine: tuple[Release, EngineClient], name: str
) -> None:
    release, client = each_engine
    first, second = (profile_of(release, name, each) for each in ("5s", "7s"))
    new = changes(first, client)
    assert [one.before for one in new] == [None] * 4
    for change in new:
        put(client, change.path, change.body)
    assert changes(first, client) == ()
    settings = changes(second, client)
    assert [one.path for one in settings] == [
        f"/_component_template/{name}-settings", f"/{name}-000001/_settings"
    ]  # fmt: skip
    for change in settings:
        put(client, change.path, change.body)
    assert changes(second, client) == ()
    for _ in range(2):
        for change in settings:
            assert bring_back(client, change) is None
        assert changes(first, client) == ()
    for _ in range(2):
        for change in reversed(new):
            assert bring_back(client, change) is None
    assert changes(first, client) == new


@pytest.mark.live
def test_what_is_not_ours_is_not_removed(
    each_engine: tuple[Release, EngineClient], name: str
) -> None:
    release, client = each_engine
    client.request("PUT", f"/{name}-000001")
    assert "is not ours" in str(bring_back(client, EngineChange(f"/{name}-000001", None, {})))
    client.request("PUT", f"/_index_template/{name}", {"index_patterns": [f"{name}-*"]})
    _, foreign = engine_changes(profile_of(release, name, "5s"), client, None, take_over=False)
    assert "was not made by rsyslog-tune" in foreign[0]
