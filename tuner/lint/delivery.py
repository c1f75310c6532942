"""Lint for documents that the engine refuses, and for the parameters of single documents."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rule import error, warning
from tuner.lint.transport import remote_servers
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint

_REASONS = frozenset({"*", "items", "items.*", "items.*.error"})
_NAMES = frozenset(
    {"programname", "app-name", "hostname", "fromhost-ip", "syslogtag", "msgid",
     "syslogfacility-text", "syslogseverity-text"}
)  # fmt: skip
_NEEDS = (
    ("erroronly", "errorfile"),
    ("interleaved", "errorfile"),
    ("dynPipelineName", "pipelineName"),
    ("skipPipelineIfEmpty", "pipelineName"),
)


def _refusals_lost(profile: Profile) -> Iterator[Complaint]:
    """Without retryfailures all releases drop what is refused inside a bulk; 8.2608 keeps a bulk
    that is refused as a whole."""
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    for number, output in profile.enumerated:
        if output.retryfailures is None and remote_servers(output):
            yield Complaint(
                ("outputs", number, "retryfailures"),
                "documents that the engine refuses one by one (403, 429, and 400 as for a host "
                "name that is no UTF-8) are lost, against the durable tier: set "
                "retryfailures: {file: /var/log/rsyslog/rejected.json}",
            )


def _reasons_filtered(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        wanted = set(output.filter_path or ())
        if output.retryfailures is not None and wanted and not wanted & _REASONS:
            yield Complaint(
                ("outputs", number, "filter_path"),
                "retryfailures reads items.*.error of each reply to tell what to send again from "
                "what never will be taken: add it",
            )


def _overwrites(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.writeoperation == "index" and output.creates:
            what = "retryfailures" if output.retryfailures is not None else "a data stream"
            yield Complaint(
                ("outputs", number, "writeoperation"),
                f"index would overwrite or be refused: {what} needs create, which is set when "
                "writeoperation is left out",
            )


def _two_credentials(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.auth is not None and output.apikey is not None:
            yield Complaint(
                ("outputs", number, "apikey"),
                "rsyslog refuses an API key beside uid and pwd: remove one of apikey and auth",
            )


def _trusts_anyone(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.tls is not None and (output.tls.allowunsignedcerts or output.tls.skipverifyhost):
            yield Complaint(
                ("outputs", number, "tls"),
                "whoever answers at that address gets the events and the password: remove "
                "allowunsignedcerts and skipverifyhost, and name the authority in cacert",
            )


def _without_effect(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        written = output.model_dump(by_alias=True, exclude_none=True)
        for key, needed in _NEEDS:
            if key in written and needed not in written:
                yield Complaint(
                    ("outputs", number, key), f"{key} has no effect without {needed}: add it"
                )


def _unknown_property(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.dyn_pipeline_name and output.pipeline_name not in {None, *_NAMES}:
            yield Complaint(
                ("outputs", number, "pipelineName"),
                "with dynPipelineName this names a property of the event: use one of "
                f"{', '.join(sorted(_NAMES))}",
            )


RULES = (
    warning("RT240", _refusals_lost),
    error("RT241", _reasons_filtered),
    error("RT242", _overwrites),
    error("RT243", _two_credentials),
    warning("RT244", _trusts_anyone),
    error("RT245", _without_effect),
    error("RT246", _unknown_property),
)
