"""One engine over HTTP: requests in, plain data out, failures in words."""

from __future__ import annotations

import base64
import json
import math
import ssl
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import requests
from urllib3.exceptions import HTTPError, ReadTimeoutError

from tuner.errors import JobFailed, Unreachable

JSON = dict[str, object]

MOST_BYTES = 16 << 20
"""The longest answer that is read: no engine that does what it is asked for sends more."""
_PIECE_BYTES = 1 << 16
_MOST_SHOWN = 200


ABSENT = frozenset({400, 404, 405})
"""How an engine answers where nothing is, and where a minimal distribution has no such thing."""


class NoAnswer(Unreachable):
    """The engine took the connection, or seemed to, and did not answer in time."""


class EngineRefused(JobFailed):
    """The engine answered with an error; `status` is the HTTP code, `reason` its own words."""

    def __init__(self, message: str, status: int, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class Access:
    """Credentials and TLS: a name with a password or an API key, and certificates.

    `cacert` is the authority to trust instead of the system's, `certificate` and `key` are our own.
    """

    credentials: tuple[str, str] | None = None
    apikey: str | None = None
    cacert: str | None = None
    certificate: str | None = None
    key: str | None = None

    @property
    def has_secret(self) -> bool:
        """Whether every request carries a password or a key."""
        return self.credentials is not None or self.apikey is not None


ANYONE = Access()
"""No login, and the authorities that the system trusts."""


class EngineClient:
    """A connection to one engine, which goes on with the next of its addresses where one is gone.

    It never follows proxies or .netrc of the environment, and every request has a time limit.
    """

    def __init__(
        self,
        url: str,
        access: Access = ANYONE,
        timeout_s: float = 30.0,
        *,
        other_urls: Sequence[str] = (),
    ) -> None:
        self.url = url.rstrip("/")
        self.urls = (self.url, *other_urls)
        self._timeout_s = timeout_s
        self._access = access
        self._session = self.new_session()

    def new_session(self) -> requests.Session:
        """A session with the same engine for another thread; the caller closes it."""
        access = self._access
        session = requests.Session()
        session.trust_env = False
        if access.credentials is not None:
            # requests encodes as Latin-1 what RFC 7617 leaves open, and Elasticsearch reads UTF-8.
            token = base64.b64encode(":".join(access.credentials).encode()).decode()
            session.headers["Authorization"] = f"Basic {token}"
        if access.apikey is not None:
            session.headers["Authorization"] = f"ApiKey {access.apikey}"
        if access.cacert is not None:
            session.verify = access.cacert
        if access.certificate is not None and access.key is not None:
            session.cert = (access.certificate, access.key)
        return session

    def twin(self) -> EngineClient:
        """A client of the same engine for another thread; the caller closes it."""
        other_urls = [url for url in self.urls if url != self.url]
        return EngineClient(self.url, self._access, self._timeout_s, other_urls=other_urls)

    def get(self, path: str, timeout_s: float | None = None) -> JSON:
        """GET an object."""
        answer = self.request("GET", path, timeout_s=timeout_s)
        if not isinstance(answer, dict):
            raise JobFailed(f"{self.url}{path} answered with JSON that is not an object")
        return answer

    def find(self, path: str, absent: Collection[int] = (404,)) -> JSON:
        """GET an object; an empty one where the engine answers with a status of `absent`."""
        try:
            return self.get(path)
        except EngineRefused as error:
            if error.status not in absent:
                raise
            return {}

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        """Send one request and return its JSON; `timeout_s` is a shorter patience than usual.

        Raises Unreachable when nothing answers (NoAnswer when that took the whole time limit),
        EngineRefused on a status of 300 or more, and JobFailed for an answer above MOST_BYTES or of
        another form.
        """
        status, answer = self._answer(method, path, body, timeout_s or self._timeout_s)
        if status >= 300:
            reason = _reason(answer)
            message = f"{method} {self.url}{path} failed with HTTP {status}: {reason}"
            raise EngineRefused(message, status, reason)
        try:
            return _parsed(answer)
        except ValueError:
            raise JobFailed(f"{self.url}{path} answered with something that is not JSON") from None

    def _answer(
        self, method: str, path: str, body: JSON | None, limit_s: float
    ) -> tuple[int, bytes]:
        """The status and the body that the address answers which did last, else the first other
        that does."""
        place = self.urls.index(self.url)
        gone: list[str] = []
        for url in (*self.urls[place:], *self.urls[:place]):
            try:
                answer = self._whole(method, url + path, body, limit_s)
            except (requests.Timeout, TimeoutError):
                raise NoAnswer(f"{url} does not answer within {limit_s:g} s: timed out") from None
            except requests.RequestException as error:
                gone.append(f"{url} does not answer: {_cause(error)}")
                continue
            self.url = url
            return answer
        raise Unreachable("; ".join(gone))

    def _whole(self, method: str, url: str, body: JSON | None, limit_s: float) -> tuple[int, bytes]:
        """An answer up to its end, of this address and no other.  Raises TimeoutError, JobFailed,
        and what requests does."""
        deadline = time.monotonic() + limit_s
        with self._session.request(
            method, url, json=body, timeout=limit_s, stream=True, allow_redirects=False
        ) as response:
            return response.status_code, whole_body(response, deadline)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


# What OpenSSL calls an answer that is not TLS, by its release.
_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST",
                      "PACKET_LENGTH_TOO_LONG"})  # fmt: skip

