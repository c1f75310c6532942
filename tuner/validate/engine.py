"""The layer `engine`: a cluster tries everything that is rendered for it, and stores nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tuner.engine.client import ABSENT, EngineClient, EngineRefused
from tuner.engine.installed import (
    InstalledTemplate,
    Reason,
    field_uses,
    installed_templates,
    overriding_templates,
    reasons,
    same_template,
    simulate,
)
from tuner.engine.status import EngineFacts, EngineLimits, facts, limits
from tuner.engines.index import Index, Rotate
from tuner.engines.release import Engine
from tuner.errors import KeyPath, Problem, Severity
from tuner.lint.load import LoadedProfile
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.base import KeptBase
from tuner.profile.documents import fields_of
from tuner.profile.placement import action_queue, working_queue
from tuner.render.engine_files import index_patterns, index_template, priority_of
from tuner.render.templates import Templates
from tuner.schema.units import size_bytes
from tuner.validate.layers import Layer, problem

TOO_LARGE = "RT506"
PRESSURE = "RT507"
# A document with its action line against the message it is made of: 244 bytes give about 500.
_DOCUMENT = 2
# omelasticsearch's own maxbytes.
_MOST = "100m"


def request_problems(loaded: LoadedProfile, limits: EngineLimits) -> Iterator[Problem]:
    """Outputs whose full batches the nodes refuse, with what would be taken."""
    event = loaded.profile.workload.message_bytes.mean * _DOCUMENT
    for number, output in loaded.profile.enumerated:
        queue = action_queue(loaded.profile, number)
        queue = working_queue(loaded.profile, number) if queue.is_direct else queue
        request = min(queue.batch * event, size_bytes(output.maxbytes or _MOST))
        path = (*queue.path, "dequeueBatchSize")
        made = f"batches of {queue.batch} events make requests of about {request:,} bytes"
        if limits.request is not None and request > limits.request:
            made += (
                f", and a node takes at most {limits.request:,} (http.max_content_length), the "
                f"rest is answered with 413: use at most {limits.request // event}"
            )
            yield problem(loaded, path, made, TOO_LARGE)
        elif limits.pressure is not None and request * queue.workers > limits.pressure:
            alone = request > limits.pressure
            made += "" if alone else f", {queue.workers} of them at a time"
            made += (
                f", and a node answers 429 above {limits.pressure:,} bytes under way "
                "(indexing_pressure.memory.limit): use at most "
                f"{limits.pressure // event // (1 if alone else queue.workers)}"
            )
            severity = Severity.ERROR if alone else Severity.WARNING
            yield problem(loaded, path, made, PRESSURE, severity)


NAME = "engine"
RELEASE = "RT501"
REFUSED = "RT502"
OVERRULED = "RT503"
NO_POLICIES = "RT504"
NO_PIPELINE = "RT505"
ONLY_KEYWORDS = "RT513"

# What tells that policies are there at all.
_POLICIES = {
    Engine.ELASTICSEARCH: ("/_ilm/status", "ILM"),
    Engine.OPENSEARCH: ("/_plugins/_ism/policies?size=1", "ISM, the plugin index-management"),
}
_LIFECYCLE = ("lifecycle.", "plugins.index_state_management.")
_NAMES = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}


def engine_layer(
    loaded: LoadedProfile, client: EngineClient, templates: Templates | None = None
) -> Layer:
    """What the cluster makes of every output's templates, and how large its requests may be.

    Component templates are tried as the index that they make together: no engine tries a single
    one.  Raises Unreachable when nothing answers and JobFailed when it does not let us in.
    """
    outputs = loaded.profile.enumerated
    if not outputs:
        return Layer(NAME, None, "no output goes into an engine")
    if loaded.profile.base is not None:
        return _layer_of_base(loaded, loaded.profile.base.kept, client)
    engine = facts(client)
    trial = _Trial(loaded, client, engine, installed_templates(client), templates)
    problems = (*trial.release(), *trial.outputs(), *request_problems(loaded, limits(client)))
    untried = tuple(
        f"the lifecycle policy {output.index.target} was not tried: engines try none without "
        "storing it"
        for _, output in outputs
        if output.index.lifecycle is not None
    )
    layer = Layer(NAME, True, f"{_title(engine)} accepts it", problems, untried)
    if not layer.errors:
        return layer
    count = "one problem" if len(layer.errors) == 1 else f"{len(layer.errors)} problems"
    return replace(layer, passed=False, remark=f"{_title(engine)} rejects it: {count}")


def _layer_of_base(loaded: LoadedProfile, kept: KeptBase, client: EngineClient) -> Layer:
    """What the cluster says of the indices that a base writes: it has no templates to be tried, and
    its release decides no more than which rules apply."""
    engine = facts(client)
    problems, notes = list[Problem](), list(_other_release(loaded, engine))
    for address, pattern in kept.index_patterns.items():
        uses = None if pattern is None else field_uses(client, pattern)
        if uses is None:
            missing = "events make the whole name" if pattern is None else f"{pattern} is not there"
            notes.append(f"{address}: what is searched was not asked: {missing}")
        elif uses.since is None:
            notes.append(f"{address}: nothing counts what is searched in {pattern}: {uses.why}")
        elif uses.keywords:
            origin = kept.written.objects[address].origin
            message = (
                f"since {uses.since:%Y-%m-%d %H:%M} UTC nobody searched in the text of "
                f"{', '.join(sorted(uses.keywords))} in {pattern}, only a keyword below was read, "
                "as dynamic mapping makes both: map as a keyword what nobody needs as text, which "
                "takes less CPU and disk"
            )
            problems.append(
                Problem(origin.file, origin.line, origin.column, message, ONLY_KEYWORDS,
                        Severity.WARNING)
            )  # fmt: skip
    return Layer(NAME, True, f"{_title(engine)} was asked", tuple(problems), tuple(notes))


def _other_release(loaded: LoadedProfile, engine: EngineFacts) -> Iterator[str]:
    """That the profile is for another release than the engine's, where it is."""
    release = loaded.profile.release
    major, minor = engine.version.split(".")[:2]
    if (engine.distribution, (int(major), int(minor))) != (
        release.engine.value, release.engine_version,
    ):  # fmt: skip
        yield (
            f"the profile is for {_NAMES[release.engine.value]} {release.engine_text}, and the "
            f'engine is {_title(engine)}: write {engine.distribution}: "{major}.{minor}"'
        )


