"""What a message costs the sender: CPU microseconds of ours and of a plain C sender, in pairs.

python tests/benchmarks/flood_cost.py [--pairs 7] [--seconds 0.5] [--json]

Both send the same sizes in the same format over five connections to one receiver that drops
everything.  The C sender formats each message and makes one send() for it.  CPU is what getrusage
says of the sending process, from its connections being up to its end.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

from tuner.flood.flood import Flood
from tuner.flood.messages import Messages
from tuner.flood.spec import FloodSpec, Transport, loopback
from tuner.profile.workload import MessageSizes

SOURCE = Path(__file__).with_name("naive_sender.c")
WORTH = 5.0
PLAIN = FloodSpec(Transport((loopback(1),)), 5, MessageSizes(244), 1, "0a1b2c3d")
CASES = {
    "244 bytes, RFC 3164, LF": PLAIN,
    "244 bytes, RFC 5424, LF": replace(PLAIN, format="rfc5424"),
    "244 bytes, RFC 3164, octet-counted": replace(PLAIN, framing="octet-counted"),
    "log-normal 137-2133, mean 400, RFC 3164, LF": replace(
        PLAIN, sizes=MessageSizes(400, 137, 2133, "lognormal")
    ),
}
# What one run of about a second sends.
OURS_A_SECOND = 4_000_000
NAIVE_A_SECOND = 250_000
DISCARD = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def discard(connection):
    buffer = bytearray(1 << 20)
    while connection.recv_into(buffer):
        pass
    connection.close()
while True:
    threading.Thread(target=discard, args=(listener.accept()[0],), daemon=True).start()
"""


@dataclass(frozen=True)
class Cost:
    """CPU microseconds per message of one pair: our sender, the C sender, and how many times
    dearer the latter is."""

    ours_us: float
    naive_us: float

    @property
    def ratio(self) -> float:
        return self.naive_us / self.ours_us


@contextmanager
def discarding_receiver() -> Iterator[int]:
    """A receiver in a process of its own that drops what it gets; yields its port."""
    command = [sys.executable, "-c", DISCARD]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def compiled(folder: Path) -> Path:
    """The C sender, compiled into a folder."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        sys.exit("flood_cost: there is no C compiler: apt-get install gcc")
    program = folder / "naive_sender"
    command = [compiler, "-O2", "-Wall", "-Wextra", "-o", str(program), str(SOURCE)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        sys.exit(f"flood_cost: {SOURCE} does not compile:\n{built.stderr}")
    return program


def ours_us(spec: FloodSpec, port: int, messages: int, rate: float | None = None) -> float:
    """CPU microseconds per message of our sender."""
    with Flood(replace(spec, transport=Transport((loopback(port),)), count=messages)) as flood:
        flood.steer(messages, rate)
        flood.wait_until_idle(120)
        done = flood.finish()
    assert done.error is None, done.error
    assert done.sent == messages
    return done.cpu_seconds / messages * 1e6


def naive_us(program: Path, spec: FloodSpec, port: int, messages: int, lengths: str) -> float:
    """CPU microseconds per message of the C sender."""
    command = [str(program), str(port), str(messages), spec.format, spec.framing]
    done = subprocess.run(command, input=lengths, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0]) / messages * 1e6


def lengths_of(spec: FloodSpec) -> str:
    """The lengths of our thousand messages, framing excluded, one a line."""
    lf = Messages(replace(spec, framing="lf"))
    ends = [0, *lf.take(1000, 0.0).ends.tolist()]
    return "\n".join(str(end - start - 1) for start, end in pairwise(ends))


def measured(program: Path, spec: FloodSpec, port: int, pairs: int, seconds: float) -> list[Cost]:
    """Pairs of runs, ours and the C sender's taking turns to be first."""
    lengths = lengths_of(spec)
    ours, naive = int(OURS_A_SECOND * seconds), int(NAIVE_A_SECOND * seconds)
    costs = []
    for pair in range(pairs):
        first = naive_us(program, spec, port, naive, lengths) if pair % 2 else None
        mine = ours_us(spec, port, ours)
        costs.append(Cost(mine, first or naive_us(program, spec, port, naive, lengths)))
    return costs


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def row(name: str, costs: list[Cost]) -> str:
    ours = statistics.median(cost.ours_us for cost in costs)
    naive = statistics.median(cost.naive_us for cost in costs)
    ratios = [cost.ratio for cost in costs]
    median = statistics.median(ratios)
    return (
        f"| {name:43} | {ours:6.3f} | {naive:6.3f} | {median:5.1f} | "
        f"{min(ratios):5.1f} - {max(ratios):5.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7, help="pairs of runs a case")
    parser.add_argument("--seconds", type=float, default=0.5, help="about how long a run takes")
    parser.add_argument("--json", action="store_true", help="every pair, as JSON")
    options = parser.parse_args()
    found: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory() as folder, discarding_receiver() as port:
        program = compiled(Path(folder))
        if not options.json:
            say(f"| {'CPU us per message':43} | ours   | C      | ratio | range         |")
            say(f"|{'-' * 45}|--------|--------|-------|---------------|")
        for name, spec in CASES.items():
            found[name] = measured(program, spec, port, options.pairs, options.seconds)
            if not options.json:
                say(row(name, found[name]))
        paced = {rate: ours_us(PLAIN, port, int(2 * rate), rate) for rate in (100_000.0, 30_000.0)}
    if options.json:
        say(json.dumps({name: [asdict(one) for one in costs] for name, costs in found.items()}))
        return
    worst = min(statistics.median(one.ratio for one in costs) for costs in found.values())
    verdict = "as wanted" if worst >= WORTH else "NOT as wanted"
    say(f"\nAt least {worst:.1f} times cheaper in the median of every case, {verdict} (5).")
    for rate, cost_us in paced.items():
        say(
            f"Paced at {rate:,.0f} per second, ours costs {cost_us:.2f} us: it wakes up more often."
        )


if __name__ == "__main__":
    main()