# X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH.
_WRONG_NAME = frozenset({62, 64})


def whole_body(response: requests.Response, deadline: float) -> bytes:
    """The body of an answer that is read as it comes, however slowly.  Raises JobFailed where that
    is longer than MOST_BYTES, TimeoutError where it has not ended by the deadline (monotonic
    seconds), and requests.ConnectionError where it breaks off."""
    body = bytearray()
    try:
        while piece := response.raw.read1(_PIECE_BYTES, decode_content=True):
            body += piece
            if len(body) > MOST_BYTES:
                raise JobFailed(f"{response.url} answers with more than {MOST_BYTES >> 20} MiB")
            if time.monotonic() > deadline:
                raise TimeoutError
    except ReadTimeoutError:
        raise TimeoutError from None
    except HTTPError as error:
        raise requests.ConnectionError(error) from None
    return bytes(body)


def _cause(error: Exception) -> str:
    """The innermost reason of a chain of wrapped network errors, from its beginning."""
    inner = _innermost(error)
    if isinstance(inner, ssl.SSLCertVerificationError):
        complaint = inner.verify_message.rstrip(".")
        is_name = inner.verify_code in _WRONG_NAME
        way_out = "use an address that it names" if is_name else "tls.cacert names whom to trust"
        return f"TLS: {complaint}: {way_out}"
    if isinstance(inner, ssl.SSLError):
        is_plain = inner.reason in _NOT_TLS
        return "it speaks plain HTTP: use http://" if is_plain else f"TLS: {inner.reason or inner}"
    text = str(error)
    for phrase in ("Connection refused", "timed out", "Name or service not known"):
        if phrase in text:
            return phrase
    return text[:200]


def _innermost(error: BaseException) -> BaseException:
    """What the libraries wrapped, each in its own way: as an argument or as the reason of it."""
    wrapped = [getattr(error, "reason", None), *error.args]
    inner = next((inner for inner in wrapped if isinstance(inner, BaseException)), None)
    return error if inner is None else _innermost(inner)


def _parsed(answer: bytes) -> object:
    """The JSON of an answer; documents come back with the bytes that they were sent with, whatever
    those are.  Raises ValueError."""
    try:
        parsed: object = json.loads(answer.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deep") from None
    return parsed


def _reason(answer: bytes) -> str:
    """The engine's own words, from `error.reason` or `error`, else the start of the body.

    That something is invalid says little, so what caused it is added: engines give a chain of
    causes, of which the outer ones mostly hold the inner ones.
    """
    try:
        error = at(_parsed(answer), "error")
    except ValueError:
        error = None
    if error is None:
        return answer[:_MOST_SHOWN].decode(errors="replace")
    if not isinstance(error, dict):
        return str(error)[:500]
    # An engine without a master gives a type, and null for the reason.
    chain = [str(error.get("reason") or error.get("type") or error)]
    while isinstance(error.get("caused_by"), dict):
        error = error["caused_by"]
        chain.append(str(error.get("reason") or ""))
    cause = next(reason for reason in chain if chain[-1] in reason)
    return (chain[0] if cause == chain[0] else f"{chain[0]}: {cause}")[:1000]


def at(answer: object, *keys: str) -> object:
    """The value under `keys`, or None when the answer has none there."""
    for key in keys:
        if not isinstance(answer, dict) or key not in answer:
            return None
        answer = answer[key]
    return answer


def object_at(answer: object, *keys: str) -> JSON:
    """The object under `keys`, an empty one when the answer has none there."""
    value = at(answer, *keys)
    return value if isinstance(value, dict) else {}


def list_at(answer: object, *keys: str) -> list[object]:
    """The list under `keys`, an empty one when the answer has none there."""
    value = at(answer, *keys)
    return value if isinstance(value, list) else []


def number_at(answer: object, *keys: str) -> int:
    """The whole number under `keys`, 0 when absent; raises JobFailed on anything else."""
    value = at(answer, *keys)
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return int(value)
    shown = repr(value)[:_MOST_SHOWN]
    raise JobFailed(f"the engine answered {'.'.join(keys)} = {shown}, not a number")
