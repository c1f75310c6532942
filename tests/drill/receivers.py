"""Where events end: servers, files and programs that note when each numbered event came, and that
can be away, hang, refuse or be slow."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tuner.lab.entrances import free_port

NUMBER = re.compile(rb"seq=(\d+);")
_POLL_S = 0.1
_RESET = struct.pack("ii", 1, 0)


class Receiver(ABC):
    """What one output leads to: by number of an event, when it came, each time it did; `place` is
    its port, or its file or program."""

    place: object

    def __init__(self) -> None:
        self.came: dict[int, list[float]] = {}
        self._lock = threading.Lock()

    def take(self, numbers: Iterable[bytes]) -> None:
        """Note that these events came now."""
        now = time.time()
        with self._lock:
            for one in numbers:
                self.came.setdefault(int(one), []).append(now)

    @abstractmethod
    def do(self, what: str) -> None:
        """Behave so from now on: `ok` is well."""

    @abstractmethod
    def close(self) -> None:
        """The end."""


class Server(Receiver):
    """A TCP server, a thread for each connection.

    It can be `away`, `hang`, `reset` each connection, be `slow=SECONDS` at each request, and what
    its own kind adds; `WHAT*3` is so for the next three requests.
    """

    def __init__(self) -> None:
        super().__init__()
        self.port = self.place = free_port()
        self.mode, self._times = "ok", -1
        self._listening: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._start()

    def do(self, what: str) -> None:
        """Behave so from now on."""
        mode, _, times = what.partition("*")
        self.mode, self._times = mode, int(times or -1)
        if mode == "away":
            self._stop()
        elif self._listening is None:
            self._start()

    def turn(self) -> str:
        """How this request is to be answered."""
        with self._lock:
            mode = self.mode
            if self._times > 0:
                self._times -= 1
                if not self._times:
                    self.mode, self._times = "ok", -1
        name, _, value = mode.partition("=")
        if name == "slow":
            time.sleep(float(value))
            return "ok"
        if name == "hang":
            while self.mode == "hang":
                time.sleep(_POLL_S)
            return "reset"
        return mode

    def close(self) -> None:
        """Stop, and close all connections."""
        self.mode = "away"
        self._stop()

    @abstractmethod
    def serve(self, connection: socket.socket) -> None:
        """Talk until the connection ends."""

    def _start(self) -> None:
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", self.port))
        listening.listen(64)
        self._listening = listening
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def _stop(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        self._open.add(connection)
        with suppress(OSError, ValueError):
            self.serve(connection)
        self._open.discard(connection)
        connection.close()


def reset(connection: socket.socket) -> None:
    """End a connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    connection.close()


class Engine(Server):
    """An engine's `_bulk`.

    `status=N` refuses bulks, `items=N` all documents of one, `some=N` every third; `reset-after`
    stores, then resets.
    """

    def serve(self, connection: socket.socket) -> None:
        """Answer requests."""
        file = connection.makefile("rb")
        while line := file.readline():
            length = 0
            while (header := file.readline().strip()) != b"":
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            body = file.read(length)
            if line.startswith(b"POST"):
                mode = self.turn()
                if mode.startswith("reset"):
                    if mode == "reset-after":
                        self.take(NUMBER.findall(body))
                    return reset(connection)
                self._answer(connection, *self._bulk(mode, body))
            elif self.mode in {"reset", "hang"}:
                self.turn()
                return reset(connection)
            else:
                self._answer(connection, 200, b"green")
        return None

    def _bulk(self, mode: str, body: bytes) -> tuple[int, bytes]:
        name, _, value = mode.partition("=")
        if name == "status":
            return int(value), b'{"error":{"type":"refused"},"status":%d}' % int(value)
        numbers = NUMBER.findall(body)
        every = {"items": 1, "some": 3}.get(name, 0)
        refused = set(range(0, len(numbers), every)) if every else set()
        self.take(one for n, one in enumerate(numbers) if n not in refused)
        items = [
            {"create": {"status": int(value), "error": {"type": "refused"}} if n in refused
             else {"status": 201, "result": "created"}}
            for n in range(len(numbers))
        ]  # fmt: skip
        answer = {"took": 1, "errors": bool(refused), "items": items}
        return 200, json.dumps(answer).encode()

    @staticmethod
    def _answer(connection: socket.socket, status: int, body: bytes) -> None:
        head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % (status, len(body)) + body)


