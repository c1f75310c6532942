"""What a rendered configuration must be for a profile, worked out without the renderer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.property.hostile_profiles import Case, Json
from tests.render.tokens import Object
from tuner.engines.index_settings import IndexSettings
from tuner.modules.field import merges
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ANY = object()


def differences(case: Case, hostile: list[Object], benign: list[Object]) -> Iterator[str]:
    """Where the objects of a case are not those of its benign twin with the texts put in."""
    hostile, benign = ([one for one in all_ if not _puts_again(one)] for all_ in (hostile, benign))
    if [one.kind for one in hostile] != [one.kind for one in benign]:
        yield f"objects {[one.kind for one in hostile]}, not {[one.kind for one in benign]}"
        return
    for ours, twin in zip(hostile, benign, strict=True):
        if ours.kind == "template":
            yield from _template_differences(case, ours, twin)
            continue
        wanted = {key: _put_in(case, value) for key, value in twin.parameters.items()}
        if ours.kind in {"set", "unset"}:
            same = _undotted(ours.parameters) == _undotted(wanted)
        else:
            same = ours.kind == "if" or list(ours.parameters.items()) == list(wanted.items())
        if not same:
            yield f"{ours.kind} {ours.parameters}, not {wanted}"
        expression = [_path(kind, case.hostile(text)) for kind, text in twin.expression]
        if [_path(*token) for token in ours.expression] != expression:
            yield f"{ours.expression}, not {expression}"
        yield from differences(case, ours.body, twin.body)


def _puts_again(one: Object) -> bool:
    """What makes room for a text in the event's JSON: as often as its path has parts."""
    return one.kind == "if" and [part.kind for part in one.body] == ["unset", "set"]


def _path(kind: str, text: str) -> tuple[str, str]:
    """A token; a dot of the profile is one in the paths of variables."""
    return kind, text.replace("!", ".") if kind == "variable" else text


def _put_in(case: Case, value: str | list[str]) -> str | list[str]:
    return [case.hostile(one) for one in value] if isinstance(value, list) else case.hostile(value)


def _template_differences(case: Case, ours: Object, twin: Object) -> Iterator[str]:
    """What templates of documents hold is JSON, which `document` reads; others hold plain text, or
    what Loki takes."""
    if not str(ours.parameters["name"]).endswith("-document"):
        is_push = "".join(_constants(twin)).startswith('{"stream":')
        wanted_texts = [case.hostile(text, is_push) for text in _constants(twin)]
        if _constants(ours) != wanted_texts:
            yield f"template {_constants(ours)}, not {wanted_texts}"
    for one, other in zip((ours, *_properties(ours)), (twin, *_properties(twin)), strict=True):
        wanted = {key: case.hostile(str(value)) for key, value in other.parameters.items()}
        if _undotted(one.parameters) != _undotted(wanted):
            yield f"{one.kind} {one.parameters}, not {wanted}"


def _undotted(parameters: Mapping[str, object]) -> list[tuple[str, str]]:
    """Parameters in which a dot of the profile is one: in expressions it is [.], in paths !."""
    return [
        (key, str(value).replace("[.]", ".").replace("!", ".")) for key, value in parameters.items()
    ]


def _constants(template: Object) -> list[str]:
    """The constants of a template as rsyslog writes them: it unescapes them once more."""
    texts = [str(one.parameters["value"]) for one in template.body if one.kind == "constant"]
    return [_ESCAPE.sub(_once_more, text) for text in texts]


def _once_more(match: re.Match[str]) -> str:
    return {"n": "\n"}.get(match[1], match[1])


def _properties(template: Object) -> list[Object]:
    return [piece for piece in template.body if piece.kind == "property"]


def document(template: Object) -> Json:
    """The document that a template writes, with None for what rsyslog fills in and nothing for
    what an event may leave out or bring; fails when that is not JSON or has a key twice."""
    text = ""
    for piece in template.body:
        if piece.kind == "constant":
            text += _constants(Object("template", body=[piece]))[0]
        elif piece.parameters.get("format") == "jsonf":
            text += f"{json.dumps(piece.parameters['outname'])}:null"
        elif text.endswith(":"):
            text += "null"
        elif not text:
            text = "{}"
        elif not str(piece.parameters["name"]).startswith("$.documents!") or (
            "format" in piece.parameters
        ):
            text += "\ufdd0"
        elif piece is template.body[-1] or piece is template.body[-2]:
            text += _closed(text)
    found: Json = json.loads(text, object_pairs_hook=_once)
    return found


def _closed(text: str) -> str:
    """What is merged brings the brace at the end."""
    try:
        json.loads(text + "}")
    except ValueError:
        return ""
    return "}"


