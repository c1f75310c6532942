"""Each rsyslogd is asked for each parameter of each module: it knows those of its release, no more.

A parameter stands alone on its line of a configuration, beside what makes the rest of it valid:
with other errors in it rsyslogd does not say which parameters it does not know.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import BaseModel

from tests.shipped import release_at_hand
from tuner.host.programs import rsyslogd
from tuner.modules.impstats import Impstats
from tuner.modules.input import Input
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Output
from tuner.modules.queue import Queue
from tuner.modules.ratelimit import RateLimitPolicy
from tuner.modules.registry import MODULES, name_of
from tuner.modules.secrets import Tls
from tuner.modules.step import StreamStep
from tuner.profile.model import Global
from tuner.schema.section import of_module, since

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("parameters"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

# What a profile says that no parameter of rsyslog's is named after.
NO_PARAMETER = {
    "type", "name", "stream", "filter", "queue", "document", "line", "parser", "format",
    "controlCharacters",
    # omelasticsearch
    "auth", "tls", "mmutf8fix", "index", "retryfailures", "filter_path",
    # omhttp
    "bulk", "labels",
}  # fmt: skip
SPELLED = {"servers": "server"}
# What omelasticsearch has for sections of a profile.
ENGINE = ("uid", "pwd", "searchIndex", "dynSearchIndex", "dynbulkid", "retryfailures",
          "retryruleset", "ratelimit.interval", "bulkmode")  # fmt: skip
IN_THE_CLEAR = ("allowunsignedcerts", "skipverifyhost")
# What an object needs to be right but for the parameter that is asked for.
NEEDS = {
    "omfile": 'file="/dev/null"', "omfwd": 'target="127.0.0.1"', "omrelp": 'target="127.0.0.1"',
    "omkafka": 'topic="t"', "mmnormalize": 'rule=["rule=:a"]',
    "imptcp": 'port="1"', "imtcp": 'port="1"', "imudp": 'port="1"', "imrelp": 'port="1"',
    "imfile": 'file="/dev/null" tag="t"', "imuxsock": 'socket="/dev/null"',
}  # fmt: skip

# Some crash on what they cannot read.
VALUES = {
    "confParam": "a=b", "topicConfParam": "a=b",
    "tls.caCert": "/dev/null", "tls.myCert": "/dev/null", "tls.myPrivKey": "/dev/null",
}  # fmt: skip
# Which a build may be without, as Debian's of 8.2610 is.
OF_SOME_BUILDS = ("push.", "turbo")
QUEUES: dict[str, str] = {
    "queue of a ruleset": 'ruleset(name="%(key)s" %(pair)s) { stop }',
    "queue of an action": 'action(type="omfile" file="/dev/null" %(pair)s)',
}


class Asked(NamedTuple):
    """An object of rsyslog: how it is written, and since when it has each parameter."""

    what: str
    before: str
    written: str
    parameters: Mapping[str, int]

    def configuration(self) -> str:
        """One line for each parameter; a module can be loaded only once, with all of its own."""
        pairs = {key: f'{key}="{VALUES.get(key, 1)}"' for key in self.parameters}
        if self.written.startswith("module("):
            return self.written % {"pair": " ".join(pairs.values())}
        needed = re.findall(r"([\w.]+)=", self.written)
        lines = [
            self.written % {"key": key, "pair": "" if key in needed else pair}
            for key, pair in pairs.items()
        ]
        return "\n".join([self.before, *lines])


def fields(section: type[BaseModel], before: str = "") -> dict[str, int]:
    every = {info.alias or name: since(info) for name, info in section.model_fields.items()}
    return {
        f"{before}{SPELLED.get(key, key)}": release
        for key, release in every.items()
        if key not in NO_PARAMETER or before
    }


def engine() -> dict[str, int]:
    tls = {
        key if key in IN_THE_CLEAR else f"tls.{key}": release
        for key, release in fields(Tls).items()
    }
    return fields(OmelasticsearchOutput) | dict.fromkeys(ENGINE, 0) | tls


def of(module: type[Input | Output | StreamStep]) -> Iterator[Asked]:
    """The module, and its input or action."""
    name, every, shared = name_of(module), fields(module), of_module(module)
    built_in = issubclass(module, Output) and module.built_in
    if module is OmelasticsearchOutput:
        every = engine()
    own = {key: release for key, release in every.items() if key not in shared}
    if shared:
        load = f'module(load="{"builtin:" if built_in else ""}{name}" %(pair)s)'
        yield Asked(f"{name}-module", "", load, {key: every[key] for key in shared})
    if own:
        kind = "input" if issubclass(module, Input) else "action"
        load = "" if built_in else f'module(load="{name}")'
        written = f'{kind}(type="{name}" {NEEDS.get(name, "")} %(pair)s)'
        yield Asked(name, load, written, own)


def everything() -> Iterator[Asked]:
    for module in MODULES:
        yield from of(module)
    parsing: dict[str, type[BaseModel]] = {"mmjsonparse": JsonParse, "mmnormalize": NormalizeParse}
    for name, parse in parsing.items():
        needed = NEEDS.get(name, "")
        written = f'action(type="{name}" {needed} %(pair)s)'
        yield Asked(name, f'module(load="{name}")', written, fields(parse))
    counters = fields(Impstats) | {"ruleset": 0}
    yield Asked("impstats", "", 'module(load="impstats" %(pair)s)', counters)
    if release_at_hand() >= 2602:  # Before, the object itself is not known.
        limit = 'ratelimit(name="%(key)s" %(pair)s)'
        yield Asked("ratelimit", "", limit, fields(RateLimitPolicy))
    yield Asked("global", "", "global(%(pair)s)", fields(Global))
    for what, written in QUEUES.items():
        yield Asked(what, "", written, fields(Queue, "queue."))


def unknown_to_rsyslogd(asked: Asked, folder: Path) -> set[str]:
    """The parameters that it does not know, in lower case."""
    path = folder / "asked.conf"
    text = asked.configuration() + '\naction(type="omfile" file="/dev/null")\n'
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [rsyslogd(), "-N1", "-f", str(path)], capture_output=True, text=True, check=False
    )
    if "could not load module" in done.stderr:
        pytest.skip(f"this rsyslog has no module for {asked.what}")
    assert done.returncode >= 0, done.stderr
    return {name.lower() for name in re.findall(r"parameter '([^']+)' not known", done.stderr)}


@pytest.mark.parametrize("asked", list(everything()), ids=lambda one: one.what)
def test_rsyslogd_knows_the_parameters_of_its_release_and_no_others(
    asked: Asked, tmp_path: Path
) -> None:
    release = release_at_hand()
    too_new = {key.lower() for key, since in asked.parameters.items() if since > release}
    unknown = unknown_to_rsyslogd(asked, tmp_path)
    built_without = {key for key in unknown if key.startswith(OF_SOME_BUILDS)}
    assert unknown - built_without == too_new - built_without
