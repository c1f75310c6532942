"""How many threads of the inputs may hand over messages at once."""

from __future__ import annotations

from tuner.modules.inputs import ImptcpInput, ImtcpInput, ImudpInput
from tuner.profile.model import Profile

# imtcp had one pool for all its inputs, and has one for each since this release (tcpsrv.c).
_POOL_OF_ALL = 4
_POOL_OF_EACH_SINCE = 2504
_POOL_OF_EACH = 2


def input_threads(profile: Profile) -> int:
    """imptcp's helpers, imtcp's workers, imudp's readers, and one for each other kind."""
    found = 0
    inputs = profile.inputs
    found += max((one.threads for one in inputs if isinstance(one, ImptcpInput)), default=0)
    found += max((one.threads or 1 for one in inputs if isinstance(one, ImudpInput)), default=0)
    pools = [one.worker_threads or _POOL_OF_EACH for one in inputs if isinstance(one, ImtcpInput)]
    if profile.release.rsyslog_number >= _POOL_OF_EACH_SINCE:
        found += sum(pools)
    elif pools:
        found += _POOL_OF_ALL
    return found + len({one.type for one in inputs} & {"imfile", "imrelp", "imuxsock"})
