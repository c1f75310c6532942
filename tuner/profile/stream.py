"""Streams: named groups of inputs with their own parsing, filter, queue and outputs."""

from tuner.modules.filter import Filter
from tuner.modules.input import Parsers
from tuner.modules.queue import Queue
from tuner.modules.registry import AnyStep, Parse
from tuner.schema.scalars import AbsolutePath, ModuleName, ProfilePath
from tuner.schema.section import Section


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
