"""The engine's addresses as omelasticsearch makes them of its parameters."""

from __future__ import annotations

from urllib.parse import urlsplit

from tuner.importer.gaps import Gaps, Inexpressible
from tuner.importer.script import Thing

_PORT = "9200"


def servers_of(action: Thing, gaps: Gaps) -> tuple[list[str], str | None]:
    """The addresses, each with its port, and the user that one of them names; a password in one
    goes nowhere (omelasticsearch.c, computeBaseUrl)."""
    given = action.get("server")
    texts = ("localhost",) if given is None else given.texts
    if not texts:
        raise Inexpressible(action.origin, "the server is known only when rsyslogd starts")
    https = (action.text("usehttps") or "off").lower() in {"on", "yes", "true", "1"}
    port = action.text("serverport") or _PORT
    servers, user = [], None
    for text in texts:
        has_scheme = text.lower().startswith(("http://", "https://"))
        full = text if has_scheme else f"{'https' if https else 'http'}://{text}"
        try:
            parts = urlsplit(full)
            own_port = parts.port
        except ValueError:
            gaps.miss(action.origin, "a server whose address cannot be read")
            continue
        user = parts.username or user
        if parts.path.strip("/"):
            gaps.miss(action.origin, f"the path {parts.path} in the address of a server")
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        servers.append(f"{parts.scheme}://{host}:{own_port or port}")
    return servers, user
