"""What an engine would refuse of a base, asked of a real rsyslogd: its documents, and the names of
their indices."""

from __future__ import annotations

from collections.abc import Iterable

from tuner.errors import JobFailed, Problem, Refused, Severity
from tuner.lab.lab import Lab
from tuner.measure.learning import RefusedDocuments, slow_pass
from tuner.profile.model import BaseFiles, Profile
from tuner.script.script import ScriptPosition
from tuner.validate.layers import DOCUMENTS, Layer, acceptances, accepted_apart

NEVER_TAKEN, SOMETIMES = "RT511", "RT512"
# Rules that have said the same without asking.
_SAID = frozenset({"RT410", "RT411", "RT412"})


def documents_layer(
    lab: Lab, profile: Profile, base: BaseFiles, warnings: Iterable[Problem]
) -> Layer:
    """Send messages through the base into our sink, and judge what comes as an engine does; what a
    warning of lint says of an action already is not said again."""
    try:
        learnt_pass = slow_pass(lab, profile)
    except (JobFailed, Refused) as cannot:
        return Layer(DOCUMENTS, None, str(cannot))
    made = learnt_pass.lines.count(b"\n") // 2
    taken = made - sum(refusal.documents for refusal in learnt_pass.refused)
    messages = [warning.message for warning in warnings if warning.code in _SAID]
    problems = [
        _problem(base.kept.written.objects[refusal.address].origin, refusal)
        for refusal in learnt_pass.refused
        if not any(message.startswith(f"{refusal.address}: ") for message in messages)
    ]
    remark = f"an engine takes {taken:,} of the {made:,} that rsyslogd made"
    unaccepted, accepted = accepted_apart(profile, problems)
    return Layer(DOCUMENTS, True, remark, unaccepted, tuple(acceptances(profile, accepted)))


def _problem(place: ScriptPosition, refusal: RefusedDocuments) -> Problem:
    """One action of which an engine refuses documents."""
    some = f"{refusal.documents:,} of {refusal.total:,} documents"
    share = "every document" if refusal.is_all else some
    message = (
        f"{refusal.address}: sent through rsyslogd, {share} would be refused by the engine "
        f"({refusal.reason}), and rsyslog counts them as delivered: their events are lost"
    )
    code = NEVER_TAKEN if refusal.is_all else SOMETIMES
    return Problem(place.file, place.line, place.column, message, code, Severity.WARNING)
