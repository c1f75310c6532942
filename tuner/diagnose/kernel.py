"""What the kernel of a host counts of its rsyslogd, which no counter of impstats shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tuner.diagnose.finding import Cause, EventEffect, Events, ProductionFinding, WayOut


@dataclass(frozen=True)
class KernelCounts:
    """What the kernel counted from `begin` to `end` (seconds since 1970): datagrams that it dropped
    before imudp read them, by port; and how many files and sockets rsyslogd may have open, None for
    any number."""

    begin: float
    end: float
    udp_drops: Mapping[int, int] = field(default_factory=dict)
    file_limit: int | None = None

    def since(self, first: KernelCounts) -> KernelCounts:
        """What was counted since then; sockets that are newer count from 0."""
        before = first.udp_drops
        drops = {
            port: count - before.get(port, 0) if count >= before.get(port, 0) else count
            for port, count in self.udp_drops.items()
        }
        return KernelCounts(first.end, self.end, drops, self.file_limit)


def kernel_findings(counts: KernelCounts) -> Iterator[ProductionFinding]:
    """Datagrams that a receive buffer had no room for."""
    for port, dropped in counts.udp_drops.items():
        if dropped:
            yield ProductionFinding(
                Cause.UDP_BUFFER,
                f"UDP port {port}",
                EventEffect.LOST,
                Events(dropped, dropped),
                (counts.begin, counts.end),
                f"/proc/net/udp counts {dropped:,} drops of the sockets on port {port}",
                "datagrams came faster than imudp read them, and the socket's receive buffer was "
                "full",
                "these datagrams are lost; senders do not know",
                WayOut(
                    "set it to 4m or more (net.core.rmem_max limits it without root), and have "
                    "imudp read with more threads",
                    "rcvbufSize", "RT222",
                ),
            )  # fmt: skip
