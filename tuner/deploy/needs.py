"""What a host needs so that rsyslogd can run a rendered configuration there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.render.modules import packages_of

_KEY = re.compile(r'(?i)(?:keyfile|myprivkey)="(/[^"]+)"')
_CERTIFICATE = re.compile(r'(?i)(?:certfile|cafile|cacert|mycert)="(/[^"]+)"')


@dataclass(frozen=True)
class HostNeeds:
    """Packages of Debian, paths of files that rsyslogd reads beside its configuration, of files
    with secrets and of certificates, the variables of rsyslogd's environment that hold secrets, and
    ports that must be free, as tcp:PORT and udp:PORT."""

    packages: tuple[str, ...]
    files: tuple[str, ...]
    secrets: tuple[str, ...]
    certificates: tuple[str, ...]
    variables: tuple[str, ...]
    ports: tuple[str, ...]


def needs_of(profile: Profile, text: str) -> HostNeeds:
    """What a profile, rendered as `text`, asks of its host."""
    secrets = [one.file for one in profile.secrets if one.file is not None]
    return HostNeeds(
        packages=("rsyslog", *sorted(packages_of(text))),
        files=tuple(profile.files_beside),
        secrets=tuple(dict.fromkeys((*secrets, *_KEY.findall(text)))),
        certificates=tuple(dict.fromkeys(_CERTIFICATE.findall(text))),
        variables=profile.secret_variables,
        ports=sockets_of(profile),
    )
