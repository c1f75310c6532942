"""Lint for releases: parameters of inputs and outputs that the oldest rsyslog does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.profile.finding import Complaint, error
from tuner.profile.inputs import Input
from tuner.profile.model import Profile
from tuner.profile.outputs import OmelasticsearchOutput
from tuner.profile.parameter import since
from tuner.profile.release import Release


def inputs_too_new(profile: Profile) -> Iterator[Complaint]:
    """Parameters of inputs that `release.rsyslog` does not know yet."""
    return _too_new("inputs", profile.inputs, profile.release)


def _outputs(profile: Profile) -> Iterator[Complaint]:
    return _too_new("outputs", profile.outputs, profile.release)


def _too_new(
    place: str, sections: Sequence[Input | OmelasticsearchOutput], release: Release
) -> Iterator[Complaint]:
    """What `release.rsyslog` does not know yet, by rsyslog's tags; an older rsyslogd refuses it."""
    for number, section in enumerate(sections):
        for name, info in type(section).model_fields.items():
            unwritten = name not in section.model_fields_set or getattr(section, name) is None
            if unwritten or since(info) <= release.rsyslog_number:
                continue
            key = info.alias or name
            yield Complaint(
                (place, number, key),
                f"{section.type} has {key} since rsyslog 8.{since(info)}, and release.rsyslog is "
                f"{release.rsyslog}: remove it, or raise the release when every host has it",
            )


RULES = (error("RT421", inputs_too_new), error("RT422", _outputs))
