"""How a profile logs in to an engine: the credentials and TLS of its outputs."""

from __future__ import annotations

import os

from tuner.engine.client import Access, EngineClient
from tuner.errors import JobFailed, Refused
from tuner.host.allow import host_of
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.secrets import SecretRef
from tuner.profile.model import Profile
from tuner.reading import content, readable, unreadable
from tuner.schema.scalars import is_loopback

_FOR_TLS = ", which the profile names for TLS,"


def client_for(url: str, profile: Profile) -> EngineClient:
    """A client for the engine at `url`, with the login and TLS of the output that has it among its
    servers, else of the measured output.

    Raises Refused if a secret would cross the network in clear text, JobFailed if a secret or a
    certificate cannot be read.
    """
    host = host_of(url)
    server = url.rstrip("/")
    addressed = (
        output
        for output in profile.indexed
        if server in {address.rstrip("/") for address in output.servers}
    )
    access = _access(next(addressed, profile.measured))
    if access.has_secret and url.startswith("http:") and not is_loopback(host):
        raise Refused(
            f"the secret that outputs[].auth or apikey refers to would cross the network to {host} "
            "in the clear: name an https URL"
        )
    return EngineClient(url, access)


def _access(output: OmelasticsearchOutput) -> Access:
    auth, key, tls = output.auth, output.apikey, output.tls
    return Access(
        credentials=None if auth is None else (auth.uid, read_secret(auth.pwd)),
        apikey=None if key is None else read_secret(key),
        cacert=readable(None if tls is None else tls.cacert, _FOR_TLS),
        certificate=readable(None if tls is None else tls.mycert, _FOR_TLS),
        key=readable(None if tls is None else tls.myprivkey, _FOR_TLS),
    )


def read_secret(reference: SecretRef) -> str:
    """The secret that a reference points to; raises JobFailed, which names its file or variable,
    never its value."""
    if reference.file is not None:
        try:
            return content(reference.file).decode().rstrip("\n")
        except OSError as error:
            raise unreadable(f"{reference.file}, the file of a secret,", error) from None
        except UnicodeDecodeError:
            raise JobFailed(f"the secret in {reference.file} is not UTF-8") from None
    name = str(reference.env)
    if name not in os.environ:
        raise JobFailed(f"the environment variable {name}, which holds a secret, is not set")
    return os.environ[name]
