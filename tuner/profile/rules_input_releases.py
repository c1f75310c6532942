"""Lint for releases: parameters of inputs that the oldest rsyslog does not know."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.finding import Complaint, error
from tuner.profile.model import Profile
from tuner.profile.parameter import since


def too_new(profile: Profile) -> Iterator[Complaint]:
    """What `release.rsyslog` does not know yet, by rsyslog's tags; an older rsyslogd refuses it."""
    release = profile.release
    for number, source in enumerate(profile.inputs):
        for name, info in type(source).model_fields.items():
            if getattr(source, name) is None or since(info) <= release.rsyslog_number:
                continue
            key = info.alias or name
            yield Complaint(
                ("inputs", number, key),
                f"{source.type} has {key} since rsyslog 8.{since(info)}, and release.rsyslog is "
                f"{release.rsyslog}: remove it, or raise the release when every host has it",
            )


RULES = (error("RT421", too_new),)
