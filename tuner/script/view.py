"""The view of a configuration as sections of a profile: queues, engine actions and inputs, each
with its address.  How events are processed is not part of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from urllib.parse import SplitResult, urlsplit

from tuner.engines.index_settings import IndexSettings
from tuner.errors import KeyPath
from tuner.modules.global_object import Global
from tuner.modules.input import EVERY_ADDRESS, LOOPBACK, Input, Listener
from tuner.modules.omelasticsearch import BULK_TIMEOUT, FILTER_PATH, OmelasticsearchOutput
from tuner.modules.queue import Queue
from tuner.modules.ratelimit import LIMIT_NAME, RateLimitPolicy
from tuner.modules.registry import name_of
from tuner.schema.scalars import as_name
from tuner.schema.section import of_module
from tuner.script.objects import GLOBAL, MAIN_QUEUE, Base, module_address
from tuner.script.parameters import (
    INPUT_MODELS,
    certificates,
    keys_of_model,
    misfit,
    queue_of,
    read_value,
    readable,
)
from tuner.script.script import DEFAULT, HERE, QUEUE, ScriptObject, ScriptPosition, not_loaded, walk

# The only parameter that two keys of a profile set (F16).
_TIMEOUT = "timeout"
_FILTER = f"{FILTER_PATH}="
_ENGINE = "omelasticsearch"
# If no input of a configuration can be flooded, a lab adds the first of these that is not loaded.
_STAND_INS = ("imtcp", "imptcp")
_STAND_IN_PORT = 10514
LINE_PARSERS = frozenset({"mmjsonparse", "mmnormalize", "mmfields", "mmleefparse"})
"""Modules that parse the fields of a whole line."""
_SERVER = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?")
_LONGEST, _SIZE = "maxMessageSize", re.compile(r"[1-9][0-9]*[kmg]?")
_QUEUE_FILES = {"queue.filename": "filename", "queue.spooldirectory": "spoolDirectory"}
_FOLDER, _NO_NAME = "workDirectory", re.compile("[^A-Za-z0-9]+")
TEMPLATE = "template"
"""The address of settings of the index template."""
_INDEX_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True)
class View:
    """Sections of a profile as plain data, and the address of the object that each represents.

    `modules` are the addresses of modules, `reached` the engine actions that events of each input
    can reach.  If no input can be flooded, the last one is `stand_in`, which a lab adds.
    `has_template` and `has_uses` say whether the index template and the uses of fields are known.
    """

    data: Mapping[str, object]
    sections: Mapping[KeyPath, str]
    modules: frozenset[str] = frozenset()
    reached: tuple[frozenset[str], ...] = ()
    stand_in: ScriptObject | None = None
    has_template: bool = False
    has_uses: bool = False

    def flooded(self, ranks: Sequence[int], formats: Sequence[str], output: int) -> tuple[int, ...]:
        """The numbers of the inputs to flood, so that events reach the engine action `output` and
        as many others as possible.

        The first is the best by `_best`.  Others are added while they reach engine actions that no
        chosen input reaches, those that reach most first; they must have the same format and a rank
        above 0.  If the ranks are of a lab's inputs instead, all are flooded.
        """
        if len(ranks) != len(self.reached):
            return tuple(range(len(ranks)))
        chosen = [_best(self.reached, self.sections.get(("outputs", output), ""), ranks)]
        candidates = [
            number
            for number, rank in enumerate(ranks)
            if rank > 0 and formats[number] == formats[chosen[0]]
        ]
        reached = self.reached[chosen[0]]
        while True:
            gains = {number: len(self.reached[number] - reached) for number in candidates}
            candidates = [number for number in candidates if gains[number]]
            if not candidates:
                return tuple(chosen)
            chosen.append(max(candidates, key=lambda n: (gains[n], ranks[n], -n)))
            reached |= self.reached[chosen[-1]]

    def with_uses(self, *, is_explicit: bool) -> View:
        """The view with known uses of fields; `is_explicit` if the template maps every field."""
        outputs = self.data.get("outputs")
        mapping = "explicit" if is_explicit else "dynamic"
        mapped = [
            {**output, "index": {**output["index"], "mapping": mapping}}
            for output in (outputs if isinstance(outputs, list) else [])
        ]
        return replace(self, data={**self.data, "outputs": mapped}, has_uses=True)

    def section(self, path: KeyPath) -> Mapping[str, object]:
        """The section of the profile at a path."""
        section: object = self.data
        for step in path:
            if isinstance(section, Mapping):
                section = section.get(str(step))
            elif isinstance(section, list) and isinstance(step, int):
                section = section[step]
        return section if isinstance(section, Mapping) else {}

    def place(self, path: KeyPath) -> tuple[str, str] | None:
        """The address and the name of the parameter that a key of the profile sets; None if no
        parameter of the configuration does."""
        for section in (path[:1], path[:2]):
            address, keys = self.sections.get(section), path[len(section) :]
            if address is None or not keys:
                continue
            if address == MAIN_QUEUE or (len(keys) == 2 and keys[0] == "queue"):
                return address, f"{QUEUE}{keys[-1]}"
            if section[0] == "outputs" and keys[:2] == ("index", "settings") and len(keys) > 2:
                return (TEMPLATE, f"index.{keys[2]}") if self.has_template else None
            if section[0] == "outputs" and keys == ("index", "mapping"):
                return (TEMPLATE, "mapping") if self.has_uses else None
            name = _TIMEOUT if keys[0] == FILTER_PATH else str(keys[0])
            kind = str(self.section(section).get("type")) if section[0] == "inputs" else ""
            if kind and name in of_module(INPUT_MODELS[kind]):
                module = module_address(kind)
                return (module, name) if module in self.modules else None
            return (address, name) if len(keys) == 1 else None
        return None

    def value(self, path: KeyPath, value: object, before: object) -> object:
        """The new value of the parameter that a key of the profile sets, whose value was `before`.
        None removes the parameter; for `timeout` only if nothing else is in it."""
        if path[-1] not in {_TIMEOUT, FILTER_PATH}:
            return value
        timeout, *options = str(before or "").split("&")
        if path[-1] == _TIMEOUT:
            timeout = "" if value is None else str(value)
        else:
            options = [option for option in options if not option.startswith(_FILTER)]
            if isinstance(value, Sequence):
                options.append(_FILTER + ",".join(map(str, value)))
        if options:
            timeout = timeout or BULK_TIMEOUT
        return "&".join((timeout, *options)) or None


def view_of(base: Base, settings: Mapping[str, object] | None) -> View:
    """The view of a configuration and of the settings in its index template, None if it has no
    template."""
    view = _ViewBuilder(base, _readable_settings(settings) if settings else {}).view()
    return replace(view, has_template=settings is not None)


def wrong_setting(setting: str, value: object) -> str | None:
    """Why a profile cannot set an index setting to a value; None if it can, or if the value is
    None, which removes the setting."""
    if not setting.startswith("index."):
        return f"{setting} is no setting of an index: those begin with index."
    if value is None or _readable_settings({setting: value}):
        return None
    if setting.removeprefix("index.").lower() in keys_of_model(IndexSettings.whole()):
        return f"{setting} takes no such value"
    return f"no setting of an index is called {setting}"


def _readable_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings that a profile knows, with JSON values read as if they were parameters."""
    short = {name.removeprefix("index."): value for name, value in settings.items()}
    return readable(IndexSettings.whole(), ScriptObject.of("template", short).parameters)


