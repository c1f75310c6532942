"""What the queues of a profile may take, against the memory of a host.  Pure."""

from __future__ import annotations

from tuner.errors import Problem, Severity
from tuner.lint.load import LoadedProfile
from tuner.profile.queue_memory import queue_memory
from tuner.validate.layer import problem

TOO_LITTLE_MEMORY = "RT508"


def memory_problems(loaded: LoadedProfile, memory_bytes: int) -> tuple[Problem, ...]:
    """A warning when full queues take more than half of `memory_bytes`.

    Where the profile says how much rsyslogd may use (`guardrails.rss_bytes`), lint holds the
    queues against that instead, whatever machine it runs on.
    """
    needed = queue_memory(loaded.profile)
    if needed is None or loaded.profile.guardrails.rss_bytes is not None:
        return ()
    half = memory_bytes // 2
    if needed.total_bytes <= half:
        return ()
    return (
        problem(
            loaded,
            (*needed.largest.path, "size"),
            f"when they are full, the queues hold {needed.total_bytes // 1024**2} MiB, more than "
            f"half of the {memory_bytes // 1024**2} MiB that this machine has: let their sizes add "
            f"up to at most {half // needed.message_bytes}, or, for another machine, set "
            "guardrails.rss_bytes to what rsyslogd may use there",
            TOO_LITTLE_MEMORY,
            Severity.WARNING,
        ),
    )
