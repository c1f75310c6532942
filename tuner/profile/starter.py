"""A first profile: a commented text with what a machine has, or on top of a configuration."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engines.node import fitting_heap
from tuner.engines.release import NEWEST_READ, OLDEST
from tuner.engines.versions import DEFAULT
from tuner.profile.edit import edit, flow
from tuner.schema.units import cores_text

_MODELINE = "# yaml-language-server: $schema=profile.schema.json"
_LARGEST_HEAP = "4g"


@dataclass(frozen=True)
class LocalMachine:
    """What a profile can be fitted to; `rsyslog` is None where none is installed."""

    rsyslog: str | None
    cores: float
    memory_bytes: int


def starter(text: str, name: str, machine: LocalMachine) -> str:
    """The profile in `text`, called `name`, with the release, threads and heap that fit `machine`.

    An rsyslog that is newer than this tool knows gets the newest release that it knows; one that
    is too old is named in a comment, and not in the profile.
    """
    changes: dict[str, object] = {
        "name": name,
        "inputs[0].threads": max(1, min(2, int(machine.cores))),
        "node.heap": fitting_heap(_LARGEST_HEAP, machine.memory_bytes),
    }
    release = None if machine.rsyslog is None else _covered(machine.rsyslog)
    if release is not None:
        changes["release.rsyslog"] = release
    return f"{_MODELINE}\n#\n{_machine_comment(machine)}\n{edit(text, changes)}"


def on_top_of(
    base: str,
    name: str,
    rsyslog: str | None,
    root: str | None = None,
    sample: str | None = None,
    uses: str | None = None,
) -> str:
    """A profile called `name` on top of the configuration in the file `base`, below the folder
    `root` where that stands for /, for an installed `rsyslog` (None: unknown) and with the traffic
    of a `sample`; the file `uses` says what fields must serve."""
    covered = None if rsyslog is None else _covered(rsyslog)
    release = DEFAULT.release.model_copy(update={} if covered is None else {"rsyslog": covered})
    files = {"rsyslog": base} | ({} if root is None else {"root": root})
    files |= {} if uses is None else {"uses": uses}
    load = {} if sample is None else {"sample": sample}
    assumed = "The engine's version is" if covered else "The versions of rsyslog and engine are"
    return f"""\
{_MODELINE}
#
# On top of a configuration that stays as it is: `changes` are made in it.
name: {flow(name)}
base: {flow(files)}
# {assumed} assumed: the configuration does not say it.
release: {flow(release.model_dump(exclude_none=True))}
# Traffic is made from what the configuration reads; `sample: FILE` learns it from lines of yours.
workload: {flow(load)}
# What a search keeps.
guardrails: {{tier: durable, lost: 0, duplicated: 0}}
"""


def _covered(rsyslog: str) -> str | None:
    """The newest release that this tool knows at or below an installed one; None below all."""
    number = int(rsyslog.removeprefix("8."))
    return None if number < OLDEST else f"8.{min(number, NEWEST_READ)}"


def _machine_comment(machine: LocalMachine) -> str:
    has = f"{cores_text(machine.cores)}, {machine.memory_bytes / 1024**3:.1f} GiB"
    if machine.rsyslog is None:
        return f"# Written for a machine with {has} and no rsyslog."
    line = f"# Written for a machine with {has} and rsyslog {machine.rsyslog}."
    release = _covered(machine.rsyslog)
    if release is None:
        return f"{line}\n# That release is not supported (8.{OLDEST} to 8.{NEWEST_READ} are)."
    if release != machine.rsyslog:
        return f"{line}\n# {release} is the newest release that this tool knows."
    return line
