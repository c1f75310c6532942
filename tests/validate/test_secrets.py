"""rsyslogd -N1 where the secrets are elsewhere, as on a CI runner."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.profile.edit import edit
from tuner.validate.layers import layers


def loaded_with(password: Path) -> LoadedProfile:
    changes: dict[str, object] = {
        "outputs[logs].servers": ["https://es1.example.org:9200"],
        "outputs[logs].auth": {"uid": "shipper", "pwd": {"file": str(password)}},
    }
    return parse_profile(edit(SMALL, changes), "p")


@pytest.mark.parametrize(
    ("secret", "why"),
    [(b"p\xe4ssword", "is not UTF-8"), (b"password\n", "holds white space")],
    ids=["Latin-1", "newline"],
)
def test_a_secret_that_cannot_be_used_is_named(secret: bytes, why: str, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_bytes(secret)
    asked = layers(loaded_with(password), offline=False)[-1]
    assert (asked.name, asked.passed) == ("rsyslogd -N1", False)
    assert f"{password} {why}" in asked.remark


@pytest.mark.live
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_a_secret_that_is_elsewhere_keeps_rsyslogd_from_nothing(tmp_path: Path) -> None:
    password = tmp_path / "password"
    loaded = loaded_with(password)
    asked = layers(loaded, offline=False)[-1]
    assert (asked.name, asked.passed) == ("rsyslogd -N1", True)
    assert asked.remark == f"with a stand-in for {password}, which this machine lacks"
    password.write_text("its-own", encoding="utf-8")
    assert layers(loaded, offline=False)[-1].remark == ""
