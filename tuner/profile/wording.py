"""What pydantic found wrong, in the words of someone who writes a profile."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from tuner.errors import BadProfile, KeyPath, Problem
from tuner.modules.secrets import SecretRef
from tuner.profile.model import Profile
from tuner.profile.schema import every_key, facts, keys_of, models_at
from tuner.profile.source import LONGEST_SHOWN, Source, at, has, problem_at, shortened

UNKNOWN_KEY = "RT001"
WRONG_VALUE = "RT002"
MISSING = "RT003"
NEEDS_QUOTES = "RT004"

# After as many problems an unknown key is named without what to write instead: looking that up
# takes time, and a file with more of them is no profile.
_ADVISED = 100
_PLACES = "write {file: /path/to/it} or {env: NAME}"
_TAG = frozenset({"union_tag_invalid", "union_tag_not_found"})
_IS_SECTION = frozenset({"model_type", "model_attributes_type"})
# What pydantic says of a value only because of an error further inside.
_ECHOES = frozenset({"too_short", "enum", "tuple_type", "literal_error"})


class _Fault(NamedTuple):
    """One pydantic error of a `root`, brought to the path it has in the YAML data."""

    root: type[BaseModel]
    path: KeyPath
    kind: str
    given: object
    pydantic_message: str
    context: Mapping[str, object]


_Model = TypeVar("_Model", bound=BaseModel)


def validated(model: type[_Model], source: Source, data: object) -> _Model:
    """The data of a source as a model; raises BadProfile with what is wrong with its values, and
    with what was already when it was read."""
    try:
        return model.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as error:
        raise BadProfile((*source.problems, *problems_of(error, source, model))) from None


def problems_of(
    error: ValidationError, source: Source, root: type[BaseModel] = Profile
) -> tuple[Problem, ...]:
    """Every problem in `error`, which is about a `root`, at its place in the file."""
    faults = [
        _Fault(
            root=root,
            path=_path(detail["loc"], detail["type"], _tag(detail.get("ctx", {})), source.data),
            kind=detail["type"],
            given=detail["input"],
            pydantic_message=detail["msg"],
            context=detail.get("ctx", {}),
        )
        for detail in error.errors(include_url=False)
    ]
    outer = {fault.path[:end] for fault in faults for end in range(len(fault.path))}
    telling = [fault for fault in faults if not (fault.path in outer and fault.kind in _ECHOES)]
    by_path: dict[tuple[KeyPath, str], list[_Fault]] = {}
    for fault in telling:
        by_path.setdefault((fault.path, _code(fault)), []).append(fault)
    return tuple(
        _problem(together, source, advised=number < _ADVISED)
        for number, together in enumerate(by_path.values())
    )


def _path(location: tuple[str | int, ...], kind: str, tag: str, data: object) -> KeyPath:
    """pydantic's location without the labels of unions, which are not in the data; of a union
    told apart by `tag`, where that stands."""
    path: KeyPath = ()
    for i, step in enumerate(location):
        if has(data, step):
            data, path = at(data, (step,)), (*path, step)
        elif i == len(location) - 1 and kind == "missing":
            path = (*path, step)
    return (*path, tag) if kind in _TAG else path


def _unquote(listed: object) -> str:
    return str(listed).replace("'", "")


def _tag(context: Mapping[str, object]) -> str:
    """The key that tells the members of a union apart."""
    return _unquote(context.get("discriminator", "type"))


def _code(fault: _Fault) -> str:
    if fault.kind == "extra_forbidden":
        return UNKNOWN_KEY
    if fault.kind in {"missing", "union_tag_not_found"}:
        return MISSING
    if fault.kind == "string_type" and isinstance(fault.given, bool | int | float):
        return NEEDS_QUOTES
    return WRONG_VALUE


def _problem(together: Sequence[_Fault], source: Source, advised: bool) -> Problem:
    """One problem for all that is said about one value; `advised` for what to write instead."""
    first = together[0]
    code = _code(first)
    at_key = code in {UNKNOWN_KEY, MISSING}
    position = source.key_position(first.path) if at_key else source.position(first.path)
    if code == UNKNOWN_KEY and not advised:
        message = f"there is no key {shortened(_spell(first.path))}: remove it"
    else:
        message = _message(first, code, together, source)
    return problem_at(source.file_of(first.path), position, message, code)


def _message(first: _Fault, code: str, together: Sequence[_Fault], source: Source) -> str:
    key = _spell(first.path) or f"the {first.root.__name__.lower()}"
    if code == UNKNOWN_KEY:
        return _unknown(first, source)
    if code == MISSING:
        return f"{key} is missing: add it"
    if code == NEEDS_QUOTES:
        spot = source.spots.get(first.path)
        raw = spot.raw if spot and spot.raw is not None else str(first.given)
        read_as = "a yes or no" if isinstance(first.given, bool) else "a number"
        return f'{key}: YAML reads {raw} as {read_as}; write it in quotes: "{raw}"'
    if not isinstance(first.given, Mapping) and SecretRef in models_at(first.path, first.root):
        texts = [fault for fault in together if fault.kind not in _IS_SECTION]
        if not texts:
            return f"{key} must say where the secret is, never hold it: {_PLACES}"
        together = texts  # a text may stand there too, if it gives nothing away
    requirement, *choices = dict.fromkeys(_requirement(fault) for fault in together)
    requirement = " or ".join([requirement, *(text.removeprefix("must be ") for text in choices)])
    if first.kind == "tuple_type" and not choices and isinstance(first.given, str):
        requirement += " in brackets, even for one entry"
    return f"{key} {requirement}{_given(first)}"


def _unknown(fault: _Fault, source: Source) -> str:
    path = fault.path
    keys = keys_of(models_at(path[:-1], fault.root, source.data))
    key = shortened(str(path[-1]))
    section = f" in {_spell(path[:-1])}" if len(path) > 1 else ""
    section_path = re.sub(r"\[[0-9]+\]", "[]", _spell(path[:-1]))
    return f"there is no key {key}{section}: {_instead(key, tuple(keys), section_path)}"


def _instead(key: str, keys: tuple[str, ...], section: str) -> str:
    """What to write instead of an unknown key of `section`, whose keys are `keys`."""
    lowered = {name.lower(): name for name in keys}
    word = key.lower().removeprefix("queue.")
    if key.lower() not in lowered:
        inner = key[len("queue.") :] if word != key.lower() else ""
        if inner and "queue" in keys:
            return f"write queue: {{{inner}: ...}}"
        if key.lower() in facts().spellings:
            return facts().spellings[key.lower()].write
    near = difflib.get_close_matches(word, lowered, 1)
    if near:
        return f"did you mean {lowered[near[0]]}?"
    paths = [known.path for known in every_key() if known.name.lower() == word]
    homes = dict.fromkeys(path.rpartition(".")[0] for path in paths)
    inside = [home for home in homes if home.startswith(section)]
    if homes:
        return f"it belongs in {' or '.join(home or 'the top level' for home in inside or homes)}"
    return f"known keys: {', '.join(keys)}"


def _requirement(fault: _Fault) -> str:
    """What the value must be, as the end of a sentence that starts with the key."""
    sentence = facts().errors.get(fault.kind)
    if sentence is None:
        return f"is wrong: {fault.pydantic_message}"
    context = fault.context
    pattern, expected = str(context.get("pattern")), str(context.get("expected", ""))
    words = {
        **context,
        "shape": facts().shapes.get(pattern, f"like {pattern}"),
        "listed": _unquote(expected or context.get("expected_tags")),
    }
    near = difflib.get_close_matches(str(fault.given), re.findall(r"'([^']*)'", expected), 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return sentence.format_map(words) + hint


def _given(fault: _Fault) -> str:
    """The value found, if it is short enough to help."""
    value, path = fault.given, fault.path
    inside = any(SecretRef in models_at(path[:end], fault.root) for end in range(1, len(path) + 1))
    if inside or "@" in str(value):
        # A password where only its place belongs, or one inside an address: never repeat it.
        return ""
    if fault.kind == "union_tag_invalid" and isinstance(value, Mapping):
        value = value.get(_tag(fault.context))
    if value is None:
        return ", not empty"
    if isinstance(value, bool):
        return f", not {'on' if value else 'off'}"
    if isinstance(value, str | int | float) and len(str(value)) <= LONGEST_SHOWN:
        return f", not {value!r}"
    return ""


def _spell(path: KeyPath) -> str:
    """`path` as people write it: inputs[0].port."""
    text = ""
    for step in path:
        word = shortened(str(step))
        text += f"[{step}]" if isinstance(step, int) else f".{word}" if text else word
    return text
