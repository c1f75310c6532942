"""One engine over HTTP: requests in, plain data out, failures in words."""

from __future__ import annotations

from pathlib import Path

import requests

from tuner.errors import JobFailed, Unreachable

JSON = dict[str, object]


class NoAnswer(Unreachable):
    """The engine took the connection, or seemed to, and did not answer in time."""


class EngineRefused(JobFailed):
    """The engine answered with an error; `status` is the HTTP code."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class EngineClient:
    """A connection to one engine.

    It never follows proxies or .netrc of the environment, and every request has a time limit.
    """

    def __init__(
        self,
        url: str,
        credentials: tuple[str, str] | None = None,
        cacert: Path | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._credentials = credentials
        self._cacert = cacert
        self._session = self.new_session()

    def new_session(self) -> requests.Session:
        """A session with the same engine for another thread; the caller closes it."""
        session = requests.Session()
        session.trust_env = False
        session.auth = self._credentials
        if self._cacert is not None:
            session.verify = str(self._cacert)
        return session

    def get(self, path: str, timeout_s: float | None = None) -> JSON:
        """GET an object."""
        answer = self.request("GET", path, timeout_s=timeout_s)
        if not isinstance(answer, dict):
            raise JobFailed(f"{self.url}{path} answered with something that is no object")
        return answer

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        """Send one request and return its JSON; `timeout_s` is a shorter patience than usual.

        Raises Unreachable when nothing answers (NoAnswer when that took the whole time limit) and
        EngineRefused on a status of 400 or more.
        """
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            response = self._session.request(method, self.url + path, json=body, timeout=limit_s)
        except requests.Timeout:
            raise NoAnswer(f"{self.url} does not answer within {limit_s:g} s: timed out") from None
        except requests.RequestException as error:
            raise Unreachable(f"{self.url} does not answer: {_cause(error)}") from None
        if response.status_code >= 400:
            reason = _reason(response)
            message = f"{method} {self.url}{path} failed with HTTP {response.status_code}: {reason}"
            raise EngineRefused(message, response.status_code)
        try:
            parsed: object = response.json()
        except ValueError:
            raise JobFailed(f"{self.url}{path} answered with something that is no JSON") from None
        return parsed

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


def _cause(error: Exception) -> str:
    """The innermost reason of a chain of wrapped network errors."""
    text = str(error)
    for known in ("Connection refused", "timed out", "Name or service not known", "CERTIFICATE"):
        if known in text:
            return known if known != "CERTIFICATE" else f"TLS: {text[-160:]}"
    return text[-200:]


def _reason(response: requests.Response) -> str:
    """The engine's own words, from `error.reason` or `error`, else the start of the body."""
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return response.text[:200]
    return str(error.get("reason", error) if isinstance(error, dict) else error)[:500]
