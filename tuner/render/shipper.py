"""A profile as the statements of an rsyslog configuration."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.documents import fields_of
from tuner.profile.model import (
    Auth,
    ImptcpInput,
    ImtcpInput,
    OmelasticsearchOutput,
    Profile,
    Rotate,
    Tls,
)
from tuner.profile.placement import PlacedQueue, action_queue, main_queue
from tuner.render.document import Identity, document_template, index_name_template
from tuner.render.quoting import Emitted, quote_all, secret
from tuner.render.rainerscript import Statement, Value, statement

# The first release that leaves out _type by itself; 8.2606 warns about the parameter.
_OMITS_TYPE = 2510
# Elasticsearch's own bulk timeout; filter_path rides on this parameter, pasted into the URL.
_BULK_TIMEOUT = "1m"


def statements(profile: Profile, identity: Identity | None = None) -> tuple[Statement, ...]:
    """Everything that rsyslog.conf holds, in its order; an identity is for measurements only."""
    return (
        # A name lookup per connection would wait for DNS; %hostname% comes from the message.
        statement("global", {"net.enableDNS": False}),
        *_modules(profile),
        *_templates(profile, identity),
        statement("main_queue", _queue_parameters(main_queue(profile))),
        statement("ruleset", {"name": profile.name}, tuple(_actions(profile))),
        *_inputs(profile),
    )


def _modules(profile: Profile) -> Iterator[Statement]:
    imptcp = next((one for one in profile.inputs if isinstance(one, ImptcpInput)), None)
    if imptcp is not None:
        yield statement(
            "module",
            {
                "load": "imptcp",
                "threads": imptcp.threads,
                "processOnPoller": imptcp.process_on_poller,
            },
        )
    if any(isinstance(one, ImtcpInput) for one in profile.inputs):
        yield statement("module", {"load": "imtcp"})
    if any(output.mmutf8fix for output in profile.outputs):
        yield statement("module", {"load": "mmutf8fix"})
    yield statement("module", {"load": "omelasticsearch"})


def _templates(profile: Profile, identity: Identity | None) -> Iterator[Statement]:
    for output in profile.outputs:
        yield document_template(_document_name(output), fields_of(output), identity)
        if output.index.rotate is Rotate.DAILY:
            yield index_name_template(_index_name(output), output.index.name)


def _document_name(output: OmelasticsearchOutput) -> str:
    return f"{output.name}-document"


def _index_name(output: OmelasticsearchOutput) -> str:
    return f"{output.name}-index"


def _inputs(profile: Profile) -> Iterator[Statement]:
    for source in profile.inputs:
        common: dict[str, Value] = {
            "type": source.type,
            "address": source.address,
            "port": source.port,
            "supportOctetCountedFraming": source.support_octet_counted_framing,
            "ruleset": profile.name,
        }
        if isinstance(source, ImptcpInput):
            yield statement("input", common | {"socketBacklog": source.socket_backlog})
        else:
            yield statement("input", common | {"maxSessions": source.max_sessions})


def _actions(profile: Profile) -> Iterator[Statement]:
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
        "searchIndex": _index_name(output) if daily else output.index.name,
        "dynSearchIndex": True if daily else None,
        "searchType": "" if old else None,
        "template": _document_name(output),
        "bulkmode": True,
        "maxbytes": output.maxbytes,
        "timeout": _timeout(output),
        "indexTimeout": output.index_timeout,
        "healthCheckTimeout": output.health_check_timeout,
        **_credentials(output.auth, output.tls),
        "action.resumeRetryCount": output.action_resume_retry_count,
        "action.resumeInterval": output.action_resume_interval,
        **_queue_parameters(action_queue(profile, number)),
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


def _queue_parameters(queue: PlacedQueue) -> dict[str, Value]:
    """Every parameter of the queue: rsyslog's defaults differ by place and by release."""
    resolved = queue.resolved.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {f"queue.{name}": value for name, value in resolved.items()}
