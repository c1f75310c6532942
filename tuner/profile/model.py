"""The profile: what the user asked for, as frozen validated data.

Keys are each parameter's own name in its own system, so that searching for a key finds its
documentation; aliases spell them as rsyslog and Elasticsearch do.
"""

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from tuner.engines.node import Node as Node
from tuner.engines.release import Release
from tuner.engines.versions import DEFAULT
from tuner.errors import Refused
from tuner.modules.filter import Filter
from tuner.modules.global_object import Global as Global
from tuner.modules.impstats import Impstats
from tuner.modules.input import Format, Parsers
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.queue import Queue
from tuner.modules.ratelimit import RateLimitName, RateLimitPolicy
from tuner.modules.registry import AnyInput, AnyOutput, AnyStep, Parse
from tuner.modules.secrets import SecretRef
from tuner.modules.text_source import PropertyName
from tuner.profile.objective import Objective
from tuner.profile.workload import LEAST_SHARE, LONGEST_MESSAGE_BYTES, LONGEST_SENT_BYTES
from tuner.profile.workload import Workload as Workload
from tuner.schema.scalars import AbsolutePath, ModuleName, Name, ProfilePath, Switch
from tuner.schema.section import Section
from tuner.schema.units import size_bytes

# A configuration is read for a profile that has one alone: its grammar takes 50 ms to import.
if TYPE_CHECKING:
    from tuner.profile.base import KeptBase


class Spread(Enum):
    """How events find their lane.

    With `ports` each lane listens on a port of its own, and senders choose.  With `hash` what has
    the same value of a property stays in one lane, and so in order; `random` spreads evenly.
    """

    PORTS = "ports"
    HASH = "hash"
    RANDOM = "random"


class Lanes(Section):
    """`count` rulesets, each with a queue of its own between the inputs and the outputs.

    With `ports`, an input that listens on port P does so on P to P + count - 1 and hands events
    straight to the lanes; otherwise the main queue's workers hand them out.
    """

    count: Annotated[int, Field(ge=1, le=64, strict=True)]
    spread: Spread = Spread.PORTS
    property: PropertyName | None = None
    queue: Queue = Queue.model_construct()

    @model_validator(mode="after")
    def _hashes_a_property(self) -> Self:
        if (self.spread is Spread.HASH) != (self.property is not None):
            raise ValueError("spread: hash and property belong together: events are spread by it")
        return self


class LookupTable(Section):
    """A table in rsyslog's own JSON format, which a HUP reads again."""

    file: AbsolutePath


class Snippets(Section):
    """Files of RainerScript of the user's own, by their paths beside the profile: at the start of
    the configuration, before the outputs of what belongs to no stream, and at the end; `modules`
    are those that they need."""

    start: tuple[ProfilePath, ...] = ()
    outputs: tuple[ProfilePath, ...] = ()
    end: tuple[ProfilePath, ...] = ()
    modules: tuple[ModuleName, ...] = ()


class Stream(Section):
    """One ruleset: the inputs and outputs that name the stream belong to it, those that name none
    to the profile's own.

    With a `queue` the inputs hand their events straight to it, past the main queue.
    """

    parser: Parsers | None = None
    parse: Parse | None = None
    steps: tuple[AnyStep, ...] = ()
    filter: Filter | None = None
    queue: Queue | None = None
    snippets: tuple[ProfilePath, ...] = ()


class Tier(Enum):
    """The durability the user demands of the engine side; never traded by the search."""

    DURABLE = "durable"
    RELAXED = "relaxed"
    BERSERK = "berserk"


class Guardrails(Section):
    """What a recommendation must not breach."""

    tier: Tier = Tier.DURABLE
    lost: Literal[0] = 0
    duplicated: Literal[0] = 0
    freshness_p99_s: Annotated[float, Field(gt=0)] = 45.0
    rss_bytes: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,14}[kmg]?$")] | None = None
    secrets_in_clear: Switch = False


