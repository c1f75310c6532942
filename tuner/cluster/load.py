"""The process on a load host, `python -m tuner.cluster.load`: it starts senders on request and
passes their lines on, until its input ends.

No sender outlives the word of who steers it by more than `_SILENCE_S`.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from tuner.cluster import messages
from tuner.errors import JobFailed, Refused
from tuner.flood.flood import ThisMachine
from tuner.flood.spec import Credentials, Transport, address_of, line_of, spec_of, status_of
from tuner.host.allow import require_allowed_host
from tuner.lab.loads import SenderProcess, counts_of
from tuner.lab.probe import Probe

_SILENCE_S = 10.0
# As old as a progress may be by the time it is read; the sender itself reports twice as often.
_NEWS_S = 0.050

Heard = queue.SimpleQueue[messages.ToLoad | None]


def main() -> None:
    """Obey until the end of the input."""
    heard: Heard = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(heard,), daemon=True).start()
    senders: dict[str, SenderProcess] = {}
    with ExitStack() as opened:
        opened.callback(_end, senders)
        probe = opened.enter_context(Probe())
        while True:
            try:
                message = heard.get(timeout=_SILENCE_S)
            except queue.Empty:
                _end(senders)
                continue
            if message is None:
                return
            _obey(message, senders, probe, heard)


def _end(senders: dict[str, SenderProcess]) -> None:
    while senders:
        senders.popitem()[1].end()


def _listen(heard: Heard) -> None:
    try:
        for message in messages.TO_LOAD.received():
            heard.put(message)
    except JobFailed as error:
        sys.stderr.write(f"{error}\n")
    heard.put(None)


def _obey(
    message: messages.ToLoad, senders: dict[str, SenderProcess], probe: Probe, heard: Heard
) -> None:
    match message:
        case messages.Ping(asked_s):
            messages.FROM_LOAD.say(messages.Pong(asked_s, counts_of(probe)))
        case messages.MayFlood(hosts):
            messages.FROM_LOAD.say(messages.Allowed(_refusal(hosts)))
        case messages.SenderLine(name, line) if name in senders:
            senders[name].tell(line.encode())
        case messages.BeginSender():
            _begin(message, senders, heard)
        case messages.EndSender(name) if name in senders:
            senders.pop(name).end()


def _begin(message: messages.BeginSender, senders: dict[str, SenderProcess], heard: Heard) -> None:
    """Start a sender, where its targets are allowed here: its first line is what to send."""
    spec = spec_of(message.line.encode())
    refusal = _refusal(tuple(host for transport in spec.transports for host in hosts_of(transport)))
    if refusal is not None:
        messages.FROM_LOAD.say(messages.SenderEnded(message.sender, refusal))
        return
    senders[message.sender] = sender = ThisMachine().sender()
    held = ExitStack()
    first, *beside = (
        replace(transport, credentials=_held(transport.credentials, message.files, held))
        for transport in spec.transports
    )
    sender.tell(line_of(replace(spec, transport=first, beside=tuple(beside))))
    carrying = (message.sender, sender, held, heard)
    threading.Thread(target=_carry, args=carrying, daemon=True).start()


def _held(
    credentials: Credentials | None, files: Mapping[str, str], held: ExitStack
) -> Credentials | None:
    """The same, with paths of files that came along: they are in this process's memory as long as
    they are `held`, and on no disk (memfd_create(2))."""
    if credentials is None:
        return None
    places: dict[str | None, str] = {}
    for path, text in files.items():
        memory = held.enter_context(os.fdopen(os.memfd_create("pem"), "w", encoding="ascii"))
        memory.write(text)
        memory.flush()
        places[path] = f"/proc/{os.getpid()}/fd/{memory.fileno()}"
    paths = (credentials.ca, credentials.certificate, credentials.key)
    return Credentials(*(places.get(path) for path in paths))


def _carry(name: str, sender: SenderProcess, held: ExitStack, heard: Heard) -> None:
    """Pass on what a sender says, of its progress only as much as is looked at, and have it ended
    for good when it has ended."""
    passed_s = 0.0
    with held:
        for line in sender.stdout:
            status, now_s = status_of(line), time.monotonic()
            if status.idle or status.done or now_s - passed_s >= _NEWS_S:
                messages.FROM_LOAD.say(messages.SenderLine(name, line.decode()))
                passed_s = now_s
    messages.FROM_LOAD.say(messages.SenderEnded(name, sender.complaint()))
    sender.close()
    heard.put(messages.EndSender(name))


def hosts_of(transport: Transport) -> tuple[str, ...]:
    """The hosts that a flood goes to."""
    if transport.facts.has_path:
        return ()
    return tuple(dict.fromkeys(address_of(target)[0] for target in transport.targets))


def _refusal(hosts: tuple[str, ...]) -> str | None:
    """Why this machine does not let them be flooded; None where it does."""
    try:
        for host in hosts:
            require_allowed_host(host)
    except Refused as refused:
        return str(refused)
    return None


if __name__ == "__main__":
    main()
