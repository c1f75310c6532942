"""Certificates of a lab: an authority, rsyslogd, and the flood that rsyslogd lets in."""

from __future__ import annotations

from pathlib import Path

from tuner.errors import JobFailed
from tuner.host.process import give_to_daemons, run
from tuner.host.programs import openssl
from tuner.modules.certificates import COLLECTOR_NAME, SENDER_NAME, Certificates

_DAYS = 30
_TIMEOUT_S = 30
# Nothing of the system's own configuration, which differs between distributions.
_CONFIGURATION = """\
[req]
distinguished_name = nothing
[nothing]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[{collector}]
basicConstraints = critical, CA:FALSE
subjectAltName = DNS:{collector}
[{sender}]
basicConstraints = critical, CA:FALSE
subjectAltName = DNS:{sender}
"""


def make_certificates(wanted: Certificates) -> None:
    """Write the files of `wanted`, which serve 30 days, with openssl(1); raises JobFailed."""
    folder = Path(wanted.folder)
    folder.mkdir(mode=0o700)
    text = _CONFIGURATION.format(collector=COLLECTOR_NAME, sender=SENDER_NAME)
    (folder / "openssl.cnf").write_text(text, encoding="ascii")
    _make(folder, "authority", wanted.authority, wanted.authority_key)
    signed = ("-CA", wanted.authority, "-CAkey", wanted.authority_key)
    _make(folder, COLLECTOR_NAME, wanted.collector, wanted.collector_key, *signed)
    _make(folder, SENDER_NAME, wanted.sender, wanted.sender_key, *signed)
    for path in (folder, *folder.iterdir()):
        give_to_daemons(path)


def _make(folder: Path, name: str, certificate: str, key: str, *signed: str) -> None:
    """A certificate for `name` with the extensions of that section, and its key."""
    arguments = [
        openssl(), "req", "-x509", "-config", str(folder / "openssl.cnf"), "-extensions", name,
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256",
        "-days", str(_DAYS), "-subj", f"/CN={name}", "-keyout", key, "-out", certificate, *signed,
    ]  # fmt: skip
    done = run(arguments, _TIMEOUT_S)
    if done.returncode != 0:
        lines = done.stderr.splitlines() or ["it gave no reason"]
        raise JobFailed(f"openssl could not make the certificate {certificate}: {lines[-1]}")