def _title(engine: EngineFacts) -> str:
    return f"{_NAMES.get(engine.distribution, engine.distribution)} {engine.version}"


@dataclass(frozen=True)
class _Trial:
    """One profile at one cluster."""

    loaded: LoadedProfile
    client: EngineClient
    engine: EngineFacts
    installed: tuple[InstalledTemplate, ...]
    templates: Templates | None

    def release(self) -> Iterator[Problem]:
        """Whether the profile is for this version."""
        path = ("release", self.loaded.profile.release.engine.value)
        for message in _other_release(self.loaded, self.engine):
            yield self._wrong(path, RELEASE, message)

    def outputs(self) -> Iterator[Problem]:
        """What the cluster says of each output."""
        for number, output in self.loaded.profile.enumerated:
            yield from self._lifecycle(number, output.index)
            yield from self._template(number, output)
            yield from self._pipelines(number, output)

    def _wrong(self, path: KeyPath, code: str, message: str) -> Problem:
        return problem(self.loaded, path, message, code)

    def _lifecycle(self, number: int, index: Index) -> Iterator[Problem]:
        path, feature = _POLICIES[self.loaded.profile.release.engine]
        if index.lifecycle is not None and not self.client.find(path, ABSENT):
            cluster = f"{_title(self.engine)} at {self.client.url}"
            message = f"{cluster} has no {feature}: remove lifecycle, or install it"
            yield self._wrong(("outputs", number, "index", "lifecycle"), NO_POLICIES, message)

    def _template(self, number: int, output: OmelasticsearchOutput) -> Iterator[Problem]:
        index, name = output.index, _first_name(output.index)
        body = index_template(self.loaded.profile, output, self.templates)
        ours = same_template(self.installed, index.target, index_patterns(index))
        try:
            simulate(self.client, body, name, None if ours is None else ours.name)
        except EngineRefused as refused:
            if refused.status != 400:
                raise
            for reason in reasons(refused.reason):
                # That there are no policies has been said.
                if reason.setting is None or not reason.setting.startswith(_LIFECYCLE):
                    message = f"{_title(self.engine)} refuses the index template: {reason.text}"
                    yield self._wrong(_place(number, output, reason), REFUSED, message)
        priority = priority_of(index)
        for other in overriding_templates(self.installed, name, priority):
            if other != ours:
                yield self._wrong(
                    ("outputs", number, "index"),
                    OVERRULED,
                    f"a new index {name} would be made by the template {other.name} of the "
                    f"cluster, whose priority {other.priority} is above ours of {priority}: "
                    "change its index_patterns, or the name of the index here",
                )

    def _pipelines(self, number: int, output: OmelasticsearchOutput) -> Iterator[Problem]:
        """A bulk into a pipeline that is not there is refused, document by document."""
        settings = ("outputs", number, "index", "settings")
        written = output.index.settings
        named: dict[KeyPath, str | None] = {
            (*settings, "default_pipeline"): written.default_pipeline,
            (*settings, "final_pipeline"): written.final_pipeline,
        }
        if not output.dyn_pipeline_name:
            named["outputs", number, "pipelineName"] = output.pipeline_name
        for path, name in named.items():
            place = f"/_ingest/pipeline/{name}"
            if name not in {None, "_none"} and not self.client.find(place, ABSENT):
                yield self._wrong(
                    path,
                    NO_PIPELINE,
                    f"{self.client.url} has no ingest pipeline {name}: it would refuse every "
                    "document; create it first",
                )


def _first_name(index: Index) -> str:
    """An index that the template is for."""
    if index.data_stream is None and index.rotate is Rotate.NONE and not index.varies:
        return index.target
    return f"{index.target}-000001"


def _place(number: int, output: OmelasticsearchOutput, reason: Reason) -> KeyPath:
    """Where the profile writes what the engine complains about."""
    keys: KeyPath = ("outputs", number)
    if reason.setting is not None:
        return (*keys, "index", "settings", reason.setting)
    for place, field in enumerate(fields_of(output)):
        if reason.field and field.name and f".{field.name}".endswith(f".{reason.field}"):
            return (*keys, "document", place, "name")
    return (*keys, "index")
