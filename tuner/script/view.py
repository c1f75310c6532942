"""What a profile knows of a configuration that it keeps: queues, engine actions and inputs, each
with the address that it has there.  What becomes of an event is not among it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from tuner.engines.index_settings import IndexSettings
from tuner.modules.global_object import Global
from tuner.modules.input import EVERY_ADDRESS, LOOPBACK, Input, Listener
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.queue import Queue
from tuner.modules.registry import name_of
from tuner.schema.parameter import of_module
from tuner.schema.scalars import as_name
from tuner.script.configuration import is_module, not_loaded
from tuner.script.objects import GLOBAL, MAIN_QUEUE, Base, module_address
from tuner.script.parameters import (
    INPUT_MODELS,
    certificates,
    keys_of_model,
    known,
    misfit,
    queue_of,
    read_value,
    ruleset_of,
)
from tuner.script.script import (
    HERE,
    QUEUE,
    Block,
    Call,
    Parameter,
    ScriptObject,
    ScriptPosition,
    Statement,
    every,
    module_name,
)
from tuner.script.servers import servers_of

ProfileKey = tuple[str | int, ...]

# The only parameter that two keys of a profile share (F16).
_TIMEOUT, FILTER_PATH = "timeout", "filter_path"
_FILTER = f"{FILTER_PATH}="
_BULK_TIMEOUT = "1m"
_ENGINE = "omelasticsearch"
# What takes events in a lab where no input of a configuration can, the first that is not loaded.
_STAND_INS = ("imtcp", "imptcp")
_STAND_IN_PORT = 10514
_TAKES_APART = frozenset({"mmjsonparse", "mmnormalize", "mmfields"})
_SERVER = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?")
_LONGEST, _SIZE = "maxMessageSize", re.compile(r"[1-9][0-9]*[kmg]?")
_QUEUE_FILES = {"queue.filename": "filename", "queue.spooldirectory": "spoolDirectory"}
_FOLDER, _NO_NAME = "workDirectory", re.compile("[^A-Za-z0-9]+")
TEMPLATE = "template"
"""What stands for an address where settings of the index template are changed."""
_INDEX_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True)
class View:
    """Sections of a profile as plain data, and the address of the object that each stands for;
    `modules` are those of the modules.  `reached` are the engine actions that the events of each
    input may come to.  Where no input can be flooded the last is one that a lab adds, `stand_in`.
    Its indices may have a template, and their fields uses.
    """

    data: Mapping[str, object]
    sections: Mapping[ProfileKey, str]
    modules: frozenset[str] = frozenset()
    reached: tuple[frozenset[str], ...] = ()
    stand_in: ScriptObject | None = None
    has_template: bool = False
    has_uses: bool = False

    def flooded(self, ranks: Sequence[int], formats: Sequence[str]) -> tuple[int, ...]:
        """The numbers of the inputs that a flood is to enter by.  From the first events come to the
        first engine action, and to as many others as can be; of equals it has the highest rank, and
        one of rank 0 is taken last of all.  Each other one takes the same format, and brings events
        to most engine actions that have none yet.  Of the inputs that a lab has, all."""
        if len(ranks) != len(self.reached):
            return tuple(range(len(ranks)))
        chosen = [_best(self.reached, self.sections.get(("outputs", 0), ""), ranks)]
        able = [
            number
            for number, rank in enumerate(ranks)
            if rank > 0 and formats[number] == formats[chosen[0]]
        ]
        come = self.reached[chosen[0]]
        while True:
            more = {number: len(self.reached[number] - come) for number in able}
            able = [number for number in able if more[number]]
            if not able:
                return tuple(chosen)
            chosen.append(max(able, key=lambda number: (more[number], ranks[number], -number)))
            come |= self.reached[chosen[-1]]

    def with_uses(self, *, is_explicit: bool) -> View:
        """The same where it is known what each field must serve, and the template of its indices
        maps every one if that `is_explicit`."""
        listed = self.data.get("outputs")
        mapping = "explicit" if is_explicit else "dynamic"
        outputs = [
            {**one, "index": {**one["index"], "mapping": mapping}}
            for one in (listed if isinstance(listed, list) else [])
        ]
        return replace(self, data={**self.data, "outputs": outputs}, has_uses=True)

    def section(self, path: ProfileKey) -> Mapping[str, object]:
        """The section of the profile at a path."""
        found: object = self.data
        for step in path:
            if isinstance(found, Mapping):
                found = found.get(str(step))
            elif isinstance(found, list) and isinstance(step, int):
                found = found[step]
        return found if isinstance(found, Mapping) else {}

    def place(self, path: ProfileKey) -> tuple[str, str] | None:
        """The address and the name of the parameter that a key of the profile stands for; None for
        what no parameter of the configuration says."""
        for section in (path[:1], path[:2]):
            address, rest = self.sections.get(section), path[len(section) :]
            if address is None or not rest:
                continue
            if address == MAIN_QUEUE or (len(rest) == 2 and rest[0] == "queue"):
                return address, f"{QUEUE}{rest[-1]}"
            if section[0] == "outputs" and rest[:2] == ("index", "settings") and len(rest) > 2:
                return (TEMPLATE, f"index.{rest[2]}") if self.has_template else None
            if section[0] == "outputs" and rest == ("index", "mapping"):
                return (TEMPLATE, "mapping") if self.has_uses else None
            name = _TIMEOUT if rest[0] == FILTER_PATH else str(rest[0])
            kind = str(self.section(section).get("type")) if section[0] == "inputs" else ""
            if kind and name in of_module(INPUT_MODELS[kind]):
                module = module_address(kind)
                return (module, name) if module in self.modules else None
            return (address, name) if len(rest) == 1 else None
        return None

    def value(self, path: ProfileKey, value: object, before: object) -> object:
        """The value of the parameter that a key of the profile stands for, which was `before`; None
        where it goes, with nothing else that stands in it."""
        if path[-1] not in {_TIMEOUT, FILTER_PATH}:
            return value
        timeout, *options = str(before or "").split("&")
        if path[-1] == _TIMEOUT:
            timeout = "" if value is None else str(value)
        else:
            options = [one for one in options if not one.startswith(_FILTER)]
            if isinstance(value, Sequence):
                options.append(_FILTER + ",".join(map(str, value)))
        if options:
            timeout = timeout or _BULK_TIMEOUT
        return "&".join((timeout, *options)) or None


def view_of(base: Base, settings: Mapping[str, object] | None) -> View:
    """What a profile knows of a configuration, and of the settings in the template of its indices,
    None where it has none."""
    view = _ViewBuilder(base, _known_settings(settings or {})).view()
    return replace(view, has_template=settings is not None)


def wrong_setting(setting: str, value: object) -> str | None:
    """Why a profile knows no such setting of an index; None where it does, or where the setting
    goes."""
    if not setting.startswith("index."):
        return f"{setting} is no setting of an index: those begin with index."
    if value is None or _known_settings({setting: value}):
        return None
    if setting.removeprefix("index.").lower() in keys_of_model(IndexSettings):
        return f"{setting} takes no such value"
    return f"no setting of an index is called {setting}"


def _known_settings(settings: Mapping[str, object]) -> dict[str, object]:
    spelled = ((name.removeprefix("index."), _spelled(value)) for name, value in settings.items())
    return known(IndexSettings, [Parameter.of(name, text, HERE) for name, text in spelled])


@dataclass
class _ViewBuilder:
    base: Base
    settings: Mapping[str, object]
    data: dict[str, object] = field(default_factory=dict)
    sections: dict[ProfileKey, str] = field(default_factory=dict)
    rulesets: dict[str, ScriptObject] = field(default_factory=dict)
    names: set[tuple[str, str]] = field(default_factory=set)
    indices: set[str] = field(default_factory=set)
    reached: list[frozenset[str]] = field(default_factory=list)
    streams: dict[str, str] = field(default_factory=dict)
    found: dict[str, frozenset[str]] = field(default_factory=dict)

    def view(self) -> View:
        streams: dict[str, object] = {}
        for address, one in self.base.of_kind("ruleset"):
            queue = _queue(one)
            if queue:
                name = self._name(one, address, "streams")
                self.sections["streams", name] = address
                self.rulesets[name], streams[name] = one, {"queue": queue}
                self.streams.setdefault(one.key, name)
        stand_in = self._fill_inputs()
        main = self.base.objects.get(MAIN_QUEUE)
        own = {} if main is None else _queue(main)
        self.data |= {"main_queue": own} if own else {}
        self.sections[MAIN_QUEUE,] = MAIN_QUEUE
        self.data |= {"streams": streams} if streams else {}
        outputs: list[dict[str, object]] = []
        for address, data in self._outputs():
            if misfit(OmelasticsearchOutput, data) is None:
                self.sections["outputs", len(outputs)] = address
                outputs.append(data)
        self.data["outputs"] = outputs
        if shared := dict(self._global()):
            self.data["global"] = shared
        modules = frozenset(address for address, _ in self.base.of_kind("module"))
        return View(self.data, self.sections, modules, tuple(self.reached), stand_in)

    def _global(self) -> Iterator[tuple[str, object]]:
        """What global() says of messages, and the folder of files wherever it stands: rsyslogd
        opens them once it has read everything."""
        longest = self.base.parameter(GLOBAL, _LONGEST)
        if longest is not None and _SIZE.fullmatch(longest.text or ""):
            yield _LONGEST, longest.text
        folder = self.base.parameter(GLOBAL, _FOLDER)
        if folder is not None:
            is_path, path = read_value(Global, _FOLDER, folder) if folder.texts else (False, "")
            yield _FOLDER, path if is_path else _stand_in_path(folder.origin, True)
        elif not_loaded(self.base.block):
            # The file that includes a drop-in, and loads its modules, says it.
            yield _FOLDER, _stand_in_path(HERE, True)

    def _fill_inputs(self) -> ScriptObject | None:
        """The inputs, and what each reaches; where none of them can be flooded one more, which a
        lab adds.  Lines of files cannot be where they are taken apart: each has a number of the
        lab's before it."""
        apart = any(one.type in _TAKES_APART for _, one in self.base.of_kind("action"))
        made: list[dict[str, object]] = []
        is_flooded = False
        for address, one in self.base.of_kind("input"):
            model = INPUT_MODELS.get(one.type)
            data = {} if model is None else self._input(one, model)
            if model is not None and misfit(model, data) is None:
                self.sections["inputs", len(made)] = address
                self.reached.append(self._engine_actions(self._ruleset_of(one)))
                made.append(data)
                source = model.model_validate(data, by_alias=True, by_name=False)
                is_taken = source.unmeasured is None and not (apart and source.transport == "file")
                is_flooded = is_flooded or is_taken
        stand_in = None if is_flooded else self._stand_in()
        if stand_in is not None:
            self.reached.append(self._engine_actions(stand_in.text("ruleset") or ""))
            made.append(self._input(stand_in, INPUT_MODELS[stand_in.type]))
        self.data["inputs"] = made
        return stand_in

    def _input(self, one: ScriptObject, model: type[Input]) -> dict[str, object]:
        data: dict[str, object] = {"type": name_of(model)}
        data |= {"address": EVERY_ADDRESS} if issubclass(model, Listener) else {}
        data |= known(model, (*self._shared.get(one.type, ()), *one.parameters))
        data |= certificates(model, data, self.base.shared)
        stream = self.streams.get(self._ruleset_of(one).lower())
        return data | ({} if stream is None else {"stream": stream})

    def _ruleset_of(self, one: ScriptObject) -> str:
        return ruleset_of(one, self._shared.get(one.type, ()))

    @cached_property
    def _shared(self) -> Mapping[str, tuple[Parameter, ...]]:
        """What each module says, for all of its inputs; the first of a name counts."""
        modules = [one for one in every(self.base.block) if is_module(one)]
        return {module_name(one): one.parameters for one in reversed(modules)}

    def _stand_in(self) -> ScriptObject:
        """An input for what the host's own inputs, those of the file that includes a drop-in, or
        modules that no profile has would bring: where events come to the first engine action, and
        to as many others as can be."""
        statements = [one for one in every(self.base.block) if isinstance(one, ScriptObject)]
        loaded = {module_name(one) for one in statements if one.kind == "module"}
        kind = next((one for one in _STAND_INS if one not in loaded), _STAND_INS[0])
        bound = [one.text("ruleset") for one in statements if one.kind in {"input", "module"}]
        rulesets = [of.name for _, of in self.base.of_kind("ruleset")]
        names = list(dict.fromkeys(["", *filter(None, bound), *rulesets]))
        engine = (at for at, one in self.base.of_kind("action") if one.type == _ENGINE)
        reached = [self._engine_actions(name) for name in names]
        best = _best(reached, next(engine, ""), [1] * len(names))
        parameters = {"type": kind, "address": LOOPBACK, "port": str(_STAND_IN_PORT)}
        parameters |= {"ruleset": names[best]} if names[best] else {}
        made = (Parameter.of(*pair, HERE) for pair in parameters.items())
        return ScriptObject("input", tuple(made), HERE)

    def _engine_actions(self, ruleset: str) -> frozenset[str]:
        """The engine actions of a ruleset, "" for the default one, and of those that it calls."""
        name = ruleset.lower()
        if name not in self.found:
            actions = (self._direct[key].actions for key in self._called(name))
            engine = (one for one in chain.from_iterable(actions) if one.type == _ENGINE)
            self.found[name] = frozenset(self._addresses[one.origin] for one in engine)
        return self.found[name]

    @cached_property
    def _addresses(self) -> dict[ScriptPosition, str]:
        return {one.origin: address for address, one in self.base.of_kind("action")}

    @cached_property
    def _direct(self) -> dict[str, _Direct]:
        """What each ruleset does itself; what no ruleset has that name does stands outside of
        all."""
        found = {of.key: of for _, of in self.base.of_kind("ruleset")}
        outside = tuple(one for one in self.base.block if not _is_ruleset(one))
        made = {key: _direct(of.body or (), is_queued=bool(of.queue)) for key, of in found.items()}
        return {"": _direct(outside, is_queued=False), **made}

    def _called(self, ruleset: str, *, through_queues: bool = True) -> Iterator[str]:
        """A ruleset and all that it calls, or those of them that run on its own queue."""
        waiting, visited = [ruleset if ruleset in self._direct else ""], {ruleset}
        while waiting:
            yield (key := waiting.pop())
            for name in self._direct[key].calls:
                found = self._direct.get(name)
                if found is not None and name not in visited:
                    if through_queues or not found.is_queued:
                        waiting.append(name)
                    visited.add(name)

    def _outputs(self) -> Iterator[tuple[str, dict[str, object]]]:
        of_stream = {
            id(action): name
            for name, ruleset in self.rulesets.items()
            for key in self._called(ruleset.key, through_queues=False)
            for action in self._direct[key].actions
        }
        for address, one in self.base.of_kind("action"):
            if one.type == _ENGINE:
                data = self._engine_output(one, address)
                if id(one) in of_stream:
                    data["stream"] = of_stream[id(one)]
                yield address, data

    def _engine_output(self, one: ScriptObject, address: str) -> dict[str, object]:
        keys = keys_of_model(OmelasticsearchOutput).keys() - {"type", "name", "document", "bulkid"}
        plain = [each for each in one.parameters if each.key in keys and each.key != _TIMEOUT]
        data: dict[str, object] = {
            "name": self._name(one, address, "outputs"),
            "type": "omelasticsearch",
            "servers": _servers(one),
            "action.resumeRetryCount": 0,
            **known(OmelasticsearchOutput, plain),
            **_timeout(one.text(_TIMEOUT)),
        }
        queue = _queue(one)
        if queue.get("type", "Direct") != "Direct":
            data["queue"] = queue
        static = one.text("searchIndex") or ""
        index = static if _INDEX_NAME.fullmatch(static) else str(data["name"])
        # In a lab each output has an index of its own to be told by.
        index = f"{index}-{data['name']}" if index in self.indices else index
        self.indices.add(index)
        data["index"] = {"name": index, "mapping": "dynamic", "settings": self.settings}
        return data

    def _name(self, one: ScriptObject, address: str, section: str) -> str:
        """The object's name as profiles may spell it, another one where that is taken."""
        word = as_name(one.name)
        number = address.partition("[")[2].removesuffix("]")
        name = word if word[:1].isalpha() else f"{one.kind}-{number}"
        name = as_name(f"{name}-{number}") if (section, name) in self.names else name
        self.names.add((section, name))
        return name


