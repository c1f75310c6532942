"""Lint for inputs: modules, sockets, sessions, framing, and what is lost before any queue; and for
rsyslog's own counters."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from tuner.lint.sections import Placed, flooded_inputs, inputs, inputs_of, outputs, where_durable
from tuner.modules.imfile import ImfileInput
from tuner.modules.impstats import FORMATS_SINCE, Impstats
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imtcp import POOL_OF_EACH_SINCE, ImtcpInput
from tuner.modules.imudp import ImudpInput
from tuner.modules.imuxsock import ImuxsockInput
from tuner.modules.input import BURST, EVERY_ADDRESS, Framing, Input, Listener, rate_limit
from tuner.modules.output import Output
from tuner.modules.ratelimit import named_limits
from tuner.profile.model import Profile
from tuner.profile.placement import entry_queue, ports_of
from tuner.rule import Complaint, Cure, advice, error, loss, warning
from tuner.schema.section import of_module
from tuner.schema.units import size_bytes

# imtcp's own maxSessions; imptcp has no limit of its own.
_MOST_SESSIONS = {"imtcp": 200}


@error("RT201")
def _modules_disagree(profile: Profile) -> Iterator[Complaint]:
    """What a module has once, where two of its sections say it differently; what is of the system's
    socket its own input says, and none beside it."""
    firsts: dict[tuple[str, bool], Input | Output] = {}
    sections: tuple[Placed[Input | Output], ...] = (*inputs(profile), *outputs(profile))
    for place, section in sections:
        is_module = isinstance(section, Input) and not section.has_statement
        first = firsts.setdefault((section.type, is_module), section)
        for key, name in of_module(type(section)).items():
            if getattr(first, name) != getattr(section, name):
                noun = "input" if isinstance(section, Input) else "output"
                yield Complaint(
                    (*place, key),
                    f"{key} belongs to the {section.type} module, so every {section.type} {noun} "
                    "must agree on it",
                )


@error("RT202")
def _same_port(profile: Profile) -> Iterator[Complaint]:
    addresses: dict[tuple[bool, int], list[str]] = {}
    for number, source in enumerate(profile.inputs):
        if not isinstance(source, Listener):
            continue
        datagrams = source.transport == "udp"
        ports = {
            port: addresses.setdefault((datagrams, port), []) for port in ports_of(profile, source)
        }
        clash = [
            port
            for port, in_use in ports.items()
            if any(_overlap(source.address, address) for address in in_use)
        ]
        if clash:
            yield Complaint(
                ("inputs", number, "port"),
                f"port {clash[0]} of {source.address} is used by another input: give each its own",
            )
        for in_use in ports.values():
            in_use.append(source.address)


def _overlap(first: str, second: str) -> bool:
    """Whether two listening addresses can meet: the same, or one stands for all of them.  rsyslog's
    sockets for IPv6 take nothing of IPv4 (IPV6_V6ONLY)."""
    if first == second or EVERY_ADDRESS in {first, second}:
        return True
    addresses = [address for address in map(_ip_address, (first, second)) if address is not None]
    is_all = any(address.is_unspecified for address in addresses)
    return is_all and len({address.version for address in addresses}) == 1


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None for the name of a host."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


@error("RT220")
def _same_place(profile: Profile) -> Iterator[Complaint]:
    places: set[str] = set()
    for number, source in enumerate(profile.inputs):
        if not isinstance(source, ImfileInput | ImuxsockInput):
            continue
        key = "file" if isinstance(source, ImfileInput) else "socket"
        place = source.file if isinstance(source, ImfileInput) else source.place
        if place in places:
            yield Complaint(
                ("inputs", number, key), f"another input already reads {place}: remove one"
            )
        places.add(place)


@loss("RT203").for_each(inputs, "maxSessions")
def _refused_connections(source: Input, profile: Profile) -> Iterator[str]:
    connections = profile.workload.connections
    if not isinstance(source, ImtcpInput | ImptcpInput):
        return
    most = source.max_sessions or _MOST_SESSIONS.get(source.type)
    if most is not None and most < connections:
        yield (
            f"{source.type} refuses connections above {most}, but the workload "
            f"opens {connections}: raise maxSessions or lower workload.connections"
        )


@error("RT211")
def _framing(profile: Profile) -> Iterator[Complaint]:
    """Seen on 8.2302: without line feeds imtcp makes one event of many messages, and imptcp
    discards all that it has when the connection ends."""
    for number in profile.flooded_numbers:
        source = profile.inputs[number]
        if isinstance(source, ImtcpInput | ImptcpInput):
            yield from _framing_of(number, source, profile.workload.framing)


def _framing_of(
    number: int, source: ImtcpInput | ImptcpInput, framing: Framing
) -> Iterator[Complaint]:
    counted = framing == "octet-counted"
    if counted and not source.support_octet_counted_framing:
        yield Complaint(
            ("inputs", number, "supportOctetCountedFraming"),
            "the workload sends octet-counted frames, which this input would read as one long "
            "line and merge or discard: set it to true, or workload.framing to lf",
        )
    if not counted and isinstance(source, ImtcpInput) and source.disable_lf_delimiter:
        yield Complaint(
            ("inputs", number, "disableLFDelimiter"),
            "the workload ends its messages with line feeds, which this input would not "
            "recognise: set it to false, or workload.framing to octet-counted",
        )


# A pause of the engine or of the host that the main queue should outlast for UDP.
_HEADROOM_S = 5


@loss("RT223")
def _udp_headroom(profile: Profile) -> Iterator[Complaint]:
    queue = entry_queue(profile)
    if queue.is_direct or not any(inputs_of(ImudpInput)(profile)):
        return
    is_shared = any(not isinstance(source, ImudpInput) for source in profile.inputs)
    mark = queue.resolved.light_delay_mark
    if is_shared and not mark:
        yield Complaint(
            (*queue.path, "lightDelayMark"),
            f"with lightDelayMark 0 the other inputs can fill {queue.label}, and UDP, which "
            f"cannot be slowed down, is then dropped: use {queue.size // 100 * 70}",
        )
        return
    room = queue.size - mark if is_shared and mark else queue.size
    rate = profile.workload.rate
    if rate != "max" and room < _HEADROOM_S * rate:
        yield Complaint(
            (*queue.path, "size"),
            f"UDP cannot be slowed down, and {queue.label} has room for {room} messages of it: "
            f"{_HEADROOM_S} s at workload.rate need {_HEADROOM_S * rate}",
        )


@loss("RT224").for_each(flooded_inputs)
def _rate_limits(source: Input, profile: Profile) -> Iterator[Complaint]:
    """What comes to other inputs is not known."""
    rate, limits, off = profile.workload.rate, source.rate_limits, ""
    for named, name in named_limits(source).items():
        policy = profile.ratelimits.get(name)
        if policy is not None:
            limit = rate_limit(policy.interval, policy.burst, BURST, named)
            limits, off = () if limit is None else (limit,), f"the interval of {name}"
    for limit in limits:
        size = profile.workload.message_bytes.mean if limit.is_of_bytes else 1
        if rate == "max" or rate * size * limit.interval_s > limit.burst:
            yield Complaint(
                (limit.key,),
                f"this input drops everything above {limit.burst} "
                f"{'bytes' if limit.is_of_bytes else 'messages'} in {limit.interval_s} s, and the "
                f"workload sends more: raise the limit, or set {off or limit.key} to 0 for none",
            )


@loss("RT233").for_each(where_durable(inputs))
def _not_slowed_down(source: Input, _: Profile) -> Iterator[Complaint]:
    """imuxsock slows senders down only if flowControl is on; imtcp, imptcp and imrelp unless it is
    off."""
    value = source.missing_flow_control
    if value is None:
        return
    # A local program that has to wait for rsyslog may stop the whole machine: that is for its
    # administrator to decide.
    is_local = isinstance(source, ImuxsockInput)
    loss = f"events of {source.type} are lost when the main queue is full"
    yield Complaint(
        ("flowControl",),
        f"{source.type} does not wait when the main queue fills up, and events that do "
        f"not fit are dropped: set flowControl to {'true' if value is True else value}",
        None if is_local else Cure(value, loss),
    )


@warning("RT225").for_each(inputs_of(ImfileInput), "persistStateInterval")
def _reads_again(source: ImfileInput, _: Profile) -> Iterator[str]:
    if source.persist_state_interval == 0 and not source.persist_state_after_submission:
        yield (
            "rsyslog saves its position in the file only at a clean shutdown, so a crash sends "
            "every line again: use 1000, so that at most 1000 lines are sent twice"
        )


@error("RT226").for_each(inputs_of(ImfileInput), "file")
def _forgets_its_place(_: ImfileInput, profile: Profile) -> Iterator[str]:
    if profile.global_.work_directory is None:
        yield (
            "without workDirectory imfile saves its position in the directory that rsyslogd runs "
            "in, / for a service, or nowhere if its user may not write there, and then reads every "
            "line again after a start: set workDirectory of global, such as /var/spool/rsyslog"
        )


@error("RT231").for_each(inputs_of(ImfileInput))
def _two_ways_to_split(source: ImfileInput, _: Profile) -> Iterator[Complaint]:
    joins = {
        "readMode": source.read_mode, "startmsg.regex": source.startmsg_regex,
        "endmsg.regex": source.endmsg_regex,
    }  # fmt: skip
    given = [key for key, value in joins.items() if value]
    if len(given) > 1:
        yield Complaint((given[1],), f"{' and '.join(given)} exclude each other: keep one of them")


@error("RT232").for_each(inputs_of(ImfileInput))
def _only_when_polling(source: ImfileInput, _: Profile) -> Iterator[Complaint]:
    """8.2302 ignores maxLinesAtOnce with a warning, pollingInterval without one."""
    keys = {"maxLinesAtOnce": source.max_lines_at_once, "pollingInterval": source.polling_interval}
    for key in [key for key, value in keys.items() if value and source.mode != "polling"]:
        yield Complaint(
            (key,),
            f"imfile takes {key} only with mode polling, and inotify is better wherever the file "
            f"system supports it: remove {key}",
        )


_POOL_IS_SOUND = 2508


@warning("RT406").for_each(inputs_of(ImtcpInput), "workerThreads")
def _racing_pool(source: ImtcpInput, profile: Profile) -> Iterator[str]:
    """rsyslog 8.2508's ChangeLog: the pool queued sessions twice and closed them too early."""
    release = profile.release
    races = POOL_OF_EACH_SINCE <= release.rsyslog_number < _POOL_IS_SOUND
    if races and source.worker_threads != 1:
        yield (
            f"the workers of imtcp in rsyslog {release.rsyslog} have races when connections "
            f"close, fixed in 8.{_POOL_IS_SOUND}: set workerThreads to 1, or use imptcp where TLS "
            "is not needed"
        )


