"""The process on a load host, `python -m tuner.cluster.load`: it starts senders on request and
passes their lines on, until its input ends.

If no message arrives for `_SILENCE_S`, it ends all senders.
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
# The shortest time between two reports of progress; the sender itself reports twice as often.
_PROGRESS_S = 0.050

Inbox = queue.SimpleQueue[messages.ToLoad | None]


def main() -> None:
    """Carry out messages until the input ends."""
    inbox: Inbox = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    senders: dict[str, SenderProcess] = {}
    with ExitStack() as opened:
        opened.callback(_end, senders)
        probe = opened.enter_context(Probe())
        while True:
            try:
                message = inbox.get(timeout=_SILENCE_S)
            except queue.Empty:
                _end(senders)
                continue
            if message is None:
                return
            _handle(message, senders, probe, inbox)


def _end(senders: dict[str, SenderProcess]) -> None:
    while senders:
        senders.popitem()[1].end()


def _listen(inbox: Inbox) -> None:
    try:
        for message in messages.TO_LOAD.received():
            inbox.put(message)
    except JobFailed as error:
        sys.stderr.write(f"{error}\n")
    inbox.put(None)


def _handle(
    message: messages.ToLoad, senders: dict[str, SenderProcess], probe: Probe, inbox: Inbox
) -> None:
    match message:
        case messages.Ping(asked_s):
            messages.FROM_LOAD.say(messages.Pong(asked_s, counts_of(probe)))
        case messages.MayFlood(hosts):
            messages.FROM_LOAD.say(messages.Allowed(_refusal(hosts)))
        case messages.SenderLine(name, line) if name in senders:
            senders[name].tell(line.encode())
        case messages.BeginSender():
            _begin(message, senders, inbox)
        case messages.EndSender(name) if name in senders:
            senders.pop(name).end()


def _begin(message: messages.BeginSender, senders: dict[str, SenderProcess], inbox: Inbox) -> None:
    """Start a sender with its first line, the spec of the flood; if a target is not allowed on this
    machine, report that as its end."""
    spec = spec_of(message.line.encode())
    refusal = _refusal(tuple(host for transport in spec.transports for host in hosts_of(transport)))
    if refusal is not None:
        messages.FROM_LOAD.say(messages.SenderEnded(message.sender, refusal))
        return
    senders[message.sender] = sender = ThisMachine().sender()
    opened = ExitStack()
    first, *beside = (
        replace(transport, credentials=_in_memory(transport.credentials, message.files, opened))
        for transport in spec.transports
    )
    sender.tell(line_of(replace(spec, transport=first, beside=tuple(beside))))
    arguments = (message.sender, sender, opened, inbox)
    threading.Thread(target=_forward, args=arguments, daemon=True).start()


def _in_memory(
    credentials: Credentials | None, files: Mapping[str, str], opened: ExitStack
) -> Credentials | None:
    """These credentials with paths of `files` in this process's memory, not on disk; they are gone
    when `opened` is closed (memfd_create(2))."""
    if credentials is None:
        return None
    memory_paths: dict[str | None, str] = {}
    for path, text in files.items():
        memory = opened.enter_context(os.fdopen(os.memfd_create("pem"), "w", encoding="ascii"))
        memory.write(text)
        memory.flush()
        memory_paths[path] = f"/proc/{os.getpid()}/fd/{memory.fileno()}"
    paths = (credentials.ca, credentials.certificate, credentials.key)
    return Credentials(*(memory_paths.get(path) for path in paths))


def _forward(name: str, sender: SenderProcess, opened: ExitStack, inbox: Inbox) -> None:
    """Pass a sender's lines on, progress at most every `_PROGRESS_S`; report its end, and have it
    removed from the running senders."""
    passed_s = 0.0
    with opened:
        for line in sender.stdout:
            status, now_s = status_of(line), time.monotonic()
            if status.idle or status.done or now_s - passed_s >= _PROGRESS_S:
                messages.FROM_LOAD.say(messages.SenderLine(name, line.decode()))
                passed_s = now_s
    messages.FROM_LOAD.say(messages.SenderEnded(name, sender.complaint()))
    sender.close()
    inbox.put(messages.EndSender(name))


def hosts_of(transport: Transport) -> tuple[str, ...]:
    """The hosts that a transport sends to; none if it sends to a local path."""
    if transport.facts.has_path:
        return ()
    return tuple(dict.fromkeys(address_of(target)[0] for target in transport.targets))


def _refusal(hosts: tuple[str, ...]) -> str | None:
    """Why one of these hosts must not be flooded from this machine; None if all may be."""
    try:
        for host in hosts:
            require_allowed_host(host)
    except Refused as refused:
        return str(refused)
    return None


if __name__ == "__main__":
    main()
