"""`rsyslog-tune flood` sends syslog messages to a port, a socket or a file; `sink` runs a bulk
endpoint for an rsyslogd; `workload` makes a sample of the traffic in a log."""

from __future__ import annotations

import math
import secrets
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.cli.console import OutputFormat, print_result, result, say, working
from tuner.cli.layout import print_blocks
from tuner.cli.usage.traffic import FloodArguments, SinkArguments, WorkloadArguments
from tuner.engine.client import EngineClient
from tuner.engine.delivery import Arrived, ArrivedRun, FaultCount, arrived, fault_counts
from tuner.errors import BadUsage, Interrupted, JobFailed, Refused
from tuner.flood.flood import Flood
from tuner.flood.heads import STYLES
from tuner.flood.pace import Runs, Schedule, Timeline, bursts, fixed, ramp, runs
from tuner.flood.replayed import replayed_file
from tuner.flood.spec import Credentials, FloodProgress, FloodSpec, Transport, address_of, loopback
from tuner.host.allow import require_allowed_host
from tuner.lab.loads import LoadHost
from tuner.lab.sink import Sink, parse_fault
from tuner.modules.input import TRANSPORTS
from tuner.profile.sample import is_sample, origin_of, read_sample, sample_text
from tuner.profile.workload import MessageSizes
from tuner.reading import readable, required_content
from tuner.report.traffic import traffic_blocks
from tuner.schema.numerals import counted
from tuner.script.configuration import MAX_BYTES, configuration
from tuner.script.tokens import SURROGATES
from tuner.writing import require_writable, write_whole


@dataclass(frozen=True)
class PacePlan:
    """How many messages to send: by a schedule, in runs, or else as fast as possible."""

    total: int
    schedule: Schedule | None = None
    runs: Runs | None = None


def plan_pace(options: FloodArguments) -> PacePlan:
    """The pace that the options ask for; raises BadUsage when they contradict each other."""
    count, burst = options.count, options.burst
    if sum(text is not None for text in (options.ramp, burst, options.runs)) > 1:
        raise BadUsage("--ramp, --burst and --runs cannot be combined")
    per_second = _per_second(options.rate)
    if per_second is not None and (options.ramp or burst):
        raise BadUsage("--ramp and --burst set the rate: remove --rate")
    if options.ramp is not None:
        climb = ramp(*_numbers("--ramp", options.ramp, "A:B:SECONDS"))
        whole = climb.legs[0].messages or 0
        return PacePlan(min(count or whole, climb.total or sys.maxsize), climb)
    if count is None:
        raise BadUsage("--count is missing: give the number of messages")
    if burst is not None:
        messages, every_s = _numbers("--burst", burst, "N:SECONDS")
        return PacePlan(count, bursts(_whole("--burst", messages), every_s))
    if options.runs is not None:
        return _runs(count, per_second, options.runs)
    return PacePlan(count, None if per_second is None else fixed(per_second))


def _runs(count: int, per_second: float | None, repeat: str) -> PacePlan:
    number, pause_s = _numbers("--runs", repeat, "N:PAUSE")
    times = _whole("--runs", number)
    if per_second is None:
        return PacePlan(count * times, runs=Runs(count, times, pause_s))
    return PacePlan(count * times, runs(count, per_second, times, pause_s))


def _per_second(rate: str) -> float | None:
    if rate == "max":
        return None
    try:
        value = float(rate)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise BadUsage(f"--rate {rate}: use a number of messages per second, or max")
    return value


def _numbers(option: str, text: str, shape: str) -> tuple[float, ...]:
    """The numbers of an option such as A:B:SECONDS, none below 0."""
    parts = text.split(":")
    try:
        values = tuple(float(part) for part in parts)
    except ValueError:
        values = ()
    if len(values) != len(shape.split(":")) or not all(0 <= value < math.inf for value in values):
        raise BadUsage(f"{option} {text}: use {shape}, numbers separated by colons")
    return values


def _whole(option: str, value: float) -> int:
    if value < 1 or value != int(value):
        raise BadUsage(f"{option}: {value:g} is not a whole number above 0")
    return int(value)


def flood_command(transport: Transport) -> str:
    """The flood command for a transport, without the number of messages."""
    words = ["rsyslog-tune", "flood"]
    if transport.kind != "tcp":
        words += ["--transport", transport.kind]
    for target in transport.targets:
        words += ["--target", target]
    tls = transport.credentials or Credentials()
    files = {"--ca": tls.ca, "--certificate": tls.certificate, "--key": tls.key}
    for option, path in files.items():
        words += [option, path] if path is not None else []
    return shlex.join(words)