class Lines(Server):
    """Takes lines over TCP, as omfwd sends them."""

    def serve(self, connection: socket.socket) -> None:
        """Read lines."""
        kept = b""
        while True:
            mode = self.turn()
            if mode == "reset":
                return reset(connection)
            data = connection.recv(65536)
            if not data:
                return None
            whole, _, kept = (kept + data).rpartition(b"\n")
            self.take(NUMBER.findall(whole))


class Relp(Server):
    """A RELP server; `refuse` answers 500 to each event."""

    def serve(self, connection: socket.socket) -> None:
        """Answer frames."""
        file = connection.makefile("rb")
        while number := _word(file.read(1), file):
            command = _word(b"", file)
            length = b""
            while (byte := file.read(1)) not in {b" ", b"\n"}:
                length += byte
            data = file.read(int(length)) if byte == b" " else b""
            if byte == b" ":
                file.read(1)
            answer = self._answer(command, data)
            if not answer:
                return reset(connection)
            connection.sendall(b"%s rsp %d %s\n" % (number, len(answer), answer))
        return None

    def _answer(self, command: bytes, data: bytes) -> bytes:
        if command != b"syslog":
            return b"200 OK\nrelp_version=0\nrelp_software=drill\ncommands=syslog"
        mode = self.turn()
        if mode == "ok":
            self.take(NUMBER.findall(data))
        return {"ok": b"200 OK", "refuse": b"500 refused"}.get(mode, b"")


def _word(begun: bytes, file: object) -> bytes:
    word = begun
    while (byte := file.read(1)) not in {b" ", b""}:  # type: ignore[attr-defined]
        word += byte
    return word


class Datagrams(Receiver):
    """Takes datagrams, as omfwd sends them over UDP; it can be `away`."""

    def __init__(self) -> None:
        super().__init__()
        self.port = self.place = free_port()
        self._socket: socket.socket | None = None
        self.do("ok")

    def do(self, what: str) -> None:
        """Behave so from now on."""
        self.close()
        if what != "away":
            self._socket = socket.socket(type=socket.SOCK_DGRAM)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            self._socket.bind(("127.0.0.1", self.port))
            self._socket.settimeout(_POLL_S)
            threading.Thread(target=self._read, args=(self._socket,), daemon=True).start()

    def close(self) -> None:
        """The end."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _read(self, own: socket.socket) -> None:
        while True:
            try:
                self.take(NUMBER.findall(own.recv(65536)))
            except TimeoutError:
                continue
            except OSError:
                return


class Files(Receiver):
    """Watches the files that an output, or a program behind it, writes; a program is `slow=SECONDS`
    at each event, or has to `die`."""

    def __init__(self, folder: Path, pattern: str) -> None:
        super().__init__()
        self.folder, self._pattern = folder, pattern
        self.place = folder / ("program.py" if (folder / "program.py").exists() else "out")
        self._read: dict[Path, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def do(self, what: str) -> None:
        """Tell the program what to do."""
        (self.folder / "mode.new").write_text("" if what == "ok" else what, "utf-8")
        (self.folder / "mode.new").chmod(0o644)
        (self.folder / "mode.new").rename(self.folder / "mode")

    def close(self) -> None:
        """Read what is left."""
        self._ended.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._ended.wait(_POLL_S):
            self._look()

    def _look(self) -> None:
        for path in self.folder.glob(self._pattern):
            with suppress(OSError), path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                data = file.read()
                whole = data.rpartition(b"\n")[0]
                if whole:
                    self._read[path] = self._read.get(path, 0) + len(whole) + 1
                    self.take(NUMBER.findall(whole))


PROGRAM = """#!/usr/bin/python3 -u
# Reads events, writes them to a file, and answers each line with {answer!r}.
import os, sys, time
out = open({out!r}, "a", buffering=1)
if {answer!r} == "OK":
    print("OK", flush=True)
for line in sys.stdin:
    try:
        mode = open({mode!r}).read()
    except OSError:
        mode = ""
    if mode.startswith("slow="):
        time.sleep(float(mode[5:]))
    if mode == "die":
        sys.exit(1)
    out.write(line)
    if {answer!r}:
        print({answer!r}, flush=True)
"""


def program(folder: Path, answer: str = "") -> str:
    """Write a program that `Files(folder, "out")` watches; its path."""
    path = folder / "program.py"
    path.write_text(
        PROGRAM.format(out=str(folder / "out"), mode=str(folder / "mode"), answer=answer), "utf-8"
    )
    path.chmod(0o755)
    return str(path)
