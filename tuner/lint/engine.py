"""Lint for what reaches the engine: durability, settings, documents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tuner.engines.heap import heap_bytes
from tuner.errors import KeyPath
from tuner.lint.rule import error, warning
from tuner.lint.transport import remote_servers
from tuner.modules.field import FieldType
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint
from tuner.schema.units import seconds

_TIMES = frozenset({"timereported", "timegenerated"})
_LARGEST_HEAP = "31g"


def _async_translog(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        durability = output.index.settings.translog_durability
        if durability == "async" and profile.guardrails.tier is Tier.DURABLE:
            yield Complaint(
                ("outputs", number, "index", "settings", "translog.durability"),
                "async loses acknowledged events when the engine crashes, against the durable "
                "tier: use request, or set guardrails.tier to relaxed",
            )


def _no_replicas(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        none = output.index.settings.number_of_replicas == 0
        if none and profile.guardrails.tier is Tier.DURABLE and remote_servers(output):
            yield Complaint(
                ("outputs", number, "index", "settings", "number_of_replicas"),
                "without a replica a lost disk loses its events, against the durable tier: use 1",
            )


def _refresh_beyond_freshness(profile: Profile) -> Iterator[Complaint]:
    bound_s = profile.guardrails.freshness_p99_s
    for number, output in profile.enumerated:
        interval = output.index.settings.refresh_interval
        waits_s = seconds(interval)
        if interval == "-1" or (waits_s is not None and waits_s >= bound_s):
            yield Complaint(
                ("outputs", number, "index", "settings", "refresh_interval"),
                f"{interval} keeps events from searches longer than guardrails.freshness_p99_s "
                f"allows ({bound_s:g} s): use less, or allow more",
            )


def _large_heap(profile: Profile) -> Iterator[Complaint]:
    """Near 32 GB Java gives up compressed object pointers, and every reference takes 8 bytes
    (Elasticsearch's advice on heap sizes; it sizes its own heap to 31 GB at most)."""
    heap = profile.node.heap
    if heap_bytes(heap) > heap_bytes(_LARGEST_HEAP):
        yield Complaint(
            ("node", "heap"),
            f"a heap of {heap} loses Java's compressed object pointers and holds less than one of "
            f"{_LARGEST_HEAP}: use at most {_LARGEST_HEAP}, the rest of the memory serves as page "
            "cache",
        )


def _names_twice(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        for (_, first), (j, second) in combinations(enumerate(fields_of(output)), 2):
            if first.name == second.name:
                message = f"two fields are called {second.name}: rename one"
                yield Complaint(_field(number, j, "name"), message)


def _leaf_and_object(profile: Profile) -> Iterator[Complaint]:
    for number, output in enumerate(profile.outputs):
        names = {field.name for field in fields_of(output)}
        for i, field in enumerate(fields_of(output)):
            inside = next((name for name in names if name.startswith(f"{field.name}.")), None)
            if inside is not None:
                yield Complaint(
                    _field(number, i, "name"),
                    f"{field.name} cannot hold both a value and {inside}: rename one",
                )


def _dates(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        for i, field in enumerate(fields_of(output)):
            if field.property is None:
                continue
            if field.type is FieldType.DATE and field.property not in _TIMES:
                yield Complaint(
                    _field(number, i, "type"),
                    f"{field.property} cannot be sent as date, the engine would refuse the "
                    "document where a sender writes something else: use string",
                )
            if field.property in _TIMES and field.type not in {FieldType.DATE, FieldType.STRING}:
                yield Complaint(
                    _field(number, i, "type"),
                    f"{field.property} cannot be sent as {field.type.value}: use date or string",
                )


def _field(number: int, field: int, key: str) -> KeyPath:
    return ("outputs", number, "document", field, key)


RULES = (
    error("RT301", _async_translog),
    warning("RT302", _no_replicas),
    error("RT304", _names_twice),
    error("RT305", _leaf_and_object),
    error("RT306", _dates),
    warning("RT307", _refresh_beyond_freshness),
    warning("RT308", _large_heap),
)
