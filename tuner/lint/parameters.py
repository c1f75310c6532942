"""Lint for releases: parameters that the oldest rsyslog does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from tuner.engines.release import Release
from tuner.errors import KeyPath
from tuner.lint.rule import error
from tuner.modules.inputs import Input
from tuner.modules.outputs import Output
from tuner.modules.queue import Queue
from tuner.profile.model import Profile
from tuner.profile.placement import queues
from tuner.rule import Complaint
from tuner.schema.parameter import since


def inputs_too_new(profile: Profile) -> Iterator[Complaint]:
    """Parameters of inputs that `release.rsyslog` does not know yet."""
    return _too_new("inputs", profile.inputs, profile.release)


def _outputs(profile: Profile) -> Iterator[Complaint]:
    return _too_new("outputs", profile.outputs, profile.release)


def _too_new(
    place: str, sections: Sequence[Input | Output], release: Release
) -> Iterator[Complaint]:
    for number, section in enumerate(sections):
        yield from _news((place, number), section, section.type, release)


def _queues(profile: Profile) -> Iterator[Complaint]:
    for queue in queues(profile):
        if queue.written is not None:
            yield from _news(queue.path, queue.written, "a queue", profile.release)


def _news(path: KeyPath, section: BaseModel, owner: str, release: Release) -> Iterator[Complaint]:
    """What `release.rsyslog` does not know yet, by rsyslog's tags; an older rsyslogd refuses it."""
    for name, info in type(section).model_fields.items():
        value, key = getattr(section, name), info.alias or name
        if name not in section.model_fields_set or value is None:
            continue
        if since(info) > release.rsyslog_number:
            yield Complaint(
                (*path, key),
                f"{owner} has {key} since rsyslog 8.{since(info)}, and release.rsyslog is "
                f"{release.rsyslog}: remove it, or raise the release when every host has it",
            )
        elif isinstance(value, BaseModel) and not isinstance(value, Queue):
            yield from _news((*path, key), value, f"{key} of {owner}", release)


RULES = (error("RT421", inputs_too_new), error("RT422", _outputs), error("RT423", _queues))
