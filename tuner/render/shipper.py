"""A profile as the statements of an rsyslog configuration."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engines.index import Rotate
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.omfile import OmfileOutput
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile
from tuner.profile.placement import main_queue
from tuner.render.actions import actions, failover_rulesets, repaired_for
from tuner.render.bulk import document_name, index_name
from tuner.render.document import Identity, document_template, index_name_template
from tuner.render.impstats import impstats_module
from tuner.render.inputs import entrances, input_modules, inputs
from tuner.render.lanes import lane_modules, lane_rulesets, outputs_ruleset
from tuner.render.other_actions import file_name_template, output_modules
from tuner.render.parsing import parse_module
from tuner.render.queues import queue_parameters
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
        statement("main_queue", queue_parameters(main_queue(profile).resolved)),
        *failover_rulesets(profile),
        statement("ruleset", _outputs_ruleset(profile), tuple(actions(profile))),
        *(one for n in range(len(profile.outputs)) for one in retry_rulesets(profile, n)),
        *lane_rulesets(profile),
        *entrances(profile),
        *inputs(profile),
    )


def _outputs_ruleset(profile: Profile) -> dict[str, Value]:
    """Events are parsed by the parser of the ruleset that they enter."""
    enters = profile.lanes is None and profile.parser is not None
    parser = quote_all(profile.parser or ()) if enters else None
    return {"name": outputs_ruleset(profile), "parser": parser}


def _modules(profile: Profile) -> Iterator[Statement]:
    # Its manual wants it before all other modules, or some would not count.
    yield from impstats_module(profile)
    yield from input_modules(profile)
    yield from lane_modules(profile)
    if repaired_for(profile) is not None:
        yield statement("module", {"load": "mmutf8fix"})
    yield from parse_module(profile)
    yield from output_modules(profile)


def _templates(profile: Profile, identity: Identity | None) -> Iterator[Statement]:
    for output in profile.outputs:
        if isinstance(output, OmfileOutput) and output.dyna_file is not None:
            yield file_name_template(output.names_template, output.dyna_file)
        fields = fields_of(output)
        if not fields:
            continue
        end = "\n" if isinstance(output, OmfileOutput) else ""
        name = document_name(output)
        yield document_template(name, fields, profile.parse, identity, end)
        if isinstance(output, OmelasticsearchOutput):
            yield from _bulk_templates(output)


def _bulk_templates(output: OmelasticsearchOutput) -> Iterator[Statement]:
    if output.index.rotate is Rotate.DAILY:
        yield index_name_template(index_name(output), output.index.target)
    if output.has_ids:
        yield id_template(output)
    if output.dyn_pipeline_name:
        yield pipeline_template(output)
    if output.retryfailures is not None:
        yield from retry_templates(output)