@loss("RT221").for_each(where_durable(inputs_of(ImudpInput)), "type")
def _loses_datagrams(_source: ImudpInput, _: Profile) -> Iterator[str]:
    yield (
        "UDP loses datagrams without a trace when the network, the kernel or a full queue "
        "drops them, whatever the tier promises: use imtcp, imptcp or imrelp for senders "
        "that can, or guardrails.tier relaxed"
    )


# Linux gives a socket 212,992 bytes (net.core.rmem_default) unless it asks for more.
_SMALL_BUFFER_BYTES = 212_992


@loss("RT222").for_each(inputs_of(ImudpInput), "rcvbufSize")
def _small_buffer(source: ImudpInput, _: Profile) -> Iterator[str]:
    """imudp.c: 0 leaves the size to the system."""
    if size_bytes(source.rcvbuf_size or "0") <= _SMALL_BUFFER_BYTES:
        yield (
            "the default buffer of 208 KiB fills within milliseconds, and the kernel drops what "
            "comes then: set rcvbufSize to 4m or more, and net.core.rmem_max where rsyslogd "
            "does not start as root"
        )


@warning("RT234").for_each(inputs_of(ImuxsockInput), "socket")
def _takes_the_log_socket(source: ImuxsockInput, _: Profile) -> Iterator[str]:
    if source.socket == "/dev/log":
        yield (
            "rsyslogd replaces /dev/log, and with systemd journald then gets no logs of this "
            "host: use /run/systemd/journal/syslog, to which journald forwards "
            "(ForwardToSyslog=yes in journald.conf)"
        )