def plan_transport(options: FloodArguments) -> Transport:
    """The transport that the options ask for; raises BadUsage when they contradict each other, and
    Refused for a host that may not be flooded from here."""
    kind, port, on_cluster = options.transport, options.port, options.cluster
    takes_path = TRANSPORTS[kind].has_path
    credentials = Credentials(*map(readable, (options.ca, options.certificate, options.key)))
    if (port is None) is (not options.target):
        raise BadUsage("give either --port or --target")
    if on_cluster and (port is not None or takes_path):
        raise BadUsage("--cluster floods over the network: use --target HOST:PORT")
    if port is not None and takes_path:
        raise BadUsage(f"{kind} needs a path: use --target PATH instead of --port")
    targets = tuple(options.target or ()) if port is None else (loopback(port),)
    transport = Transport(targets, kind, None if credentials == Credentials() else credentials)
    if not takes_path and not on_cluster:
        for target in transport.targets:
            require_allowed_host(address_of(target)[0])
    return transport


_POLL_S = 0.1
_FINISH_S = 10.0
_WORTH_SAYING = 0.01
# In shorter floods most CPU time is start-up and shutdown.
_LONG_ENOUGH_S = 0.1


def flood(options: FloodArguments) -> None:
    """Carry out `rsyslog-tune flood`."""
    plan, transport = plan_pace(options), plan_transport(options)
    spec = FloodSpec(
        transport=transport,
        connections=options.connections,
        sizes=MessageSizes(
            options.message_bytes, options.min_bytes, options.max_bytes, options.distribution
        ),
        seed=options.seed,
        run_id=secrets.token_hex(4),
        count=plan.total,
        format=options.message_format or transport.facts.format,
        framing=options.framing or transport.facts.framings[0],
        replay=_replay(options),
    )
    output = options.output
    if not options.cluster:
        if spec.replay is not None:
            style, file = STYLES[spec.format], replayed_file(spec.replay)
            for remark in file.remarks(style, spec.longest_bytes, repairs_utf8=True):
                say(remark)
        _run(spec, (), plan, output)
        return
    # Imported here, as only a cluster needs Dask.
    from tuner.cli.cluster_lab import loads_of_cluster

    with loads_of_cluster(transport) as hosts:
        _run(spec, hosts, plan, output)


def _replay(options: FloodArguments) -> str | None:
    replay, on_cluster = options.replay, options.cluster
    if replay is None:
        return None
    if on_cluster and not replay.is_absolute():
        raise BadUsage(f"--replay {replay}: with --cluster an absolute path, of each load host")
    if not on_cluster and (replay.is_dir() or not (replay.exists() or replay.is_symlink())):
        raise BadUsage(f"--replay {replay}: there is no such file")
    if options.min_bytes is not None or options.max_bytes is not None:
        raise BadUsage("--replay takes its sizes from the file: remove --min-bytes and --max-bytes")
    return str(replay)


def _run(spec: FloodSpec, hosts: Sequence[LoadHost], plan: PacePlan, output: OutputFormat) -> None:
    title = f"sending {plan.total:,} messages to {spec.transport}"
    with working(title) as tell, Flood(spec, hosts) as sender:
        if plan.schedule is not None:
            sender.follow(plan.schedule, plan.total)
        elif plan.runs is not None:
            sender.run(plan.runs)
        else:
            sender.steer(plan.total, None)
        while (state := sender.wait_until_idle(_POLL_S)).sent < plan.total and state.error is None:
            tell(f"{state.sent:,} of {plan.total:,} sent")
        timeline = sender.timeline()
        final = sender.finish(_FINISH_S)
    if final.error is not None:
        raise JobFailed(f"{final.sent} of {plan.total} messages sent: {final.error}")
    sent = dict(zip([host.name for host in hosts], final.counts, strict=False))
    show_flood(final, timeline, spec.run_id, sent, output)


def show_flood(
    final: FloodProgress,
    timeline: Timeline | None,
    run_id: str,
    sent: Mapping[str, int],
    output: OutputFormat,
) -> None:
    """Print the result of a complete flood, and the number of messages of each load host."""
    seconds = (final.last_send_s or 0.0) - (final.first_send_s or 0.0)
    # The share of one core that the sender used.
    share = final.cpu_seconds / seconds if seconds >= _LONG_ENOUGH_S else None
    achieved, timing = _achieved(final, timeline, seconds), final.punctuality
    fields = {
        "run_id": run_id,
        "sent": final.sent,
        "load_hosts": dict(sent),
        "seconds": seconds,
        "achieved_per_second": achieved,
        "cpu_seconds": final.cpu_seconds,
        "cpu_share": share,
        "blocked_seconds": final.blocked_seconds,
        # Only an open-loop schedule can be late.
        "offered": timing and timing.offered,
        "late": timing and timing.late,
        "max_late_s": timing and timing.max_late_s,
        "kept_pace": timing and timing.kept,
    }
    lines = [*_lines(final, seconds, achieved, share)]
    if sent:
        lines.append(", ".join(f"{name} sent {count:,}" for name, count in sent.items()))
    print_result(output, "flood", fields, "\n".join(lines))


