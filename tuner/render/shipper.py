"""A profile as the statements of an rsyslog configuration."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.documents import fields_of
from tuner.profile.index import Rotate
from tuner.profile.model import Profile
from tuner.profile.outputs import OmelasticsearchOutput
from tuner.profile.placement import main_queue
from tuner.render.actions import actions, document_name, index_name, queue_parameters
from tuner.render.document import Identity, document_template, index_name_template
from tuner.render.inputs import entrances, input_modules, inputs
from tuner.render.parsing import parse_module
from tuner.render.quoting import quote_all
from tuner.render.rainerscript import Statement, Value, statement
from tuner.render.retry import (
    id_template,
    pipeline_template,
    retry_rulesets,
    retry_templates,
)


def statements(profile: Profile, identity: Identity | None = None) -> tuple[Statement, ...]:
    """Everything that rsyslog.conf holds, in its order; an identity is for measurements only."""
    return (
        # A name lookup per connection would wait for DNS; %hostname% comes from the message.
        statement(
            "global",
            {"net.enableDNS": False, "workDirectory": profile.global_.work_directory},
        ),
        *_modules(profile),
        *_templates(profile, identity),
        statement("main_queue", queue_parameters(main_queue(profile))),
        statement("ruleset", _main_ruleset(profile), tuple(actions(profile))),
        *(one for n in range(len(profile.outputs)) for one in retry_rulesets(profile, n)),
        *entrances(profile),
        *inputs(profile),
    )


def _main_ruleset(profile: Profile) -> dict[str, Value]:
    parsers = None if profile.parser is None else quote_all(profile.parser)
    return {"name": profile.name, "parser": parsers}


def _modules(profile: Profile) -> Iterator[Statement]:
    yield from input_modules(profile)
    if any(output.mmutf8fix for output in profile.outputs):
        yield statement("module", {"load": "mmutf8fix"})
    yield from parse_module(profile)
    yield statement("module", {"load": "omelasticsearch"})


def _templates(profile: Profile, identity: Identity | None) -> Iterator[Statement]:
    for output in profile.outputs:
        fields = fields_of(output)
        yield document_template(document_name(output), fields, profile.parse, identity)
        if output.index.rotate is Rotate.DAILY:
            yield index_name_template(index_name(output), output.index.target)
        yield from _delivery_templates(output)


def _delivery_templates(output: OmelasticsearchOutput) -> Iterator[Statement]:
    if output.has_ids:
        yield id_template(output)
    if output.dyn_pipeline_name:
        yield pipeline_template(output)
    if output.retryfailures is not None:
        yield from retry_templates(output)
