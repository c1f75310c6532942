"""What outputs can be told, on which release, and what a lab makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.lab.test_bind import SITE
from tests.lint.findings import findings
from tests.profile.examples import SMALL, small
from tuner.errors import BadProfile
from tuner.lab.bind import bind
from tuner.lint.lint import lint
from tuner.lint.load import parse_profile
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.edit import edit
from tuner.render.artefacts import RSYSLOG, render
from tuner.script.printing import printed

REJECTED = "/var/log/rsyslog/rejected.json"
RETRY = {"outputs[logs].retryfailures.file": REJECTED}
KEY = {"outputs[logs].apikey": {"file": "/etc/rsyslog.d/es.key"}}
NEW = {"release.rsyslog": "8.2512"}
OLD = {"release": {"rsyslog": "8.2102", "elasticsearch": "7.17"}}


def output(changes: Mapping[str, object]) -> OmelasticsearchOutput:
    return small(changes).measured


def refusal(changes: Mapping[str, object]) -> str:
    with pytest.raises(BadProfile) as caught:
        parse_profile(edit(SMALL, changes), "p.yaml")
    return str(caught.value)


def test_retries_create_under_ids_and_so_does_a_data_stream() -> None:
    assert output(RETRY).creates
    assert output(RETRY).has_ids
    assert output({"outputs[logs].index": {"data_stream": "logs-syslog-default"}}).has_ids
    assert not output({}).has_ids
    assert output({"outputs[logs].bulkid": "uuid"}).has_ids
    assert not output({"outputs[logs].bulkid": "uuid"}).creates


def test_retries_lint_clean() -> None:
    assert lint(small(RETRY)) == ()
    reasons = ["errors", "items.*.status", "items.*.error"]
    assert lint(small({**RETRY, "outputs[logs].filter_path": reasons})) == ()


def test_a_filter_of_replies_may_name_the_operation_that_is_sent() -> None:
    own = ["errors", "items.index.status", "items.index.error"]
    assert lint(small({"outputs[logs].filter_path": own})) == ()
    created = [one.replace("index", "create") for one in own]
    assert lint(small({**RETRY, "outputs[logs].filter_path": created})) == ()
    refused = "error RT210 outputs[0].filter_path"
    assert refused in findings({"outputs[logs].filter_path": created})
    assert refused in findings({**RETRY, "outputs[logs].filter_path": own})


def test_a_parameter_of_a_later_release_names_that_release() -> None:
    said = refusal(KEY)
    assert "apikey since rsyslog 8.2512, and release.rsyslog is 8.2302" in said
    assert lint(small({**KEY, **NEW})) == ()
    assert "error RT422 outputs[0].indexTimeout" in findings(
        {**OLD, "outputs[logs].indexTimeout": 60000}
    )
    assert findings({**OLD, "outputs[logs].indexTimeout": None}) == set()


@pytest.mark.parametrize("engine", [{"elasticsearch": "8.19"}, {"opensearch": "2.19"}])
def test_an_rsyslog_that_always_sends_the_type_is_refused_where_nothing_takes_it(
    engine: dict[str, str],
) -> None:
    said = refusal({"release": {"rsyslog": "8.2112", **engine}})
    assert "always sends _type" in said
    assert "8.2206 or later" in said


def test_before_8_2206_the_type_is_that_of_elasticsearch_7() -> None:
    text = conf({**OLD, "outputs[logs].indexTimeout": None})
    assert 'searchType="_doc"' in text
    assert "indexTimeout" not in text


@pytest.mark.parametrize(("release", "lost"), [("8.2302", "401, 403, 429"), ("8.2508", "429")])
def test_what_a_release_loses_of_whole_requests_is_said(release: str, lost: str) -> None:
    changes = {"release.rsyslog": release, "outputs[logs].servers": ["https://es.example:9200"]}
    (said,) = [one.message for one in lint(small({**RETRY, **changes})) if one.code == "RT404"]
    assert f"answers {lost} or 5xx" in said


def test_a_key_is_rendered_as_a_reference_into_a_private_file() -> None:
    (artefact,) = [one for one in render(small({**KEY, **NEW})) if one.path == RSYSLOG]
    assert "apikey=`cat /etc/rsyslog.d/es.key`" in artefact.text
    assert artefact.private


def test_a_key_does_not_cross_the_network_in_the_clear() -> None:
    assert "error RT204 outputs[0].servers[0]" in findings(
        {**KEY, **NEW, "outputs[logs].servers": ["http://es.example:9200"]}
    )


def test_a_key_may_cross_a_network_that_something_else_encrypts() -> None:
    clear = {**KEY, **NEW, "outputs[logs].servers": ["http://es.example:9200"]}
    told = findings({**clear, "guardrails.secrets_in_clear": True})
    assert not [one for one in told if "RT204" in one]


def test_a_lab_keeps_its_own_files_and_needs_no_key() -> None:
    errors = {"outputs[logs].errorfile": "/var/log/rsyslog/errors.json"}
    bound = bind(small({**RETRY, **KEY, **NEW, **errors}), SITE, (40514,))
    text = printed(bound.copy.block)
    assert "apikey" not in text
    assert 'errorFile="/run/lab/engine-errors-0.json"' in text
    assert f'file="/run/lab/files{REJECTED}"' in text
    told = {str(one) for one in bound.substitutions}
    assert "outputs[logs].apikey: *** -> left out" in told


def test_the_users_cluster_keeps_the_key() -> None:
    site = replace(SITE, keeps_authentication=True)
    bound = bind(small({**KEY, **NEW}), site, (40514,))
    assert "apikey=" in printed(bound.copy.block)


def test_the_name_of_a_pipeline_taken_from_an_event_is_plain() -> None:
    changes = {"outputs[logs].pipelineName": "programname", "outputs[logs].dynPipelineName": True}
    text = conf(changes)
    template = text.split('name="logs-pipeline"')[1]
    assert 'regex.expression="^([]!#-[^-~ ]{1,200})$"' in template.partition("}\n")[0]


def conf(changes: Mapping[str, object]) -> str:
    return {one.path: one.text for one in render(small(changes))}[RSYSLOG]
