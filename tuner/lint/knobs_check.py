"""Whether points of a search are valid profiles, asked often and answered cheaply.

The text of a profile is not touched: changes go into its plain data, which the model and the linter
then judge.  That is some twenty times cheaper than `candidate`, and says the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import ValidationError

from tuner.errors import BadUsage, KeyPath, Severity
from tuner.lint.candidate import edits_of
from tuner.lint.lint import Finding, findings, lint
from tuner.lint.load import LoadedProfile
from tuner.profile.edit import changed, plain
from tuner.profile.model import Profile
from tuner.profile.paths import resolve_path
from tuner.space.guarantees import opened
from tuner.space.knob import Level

Point = tuple[tuple[str, Level], ...]


@dataclass
class Checker:
    """Judges points around one profile; remembers what it has judged.

    A point is not proposed when the linter finds an error or a warning in it that the profile as
    written does not have (a base may have errors, and runs as it is): what `best.yaml` recommends
    must not be worse in any respect that the linter knows, memory and indexing pressure among them.
    What `allow` opens says by itself what it gives up, so its own warnings do not count.  Each
    point is judged together with `repairs`, and one that undoes a repair is not valid.
    """

    written: LoadedProfile
    allow: tuple[str, ...] = ()
    repairs: Point = ()
    _known: dict[Point, str | None] = field(default_factory=dict)
    _paths: dict[str, KeyPath] = field(default_factory=dict)
    _tolerated: frozenset[tuple[str, KeyPath]] = frozenset()
    _excused: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        profile = self.written.profile
        as_repaired = lint(self.profile(self.repairs))
        self._tolerated = frozenset((finding.code, finding.path) for finding in as_repaired)
        guarantees = opened(profile, (*profile.search.allow, *self.allow))
        self._excused = frozenset(code for guarantee in guarantees for code in guarantee.codes)

    def is_valid(self, changes: Iterable[tuple[str, Level]]) -> bool:
        """Whether the point may be proposed."""
        return self.refusal(changes) is None

    def refusal(self, changes: Iterable[tuple[str, Level]]) -> str | None:
        """Why the point may not be proposed, in the words of the schema or the linter; None if it
        may."""
        point = tuple(sorted((dict(self.repairs) | dict(changes)).items()))
        if point not in self._known:
            self._known[point] = self._judged(point)
        return self._known[point]

    def profile(self, changes: Iterable[tuple[str, Level]]) -> Profile:
        """The profile at a point; raises ValidationError when a value is not of its kind."""
        data = self.written.data
        for path, value in edits_of(self.written, changes).items():
            data = changed(data, self._steps(path), plain(value))
        made = Profile.model_validate(data, by_alias=True, by_name=False)
        return made.on_base_of(self.written.profile)

    def _judged(self, point: Point) -> str | None:
        try:
            profile = self.profile(point)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        except BadUsage as error:
            return str(error)
        finding = next((one for one in findings(profile) if self._counts(one)), None)
        return None if finding is None else f"{finding.message} [{finding.code}]"

    def _counts(self, finding: Finding) -> bool:
        if (finding.code, finding.path) in self._tolerated:
            return False
        return finding.severity is Severity.ERROR or finding.code not in self._excused

    def _steps(self, path: str) -> KeyPath:
        if path not in self._paths:
            self._paths[path] = resolve_path(self.written.data, path)
        return self._paths[path]