@dataclass
class _ViewBuilder:
    base: Base
    settings: Mapping[str, object]
    sections: dict[KeyPath, str] = field(default_factory=dict)
    names: set[tuple[str, str]] = field(default_factory=set)
    indices: set[str] = field(default_factory=set)
    reached: list[frozenset[str]] = field(default_factory=list)
    stream_names: dict[str, str] = field(default_factory=dict)
    engine_actions: dict[str, frozenset[str]] = field(default_factory=dict)

    def view(self) -> View:
        data: dict[str, object] = {}
        streams: dict[str, object] = {}
        for address, ruleset in self.base.of_kind("ruleset"):
            queue = _queue(ruleset)
            if queue:
                name = self._name(ruleset, address, "streams")
                self.sections["streams", name] = address
                streams[name] = {"queue": queue}
                self.stream_names[ruleset.key] = name
        data["inputs"], stand_in = self._inputs()
        self.sections[MAIN_QUEUE,] = MAIN_QUEUE
        main = self.base.objects.get(MAIN_QUEUE)
        if main is not None and (queue := _queue(main)):
            data["main_queue"] = queue
        if streams:
            data["streams"] = streams
        data["outputs"] = self._outputs()
        if shared := dict(self._global()):
            data["global"] = shared
        data["ratelimits"] = dict(self._limits())
        modules = frozenset(address for address, _ in self.base.of_kind("module"))
        return View(data, self.sections, modules, tuple(self.reached), stand_in)

    def _global(self) -> Iterator[tuple[str, object]]:
        """The maximum message size and the working directory of global(), which applies wherever it
        is: rsyslogd opens files only after it has read everything."""
        longest = self.base.parameter(GLOBAL, _LONGEST)
        if longest is not None and _SIZE.fullmatch(longest.text or ""):
            yield _LONGEST, longest.text
        folder = self.base.parameter(GLOBAL, _FOLDER)
        if folder is not None:
            is_path, path = read_value(Global, _FOLDER, folder) if folder.texts else (False, "")
            yield _FOLDER, path if is_path else _stand_in_path(folder.origin, True)
        elif not_loaded(self.base.block):
            # A drop-in: the file that includes it and loads its modules sets the directory.
            yield _FOLDER, _stand_in_path(HERE, True)

    def _limits(self) -> Iterator[tuple[str, dict[str, object]]]:
        for address, limit in self.base.of_kind("ratelimit"):
            data = readable(RateLimitPolicy, limit.parameters)
            if re.fullmatch(LIMIT_NAME, limit.name) and misfit(RateLimitPolicy, data) is None:
                self.sections["ratelimits", limit.name] = address
                yield limit.name, data

    def _inputs(self) -> tuple[list[dict[str, object]], ScriptObject | None]:
        """The inputs, and a stand-in as the last one if none of them can be flooded; records the
        engine actions that each reaches.

        Files cannot be flooded if a module parses whole lines, because a lab puts a number before
        each line.
        """
        parses_lines = any(action.type in LINE_PARSERS for _, action in self.base.of_kind("action"))
        inputs: list[dict[str, object]] = []
        is_flooded = False
        for address, item in self.base.of_kind("input"):
            model = INPUT_MODELS.get(item.type)
            data = {} if model is None else self._input(item, model)
            if model is not None and misfit(model, data) is None:
                self.sections["inputs", len(inputs)] = address
                self.reached.append(self._engine_actions(self.base.ruleset_of(item)))
                inputs.append(data)
                source = model.model_validate(data, by_alias=True, by_name=False)
                is_file = source.transport == "file"
                is_flooded |= source.unmeasured is None and not (parses_lines and is_file)
        if is_flooded:
            return inputs, None
        stand_in = self._stand_in()
        self.reached.append(self._engine_actions(self.base.ruleset_of(stand_in)))
        return [*inputs, self._input(stand_in, INPUT_MODELS[stand_in.type])], stand_in

    def _input(self, item: ScriptObject, model: type[Input]) -> dict[str, object]:
        shared = self.base.module_parameters.get(item.type, ())
        data: dict[str, object] = {"type": name_of(model)}
        data |= {"address": EVERY_ADDRESS} if issubclass(model, Listener) else {}
        data |= readable(model, (*shared, *item.parameters))
        data |= certificates(model, data, self.base.shared)
        stream = self.stream_names.get(self.base.ruleset_of(item))
        return data | ({} if stream is None else {"stream": stream})

    def _stand_in(self) -> ScriptObject:
        """An input that replaces inputs which a lab cannot flood, such as those in the file that
        includes a drop-in.  Its ruleset is the best by `_best`."""
        loaded = self.base.module_parameters
        kind = next((name for name in _STAND_INS if name not in loaded), _STAND_INS[0])
        objects = (item for item in walk(self.base.block) if isinstance(item, ScriptObject))
        of_inputs = [item.text("ruleset") for item in objects if item.kind in {"input", "module"}]
        rulesets = [ruleset.name for _, ruleset in self.base.of_kind("ruleset")]
        names = list(dict.fromkeys([DEFAULT, *filter(None, of_inputs), *rulesets]))
        first = next((address for address, _ in self.base.engine_actions), "")
        reached = [self._engine_actions(name.lower()) for name in names]
        best = _best(reached, first, [1] * len(names))
        parameters = {"type": kind, "address": LOOPBACK, "port": str(_STAND_IN_PORT)}
        parameters |= {"ruleset": names[best]} if names[best] else {}
        return ScriptObject.of("input", parameters)

    def _engine_actions(self, ruleset: str) -> frozenset[str]:
        """The addresses of the engine actions in a ruleset and in those that it calls; an unknown
        ruleset counts as the default one."""
        start = ruleset if ruleset in self.base.bodies else DEFAULT
        if start not in self.engine_actions:
            reached = self.base.reached([start], through_queues=True)
            actions = chain.from_iterable(self.base.actions[key] for key in reached)
            engine = (action.origin for action in actions if action.type == _ENGINE)
            addresses = self.base.address_by_origin
            self.engine_actions[start] = frozenset(addresses[origin] for origin in engine)
        return self.engine_actions[start]

    def _outputs(self) -> list[dict[str, object]]:
        stream_by_action = {
            action.origin: name
            for ruleset, name in self.stream_names.items()
            for key in self.base.reached([ruleset], through_queues=False)
            for action in self.base.actions[key]
        }
        outputs: list[dict[str, object]] = []
        for address, action in self.base.engine_actions:
            data = self._output(action, address)
            if action.origin in stream_by_action:
                data["stream"] = stream_by_action[action.origin]
            if misfit(OmelasticsearchOutput, data) is None:
                self.sections["outputs", len(outputs)] = address
                outputs.append(data)
        return outputs

    def _output(self, action: ScriptObject, address: str) -> dict[str, object]:
        keys = keys_of_model(OmelasticsearchOutput).keys() - {"type", "name", "document", "bulkid"}
        plain = [each for each in action.parameters if each.key in keys - {_TIMEOUT}]
        data: dict[str, object] = {
            "name": self._name(action, address, "outputs"),
            "type": _ENGINE,
            "servers": _servers(action),
            "action.resumeRetryCount": 0,
            **readable(OmelasticsearchOutput, plain),
            **_timeout(action.text(_TIMEOUT)),
        }
        queue = _queue(action)
        if queue.get("type", "Direct") != "Direct":
            data["queue"] = queue
        static = action.text("searchIndex") or ""
        index = static if _INDEX_NAME.fullmatch(static) else str(data["name"])
        # In a lab each output has an index of its own.
        index = f"{index}-{data['name']}" if index in self.indices else index
        self.indices.add(index)
        data["index"] = {"name": index, "mapping": "dynamic", "settings": self.settings}
        return data

    def _name(self, item: ScriptObject, address: str, section: str) -> str:
        """A unique name for the section of an object, like the object's own as far as profiles
        allow."""
        word = as_name(item.name)
        number = address.partition("[")[2].removesuffix("]")
        name = word if word[:1].isalpha() else f"{item.kind}-{number}"
        name = as_name(f"{name}-{number}") if (section, name) in self.names else name
        self.names.add((section, name))
        return name


