"""A configuration, and the profile imported from it: each on an rsyslogd of its own, with the same
events."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import requests

from tuner.flood.verbatim import send
from tuner.importer.translate import translate
from tuner.importer.written import Imported, profile_text
from tuner.lab.entrances import TcpPort, UdpPort
from tuner.lab.ports import free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.lint.load import parse_profile
from tuner.rainerscript.configuration import configuration
from tuner.render.artefacts import rsyslog_conf
from tuner.render.form import Form

PORT, ENGINE, FOLDER = "PORT", "ENGINE", "/FOLDER"
"""What stands in a configuration for the port of its input, that of the engine, and the folder of
its files, which end in .log."""
_QUIET_S, _PATIENCE_S = 0.7, 20.0


@dataclass(frozen=True)
class Became:
    """What became of events: documents as they came, each after its index, files by their names;
    and what rsyslogd said."""

    documents: tuple[tuple[str, bytes], ...]
    files: Mapping[str, bytes]
    said: str = field(default="", compare=False)


@dataclass(frozen=True)
class BothWays:
    """What became of the same events with a configuration and with its profile, as imported."""

    original: Became
    profile: Became
    imported: Imported


def both_ways(
    text: str,
    events: Sequence[bytes],
    kind: Literal["tcp", "udp"] = "udp",
    look: Callable[[Rsyslogd, int], None] | None = None,
    start: Mapping[str, bytes] | None = None,
) -> BothWays:
    """Run a configuration and the profile imported from it with the same events, and with the files
    `start` in the folder; `look` sees each rsyslogd and its port before events are sent."""
    port = free_port()
    with scratch(Path(tempfile.gettempdir())) as folder, Sink(keep=1000) as sink:
        home = folder / "rsyslogd"
        script = text.replace(PORT, str(port)).replace(ENGINE, str(sink.port))
        path = folder / "rsyslog.conf"
        path.write_text(script.replace(FOLDER, str(home)), encoding="utf-8")
        made = translate(configuration([path]), "site", "8.2302")
        loaded = parse_profile(profile_text(made, [path.name]), "site.yaml")
        became: list[Became] = []
        for conf in (
            path.read_text("utf-8"),
            rsyslog_conf(loaded.profile, form=Form(made.snippets)),
        ):
            subfolder(folder, home.name)
            for name, content in (start or {}).items():
                (home / name).write_bytes(content)
            before = sum(len(one.documents) for one in became)
            became.append(_run(conf, home, (kind, port), events, (sink, before), look))
            home.rename(folder / str(len(became)))
    original, profile = became
    return BothWays(original, profile, made)


def _run(
    conf: str,
    home: Path,
    entry: tuple[Literal["tcp", "udp"], int],
    events: Sequence[bytes],
    kept: tuple[Sink, int],
    look: Callable[[Rsyslogd, int], None] | None,
) -> Became:
    (kind, port), (sink, earlier) = entry, kept
    entrance = (UdpPort if kind == "udp" else TcpPort)(port)
    running = Rsyslogd(conf, home, [entrance])

    def now() -> Became:
        files = sorted(one for one in home.rglob("*.log") if one.name != "rsyslogd.log")
        reply = requests.get(f"{sink.url}/_sink/kept", timeout=_PATIENCE_S).content
        lines = [line for line in reply.split(b"\n") if line.strip()]
        actions = (next(iter(json.loads(line).values())) for line in lines[::2])
        return Became(
            tuple(zip((one["_index"] for one in actions), lines[1::2], strict=True))[earlier:],
            {str(one.relative_to(home)): one.read_bytes() for one in files},
            (home / "rsyslogd.log").read_text("utf-8", "replace"),
        )

    try:
        if look is not None:
            look(running, port)
        send(kind, port, events)
        deadline, seen = time.monotonic() + _PATIENCE_S, now()
        while time.monotonic() < deadline:
            time.sleep(_QUIET_S)
            before, seen = seen, now()
            if seen == before and (seen.documents or any(seen.files.values())):
                break
        running.stop(5)
        return now()
    finally:
        running.stop()
