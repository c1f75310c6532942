"""What of a profile runs, as text that was read: its configuration and the index templates."""

from __future__ import annotations

import json
from dataclasses import replace

from tuner.engines.given_template import GivenTemplate, given_template
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.base import KeptBase, as_kept
from tuner.profile.model import Profile
from tuner.render.artefacts import RSYSLOG, rsyslog_conf
from tuner.render.engine_files import INDEX_TEMPLATE, index_patterns, index_template
from tuner.render.templates import Templates


def as_text(profile: Profile, templates: Templates | None = None) -> KeptBase:
    """The configuration of a profile as text that was read: its base, else what is rendered."""
    if profile.base is not None:
        return profile.base.kept
    return as_kept(RSYSLOG, rsyslog_conf(profile, templates=templates))


def given_templates(
    profile: Profile, templates: Templates | None = None
) -> tuple[GivenTemplate, ...]:
    """The index templates of the indices of a profile: that of its base, if it names one, else
    those that are rendered."""
    if profile.base is not None:
        return () if profile.base.kept.template is None else (profile.base.kept.template,)
    return tuple(_given_template(profile, output, templates) for output in profile.indexed)


def _given_template(
    profile: Profile, output: OmelasticsearchOutput, templates: Templates | None
) -> GivenTemplate:
    """For the one index that an output writes to, or for all that its name varies to."""
    text = json.dumps(index_template(profile, output, templates))
    names = dict.fromkeys((output.index.target, *index_patterns(output.index)))
    return replace(given_template(INDEX_TEMPLATE, text), patterns=tuple(names))
