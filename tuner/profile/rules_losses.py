"""Lint for queues: where rsyslog drops messages, when they fill and when it stops."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.finding import Complaint, error, warning
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import action_queue, queues
from tuner.profile.queue import QueueType

_PATIENT_MS = 60_000
_HASTY_MS = 1000


def _impatient_enqueue(profile: Profile) -> Iterator[Complaint]:
    """F9: an action queue that stays full drops one message per timeout."""
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    for number in range(len(profile.outputs)):
        queue = action_queue(profile, number)
        timeout = queue.resolved.timeout_enqueue or 0
        if not queue.is_direct and timeout < _PATIENT_MS:
            yield Complaint(
                (*queue.path, "timeoutEnqueue"),
                f"when the action queue stays full for {timeout} ms a message is dropped: "
                "set timeoutEnqueue to 86400000 to wait instead, as the durable tier promises",
            )


def _discards(profile: Profile) -> Iterator[Complaint]:
    for queue in queues(profile):
        severity = queue.resolved.discard_severity
        if severity is not None and severity < 8:
            yield Complaint(
                (*queue.path, "discardSeverity"),
                f"drops messages of severity {severity} and above when the queue fills, but the "
                "guardrails allow none to be lost: use 8, which is off",
            )


def _hasty_shutdown(profile: Profile) -> Iterator[Complaint]:
    """rsyslog's default for action queues is 10 ms; only a queue with a filename can save the rest
    (saveOnShutdown)."""
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    for number in range(len(profile.outputs)):
        queue = action_queue(profile, number)
        timeout = queue.resolved.timeout_shutdown or 0
        saves = queue.resolved.type is QueueType.DISK or queue.resolved.save_on_shutdown
        if not queue.is_direct and not saves and timeout < _HASTY_MS:
            yield Complaint(
                (*queue.path, "timeoutShutdown"),
                f"when rsyslog stops, what the action queue still holds after {timeout} ms is "
                "lost, against the durable tier: set timeoutShutdown to 10000",
            )


RULES = (
    warning("RT113", _impatient_enqueue),
    error("RT114", _discards),
    warning("RT115", _hasty_shutdown),
)
