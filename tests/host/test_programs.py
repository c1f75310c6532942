"""Which rsyslogd is run: that on PATH, or the one that was chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.conftest import tune
from tuner.errors import BadUsage, ProgramMissing
from tuner.host.programs import CHOSEN_RSYSLOGD, choose_rsyslogd, rsyslog_version, rsyslogd


def _saying(path: Path, version: str) -> Path:
    path.write_text(f"#!/bin/sh\necho '{version}'\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def _on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHOSEN_RSYSLOGD, raising=False)
    (tmp_path / "bin").mkdir()
    _saying(tmp_path / "bin/rsyslogd", "rsyslogd  8.2302.0 (aka 2023.02) compiled with:")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")


def test_the_chosen_rsyslogd_comes_before_that_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rsyslog_version() == "8.2302"
    other = _saying(tmp_path / "newer", "rsyslogd  8.2610.0 (aka 2026.10) compiled with:")
    monkeypatch.setenv(CHOSEN_RSYSLOGD, str(other))
    assert (rsyslogd(), rsyslog_version()) == (str(other), "8.2610")


def test_what_is_no_program_cannot_be_chosen(tmp_path: Path) -> None:
    plain = tmp_path / "rsyslog.conf"
    plain.touch()
    for wrong in (plain, tmp_path / "missing", tmp_path):
        with pytest.raises(BadUsage, match="this is no program"):
            choose_rsyslogd(wrong)


def test_another_program_is_named_with_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHOSEN_RSYSLOGD, str(_saying(tmp_path / "ng", "syslog-ng 4")))
    with pytest.raises(ProgramMissing, match=r"ng is not rsyslogd 8; with -v it prints: syslog-ng"):
        rsyslog_version()


def test_the_option_and_the_variable_reach_validate(tmp_path: Path) -> None:
    """It asks the one that was chosen, by the option before the variable."""
    by_option = _saying(tmp_path / "option", "rsyslogd  8.2610.0")
    by_variable = _saying(tmp_path / "variable", "rsyslogd  8.2504.0")
    asked = "#!/bin/sh\n[ $1 = -v ] && echo rsyslogd 8.2504.0 && exit\n"
    by_variable.write_text(f"{asked}echo 'refused by the variable' >&2\nexit 1\n")
    chosen = {CHOSEN_RSYSLOGD: str(by_variable)}
    profile = Path(__file__).parents[2] / "profiles/default.yaml"
    refused = tune("validate", profile, folder=tmp_path, environment=chosen)
    assert refused.code == 1
    assert "refused by the variable" in refused.out
    taken = ("validate", profile, "--rsyslogd", by_option)
    assert tune(*taken, folder=tmp_path, environment=chosen).code == 0
    wrong = tune("validate", profile, "--rsyslogd", tmp_path / "no", folder=tmp_path)
    assert wrong.code == 64
    assert "this is no program" in wrong.err
