"""The files of a host, for whoever reads a configuration there."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.errors import JobFailed
from tuner.host.remote import Host
from tuner.rainerscript.configuration import MAX_BYTES


@dataclass
class HostFiles:
    """Reads and lists what absolute paths name; each folder is listed once."""

    host: Host
    _folders: dict[str, Mapping[str, bool]] = field(default_factory=dict)

    def read(self, path: str) -> bytes:
        """The first bytes of a file; raises OSError in the words of the host."""
        answer = self.host.run(["head", "-c", str(MAX_BYTES + 1), "--", path])
        if answer.code != 0:
            said = answer.err.strip().rpartition(": ")[2][:300]
            raise OSError(errno.EIO, said or os.strerror(errno.EIO))
        return answer.out

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