def _best(reached: Sequence[frozenset[str]], first: str, ranks: Sequence[int]) -> int:
    """The number of the best input or ruleset: a rank above 0 comes first, then the engine action
    `first` among those reached, then how many are reached, then the rank."""

    def priority(number: int) -> tuple[bool, bool, int, int, int]:
        actions, rank = reached[number], ranks[number]
        return rank > 0, first in actions, len(actions), rank, -number

    return max(range(len(reached)), key=priority)


def _queue(item: ScriptObject) -> dict[str, object]:
    """The queue of an object, empty if a profile cannot have it.  A file or folder that a profile
    cannot name gets another name, because the queue has files in any case."""
    queue = queue_of(item)
    file_keys = {_QUEUE_FILES[each.key] for each in item.queue if each.key in _QUEUE_FILES}
    unreadable = file_keys - queue.keys()
    queue |= {key: _stand_in_path(item.origin, key == "spoolDirectory") for key in unreadable}
    if unreadable and item.is_on(f"{QUEUE}saveOnShutdown"):
        queue["saveOnShutdown"] = True
    return queue if misfit(Queue, queue) is None else {}


def _stand_in_path(origin: ScriptPosition, is_folder: bool) -> str:
    """A unique name, made from a position, for a file or folder that only rsyslogd knows."""
    name = _NO_NAME.sub("-", str(origin)).strip("-")
    return f"/known-at-start/{name}" if is_folder else name


