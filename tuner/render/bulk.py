"""Outputs into the engine, as the parameters of actions."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engines.index import Rotate
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.output import Output
from tuner.modules.secrets import Tls
from tuner.profile.model import Profile
from tuner.render.quoting import quote_all, secret
from tuner.render.rainerscript import Value

# The first release that leaves out _type by itself; 8.2606 warns about the parameter.
_OMITS_TYPE = 2510
_LEAVES_TYPE_OUT = 2206
_HAS_INDEX_TIMEOUT = 2204
# Elasticsearch's own bulk timeout; filter_path rides on this parameter, pasted into the URL.
_BULK_TIMEOUT = "1m"


def document_name(output: Output) -> str:
    """What the template of an output's documents is called."""
    return f"{output.name}-document"


def index_name(output: OmelasticsearchOutput) -> str:
    """What the template of an output's index names is called."""
    return f"{output.name}-index"


def id_name(output: OmelasticsearchOutput) -> str:
    """What the template of the ids of an output's documents is called."""
    return f"{output.name}-id"


def pipeline_name(output: OmelasticsearchOutput) -> str:
    """What the template of the names of an output's ingest pipelines is called."""
    return f"{output.name}-pipeline"


def retry_ruleset(output: OmelasticsearchOutput) -> str:
    """What the ruleset of an output's refused documents is called: a dot is in no other name."""
    return f"retry.{output.name}"


@dataclass(frozen=True)
class Source:
    """Where an action finds its documents: the names of its templates and of the ruleset that
    takes what the engine refuses."""

    name: str
    document: str
    document_id: str
    index: str
    pipeline: str
    retry_ruleset: str


def source_of(output: OmelasticsearchOutput) -> Source:
    """Where the action of an output finds its documents."""
    return Source(
        name=output.name,
        document=document_name(output),
        document_id=id_name(output),
        index=index_name(output),
        pipeline=pipeline_name(output),
        retry_ruleset=retry_ruleset(output),
    )


def bulk_parameters(
    profile: Profile, output: OmelasticsearchOutput, source: Source
) -> dict[str, Value]:
    """The parameters of an action that sends bulks to the engine of `output`, without a queue."""
    daily = output.index.rotate is Rotate.DAILY
    release = profile.release.rsyslog_number
    return {
        "name": source.name,
        "type": output.type,
        "server": quote_all(output.servers),
        "searchIndex": source.index if daily else output.index.target,
        "dynSearchIndex": True if daily else None,
        "searchType": _search_type(release),
        "template": source.document,
        "bulkmode": True,
        **_identity(output, source),
        **_pipeline(output, source),
        "maxbytes": output.maxbytes,
        "timeout": _timeout(output),
        "indexTimeout": output.index_timeout if release >= _HAS_INDEX_TIMEOUT else None,
        "healthCheckTimeout": output.health_check_timeout,
        "rebindinterval": output.rebindinterval,
        **_credentials(output),
        "action.resumeRetryCount": output.action_resume_retry_count,
        "action.resumeInterval": output.action_resume_interval,
        "action.resumeIntervalMax": output.action_resume_interval_max,
        "action.reportSuspension": output.action_report_suspension,
        "action.reportSuspensionContinuation": output.action_report_suspension_continuation,
        "action.errorfile": output.action_errorfile,
        "action.errorfile.maxsize": output.action_errorfile_maxsize,
    }


def _search_type(release: int) -> str | None:
    """F15: Elasticsearch 8 refuses _type, which can be left out since 8.2206 by an empty one."""
    if release < _LEAVES_TYPE_OUT:
        return "_doc"
    return "" if release < _OMITS_TYPE else None


def _identity(output: OmelasticsearchOutput, source: Source) -> dict[str, Value]:
    retries = output.retryfailures is not None
    return {
        "bulkid": source.document_id if output.has_ids else None,
        "dynbulkid": True if output.has_ids else None,
        "writeoperation": "create" if output.creates else output.writeoperation,
        "retryfailures": True if retries else None,
        "retryruleset": source.retry_ruleset if retries else None,
        # By default what comes after 20,000 events to be sent again within 600 s is dropped.
        "ratelimit.interval": 0 if retries else None,
        "errorfile": output.errorfile,
        "erroronly": output.erroronly,
        "interleaved": output.interleaved,
    }


def _pipeline(output: OmelasticsearchOutput, source: Source) -> dict[str, Value]:
    return {
        "pipelineName": source.pipeline if output.dyn_pipeline_name else output.pipeline_name,
        "dynPipelineName": output.dyn_pipeline_name,
        "skipPipelineIfEmpty": output.skip_pipeline_if_empty,
    }


def _timeout(output: OmelasticsearchOutput) -> str | None:
    if output.filter_path is None:
        return output.timeout
    return f"{output.timeout or _BULK_TIMEOUT}&filter_path={','.join(output.filter_path)}"


def _credentials(output: OmelasticsearchOutput) -> dict[str, Value]:
    auth, tls = output.auth, output.tls or Tls()
    return {
        "uid": None if auth is None else auth.uid,
        "pwd": None if auth is None else secret(auth.pwd),
        "apikey": None if output.apikey is None else secret(output.apikey),
        "tls.cacert": tls.cacert,
        "tls.mycert": tls.mycert,
        "tls.myprivkey": tls.myprivkey,
        "allowunsignedcerts": tls.allowunsignedcerts,
        "skipverifyhost": tls.skipverifyhost,
        "tls.tlsversion": tls.tlsversion,
        "tls.ciphersuites": tls.ciphersuites,
        "tls.keyexchangegroups": tls.keyexchangegroups,
    }
