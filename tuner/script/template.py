"""Parses templates of every type into texts and properties."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, product

from tuner.engines.refusals import document_refusal
from tuner.modules.omelasticsearch import DEFAULT_INDEX
from tuner.reading import table
from tuner.script.script import Directive, ScriptObject, ScriptPosition
from tuner.script.tokens import byte, with_characters

_TABLE = table("script/template.toml")
_WORDS, _LINES = _TABLE["words"], frozenset(_TABLE["lines"])
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = re.compile(r"""\\(x[0-9A-Fa-f]{2}|[0abfnrt?'"\\])""")
_PLAIN = re.compile(r"[^%]++")


@dataclass(frozen=True)
class TemplateProperty:
    """A property in a template; its options have the names of property()'s parameters in lower
    case."""

    name: str
    options: Mapping[str, str]
    origin: ScriptPosition = field(compare=False)

    @property
    def lowered(self) -> str:
        """The name in lower case; variables, which are case-sensitive, keep theirs."""
        return self.name if self.name.startswith(("$!", "$.", "$/")) else self.name.lower()


@dataclass(frozen=True)
class NamedText:
    """A constant() with an outname, which becomes a member of a JSON object."""

    name: str
    text: str


TemplatePiece = str | TemplateProperty | NamedText


@dataclass(frozen=True)
class Template:
    """A template: its pieces, the subtree that it writes if it is of that type, and the `option.*`
    parameters that are on."""

    pieces: tuple[TemplatePiece, ...]
    subtree: str | None = None
    options: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TemplateMember:
    """A member of the JSON object that a template writes: its name, what its value is made of, and
    whether the value stands in quotes."""

    name: str
    pieces: tuple[TemplatePiece, ...]
    is_text: bool

    @property
    def properties(self) -> tuple[TemplateProperty, ...]:
        """The properties in the value."""
        return tuple(piece for piece in self.pieces if isinstance(piece, TemplateProperty))


# A member's name stands before its value.
_NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*("?)')
_END_OF_VALUE = {True: re.compile('"'), False: re.compile(r"[,}\s]")}


def members_of(template: Template) -> Iterator[TemplateMember]:
    """The members whose values have a property in them, or a text with a name of its own."""
    open_: TemplateMember | None = None
    for piece in template.pieces:
        if isinstance(piece, NamedText):
            yield TemplateMember(piece.name, (piece,), is_text=True)
        elif isinstance(piece, TemplateProperty):
            name = piece.options.get("outname")
            if open_ is not None:
                open_ = replace(open_, pieces=(*open_.pieces, piece))
            elif name is not None:
                kind = piece.options.get("datatype", "string").lower()
                yield TemplateMember(name, (piece,), is_text=kind == "string")
        else:
            rest = piece
            if open_ is not None:
                end, is_text = _END_OF_VALUE[open_.is_text].search(piece), open_.is_text
                if end is None:
                    open_ = replace(open_, pieces=(*open_.pieces, piece))
                    continue
                before = (piece[: end.start()],) if end.start() else ()
                yield replace(open_, pieces=(*open_.pieces, *before))
                open_, rest = None, piece[end.start() + is_text :]
            open_ = _begun(rest)


def _begun(text: str) -> TemplateMember | None:
    """The member whose value begins in a text and does not end there."""
    for named in reversed([*_NAMED.finditer(text)]):
        value, is_text = text[named.end() :], bool(named[2])
        if _END_OF_VALUE[is_text].search(value) is None:
            return TemplateMember(named[1], (value,) if value else (), is_text)
    return None


def static_index(action: ScriptObject) -> str | None:
    """The index that an action writes whatever the event; None where a template makes its name, or
    it is known only when rsyslogd starts."""
    if action.is_on("dynSearchIndex"):
        return None
    index = action.get("searchIndex")
    return DEFAULT_INDEX if index is None else index.text


def template_of(template: ScriptObject) -> Template | None:
    """Parse a template(); None if it is of another type, such as plugin, or if a % is missing."""
    kind = (template.text("type") or "string").lower()
    options = frozenset(
        parameter.key.removeprefix("option.")
        for parameter in template.parameters
        if parameter.key.startswith("option.") and parameter.is_on
    )
    if kind == "list":
        return Template(tuple(map(_part, template.parts)), options=options)
    if kind == "string":
        pieces = _pieces(template.text("string") or "", template.origin)
        return None if pieces is None else Template(pieces, options=options)
    return Template((), template.text("subtree"), options) if kind == "subtree" else None


_MESSAGE = "msg"
# Options that leave a JSON object in the message as it is.
_HARMLESS = frozenset({"position.from", "spifno1stsp", "droplastlf"})


def whole_document(template: ScriptObject) -> str | None:
    """The variable, or `msg`, if that is all a template writes apart from white space; None
    otherwise."""
    content = template_of(template)
    if content is None or content.subtree is not None:
        return None if content is None else content.subtree
    pieces = [piece for piece in content.pieces if not isinstance(piece, str) or piece.strip()]
    piece = pieces[0] if len(pieces) == 1 and not content.options else None
    if not isinstance(piece, TemplateProperty):
        return None
    name, options = piece.lowered, piece.options.keys()
    if name == _MESSAGE:
        return name if options <= _HARMLESS else None
    return name if name.startswith(("$!", "$.")) and not options else None


def ends_with_message(template: ScriptObject) -> bool:
    """Whether a template writes a JSON object that ends with the members of the message, so that
    messages must end in `}`."""
    content = template_of(template)
    pieces = () if content is None else content.pieces
    visible = [piece for piece in pieces if not isinstance(piece, str) or piece.strip()]
    before, last = visible[-2:] if len(visible) > 1 else (None, None)
    is_message = isinstance(last, TemplateProperty) and last.lowered == _MESSAGE
    return is_message and isinstance(before, str) and before.rstrip().endswith(("{", ","))


def _part(part: ScriptObject) -> TemplatePiece:
    if part.kind == "constant":
        text = _unescaped(part.text("value") or "")
        name = part.text("outname")
        return text if name is None else NamedText(name, text)
    options = {option.key: option.text or "" for option in part.parameters if option.key != "name"}
    return TemplateProperty(part.name, options, part.origin)


def _pieces(text: str, origin: ScriptPosition) -> tuple[TemplatePiece, ...] | None:
    """The pieces of a string with %properties%; None if a property has no end."""
    pieces: list[TemplatePiece] = []
    start = 0
    while start < len(text):
        plain = _PLAIN.match(text, start)
        if plain is not None:
            pieces.append(plain[0])
            start = plain.end()
            continue
        end = end_of_property(text, start + 1)
        if end < 0:
            return None
        pieces.append(property_of(text[start + 1 : end], origin))
        start = end + 1
    return tuple(pieces)


def end_of_property(text: str, start: int) -> int:
    """The offset of the % that ends a property, -1 if there is none.  A regular expression, up to
    --end, can contain %."""
    colon = text.find(":", start)
    first = text.find("%", start)
    if 0 <= colon < first and text[colon + 1 : colon + 3].upper().startswith("R"):
        return text.find("%", max(text.find("--end", colon), start))
    return first


def with_option(text: str, word: str) -> str:
    """The string of a template with the option `word` added to each property."""
    done, start = "", 0
    while (begin := text.find("%", start) + 1) and (end := end_of_property(text, begin)) >= 0:
        head, is_regex, options = text[begin:end].partition("--end")
        if is_regex:
            options = options.removeprefix(":")
        else:
            *fields, options = [*head.split(":", 3), "", "", ""][:4]
            head = ":".join(fields)
        # All after the options is the outname (do_Parameter() of template.c).
        options, colon, name = options.partition(":")
        options = ",".join(filter(None, (options, word)))
        done += f"{text[start:begin]}{head}{is_regex}:{options}{colon}{name}%"
        start = end + 1
    return done + text[start:]


def property_of(text: str, origin: ScriptPosition) -> TemplateProperty:
    """Parse a property between two %: `NAME:FROM:TO:OPTIONS:OUTNAME`, or with a regular expression
    in place of FROM:TO."""
    name, _, remainder = text.partition(":")
    options: dict[str, str] = {}
    if remainder[:1].upper() == "R":
        words, _, remainder = remainder.partition(":")
        kind, group, missing, match = [*words.split(",")[1:], "", "", "", ""][:4]
        expression, _, remainder = remainder.partition("--end")
        options |= {"regex.expression": expression, "regex.type": kind or "BRE"}
        options |= {"regex.submatch": group or "0", "regex.nomatchmode": missing or "DFLT"}
        options |= {} if match in {"", "0"} else {"regex.match": match}
        remainder = remainder.removeprefix(":")
    else:
        first, _, remainder = remainder.partition(":")
        last, _, remainder = remainder.partition(":")
        options |= _positions(first, last)
    words, _, outname = remainder.partition(":")
    options |= {"outname": outname} if outname else {}
    for word in filter(None, (part.strip().lower() for part in words.split(","))):
        if word.startswith("date-") and word not in _WORDS:
            options["dateformat"] = word.removeprefix("date-")
        else:
            key, value = _WORDS.get(word, (word, "on"))
            options[key] = value
    return TemplateProperty(name.strip(), options, origin)


def _positions(first: str, last: str) -> dict[str, str]:
    """The options for FROM and TO: `F,59:3` is the third field, `2:$` begins at the second
    character, and `2:` ends there, because rsyslogd swaps the two if TO, here 0, is smaller
    (addParameter() of template.c)."""
    if first[:1].upper() == "F":
        delimiter = first.partition(",")[2] or "9"
        return {"field.delimiter": delimiter, "field.number": last or "1"}
    first, last = first.strip("$") or "0", last or "0"
    if first.isdecimal() and last.isdecimal():
        first, last = sorted((first, last), key=lambda text: (len(text), text))
    options = {} if first == "0" else {"position.from": first}
    return options | ({} if last in {"0", "$"} else {"position.to": last})


def _unescaped(text: str) -> str:
    """The text of a constant() with its escapes resolved a second time, as rsyslog does for nothing
    else (template.c, createConstantTpe).  For NUL it writes more bytes, which no text can show."""
    return with_characters(_ESCAPED.sub(_character, text))


def _character(escape: re.Match[str]) -> str:
    word = escape[1]
    return byte(int(word[1:], 16)) if word[0] == "x" else _ESCAPES.get(word, word)


# A text between properties; numbers in escapes are decimal (template.c, do_Constant).
_LEGACY_TEXT = re.compile(r'(?:[^%"\\]|\\[0-9]{1,9}+|\\.|\\\Z)++', re.DOTALL)
_LEGACY_ESCAPE = re.compile(r"\\([0-9]{1,9}+|.|\Z)", re.DOTALL)
_LEGACY_ESCAPED = {"n": "\n", "r": "\r"}


def template_object(directive: Directive) -> ScriptObject | Directive:
    """The template() that writes the same as a `$template`: a list if a text contains %.  No
    template() can write NUL, so such a directive is returned as it is."""
    name, _, content = directive.text.partition(",")
    content, origin = content.lstrip(), directive.origin
    values = {"name": name.strip()}
    if not content.startswith('"'):
        values |= {"type": "plugin", "plugin": content.removeprefix("=")}
        return ScriptObject.of("template", values, origin)
    pieces = tuple(_quoted_pieces(content))
    texts = [text for _, text in pieces if text is not None]
    if any("\0" in text for text in texts):
        return directive
    after = content[1 + sum(len(raw) for raw, _ in pieces) + 1 :].partition("#")[0]
    words = (word.strip().lower() for word in after.split(","))
    options = {f"option.{word}": "on" for word in words if word}
    if any("%" in text for text in texts):
        template = ScriptObject.of("template", values | {"type": "list"} | options, origin)
        return replace(template, parts=tuple(_list_part(*piece, origin) for piece in pieces))
    whole = "".join(raw if text is None else text for raw, text in pieces)
    values |= {"type": "string", "string": whole}
    return ScriptObject.of("template", values | options, origin)


def _quoted_pieces(content: str) -> Iterator[tuple[str, str | None]]:
    """The pieces of the quoted string: each raw, and with its escapes resolved, or None for a
    property, which has no escapes."""
    start = 1
    while start < len(content) and content[start] != '"':
        plain = _LEGACY_TEXT.match(content, start)
        if plain is not None:
            yield plain[0], with_characters(_LEGACY_ESCAPE.sub(_legacy_character, plain[0]))
            start = plain.end()
            continue
        end = end_of_property(content, start + 1)
        stop = len(content) if end < 0 else end + 1
        yield content[start:stop], None
        start = stop


def _legacy_character(escape: re.Match[str]) -> str:
    word = escape[1]
    is_number = word.isascii() and word.isdecimal()
    return byte(int(word) % 256) if is_number else _LEGACY_ESCAPED.get(word, word)


def _list_part(raw: str, text: str | None, origin: ScriptPosition) -> ScriptObject:
    """A piece as a part of a list template, whose constants rsyslogd unescapes a second time."""
    if text is not None:
        return ScriptObject.of("constant", {"value": text.replace("\\", "\\\\")}, origin)
    named = property_of(raw.removeprefix("%").removesuffix("%"), origin)
    return ScriptObject.of("property", {"name": named.name, **named.options}, origin)


# Samples of what a variable or a message can contain: a number, which also fits in quotes, an
# object, members, the end of an object, and nothing.
_ANYTHING = ("1", "{}", '"a":1', '"a":1}', ',"a":1', ',"a":1}', "{", "}", "")
_MOST_TRIALS = 5_000
_WHOLE = frozenset({"msg", "rawmsg", "rawmsg-after-pri", "jsonmesg", "structured-data"})


def is_for_lines(name: str) -> bool:
    """Whether a built-in template of rsyslogd, given by name, writes lines of text."""
    return name.strip().lower() in _LINES


def never_json(template: ScriptObject) -> tuple[str, str] | None:
    """A sample of what a template writes, and why no engine can parse it; None if some events may
    give a JSON object, or if that is unknown."""
    content = template_of(template)
    if content is None or content.subtree is not None or "jsonftree" in content.options:
        return None
    by_name = "jsonf" in content.options
    choices = [tuple(_texts(texts, by_name)) for texts in content.pieces]
    trials = 1
    for texts in choices:
        trials *= len(texts)
    if trials > _MOST_TRIALS:
        return None
    first: tuple[str, str] | None = None
    for parts in islice(product(*choices), _MOST_TRIALS):
        text = f"{{{', '.join(parts)}}}" if by_name else "".join(parts)
        for document in dict.fromkeys((text, text.replace("\\n", "\n"))):
            refusal = document_refusal(document)
            if refusal is None:
                return None
            first = first or (document.strip(), refusal)
    return first


def _texts(piece: TemplatePiece, by_name: bool) -> Iterator[str]:
    """Samples of what a piece can write."""
    match piece:
        case NamedText():
            yield f'"{piece.name}": "1"' if by_name else piece.text
        case TemplateProperty():
            yield from _property_texts(piece)
        case _:
            yield piece


def _property_texts(piece: TemplateProperty) -> Iterator[str]:
    form = piece.options.get("format", "").lower()
    is_variable = piece.name.startswith("$") and piece.name[1:2] in "!./"
    if form in {"jsonf", "jsonfr"}:
        yield f'"{piece.options.get("outname", piece.name.lstrip("$!./"))}":"1"'
        if is_variable or piece.options.get("onempty") or "omitifzero" in piece.options:
            yield ""
    elif form == "csv":
        yield '"1"'
    elif is_variable or piece.lowered in _WHOLE:
        yield from _ANYTHING
    else:
        yield "1"