def _spelled(value: object) -> str:
    """A value of JSON as a parameter is written."""
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def _best(reached: Sequence[frozenset[str]], first: str, ranks: Sequence[int]) -> int:
    """The number of that with the first engine action and the most others, see `View.flooded`."""

    def worth(number: int) -> tuple[bool, bool, int, int, int]:
        found, rank = reached[number], ranks[number]
        return rank > 0, first in found, len(found), rank, -number

    return max(range(len(reached)), key=worth)


class _Direct(NamedTuple):
    """The actions of a ruleset, the rulesets that it calls, and whether it has a queue."""

    actions: tuple[ScriptObject, ...]
    calls: tuple[str, ...]
    is_queued: bool


def _direct(block: Block, *, is_queued: bool) -> _Direct:
    statements = tuple(every(block))
    objects = (one for one in statements if isinstance(one, ScriptObject))
    calls = (one.target for one in statements if isinstance(one, Call))
    return _Direct(
        tuple(one for one in objects if one.kind == "action"),
        tuple(name.lower() for name in calls if isinstance(name, str)),
        is_queued,
    )


def _is_ruleset(one: Statement) -> bool:
    return isinstance(one, ScriptObject) and one.kind == "ruleset"


def _queue(one: ScriptObject) -> dict[str, object]:
    """The queue of an object, where it is one of a profile's.  Files whose name no profile can say
    are files all the same."""
    queue = queue_of(one)
    unsaid = {_QUEUE_FILES[each.key] for each in one.queue if each.key in _QUEUE_FILES} - {*queue}
    queue |= {key: _stand_in_path(one.origin, key == "spoolDirectory") for key in unsaid}
    if unsaid and one.is_on(f"{QUEUE}saveOnShutdown"):
        queue["saveOnShutdown"] = True
    return queue if misfit(Queue, queue) is None else {}


def _stand_in_path(origin: ScriptPosition, is_folder: bool) -> str:
    """A name that no other object has, for one that only rsyslogd knows."""
    name = _NO_NAME.sub("-", str(origin)).strip("-")
    return f"/known-at-start/{name}" if is_folder else name


def _servers(one: ScriptObject) -> list[str]:
    """The addresses as profiles spell them; one of this machine where they are known only when
    rsyslogd starts, or have a login or a path."""
    found = servers_of(one)
    made = ["" if each is None else each.geturl() for each in found]
    return made if made and all(map(_SERVER.fullmatch, made)) else ["http://127.0.0.1:9200"]


def _timeout(written: str | None) -> dict[str, object]:
    """The engine's own timeout and the filter of its replies, which share a parameter."""
    if written is None:
        return {}
    timeout, *options = written.split("&")
    paths = [one.partition("=")[2] for one in options if one.startswith(_FILTER)]
    return {_TIMEOUT: timeout} | ({FILTER_PATH: paths[0].split(",")} if paths else {})
