"""`compare` without a measurement: under which workload, and of what."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.cli.bench import under_one_workload
from tuner.cli.commands import app
from tuner.cli.profiles import read_profile
from tuner.errors import BadUsage
from tuner.profile.starter import on_top_of


def test_a_configuration_is_compared_under_the_workload_of_the_profile_on_top_of_it(
    tmp_path: Path,
) -> None:
    conf, sample, best = (tmp_path / name for name in ("r.conf", "log.txt", "best.yaml"))
    conf.write_text(
        'module(load="omelasticsearch")\nmodule(load="imtcp")\ninput(type="imtcp" port="514")\n'
        'action(type="omelasticsearch" server="es")\n'
    )
    sample.write_text("a line of mine\n" * 20)
    best.write_text(on_top_of(conf.name, "best", None, sample=sample.name))
    as_it_is, found = read_profile(conf).profile, read_profile(best).profile
    a, b, doubts = under_one_workload(as_it_is, found, conf)
    assert a.workload == b.workload == found.workload != as_it_is.workload
    assert doubts == []
    a, b, doubts = under_one_workload(found, as_it_is, best)
    assert a.workload == b.workload == found.workload
    assert doubts == ["the workloads differ: both sides were measured with that of A"]


def test_a_folder_is_no_profile(tmp_path: Path) -> None:
    profile = str(Path(__file__).parents[2] / "profiles/default.yaml")
    with pytest.raises(BadUsage, match=f"compare two profiles, such as {tmp_path}/best.yaml"):
        app(["compare", profile, str(tmp_path)])
