"""The engines that a lab can run: one table of versions, which Makefile, image and docs go by."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engines.release import Engine, Release
from tuner.errors import JobFailed

_GROUPS = {Engine.ELASTICSEARCH: "org.elasticsearch", Engine.OPENSEARCH: "org.opensearch"}


@dataclass(frozen=True)
class Distribution:
    """One engine version, and the Java versions it runs on; `is_tested` means that tests run it."""

    engine: Engine
    version: str
    java_lowest: int
    java_highest: int
    is_tested: bool = False

    @property
    def artefact(self) -> str:
        """Its coordinates in Maven Central."""
        name = self.engine.value
        return f"{_GROUPS[self.engine]}.distribution.integ-test-zip:{name}:{self.version}:zip"

    @property
    def release(self) -> Release:
        """What a profile for it says."""
        return Release.model_validate({self.engine.value: self.version.rpartition(".")[0]})

    @property
    def major(self) -> int:
        """The major version, which it stands in for."""
        return int(self.version.partition(".")[0])


# One version for each major version of an engine.  The highest Java of each is the newest one
# with long-term support that the version is known to start on.
VERSIONS = (
    Distribution(Engine.ELASTICSEARCH, "7.17.28", 11, 17, is_tested=True),
    Distribution(Engine.ELASTICSEARCH, "8.19.0", 17, 21, is_tested=True),
    Distribution(Engine.ELASTICSEARCH, "9.2.0", 21, 25),
    Distribution(Engine.OPENSEARCH, "2.19.1", 17, 21, is_tested=True),
    Distribution(Engine.OPENSEARCH, "3.2.0", 21, 25),
)
TESTED = tuple(one for one in VERSIONS if one.is_tested)
DEFAULT = VERSIONS[1]
"""The engine of a profile that names none."""


def distribution_for(release: Release) -> Distribution:
    """The version that stands in for `release` in a lab; raises JobFailed for an
    engine that no lab can run."""
    major = release.engine_version[0]
    for one in VERSIONS:
        if (one.engine, one.major) == (release.engine, major):
            return one
    raise JobFailed(f"no lab for {release.engine.value} {major}: use --elasticsearch URL")
