"""Documents that an engine refused, as rsyslog and the engine wrote them down, a line at a time;
pure.

The formats are those of omelasticsearch's errorfile (plain, erroronly, interleaved, both:
writeDataError() of omelasticsearch.c), of omhttp's (renderJsonErrorMessage() of omhttp.c), of what
a retry ruleset writes of `$.omes`, and the engine's own log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import repeat
from typing import Any
from urllib.parse import urlsplit

from tuner.modules.stats_rounds import Numbered

_ACTION = re.compile(r'\s*\{\s*"(index|create|update|delete)"\s*:\s*\{')
_OK = 300
# What a template writes before an answer, and RSYSLOG_DebugFormat before local variables and around
# them.
_BEFORE_JSON = re.compile(r"[^{]*(?=\{)")
_OF_ANSWER = ('"omes"', '"writeoperation"')
_OF_DEBUG_FORMAT = re.compile(
    r"Debug line with all properties:|FROMHOST:|TAG: |msg: |escaped msg: |inputname: |\$[!./]:"
)
# A line of an engine's log begins with a time in brackets, or is JSON.
_HEAD = re.compile(r"\[\d{4}-\d\d-\d\dT[^\]]*\]\[\s*(\w+)\s*\]\[[^\]]*\]\s*(.*)")
_THROWN = re.compile(r"\s*(?:Caused by: )?(?:[a-z]\w*\.)*(\w+?)(?:Exception|Error)(?:\[|: )(.*)")
_FAILED_ITEM = re.compile(r"failed to execute bulk item \((\w+)\)")
_OF_ITEM = re.compile(r"\{\[([^\]]+)\](?:\[[^\]]*\])*, source\[(.*)\]\}", re.DOTALL)
_WATERMARK = re.compile(r"flood.?stage disk watermark .*", re.DOTALL)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DEEPEST = 8
_DECODE = json.JSONDecoder().raw_decode
# The path of a request names the index of a document, or of a bulk.
_INDEX_IN_PATH = re.compile(r"/([^/]+)/(?:_bulk|_doc|_create)(?:/[^/]*)?")


class Keeper(Enum):
    """Who kept a refused document: what omelasticsearch sends no more, each attempt of omhttp, what
    a retry ruleset took, or the engine, which does not know what rsyslog did."""

    ERROR_FILE = "errorfile"
    OMHTTP = "errorfile of omhttp"
    RETRY_RULESET = "retry ruleset"
    ENGINE_LOG = "log of the engine"


@dataclass(frozen=True)
class Refusal:
    """A document that was refused: the HTTP status (0 where it is not known), the types of errors
    and their reasons from the outermost to the innermost, the index and the operation, the document
    where it was kept, whether the whole request was refused, and the place in the file."""

    status: int
    errors: tuple[tuple[str, str], ...]
    index: str
    operation: str
    document: str | None
    is_whole: bool
    keeper: Keeper
    file: str
    line: int

    @property
    def text(self) -> str:
        """The errors as lines, `type: reason`."""
        return "\n".join(f"{kind}: {reason}" for kind, reason in self.errors)


@dataclass(frozen=True)
class Stored:
    """So many documents that the engine stored, of a bulk in which it refused others."""

    number: int


@dataclass(frozen=True)
class NoRefusal:
    """A line that tells nothing: its place, and whether it is cut off."""

    file: str
    line: int
    is_cut: bool


Told = Refusal | Stored | NoRefusal


def read_refusals(lines: Iterable[Numbered]) -> Iterator[Told]:
    """What these lines tell, in their order."""
    log = _EngineLog()
    for file, number, text in lines:
        yield from log.before(text)
        if not text.strip():
            continue
        yield from _told(file, number, text, log)
    yield from log.end()


def _told(file: str, number: int, text: str, log: _EngineLog) -> Iterator[Told]:
    start = 0
    if not text.startswith("{") and any(word in text for word in _OF_ANSWER):
        before = _BEFORE_JSON.match(text)
        start = 0 if before is None else before.end()
    if not text.startswith("{", start):
        if not log.take(file, number, text) and _OF_DEBUG_FORMAT.match(text) is None:
            yield NoRefusal(file, number, is_cut=False)
        return
    try:
        data, end = _DECODE(text, start)
    except (ValueError, RecursionError):
        yield NoRefusal(file, number, is_cut=True)
        return
    if start == 0 and text[end:].strip():
        yield NoRefusal(file, number, is_cut=True)
        return
    if isinstance(data, dict) and log.take_json(file, number, data):
        return
    told = list(_of_json(data, file, number)) if isinstance(data, dict) else []
    yield from told or (NoRefusal(file, number, is_cut=False),)


def _of_json(data: Mapping[str, Any], file: str, number: int) -> Iterator[Told]:
    """One line of an error file or of a retry ruleset."""
    request, reply, response = (data.get(key) for key in ("request", "reply", "response"))
    answers = _Answers(file, number)
    if isinstance(response, list):
        for pair in response:
            if isinstance(pair, dict):
                yield from answers.item(pair.get("reply"), pair.get("request"))
    elif isinstance(request, list) and isinstance(reply, list):
        requests = request if len(request) == len(reply) else repeat(None)
        for item, of_item in zip(reply, requests, strict=False):
            yield from answers.item(item, of_item)
    elif isinstance(request, dict) and isinstance(response, dict):
        status, message = response.get("status"), str(response.get("message", ""))
        made = replace(answers, keeper=Keeper.OMHTTP)
        yield from made.whole(request, _object(message) or message, _status(status))
    elif isinstance(request, dict):
        yield from answers.whole(request, reply, 0)
    else:
        omes = _omes(data, _DEEPEST)
        if omes is not None:
            rest = {key: value for key, value in data.items() if value is not omes}
            document = json.dumps(rest, ensure_ascii=False) if rest and data is not omes else None
            operation = str(omes.get("writeoperation", ""))
            yield replace(answers, keeper=Keeper.RETRY_RULESET).told(omes, operation, "", document)


@dataclass(frozen=True)
class _Answers:
    """The engine's answers on a line of an error file."""

    file: str
    line: int
    keeper: Keeper = Keeper.ERROR_FILE

    def whole(self, request: Mapping[str, Any], reply: object, status: int) -> Iterator[Told]:
        """The answer to a request, with or without one for each document."""
        posted = str(request.get("postdata", ""))
        documents = tuple(_documents(posted))
        items = reply.get("items") if isinstance(reply, Mapping) else None
        if isinstance(items, list):
            paired = documents if len(documents) == len(items) else repeat(None)
            for answer, of_item in zip(items, paired, strict=False):
                yield from self.item(answer, of_item)
            return
        error = reply.get("error") if isinstance(reply, Mapping) else None
        if isinstance(reply, Mapping):
            status = _status(reply.get("status")) or status
        errors = tuple(_errors(error)) or (("", _words(reply)),)
        path = _INDEX_IN_PATH.fullmatch(urlsplit(str(request.get("url", ""))).path)
        named = "" if path is None else path[1]
        for of_item in documents or (posted,):
            operation, item_index, text = _request(of_item)
            yield Refusal(
                status, errors, item_index or named, operation, text,
                is_whole=True, keeper=self.keeper, file=self.file, line=self.line,
            )  # fmt: skip

    def item(self, answer: object, request: object) -> Iterator[Told]:
        """The answer for one document."""
        data = _object(answer) if isinstance(answer, str) else answer
        if not isinstance(data, Mapping) or not data:
            yield NoRefusal(self.file, self.line, is_cut=True)
            return
        operation, result = next(iter(data.items()))
        if not isinstance(result, Mapping):
            # With a mispaired reply (rsyslog#4472) there is no operation around it.
            operation, result = "", data
        _, index, text = _request(request if isinstance(request, str) else "")
        yield self.told(result, operation, index, text)

    def told(
        self, result: Mapping[str, Any], operation: str, index: str, document: str | None
    ) -> Refusal | Stored:
        """What the result of an operation tells; `index` is where the request wanted it to go."""
        status = _status(result.get("status"))
        errors = tuple(_errors(result.get("error")))
        if not errors and status < _OK:
            return Stored(1)
        return Refusal(
            status, errors, str(result.get("_index") or index), operation, document,
            is_whole=False, keeper=self.keeper, file=self.file, line=self.line,
        )  # fmt: skip