def _servers(action: ScriptObject) -> list[str]:
    """The server URLs of an action as profiles spell them; a URL of this machine if one cannot be
    read, or has a login or a path."""
    urls = ["" if server is None else server.geturl() for server in servers_of(action)]
    return urls if urls and all(map(_SERVER.fullmatch, urls)) else ["http://127.0.0.1:9200"]


def _timeout(parameter: str | None) -> dict[str, object]:
    """The `timeout` and the `filter_path` of bulk requests, which are set by one parameter."""
    if parameter is None:
        return {}
    timeout, *options = parameter.split("&")
    paths = [option.partition("=")[2] for option in options if option.startswith(_FILTER)]
    return {_TIMEOUT: timeout} | ({FILTER_PATH: paths[0].split(",")} if paths else {})


# curl's default ports.
_PORTS = {"http": 80, "https": 443}


def servers_of(action: ScriptObject) -> Iterator[SplitResult | None]:
    """The URL of each server with its port, None for one that cannot be parsed.

    As in omelasticsearch.c, computeBaseUrl: a slash at the end is dropped, and serverport is added
    unless the rest contains any colon, even that of a login, an IPv6 address or a path.  Without a
    port curl then uses its default.
    """
    servers = action.get("server")
    scheme = "https" if action.is_on("usehttps") else "http"
    default_port = action.text("serverport") or "9200"
    for text in ("localhost",) if servers is None else servers.texts:
        has_scheme = text.lower().startswith(("http://", "https://"))
        url = (text if has_scheme else f"{scheme}://{text}").removesuffix("/")
        has_colon = ":" in url.partition("://")[2]
        try:
            parts = urlsplit(url if has_colon else f"{url}:{default_port}")
            port = parts.port or _PORTS[parts.scheme]
        except ValueError:
            yield None
            continue
        host = parts.hostname or ""
        login, at, _ = parts.netloc.rpartition("@")
        yield parts._replace(netloc=f"{login}{at}{f'[{host}]' if ':' in host else host}:{port}")
