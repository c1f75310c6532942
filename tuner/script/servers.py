"""The servers that an action sends documents to."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from tuner.script.script import ScriptObject

# Where curl goes without a port.
_PORTS = {"http": 80, "https": 443}


def servers_of(action: ScriptObject) -> Iterator[SplitResult | None]:
    """The address of each server, with its port, as rsyslog works it out: it drops a slash at the
    end and adds its port to what has no colon in it, be that of a login, of IPv6 or of a path, and
    then curl has ports of its own (omelasticsearch.c, computeBaseUrl).  None for one
    that cannot be read."""
    given = action.get("server")
    scheme = "https" if action.is_on("usehttps") else "http"
    port = action.text("serverport") or "9200"
    for text in ("localhost",) if given is None else given.texts:
        has_scheme = text.lower().startswith(("http://", "https://"))
        url = (text if has_scheme else f"{scheme}://{text}").removesuffix("/")
        has_colon = ":" in url.partition("://")[2]
        try:
            parts = urlsplit(url if has_colon else f"{url}:{port}")
            own = parts.port or _PORTS[parts.scheme]
        except ValueError:
            yield None
            continue
        host = parts.hostname or ""
        login, at, _ = parts.netloc.rpartition("@")
        yield parts._replace(netloc=f"{login}{at}{f'[{host}]' if ':' in host else host}:{own}")
