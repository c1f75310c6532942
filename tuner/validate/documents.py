"""What an engine would refuse of a base, asked of a real rsyslogd: its documents, and the names of
their indices."""

from __future__ import annotations

from collections.abc import Iterable

from tuner.errors import JobFailed, Problem, Refused, Severity
from tuner.lab.lab import Lab
from tuner.measure.learning import RefusedDocuments, seen
from tuner.profile.model import BaseFiles, Profile
from tuner.validate.layers import DOCUMENTS, Layer, acceptances, accepted_apart

NEVER_TAKEN, SOMETIMES = "RT511", "RT512"
# Rules that have said the same without asking.
_SAID = frozenset({"RT410", "RT411", "RT412"})


def documents_layer(lab: Lab, profile: Profile, base: BaseFiles, known: Iterable[Problem]) -> Layer:
    """Send messages through the base into our sink, and judge what comes as an engine does; what
    lint has said of an action already is not said again."""
    try:
        found = seen(lab, profile)
    except (JobFailed, Refused) as cannot:
        return Layer(DOCUMENTS, None, str(cannot))
    every = found.lines.count(b"\n") // 2
    taken = every - sum(one.documents for one in found.refused)
    said = [one.message for one in known if one.code in _SAID]
    problems = [
        _problem(address, one)
        for one in found.refused
        if (address := base.kept.written.address_of(one.action) or "")
        and not any(message.startswith(f"{address}: ") for message in said)
    ]
    remark = f"an engine takes {taken:,} of the {every:,} that rsyslogd made"
    told, accepted = accepted_apart(profile, problems)
    return Layer(DOCUMENTS, True, remark, told, tuple(acceptances(profile, accepted)))


def _problem(address: str, one: RefusedDocuments) -> Problem:
    """One action of which an engine refuses documents."""
    which = "every document" if one.is_all else f"{one.documents:,} of {one.of:,} documents"
    message = (
        f"{address}: sent through rsyslogd, {which} would be refused by the engine "
        f"({one.reason}), and rsyslog counts them as delivered: their events are lost"
    )
    at, code = one.action.origin, NEVER_TAKEN if one.is_all else SOMETIMES
    return Problem(at.file, at.line, at.column, message, code, Severity.WARNING)