_Number = Annotated[int, Field(strict=True)]
# Messages repeat paths of settings and their levels.
_Word = Annotated[str, Field(max_length=300)]
Levels = Annotated[
    tuple[Switch | _Number | _Word | tuple[_Word, ...] | None, ...], Field(min_length=1)
]


class Keep(Enum):
    """What a search may give up without a guarantee being opened, unless it is to be kept: the
    order of events, and how many of them a crash of rsyslogd loses."""

    ORDER = "order"
    LOSS = "loss"


class SearchScope(Section):
    """Narrows or extends the space that the search derives from the profile; `actions` are the
    outputs into the engine whose settings it turns, the most important first, and `objective` is
    what it makes better."""

    objective: Objective = Objective.EPS
    actions: tuple[_Word, ...] = ()
    freeze: tuple[_Word, ...] = ()
    only: tuple[_Word, ...] = ()
    levels: dict[_Word, Levels] = Field(default_factory=dict)
    allow: tuple[_Word, ...] = ()
    keep: tuple[Keep, ...] = ()


_Code = Annotated[str, Field(pattern=r"^RT[0-9]{3}$")]
_Reason = Annotated[str, Field(min_length=1, max_length=1000)]


class LintScope(Section):
    """Warnings that are accepted: each by its code, with why."""

    accept: dict[_Code, _Reason] = Field(default_factory=dict)


class LabShape(Section):
    """How large a lab is whose engine rsyslog-tune starts."""

    nodes: Annotated[int, Field(ge=1, le=9, strict=True)] = 1


class BaseFiles(Section):
    """A configuration of the user's that stays as it is, but for `changes`; `root` is the folder
    that stands for / where it is a copy of a host's files, `template` the index template of its
    indices, as JSON, and `uses` says what the fields of their documents must serve."""

    rsyslog: ProfilePath
    root: ProfilePath | None = None
    template: ProfilePath | None = None
    uses: ProfilePath | None = None
    _kept: "KeptBase | None" = PrivateAttr(None)

    @property
    def kept(self) -> "KeptBase":
        """What was read of it.  Raises RuntimeError where that was not."""
        if self._kept is None:
            raise RuntimeError("the base was not read")
        return self._kept

    @property
    def place(self) -> str | None:
        """Where its first file is on the host that it is of; None where nothing says that."""
        if self.root is None and not self.rsyslog.startswith("/"):
            return None
        return self.kept.on_its_host(next(iter(self.kept.changed.files)))

    @property
    def is_read(self) -> bool:
        """Whether it was read; not where only the values of a profile are judged."""
        return self._kept is not None

    def hold(self, kept: "KeptBase") -> None:
        """Keep what was read."""
        self._kept = kept


Change = Switch | _Number | str | None