def _lines(
    final: FloodProgress, seconds: float, achieved: float | None, share: float | None
) -> Iterator[str]:
    is_brief = achieved is None or share is None
    rate = "too short for a rate" if is_brief else f"{achieved:,.0f} per second"
    cpu_us = final.cpu_seconds * 1e6 / max(1, final.sent)
    used = "" if share is None else f", {share:.1%} of a core"
    yield f"{final.sent:,} messages in {seconds:.2f} s ({rate}), {cpu_us:.2f} µs CPU each{used}"
    if final.blocked_seconds > _WORTH_SAYING * seconds:
        yield (
            f"The sender was blocked for {final.blocked_seconds:.2f} s: "
            "the receiver could not keep up."
        )
    timing = final.punctuality
    if timing is not None and timing.late:
        verdict = "" if timing.kept else "The rate was not kept: "
        yield (
            f"{verdict}{timing.late:,} of {timing.offered:,} messages were more than 50 ms late, "
            f"by up to {timing.max_late_s:.2f} s."
        )


def _achieved(final: FloodProgress, timeline: Timeline | None, seconds: float) -> float | None:
    """Messages per second.  Under a schedule the time ends when the next message would be due, so
    that a schedule that is kept yields exactly its rate."""
    if timeline is not None and final.last_send_s is not None:
        due_s = timeline.schedule.intended_s
        following_s = due_s(final.sent) - due_s(final.sent - 1)
        seconds = final.last_send_s - timeline.start_s + following_s
    return final.sent / seconds if seconds > 0 else None


_ENDING_POLL_S = 0.2


def sink(options: SinkArguments) -> None:
    """Carry out `rsyslog-tune sink`."""
    faults = [parse_fault(text) for text in options.fault or ()]
    with Sink(options.port, faults) as endpoint:
        client = EngineClient(endpoint.url)
        try:
            if options.output is OutputFormat.TEXT:
                result(endpoint.url)
            say(f"the sink listens at {endpoint.url}; press Ctrl-C to end it")
            while endpoint.ending() is None:
                time.sleep(_ENDING_POLL_S)
            raise JobFailed(f"the sink's process ended with {endpoint.ending()}")
        except Interrupted:
            _show_arrived(endpoint.url, arrived(client), fault_counts(client), options.output)
            raise
        finally:
            client.close()


def _show_arrived(
    url: str, indices: tuple[Arrived, ...], faults: tuple[FaultCount, ...], output: OutputFormat
) -> None:
    lines = []
    for index in indices:
        lines.append(f"{index.index}: {counted(index.documents, 'document')}")
        lines += [f"  run {run.run_id}: {_run_text(run)}" for run in index.runs]
    for fault in faults:
        documents = counted(fault.documents, "document")
        lines.append(f"fault {fault.fault}: {documents}, {fault.stored:,} counted")
    if not indices:
        lines.append("nothing arrived")
    fields = {"url": url, "indices": indices, "faults": faults}
    print_result(output, "sink", fields, "\n".join(lines))


def _run_text(run: ArrivedRun) -> str:
    account = run.account
    duplicates = counted(account.duplicated, "duplicate")
    text = f"{counted(run.events, 'event')}, {account.lost:,} missing, {duplicates}"
    for name, numbers in (("missing", account.missing), ("duplicated", account.doubled)):
        if numbers:
            text += f"; {name}: {', '.join(map(str, numbers))}"
    return text


def workload(options: WorkloadArguments) -> None:
    """Carry out `rsyslog-tune workload`."""
    log, file = options.log, options.sample
    if file is not None:
        require_writable(file)
        if file.exists() and not is_sample(file):
            raise Refused(f"{file} exists and is no sample: name another file, or move it")
    texts = [text for path in options.conf or () for text in _texts(path)]
    with working(f"learning from {log}"):
        text = sample_text(log, texts, verbatim=options.verbatim)
        sample = read_sample(text, str(log))
    if origin := origin_of(text):
        say(origin)
    if file is not None:
        write_whole(file, text)
    data = {"schema": 1, "kind": "workload", "sample": sample.model_dump(mode="json")}
    print_blocks(options.output, data, traffic_blocks(sample))
    if file is not None:
        say(f"wrote {file}: name it as workload.sample in a profile")


def _texts(path: Path) -> Iterator[str]:
    """The texts of a configuration and of its readable includes."""
    first = required_content(path, MAX_BYTES)
    sources = configuration(path).sources
    for raw in (first, *(raw for name, raw in sources.items() if name != str(path))):
        yield raw.decode("utf-8", SURROGATES)
