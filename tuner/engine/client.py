"""The HTTP client of an engine: takes requests, returns plain data, raises readable errors."""

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
"""The longest answer that is read; a sound engine sends less to any of our requests."""
_PIECE_BYTES = 1 << 16
_MOST_SHOWN = 200


ABSENT = frozenset({400, 404, 405})
"""The statuses of an absent object, and of an API that a minimal distribution does not have."""


class NoAnswer(Unreachable):
    """The engine, or its host, did not answer within the time limit."""


class EngineRefused(JobFailed):
    """The engine answered with an error: `status` is the HTTP status, `reason` its error text."""

    def __init__(self, message: str, status: int, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class Access:
    """Credentials and TLS: user and password, or an API key; and certificate files.

    `cacert` is the CA to trust instead of the system's; `certificate` and `key` are the client's.
    """

    credentials: tuple[str, str] | None = None
    apikey: str | None = None
    cacert: str | None = None
    certificate: str | None = None
    key: str | None = None

    @property
    def has_secret(self) -> bool:
        """Whether requests carry a password or an API key."""
        return self.credentials is not None or self.apikey is not None


ANYONE = Access()
"""No login, and the CAs that the system trusts."""


class EngineClient:
    """A connection to one engine, which tries its other addresses if one does not answer.

    It ignores the environment's proxies and .netrc, and every request has a time limit.
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
            # RFC 7617 leaves the encoding open: requests uses Latin-1, Elasticsearch expects UTF-8.
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
        """GET an object, an empty one if the engine answers with a status in `absent`."""
        try:
            return self.get(path)
        except EngineRefused as error:
            if error.status not in absent:
                raise
            return {}

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        """Send one request and return the answer's JSON; `timeout_s` replaces the client's limit.

        Raises Unreachable if no address answers (NoAnswer at the end of the time limit),
        EngineRefused for a status of 300 or more, and JobFailed for an answer that is longer than
        MOST_BYTES or is not JSON.
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
        """The status and body of the answer.  Tries the address that answered last, then the
        others; a timeout ends the attempt."""
        current = self.urls.index(self.url)
        failures: list[str] = []
        for url in (*self.urls[current:], *self.urls[:current]):
            try:
                answer = self._send(method, url + path, body, limit_s)
            except (requests.Timeout, TimeoutError):
                raise NoAnswer(f"{url} does not answer within {limit_s:g} s: timed out") from None
            except requests.RequestException as error:
                failures.append(f"{url} does not answer: {_cause(error)}")
                continue
            self.url = url
            return answer
        raise Unreachable("; ".join(failures))

    def _send(self, method: str, url: str, body: JSON | None, limit_s: float) -> tuple[int, bytes]:
        """Send a request to `url` and read the whole answer, without following a redirect.  Raises
        TimeoutError, JobFailed and the exceptions of requests."""
        deadline = time.monotonic() + limit_s
        with self._session.request(
            method, url, json=body, timeout=limit_s, stream=True, allow_redirects=False
        ) as response:
            return response.status_code, whole_body(response, deadline)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


# OpenSSL's reasons, in several releases, for an answer that is not TLS.
_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST",
                      "PACKET_LENGTH_TOO_LONG"})  # fmt: skip

# X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH.
_WRONG_NAME = frozenset({62, 64})


def whole_body(response: requests.Response, deadline: float) -> bytes:
    """Read the body of an answer piece by piece.  Raises JobFailed if it is longer than MOST_BYTES,
    TimeoutError if it has not ended by `deadline` (monotonic seconds), and requests.ConnectionError
    if the connection breaks."""
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
    """A short cause of a network error: its TLS error, a known phrase, or the start of its text."""
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
    """The innermost wrapped error: libraries wrap one as `reason` or as an argument."""
    wrapped = [getattr(error, "reason", None), *error.args]
    inner = next((inner for inner in wrapped if isinstance(inner, BaseException)), None)
    return error if inner is None else _innermost(inner)


def _parsed(answer: bytes) -> object:
    """The JSON of an answer; raises ValueError.  Invalid UTF-8 is replaced, because engines return
    documents with the bytes that they were sent with."""
    try:
        parsed: object = json.loads(answer.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deep") from None
    return parsed


def _reason(answer: bytes) -> str:
    """The engine's error text, from `error.reason` or `error`, else the start of the body.

    The outer reason often says only that something is invalid, so the innermost `caused_by` is
    added: as the outermost reason that contains it, and not if that is the first.
    """
    try:
        error = at(_parsed(answer), "error")
    except ValueError:
        error = None
    if error is None:
        return answer[:_MOST_SHOWN].decode(errors="replace")
    if not isinstance(error, dict):
        return str(error)[:500]
    # An engine without a master answers with a type, and null as the reason.
    chain = [str(error.get("reason") or error.get("type") or error)]
    while isinstance(error.get("caused_by"), dict):
        error = error["caused_by"]
        chain.append(str(error.get("reason") or ""))
    cause = next(reason for reason in chain if chain[-1] in reason)
    return (chain[0] if cause == chain[0] else f"{chain[0]}: {cause}")[:1000]


def at(answer: object, *keys: str) -> object:
    """The value at the path `keys`, None if there is none."""
    for key in keys:
        if not isinstance(answer, dict) or key not in answer:
            return None
        answer = answer[key]
    return answer


def object_at(answer: object, *keys: str) -> JSON:
    """The object at the path `keys`, an empty one if there is none."""
    value = at(answer, *keys)
    return value if isinstance(value, dict) else {}


def list_at(answer: object, *keys: str) -> list[object]:
    """The list at the path `keys`, an empty one if there is none."""
    value = at(answer, *keys)
    return value if isinstance(value, list) else []


def number_at(answer: object, *keys: str) -> int:
    """The number at the path `keys` as an integer, 0 if there is none; raises JobFailed for any
    other value."""
    value = at(answer, *keys)
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return int(value)
    shown = repr(value)[:_MOST_SHOWN]
    raise JobFailed(f"the engine answered {'.'.join(keys)} = {shown}, not a number")
