"""Outputs as actions."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.index import Rotate
from tuner.profile.model import Profile
from tuner.profile.outputs import OmelasticsearchOutput
from tuner.profile.placement import PlacedQueue, action_queue
from tuner.profile.secrets import Auth, Tls
from tuner.render.quoting import Emitted, quote_all, secret
from tuner.render.rainerscript import Statement, Value, statement

# The first release that leaves out _type by itself; 8.2606 warns about the parameter.
_OMITS_TYPE = 2510
# Elasticsearch's own bulk timeout; filter_path rides on this parameter, pasted into the URL.
_BULK_TIMEOUT = "1m"


def document_name(output: OmelasticsearchOutput) -> str:
    """What the template of an output's documents is called."""
    return f"{output.name}-document"


def index_name(output: OmelasticsearchOutput) -> str:
    """What the template of an output's index names is called."""
    return f"{output.name}-index"


def actions(profile: Profile) -> Iterator[Statement]:
    """What becomes of an event: repairs and outputs, in order."""
    for number, output in enumerate(profile.outputs):
        if output.mmutf8fix:
            yield statement(
                "action",
                {"name": f"{output.name}-utf8", "type": "mmutf8fix", "queue.type": "Direct"},
            )
        yield statement("action", _action(profile, number))


def _action(profile: Profile, number: int) -> dict[str, Value]:
    output = profile.outputs[number]
    daily = output.index.rotate is Rotate.DAILY
    old = profile.release.rsyslog_number < _OMITS_TYPE
    return {
        "name": output.name,
        "type": output.type,
        "server": quote_all(output.servers),
        "searchIndex": index_name(output) if daily else output.index.name,
        "dynSearchIndex": True if daily else None,
        "searchType": "" if old else None,
        "template": document_name(output),
        "bulkmode": True,
        "maxbytes": output.maxbytes,
        "timeout": _timeout(output),
        "indexTimeout": output.index_timeout,
        "healthCheckTimeout": output.health_check_timeout,
        **_credentials(output.auth, output.tls),
        "action.resumeRetryCount": output.action_resume_retry_count,
        "action.resumeInterval": output.action_resume_interval,
        **queue_parameters(action_queue(profile, number)),
    }


def _timeout(output: OmelasticsearchOutput) -> str | None:
    if output.filter_path is None:
        return output.timeout
    return f"{output.timeout or _BULK_TIMEOUT}&filter_path={','.join(output.filter_path)}"


def _credentials(auth: Auth | None, tls: Tls | None) -> dict[str, Value]:
    pwd: Emitted | None = None if auth is None else secret(auth.pwd)
    return {
        "uid": None if auth is None else auth.uid,
        "pwd": pwd,
        "tls.cacert": None if tls is None else tls.cacert,
        "tls.mycert": None if tls is None else tls.mycert,
        "tls.myprivkey": None if tls is None else tls.myprivkey,
    }


def queue_parameters(queue: PlacedQueue) -> dict[str, Value]:
    """Every parameter of the queue: rsyslog's defaults differ by place and by release."""
    resolved = queue.resolved.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {f"queue.{name}": value for name, value in resolved.items()}
