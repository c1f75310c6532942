"""A profile as the statements of an rsyslog configuration."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.documents import fields_of
from tuner.profile.index import Rotate
from tuner.profile.model import Profile
from tuner.profile.placement import main_queue
from tuner.render.actions import actions, document_name, index_name, queue_parameters
from tuner.render.document import Identity, document_template, index_name_template
from tuner.render.inputs import input_modules, inputs
from tuner.render.rainerscript import Statement, statement


def statements(profile: Profile, identity: Identity | None = None) -> tuple[Statement, ...]:
    """Everything that rsyslog.conf holds, in its order; an identity is for measurements only."""
    return (
        # A name lookup per connection would wait for DNS; %hostname% comes from the message.
        statement("global", {"net.enableDNS": False}),
        *_modules(profile),
        *_templates(profile, identity),
        statement("main_queue", queue_parameters(main_queue(profile))),
        statement("ruleset", {"name": profile.name}, tuple(actions(profile))),
        *inputs(profile),
    )


def _modules(profile: Profile) -> Iterator[Statement]:
    yield from input_modules(profile)
    if any(output.mmutf8fix for output in profile.outputs):
        yield statement("module", {"load": "mmutf8fix"})
    yield statement("module", {"load": "omelasticsearch"})


def _templates(profile: Profile, identity: Identity | None) -> Iterator[Statement]:
    for output in profile.outputs:
        yield document_template(document_name(output), fields_of(output), identity)
        if output.index.rotate is Rotate.DAILY:
            yield index_name_template(index_name(output), output.index.name)
