"""The engine versions that a lab can run; Makefile, container image and docs use this table."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engines.release import Engine, Release
from tuner.errors import JobFailed

_GROUPS = {Engine.ELASTICSEARCH: "org.elasticsearch", Engine.OPENSEARCH: "org.opensearch"}


@dataclass(frozen=True)
class Distribution:
    """One engine version with its range of Java versions and the SHA-256 of its archive in Maven
    Central; `is_tested` says whether our tests run it."""

    engine: Engine
    version: str
    java_lowest: int
    java_highest: int
    sha256: str
    is_tested: bool = False

    @property
    def artefact(self) -> str:
        """Its coordinates in Maven Central."""
        name = self.engine.value
        return f"{_GROUPS[self.engine]}.distribution.integ-test-zip:{name}:{self.version}:zip"

    @property
    def release(self) -> Release:
        """The release that a profile for this version names."""
        return Release.model_validate({self.engine.value: self.version.rpartition(".")[0]})


# Each version was started with its lowest and highest Java, and failed with the LTS releases (of
# 11, 17, 21 and 25) just outside of that range.
VERSIONS = (
    Distribution(Engine.ELASTICSEARCH, "7.17.28", 11, 21,
        "37004c9bd95165eb41b229204bbb9f311d8099d6db22ec22b2f019664f0a75ab", is_tested=True),
    Distribution(Engine.ELASTICSEARCH, "8.19.0", 17, 25,
        "14833b2d86c30656901f92049f81fb5777a8e4545413c8656cd1a21b55173033", is_tested=True),
    Distribution(Engine.ELASTICSEARCH, "9.2.0", 21, 25,
        "bf44938a0490ba2a303d39c9cb64b38963dd08c812ce93e10816e878585bcb6b", is_tested=True),
    Distribution(Engine.ELASTICSEARCH, "9.5.4", 21, 25,
        "d9b0c28e08e499f6510b52ad66ec4bf9cdceab97cc28b3456989b8744b896934", is_tested=True),
    Distribution(Engine.OPENSEARCH, "2.19.1", 17, 21,
        "af7152d8b7f6f1cee09d47276b32b70479fe6dd8cdbb61213f84eb7f8098b261", is_tested=True),
    Distribution(Engine.OPENSEARCH, "3.2.0", 21, 25,
        "8c1fb97a5a6f74cac9a25199c0181caa09052e5f941b45f56ee028c32c9de17d", is_tested=True),
    Distribution(Engine.OPENSEARCH, "3.6.0", 21, 25,
        "a91faa1dc1cadc78cb278b4f63847e19e1627a4e9de698e14e7efc14ee37b286", is_tested=True),
    Distribution(Engine.OPENSEARCH, "3.8.0", 21, 25,
        "196c3cf4602c394f2e40e6174ccbf2a924eae37246f08fa6bbb6b75f9fd5ff1f", is_tested=True),
)  # fmt: skip
TESTED = tuple(distribution for distribution in VERSIONS if distribution.is_tested)
DEFAULT = VERSIONS[1]
"""The engine for profiles that name none."""


def distribution_for(release: Release) -> Distribution:
    """The version that a lab runs for `release`: the newest of the same major version that is not
    newer than the release, else the oldest of that major version.

    Raises JobFailed for an engine that no lab can run.
    """
    target = release.engine_version
    by_version = {
        distribution.release.engine_version: distribution
        for distribution in VERSIONS
        if distribution.engine is release.engine
    }
    candidates = sorted(version for version in by_version if version[0] == target[0])
    if not candidates:
        raise JobFailed(f"no lab for {release.engine.value} {target[0]}: use --elasticsearch URL")
    older = [version for version in candidates if version <= target]
    return by_version[(older or candidates[:1])[-1]]
