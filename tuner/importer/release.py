"""The release of rsyslog that what was imported needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from pydantic import ValidationError

from tuner.engines.release import NEWEST_READ, OLDEST
from tuner.lint.lint import errors_of
from tuner.lint.rules.releases import TOO_NEW
from tuner.profile.model import Profile

# There is one in every second month.
_RELEASES = [
    100 * year + month for year in range(OLDEST // 100, NEWEST_READ // 100 + 1)
    for month in range(2, 13, 2) if 100 * year + month <= NEWEST_READ
]  # fmt: skip
_ANY_INPUT = {"type": "imptcp", "port": 514}


def as_profile(data: Mapping[str, object]) -> Profile | None:
    """The profile, with an input where it has none: what it is once that is added."""
    try:
        return Profile.model_validate(
            {"inputs": [_ANY_INPUT], **data}, by_alias=True, by_name=False
        )
    except ValidationError:
        return None


def newer_release(profile: Profile, unknown: int) -> int:
    """The oldest release that does not know the fewest parameters, of which `unknown` are too new
    for the profile's own: a newer one knows those of the releases before it."""
    own = profile.release.rsyslog_number

    def not_known(number: int) -> int:
        return sum(one.code in TOO_NEW for one in errors_of(of_release(profile, number)))

    fewest = not_known(NEWEST_READ)
    if fewest >= unknown:
        return own
    later = [number for number in _RELEASES if number > own]

    def knows_all(number: int) -> bool:
        return not_known(number) <= fewest

    return later[bisect_left(later, True, key=knows_all)]


def of_release(profile: Profile, number: int) -> Profile:
    """The profile for that release of rsyslog, such as 2302."""
    release = profile.release.model_copy(update={"rsyslog": f"8.{number}"})
    return profile.model_copy(update={"release": release})
