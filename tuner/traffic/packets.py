"""Syslog out of captured packets."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterator

import dpkt

_LINKS = {
    dpkt.pcap.DLT_EN10MB: dpkt.ethernet.Ethernet,
    dpkt.pcap.DLT_LINUX_SLL: dpkt.sll.SLL,
    dpkt.pcap.DLT_LINUX_SLL2: dpkt.sll2.SLL2,
    dpkt.pcap.DLT_NULL: dpkt.loopback.Loopback,
    dpkt.pcap.DLT_LOOP: dpkt.loopback.Loopback,
}
_UDP_HEAD = 8
_PRI = re.compile(rb"<\d{1,3}>")
_COUNTED = re.compile(rb"(\d{1,6}) (?=<\d{1,3}>)")


def messages(raw: bytes) -> Iterator[bytes]:
    """Messages with a priority: over UDP one a packet, over TCP by lines or octet counts (RFC
    6587), as far as segments follow each other."""
    streams: dict[tuple[object, ...], dict[int, bytes]] = defaultdict(dict)
    try:
        reader = dpkt.pcap.UniversalReader(io.BytesIO(raw))
        link = _LINKS.get(reader.datalink())
        for _, packet in reader:
            ip = _ip(link, packet)
            if ip is None:
                continue
            carried = ip.data
            if isinstance(carried, dpkt.udp.UDP):
                if _PRI.match(carried.data) and len(carried.data) == carried.ulen - _UDP_HEAD:
                    yield carried.data.rstrip(b"\n\0")
            elif isinstance(carried, dpkt.tcp.TCP) and carried.data:
                flow = (ip.src, carried.sport, ip.dst, carried.dport)
                streams[flow].setdefault(carried.seq, carried.data)
    except (dpkt.UnpackError, ValueError):
        pass  # The file ends in the middle of a packet.
    for segments in streams.values():
        for text in _joined(segments):
            yield from _framed(text)


def _ip(link: type | None, packet: bytes) -> dpkt.ip.IP | dpkt.ip6.IP6 | None:
    """The IP packet in a frame; None where it carries something else."""
    try:
        if link is not None:
            carried = link(packet).data
        else:
            carried = (dpkt.ip6.IP6 if packet[:1] >= b"\x60" else dpkt.ip.IP)(packet)
    except dpkt.UnpackError:
        return None
    return carried if isinstance(carried, dpkt.ip.IP | dpkt.ip6.IP6) else None


def _joined(segments: dict[int, bytes]) -> Iterator[bytes]:
    """The runs of a stream of which nothing is missing, by sequence numbers."""
    text, ends = bytearray(), None
    for at, data in sorted(segments.items()):
        if ends is not None and at > ends:
            yield bytes(text)
            text, ends = bytearray(), None
        new = data if ends is None else data[ends - at :]
        text += new
        ends = at + len(data) if ends is None else max(ends, at + len(data))
    yield bytes(text)


def _framed(text: bytes) -> Iterator[bytes]:
    """The messages of a run, whose first and last may be cut."""
    counted = _COUNTED.search(text)
    if counted is None:
        yield from (line for line in text.split(b"\n") if _PRI.match(line))
    while counted is not None:
        end = counted.end() + int(counted[1])
        if end <= len(text):
            yield text[counted.end() : end]
        counted = _COUNTED.match(text, end)
