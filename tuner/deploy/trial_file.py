"""The record of a trial in production: one file, written anew after each step."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tuner.deploy.host_profile import PlannedProfile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.switchback import LabFigure, Switchback
from tuner.errors import BadUsage
from tuner.reading import json_of
from tuner.writing import write_whole

KIND, SCHEMA = "trial", 1
NAME = "trial.json"


@dataclass(frozen=True)
class TrialFile:
    """All that a trial needs to go on: the profile, the hosts, the journal of its applies (`run`),
    what it has shown so far, its quiet hours, the URL of the engine that it asks, and how many
    marks a second each host gets."""

    profile: PlannedProfile
    machines: tuple[InventoryHost, ...]
    run: str
    record: Switchback
    quiet: tuple[str, ...] = ()
    elasticsearch: str | None = None
    mark: float | None = None
    kind: str = KIND
    schema: int = SCHEMA

    def write(self, directory: Path) -> None:
        """Replace the file of a directory, at once."""
        data = _FILE.dump_python(self, mode="json")
        write_whole(directory / NAME, json.dumps(data, indent=1) + "\n", 0o600)


_FILE = TypeAdapter(TrialFile)


_REPORT = "report.json"


def lab_figure(directory: Path) -> LabFigure:
    """What a search has shown of its winner, from its run directory; raises BadUsage if it measured
    no pairs, or the directory is not that of a search."""
    path = directory / _REPORT
    try:
        shown = json_of(path.read_text(encoding="utf-8"))["verdict"]["shipper_cpu"]
        return LabFigure(float(shown["ratio"]), float(shown["low"]), float(shown["high"]))
    except OSError:
        raise BadUsage(f"--lab {directory} has no {_REPORT}: name the run of a search") from None
    except (ValueError, KeyError, TypeError):
        raise BadUsage(f"--lab {directory}: {_REPORT} has no pairs of a candidate") from None


def read_trial(directory: Path) -> TrialFile:
    """The record in a directory; raises BadUsage if there is none, or this version does not
    read it."""
    path = directory / NAME
    try:
        fields = json_of(path.read_text(encoding="utf-8"))
        if (fields["kind"], fields["schema"]) != (KIND, SCHEMA):
            raise ValueError(f"it is {fields['kind']!r} of schema {fields['schema']!r}")
        return _FILE.validate_python(fields)
    except FileNotFoundError:
        raise BadUsage(f"{directory} has no {NAME}: name the directory of a trial") from None
    except (ValidationError, ValueError, KeyError, TypeError) as bad:
        first = str(bad).splitlines()[0]
        raise BadUsage(f"{path} is no record that this version reads: {first}") from None