def _counters(profile: Profile) -> Iterator[Placed[Impstats]]:
    """impstats, where the profile has it."""
    if profile.impstats is not None:
        yield ("impstats",), profile.impstats


@error("RT140").for_each(_counters)
def _goes_nowhere(counters: Impstats, _: Profile) -> Iterator[str]:
    if counters.stream is not None and not counters.log_syslog:
        yield "the stream gets no counters: add log.syslog: on"
    elif not (counters.log_file or counters.log_syslog or counters.push_url):
        yield (
            "the counters are written nowhere: add log.file: /var/log/rsyslog/impstats.log, or "
            "log.syslog: on to have them among the events"
        )


@advice("RT141").for_each(_counters, "log.syslog")
def _counts_itself(counters: Impstats, _: Profile) -> Iterator[str]:
    if counters.log_syslog and counters.stream is None:
        yield (
            "the counters become events: they are indexed and counted like the others, and wait or "
            "are lost with them when a queue is full: use log.file, or name a stream of their own"
        )


@advice("RT142").for_each(_counters, "resetCounters")
def _starts_anew(counters: Impstats, _: Profile) -> Iterator[str]:
    if counters.reset_counters:
        yield (
            "counters that start from 0 each time give wrong rates in Prometheus, which treats "
            "every drop as a restart: remove it"
        )


@error("RT143").for_each(_counters, "format")
def _format_too_new(counters: Impstats, profile: Profile) -> Iterator[str]:
    first, release = FORMATS_SINCE.get(counters.format, 0), profile.release
    if release.rsyslog_number < first:
        yield (
            f"impstats has the format {counters.format} since rsyslog 8.{first}, and "
            f"release.rsyslog is {release.rsyslog}: use json, or raise the release once "
            "every host runs it"
        )
