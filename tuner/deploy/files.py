"""The files of a host, for whoever reads a configuration there."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.errors import JobFailed
from tuner.host.remote import Host, not_begun
from tuner.script.configuration import MAX_BYTES

# Without what comes first and last another program answers: an empty file is one, too.
_BEGIN, _END = b"rsyslog-tune begins\n", b"rsyslog-tune ends\n"
_READ = 'echo rsyslog-tune begins; head -c "$1" -- "$2" && echo rsyslog-tune ends'


@dataclass
class HostFiles:
    """Reads and lists what absolute paths name; each folder is listed once."""

    host: Host
    environment: None = None
    _folders: dict[str, Mapping[str, bool]] = field(default_factory=dict)

    def read(self, path: str) -> bytes:
        """The first bytes of a file; raises OSError in the words of the host, Unreachable where
        nothing of ours ran, and JobFailed for what breaks off."""
        answer = self.host.run(["sh", "-c", _READ, "sh", str(MAX_BYTES + 1), path])
        _, begin, rest = answer.out.partition(_BEGIN)
        if not begin:
            raise not_begun(self.host.name, answer)
        if answer.code != 0:
            said = answer.err.strip().rpartition(": ")[2][:300]
            raise OSError(errno.EIO, said or os.strerror(errno.EIO))
        content, end, _ = rest.rpartition(_END)
        if not end:
            raise JobFailed(f"{self.host.name}: its answer has no end")
        return content

    def listed(self, folder: str) -> Mapping[str, bool]:
        """The names in a folder, each with whether it is no folder itself."""
        if folder not in self._folders:
            ways = ["-mindepth", "1", "-maxdepth", "1", "-printf", "%y%f\\0"]
            answer = self.host.run(["find", "-L", folder, *ways])
            entries = answer.out.decode(errors="surrogateescape").split("\0")
            names = {one[1:]: one[0] != "d" for one in entries if one}
            strange = next((one for one in names if "/" in one or one in {"", ".", ".."}), None)
            if strange is not None:
                raise JobFailed(f"{self.host.name}: {folder} holds {strange[:300]!r}, no name")
            self._folders[folder] = names
        return self._folders[folder]
