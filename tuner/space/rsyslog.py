"""The knobs of rsyslog beside its queues: inputs, parsers, requests.

Left out, because they change no rate or give something up: socketBacklog, maxSessions,
healthCheckTimeout, rebindinterval, maxbytes (a smaller one splits batches, F4), bulkmode.
"""

from __future__ import annotations

from tuner.modules.imfile import ImfileInput
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.imudp import ImudpInput
from tuner.profile.model import Profile
from tuner.space.level import Cost, Knob, holding
from tuner.space.worth import worth

# omelasticsearch reads `errors` and each item's `status` and `error`, nothing else of a reply.
REPLY_FILTER = ("errors", "items.*.status", "items.*.error")
_POOLED_IMTCP = 2504
_THREADS = (1, 2, 4, 8)


def input_knobs(profile: Profile) -> list[Knob]:
    """The knobs of the inputs and of the parsers."""
    return [*_inputs(profile), *_parser(profile)]


def request_knobs(profile: Profile) -> list[Knob]:
    """The knobs of the requests of the measured output."""
    output = profile.measured
    note = "asks the engine to leave out of its replies what omelasticsearch does not read"
    found = Knob(
        f"outputs[{output.name}].filter_path", (None, REPLY_FILTER), output.filter_path,
        Cost.RSYSLOG_RESTART, note, ordered=False, worth=worth("filter_path"),
    )  # fmt: skip
    return [holding(found)]


def _inputs(profile: Profile) -> list[Knob]:
    """Parameters of a module are all its inputs', so only a single input is turned.  What is not
    written stands at the module's own default."""
    source = profile.inputs[0]
    if len(profile.inputs) > 1:
        return []
    if isinstance(source, ImptcpInput):
        poller = Knob(
            "inputs[0].processOnPoller", (True, False), source.process_on_poller,
            Cost.RSYSLOG_RESTART, ordered=False, worth=worth("inputs.processOnPoller"),
        )  # fmt: skip
        return [_input("threads", _THREADS, source.threads), poller]
    if isinstance(source, ImtcpInput) and profile.release.rsyslog_number >= _POOLED_IMTCP:
        reads = source.starvation_protection_max_reads
        return [
            _input("workerThreads", _THREADS, source.worker_threads or 2),
            _input(
                "starvationProtection.maxReads",
                (0, 100, 500, 2000),
                500 if reads is None else reads,
                "batch",
            ),
        ]
    if isinstance(source, ImudpInput):
        return [
            _input("threads", _THREADS, source.threads or 1),
            _input("batchSize", (32, 64, 128, 256, 512), source.batch_size or 32, "batch"),
        ]
    if isinstance(source, ImfileInput):
        lines = source.max_submit_at_once or 1024
        return [_input("maxSubmitAtOnce", (256, 1024, 4096), lines, "batch")]
    return []


def _input(key: str, levels: tuple[int, ...], now: int, part: str = "threads") -> Knob:
    found = Knob(f"inputs[0].{key}", levels, now, Cost.RSYSLOG_RESTART)
    return holding(Knob(found.path, levels, now, found.cost, worth=worth(f"inputs.{part}")))


def _parser(profile: Profile) -> list[Knob]:
    """rsyslog tries its parser of RFC 5424 first; where every message is of RFC 3164 that takes
    time for nothing."""
    load = profile.workload
    own = any(source.parser is not None for source in profile.inputs)
    if profile.parser is not None or own or load.format != "rfc3164" or load.replay is not None:
        return []
    note = "messages of RFC 5424, should there be any, would then be taken apart wrongly"
    pinned = (None, ("rsyslog.rfc3164",))
    restart = Cost.RSYSLOG_RESTART
    return [Knob("parser", pinned, None, restart, note, ordered=False, worth=worth("parser"))]