def _documents(posted: str) -> Iterator[str]:
    """The action and the document of each item of a bulk; blank lines, as templates with jsonf
    leave them, are left out, and a document may have line ends of its own."""
    part: list[str] = []
    for line in posted.split("\n"):
        if _ACTION.match(line) and len(part) != 1:
            if part:
                yield "\n".join(part)
            part = [line]
        elif line.strip():
            part.append(line)
    if part:
        yield "\n".join(part)


def _request(text: str) -> tuple[str, str, str | None]:
    """The operation, the index and the document of one item of a bulk, or of a request that is a
    document itself."""
    action, _, document = text.strip("\n").partition("\n")
    found = _ACTION.match(action)
    if found is None:
        return "", "", text.strip() or None
    data = _object(action)
    head = {} if data is None else data.get(found[1], {})
    index = head.get("_index", "") if isinstance(head, Mapping) else ""
    return found[1], str(index), document.strip() or None


def _omes(data: object, depth: int) -> Mapping[str, Any] | None:
    """The object with the engine's answer, wherever a template put it; an event may have a status
    and an error of its own."""
    if not isinstance(data, Mapping) or not depth:
        return None
    is_answer = "writeoperation" in data or isinstance(data.get("error"), Mapping)
    if "status" in data and is_answer:
        return data
    inner = sorted(data.items(), key=lambda item: item[0] != "omes")
    return next((found for _, value in inner if (found := _omes(value, depth - 1))), None)


