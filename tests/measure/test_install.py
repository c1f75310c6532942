"""The index templates of a trial, as an engine gets them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tuner.engine.client import JSON, at
from tuner.lab.copy import LabCopy
from tuner.lab.lab import Lab
from tuner.measure import pipeline


@pytest.mark.parametrize(("data_nodes", "copies"), [(1, 0), (2, 1), (3, 1)])
def test_an_index_without_a_template_has_no_more_copies_than_nodes(
    data_nodes: int, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base may name none, and an engine makes one copy beside the first where nothing is said."""
    put: list[JSON] = []
    monkeypatch.setattr(pipeline, "installed_templates", lambda _client: ())
    monkeypatch.setattr(pipeline, "put_template", lambda *given: put.append(given[-1]))
    monkeypatch.setattr(pipeline, "create_index", lambda *_: None)
    lab = cast(Lab, SimpleNamespace(client=None, owner=SimpleNamespace(meta={})))
    site = SimpleNamespace(index_prefix="rsyslog-tune-1-", data_nodes=data_nodes)
    copy = cast(LabCopy, SimpleNamespace(site=site, templates=(), indices=("rsyslog-tune-1-logs",)))
    pipeline.install(lab, copy)
    (own,) = put
    assert at(own, "template", "settings", "index.number_of_replicas") == copies