def _once(pairs: list[tuple[str, Any]]) -> Json:
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return {key: ANY if value is None or str(value)[:1] == "\ufdd0" else value
            for key, value in pairs}  # fmt: skip


def wrong_documents(profile: Profile, objects: list[Object]) -> Iterator[str]:
    """Outputs whose template does not write the fields that the profile says."""
    templates = {str(one.parameters["name"]): one for one in objects if one.kind == "template"}
    for output in profile.outputs:
        fields = fields_of(output)
        if not fields:
            continue
        wanted: Json = {}
        for field in fields:
            if merges(field) or field.on_empty == "skip":
                continue
            *parents, leaf = field.name.split(".")
            here = wanted
            for parent in parents:
                here = here.setdefault(parent, {})
            here[leaf] = ANY if field.constant is None else field.constant
        found = document(templates[f"{output.name}-document"])
        if _typed(found) != _typed(wanted):
            yield f"{output.name} writes {found}, not {wanted}"


def _typed(data: object) -> object:
    """Plain data in which 1, 1.0 and true differ, keys in their order."""
    if isinstance(data, dict):
        return [(key, _typed(value)) for key, value in data.items()]
    return type(data), data


def wrong_parameters(case: Case, objects: list[Object]) -> Iterator[str]:
    """Keys of inputs and queues that rsyslogd does not get under their own names."""
    inputs = [one for one in objects if one.kind == "input"]
    modules = {str(one.parameters["load"]): one for one in objects if one.kind == "module"}
    if "lanes" not in case.data:
        # The system's own log socket is its module's alone.
        here = [one for one in case.data["inputs"] if one["type"] != "imuxsock" or "socket" in one]
        for written, made in zip(here, inputs, strict=True):
            given = modules[written["type"]].parameters | made.parameters
            own = {key: value for key, value in written.items() if key != "parser"}
            yield from _missing(own, given)
    main = next(one for one in objects if one.kind == "main_queue")
    yield from _missing(_prefixed(case.data.get("main_queue") or {}), main.parameters)
    actions = {str(one.parameters.get("name")): one for one in _all(objects)}
    for output in case.data["outputs"]:
        action = actions[output["name"]]
        if action.parameters["queue.type"] != "Direct":
            yield from _missing(_prefixed(output.get("queue") or {}), action.parameters)


def _prefixed(queue: Json) -> Json:
    return {f"queue.{key}": value for key, value in queue.items()}


def _all(objects: list[Object]) -> Iterator[Object]:
    for one in objects:
        if one.kind == "action":
            yield one
        yield from _all(one.body)


def _missing(written: Json, given: dict[str, str | list[str]]) -> Iterator[str]:
    for key, value in written.items():
        wanted = _text(value) if not isinstance(value, list) else [_text(one) for one in value]
        if given.get(key) != wanted:
            yield f"{key} is {given.get(key)!r}, not {wanted!r}"


def _text(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def wrong_json(case: Case, ours: dict[str, str], twin: dict[str, str]) -> Iterator[str]:
    """JSON files that are not those of the benign twin with the texts put in."""
    if ours.keys() != twin.keys():
        yield f"files {sorted(ours)}, not {sorted(twin)}"
    for path in (path for path in ours if path.endswith(".json")):
        wanted = _texts_put_in(case, json.loads(twin[path]))
        found = _texts_put_in(None, json.loads(ours[path], object_pairs_hook=dict))
        if found != wanted:
            yield f"{path}: {found}, not {wanted}"


def _texts_put_in(case: Case | None, data: object) -> object:
    """Plain data without hashes, and with the texts of `case` where its canaries are."""
    if isinstance(data, dict):
        kept = {key: value for key, value in data.items() if key != "profile_hash"}
        return {str(_texts_put_in(case, key)): _texts_put_in(case, kept[key]) for key in kept}
    if isinstance(data, list):
        return [_texts_put_in(case, one) for one in data]
    return case.hostile(data) if isinstance(data, str) and case is not None else data


def wrong_settings(case: Case, files: dict[str, str]) -> Iterator[str]:
    """Index settings that no file has as the profile writes them."""
    for output in case.data["outputs"]:
        written = output.get("index", {}).get("settings", {})
        folder = f"{output['name']}/" if f"{output['name']}/index-template.json" in files else ""
        if not written:
            continue
        name = f"{folder}index-template.json"
        template = json.loads(files[name])
        if "template" not in template:
            template = json.loads(files[f"{folder}component-settings.json"])
        found = template["template"]["settings"]
        normal = IndexSettings.model_validate(written).model_dump(
            mode="json", by_alias=True, exclude_none=True
        )
        for key, value in normal.items():
            if found.get(f"index.{key}") != value:
                yield f"{name}: index.{key} is {found.get(f'index.{key}')!r}, not {value!r}"