def _words(reply: object) -> str:
    """What an answer without an error says: a text, or the texts of an object."""
    if isinstance(reply, Mapping):
        texts = [f"{name}: {value}" for name, value in reply.items() if isinstance(value, str)]
        return "; ".join(texts)[:2000]
    return str(reply)[:2000]


def _errors(error: object) -> Iterator[tuple[str, str]]:
    """The type and the reason of an error, and of what caused it, and so on."""
    for _ in range(_DEEPEST):
        if isinstance(error, str):
            yield "", error
        if not isinstance(error, Mapping):
            return
        yield str(error.get("type", "")), str(error.get("reason", ""))
        error = error.get("caused_by")


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _status(value: object) -> int:
    return value if isinstance(value, int) else 0


@dataclass
class _EngineLog:
    """The entry of an engine's log that is being read: what it threw, one below the other."""

    file: str = ""
    line: int = 0
    message: str = ""
    errors: list[tuple[str, str]] = field(default_factory=list)
    is_open: bool = False

    def before(self, text: str) -> Iterator[Told]:
        """What the entry told, where this line begins another."""
        if self.is_open and (_HEAD.match(text) or text.startswith("{")):
            yield from self.end()

    def take(self, file: str, number: int, text: str) -> bool:
        """Take a plain line; False where it is of no log."""
        head = _HEAD.match(text)
        if head is not None:
            self.file, self.line, self.message, self.is_open = file, number, head[2], True
            return True
        if self.is_open:
            self._throw(text)
        return self.is_open

    def take_json(self, file: str, number: int, data: Mapping[str, Any]) -> bool:
        """Take an entry of a log in JSON, of the format of Elasticsearch 7 or of ECS; False where
        it is none."""
        level = data.get("level", data.get("log.level"))
        if not isinstance(level, str) or not isinstance(data.get("message"), str):
            return False
        self.file, self.line, self.message = file, number, data["message"]
        trace = data.get("stacktrace", data.get("error.stack_trace", ()))
        for line in trace.split("\n") if isinstance(trace, str) else trace:
            self._throw(str(line))
        self.is_open = True
        return True

    def _throw(self, line: str) -> None:
        """Take a line of a stack trace, which may name an exception."""
        thrown = _THROWN.match(line)
        if thrown is not None:
            self.errors.append((_snake(thrown[1]), thrown[2]))

    def end(self) -> Iterator[Told]:
        """What the entry told; nothing where it is of something else."""
        item, watermark = _FAILED_ITEM.search(self.message), _WATERMARK.search(self.message)
        errors = tuple(self.errors)
        if watermark is not None:
            errors = (("cluster_block", watermark[0]),)
        if self.is_open and errors and (item is not None or watermark is not None):
            source = _OF_ITEM.search(self.message)
            yield Refusal(
                0, errors, source[1] if source else "", item[1] if item else "",
                source[2] if source else None,
                is_whole=False, keeper=Keeper.ENGINE_LOG, file=self.file, line=self.line,
            )  # fmt: skip
        self.message, self.errors, self.is_open = "", [], False


def _snake(name: str) -> str:
    """`MapperParsing` as the engine spells the type in an answer: `mapper_parsing_exception`."""
    return f"{_CAMEL.sub('_', name).lower()}_exception"