class Profile(Section):
    """One pipeline from syslog senders through rsyslog into the engine.

    With a `base` inputs, queues and outputs are those of the user's own configuration, in which
    `changes` change parameters by their address.
    """

    extends: ProfilePath | None = None
    base: BaseFiles | None = None
    changes: dict[str, Change] = Field(default_factory=dict)
    name: Name
    release: Release = DEFAULT.release
    global_: Global = Field(Global.model_construct(), alias="global")
    inputs: Annotated[tuple[AnyInput, ...], Field(min_length=1)]
    parser: Parsers | None = None
    parse: Parse | None = None
    lookup_tables: dict[Name, LookupTable] = Field(default_factory=dict)
    ratelimits: dict[RateLimitName, RateLimitPolicy] = Field(default_factory=dict)
    steps: tuple[AnyStep, ...] = ()
    main_queue: Queue | None = None
    lanes: Lanes | None = None
    streams: dict[Name, Stream] = Field(default_factory=dict)
    snippets: Snippets = Snippets.model_construct()
    outputs: tuple[AnyOutput, ...]
    impstats: Impstats | None = None
    node: Node = Node.model_construct()
    lab: LabShape = LabShape.model_construct()
    workload: Workload = Workload.model_construct()
    guardrails: Guardrails = Guardrails.model_construct()
    search: SearchScope = SearchScope.model_construct()
    lint: LintScope = LintScope.model_construct()

    def on_base_of(self, other: "Profile") -> "Profile":
        """The same profile, with what was read of the other's base, which is its own too."""
        if self.base is not None and other.base is not None and other.base.is_read:
            self.base.hold(other.base.kept)
        return self

    @property
    def enumerated(self) -> tuple[tuple[int, OmelasticsearchOutput], ...]:
        """The outputs into the engine, each with its number among all outputs."""
        return tuple(
            (number, output)
            for number, output in enumerate(self.outputs)
            if isinstance(output, OmelasticsearchOutput)
        )

    @property
    def indexed(self) -> tuple[OmelasticsearchOutput, ...]:
        """The outputs into the engine."""
        return tuple(output for _, output in self.enumerated)

    @property
    def host_inputs(self) -> tuple[AnyInput, ...]:
        """The inputs that a host has: without the one that only a lab adds to a base."""
        base = self.base.kept if self.base is not None and self.base.is_read else None
        return self.inputs if base is None or base.view.stand_in is None else self.inputs[:-1]

    @property
    def secrets(self) -> tuple[SecretRef, ...]:
        """What its outputs log in with."""
        return tuple(ref for output in self.outputs for ref in output.secrets)

    @property
    def files_beside(self) -> dict[str, str]:
        """The files that rsyslogd reads beside its configuration: by their paths, what each is."""
        files = {table.file: "lookup table" for table in self.lookup_tables.values()}
        for limit in self.ratelimits.values():
            files |= dict.fromkeys(limit.files, "rate limit")
        for _, stream in self.every_stream:
            if isinstance(stream.parse, NormalizeParse):
                files[stream.parse.rulebase] = "rulebase"
        return files

    @property
    def start_checks_s(self) -> float:
        """How long rsyslogd may wait for the servers of all outputs when it starts, and for -N1."""
        return sum(output.start_checks_s for output in self.indexed)

    @property
    def longest_message_bytes(self) -> int:
        """How long a message may be with its head: rsyslog cuts or splits what is longer."""
        taken = self.global_.max_message_size
        whole = LONGEST_MESSAGE_BYTES if taken is None else size_bytes(taken)
        return min(whole, LONGEST_SENT_BYTES)

    @property
    def secret_variables(self) -> tuple[str, ...]:
        """The variables of the environment that rsyslogd takes those secrets from."""
        return tuple(secret.env for secret in self.secrets if secret.env is not None)

    @property
    def tuned(self) -> tuple[int, ...]:
        """The numbers of the outputs whose settings a search turns, the most important first: those
        of `search.actions`; else those that get a share of the documents which is worth it, where
        the shares are known; else all into the engine that stand in for no other."""
        if asked := self.search.actions or self.worthwhile(self.workload.shares):
            numbers = self.actions
            return tuple(dict.fromkeys(numbers[name] for name in asked if name in numbers))
        every = self.enumerated
        first = [n for n, output in every if not output.exec_only_when_previous_is_suspended]
        return tuple(first or (number for number, _ in every))

    @property
    def actions(self) -> dict[str, int]:
        """The numbers of the outputs into the engine by what they may be called: their names, and
        with a base their addresses there."""
        numbers = {output.name: number for number, output in self.enumerated}
        if self.base is not None and self.base.is_read:
            addresses = self.base.kept.view.sections
            numbers |= {addresses["outputs", number]: number for number in numbers.values()}
        return numbers

    def worthwhile(self, shares: Mapping[str, float]) -> tuple[str, ...]:
        """The outputs into the engine that get enough of the documents to be tuned, that with most
        first; none where nothing is known of them."""
        if not shares:
            return ()
        numbers = self.actions
        known = dict.fromkeys(numbers.values(), 0.0)
        known |= {numbers[word]: part for word, part in shares.items() if word in numbers}
        least = LEAST_SHARE * sum(known.values())
        by_share = sorted(known, key=lambda number: -known[number])
        worth = (number for number in by_share if least and known[number] >= least)
        return tuple(self.outputs[number].name for number in worth)

    def tuning_by(self, shares: Mapping[str, float]) -> "Profile":
        """The same profile, of whose outputs those are tuned that it names, else those which are
        worth it by their shares."""
        return self.tuning(self.search.actions or self.worthwhile(shares))

    def about(self, number: int) -> "Profile":
        """The same profile, with the output of that number as the one that measurements are
        about."""
        return self.tuning((self.outputs[number].name,))

    def tuning(self, names: tuple[str, ...]) -> "Profile":
        """The same profile, of whose outputs those of these names are tuned."""
        scope = self.search.model_copy(update={"actions": names})
        return self.model_copy(update={"search": scope})

    @property
    def measured_number(self) -> int:
        """The number of the measured output among all; raises as `measured` does."""
        number = next(iter(self.tuned), None)
        if number is None:
            raise Refused(
                "none of the outputs goes into the engine, where measurements count events: "
                "add one of type omelasticsearch"
            )
        return number

    @property
    def measured_stream(self) -> str | None:
        """The stream that measurements are about; None for what belongs to no stream."""
        number = next(iter(self.tuned), None)
        return None if number is None else self.outputs[number].stream

    @property
    def flooded_numbers(self) -> tuple[int, ...]:
        """The numbers of the inputs that measurements flood: of the stream of each output that is
        tuned the first that they can, where its messages are written like those of the first; of a
        base see `View.flooded`."""
        if self.base is not None and self.base.is_read:
            formats = [source.format_for(self.workload.format) for source in self.inputs]
            ranks = [source.flood_rank for source in self.inputs]
            return self.base.kept.view.flooded(ranks, formats, next(iter(self.tuned), 0))
        streams = dict.fromkeys(self.outputs[number].stream for number in self.tuned)
        chosen = [number for number in map(self._entrance_of, streams) if number is not None]
        formats = [self.inputs[number].format_for(self.workload.format) for number in chosen]
        alike = [number for number, form in zip(chosen, formats, strict=True) if form == formats[0]]
        return tuple(dict.fromkeys(alike)) or (0,)

    def _entrance_of(self, stream: str | None) -> int | None:
        """The number of the input of a stream that a flood enters by: the first that it can, else
        the first; None where it has none."""
        numbers = [number for number, source in enumerate(self.inputs) if source.stream == stream]
        able = [number for number in numbers if self.inputs[number].unmeasured is None]
        return next(iter(able or numbers), None)

    @property
    def flooded(self) -> tuple[AnyInput, ...]:
        """The inputs that measurements flood, as many as the engine actions need.  Raises Refused
        when they cannot."""
        numbers = self.flooded_numbers
        source = self.inputs[numbers[0]]
        if self.base is None and source.stream != self.measured_stream:
            raise Refused(
                f"{self.measured.name}, the first output into the engine, takes the events of "
                f"stream {self.measured_stream}, which has no input: put the output to be measured "
                "before it"
            )
        if source.unmeasured is not None:
            raise Refused(
                f"inputs[{numbers[0]}].{source.unmeasured}: let an imptcp stand beside it"
            )
        return tuple(self.inputs[number] for number in numbers)

    @property
    def flooded_format(self) -> Format:
        """How messages are written so that those inputs find the text of each where they look."""
        return self.flooded[0].format_for(self.workload.format)

    def stream(self, name: str | None) -> Stream:
        """A stream by its name; for None what the profile says itself.  One that is not there is
        empty: lint reports it."""
        if name is None:
            return Stream.model_construct(
                parser=self.parser,
                parse=self.parse,
                steps=self.steps,
                snippets=self.snippets.outputs,
            )
        named = self.streams.get(name, Stream.model_construct())
        return named.model_copy(update={"parser": named.parser or self.parser})

    @property
    def every_stream(self) -> tuple[tuple[str | None, Stream], ...]:
        """What the profile says itself, and its streams by name."""
        return tuple((name, self.stream(name)) for name in (None, *self.streams))

    @property
    def measured(self) -> OmelasticsearchOutput:
        """The output into the engine that figures of a single one are about: the first that is
        tuned.  Raises Refused when there is none."""
        return dict(self.enumerated)[self.measured_number]
