"""syslog-ng with its destination elasticsearch-http, as its manual shows it, and tuned."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.peers.peer import Place, Tuning
from tests.live.rsyslogs import unpack
from tuner.engine.numbering import FIELD, FIRST_OUTPUT
from tuner.lab.distribution import cache_folder
from tuner.space.table import REPLY_FILTER

_PACKAGES = ("syslog-ng-core", "syslog-ng-mod-http", "syslog-ng-scl")
_MODULES = ("afsocket", "syslogformat", "basicfuncs", "json-plugin", "http")
_DOCUMENT = (
    "$(format-json --scope none @timestamp=$S_ISODATE host=$HOST program=$PROGRAM "
    f"severity=$LEVEL facility=$FACILITY message=$MSG "
    f"{FIELD}=int64({FIRST_OUTPUT}$(substr $S_UNIXTIME 4 6)$S_USEC))"
)


@dataclass(frozen=True)
class SyslogNg:
    """syslog-ng of one of Debian's suites, unpacked beside the system's own packages: it may not be
    installed together with rsyslog."""

    suite: str
    release: str

    @property
    def name(self) -> str:
        """Its name, with the release."""
        return f"syslog-ng {self.release}"

    @property
    def root(self) -> Path:
        """Where it is unpacked."""
        return cache_folder() / "peers" / f"syslog-ng-{self.release}"

    def configuration(self, at: Place, tuning: Tuning | None) -> str:
        """Stock: the values of its own elasticsearch-http (4 workers, 100 lines, no flow control),
        tuned: batches, workers and flow control, so that senders wait instead of losing events."""
        url, batch, workers, flags, size = f"{at.engine}/_bulk", 100, 4, "", ""
        if tuning is not None:
            url, batch, workers = (
                f"{url}?filter_path={','.join(REPLY_FILTER)}", tuning.batch, tuning.workers,
            )  # fmt: skip
            size = f"log-fifo-size({100_000 + 4 * batch * workers})"
            flags = "flags(flow-control);"
        modules = "\n".join(f"@module {module}" for module in _MODULES)
        window = 20 * (1000 if tuning is None else 5000)
        return f"""@version: {self.release}
{modules}
options {{ keep-timestamp(yes); keep-hostname(yes); use-dns(no); frac-digits(6); }};
source s {{
  network(transport("tcp") ip("127.0.0.1") port({at.port}) flags(syslog-protocol)
          max-connections(20) log-iw-size({window}));
}};
destination d {{
  http(url("{url}") method("POST") workers({workers}) batch-lines({batch}) batch-timeout(500)
       timeout(60) {size} headers("Content-Type: application/x-ndjson") body-suffix("\\n")
       body('{{"index":{{"_index":"{at.index}"}}}}
{_DOCUMENT}'));
}};
log {{ source(s); destination(d); {flags} }};
"""

    def command(self, at: Place, configuration: Path) -> list[str]:
        """syslog-ng in the foreground, by its own loader and libraries."""
        root = self.root
        # In older suites there are two, of which one is a link to a place outside.
        loader = next(
            found for found in sorted(root.rglob("ld-linux-x86-64.so.2"))
            if found.is_file() and not found.is_symlink()
        )  # fmt: skip
        modules = next(root.rglob("libhttp.so")).parent
        triplet = "x86_64-linux-gnu"
        libraries = [
            root / "usr/lib/syslog-ng", root / "lib" / triplet, root / "usr/lib" / triplet, modules,
        ]  # fmt: skip
        return [
            str(loader), "--library-path", ":".join(map(str, libraries)),
            str(root / "usr/sbin/syslog-ng"), "-F", "--no-caps", f"--module-path={modules}",
            "-f", str(configuration), "-R", str(at.folder / "persist"),
            "-p", str(at.folder / "pid"), "-c", str(at.folder / "control"),
        ]  # fmt: skip

    def fetch(self) -> None:
        """Unpack it, once."""
        if self.root.is_dir():
            return
        self.root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.root.parent) as folder:
            made = Path(folder) / "root"
            unpack(self.suite, _PACKAGES, Path(folder) / "apt", made)
            subprocess.run(["mv", str(made), str(self.root)], check=True)
