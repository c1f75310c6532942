"""The templates of rendered files: shipped ones, and a site's laid over them.

Jinja writes what came through the quoter and refuses everything else.  Templates run in a sandbox
with the filters of this module alone: any other could write a text that nobody quoted.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError
from types import TracebackType
from typing import TypeVar

import jinja2
from jinja2 import meta
from jinja2.bccache import Bucket
from jinja2.loaders import split_template_path
from jinja2.runtime import BlockReference, Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tuner.errors import BadTemplate, BadUsage
from tuner.reading import asset, asset_folder, asset_text
from tuner.script import quoting
from tuner.script.quoting import Emitted

SHIPPED = "shipped/"
_ONE_LINE = 4
# What is longer may have to be folded, which only an object on one line can be.
_LONGEST_VALUE = 1000

_Value = TypeVar("_Value")


class Templates:
    """What files are written by: the shipped templates, those of `folder` laid over them.

    A template of the folder finds the one that it stands for below `shipped/`.  Raises BadUsage
    when the folder is not there or stands for nothing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        shipped = _Shipped()
        loaders: list[jinja2.BaseLoader] = [jinja2.PrefixLoader({"shipped": shipped}), shipped]
        if folder is not None:
            _check(folder)
            loaders.insert(1, jinja2.FileSystemLoader(folder))
        self._loader = jinja2.ChoiceLoader(loaders)
        self._environment = _environment(self._loader)

    def fill(self, name: str, **values: object) -> str:
        """The template called `name`, filled in; raises BadTemplate when a site's is wrong."""
        try:
            return self._environment.get_template(name).render(values)
        except Exception as bad:
            if self._folder is None:
                raise  # it is ours
            raise self._named(name, bad) from bad

    def fill_json(self, name: str, **values: object) -> dict[str, object]:
        """What the template called `name` says, which is JSON."""
        text = self.fill(name, **values)
        try:
            body = json.loads(text)
        except ValueError as bad:
            raise self._named(name, ValueError(f"what it writes is not JSON: {bad}")) from bad
        if not isinstance(body, dict):
            raise self._named(name, ValueError("what it writes is not a JSON object"))
        return body

    def site_files(self, name: str) -> list[tuple[str, str]]:
        """The site's files that the template called `name` is made of, each with its text."""
        if self._folder is None:
            return []
        try:
            return sorted((part, text) for part, text in self._parts(name) if self._is_own(part))
        except Exception as bad:
            raise self._named(name, bad) from bad

    @property
    def files(self) -> dict[str, str]:
        """The texts of the site's files that stand for a shipped one, and of those that they are
        made of, by their names below the folder."""
        shipped = (name for name in self._files() if _is_shipped(name))
        return dict(part for name in shipped for part in self.site_files(name))

    def _parts(self, name: str) -> Iterator[tuple[str, str]]:
        """The template and all that it imports, includes or extends; all the site's files where a
        name is worked out."""
        waiting, seen = [name], {name}
        while waiting:
            template = waiting.pop()
            try:
                text = self._loader.get_source(self._environment, template)[0]
            except jinja2.TemplateNotFound:
                continue  # filling it in says so, with the line that names it
            yield template, text
            for referenced in meta.find_referenced_templates(
                self._environment.parse(text, template)
            ):
                for part in [referenced] if referenced is not None else self._files():
                    if part not in seen:
                        seen.add(part)
                        waiting.append(part)

    def _files(self) -> list[str]:
        folder = self._folder
        if folder is None:
            return []
        return [str(path.relative_to(folder)) for path in folder.rglob("*.j2")]

    def _is_own(self, name: str) -> bool:
        folder = self._folder
        return folder is not None and not name.startswith(SHIPPED) and (folder / name).is_file()

    def _named(self, name: str, bad: Exception) -> BadTemplate:
        """`bad` with the file and line of the template that it comes from."""
        place = f"{self._folder}/{name}" if self._is_own(name) else name
        if isinstance(bad, jinja2.TemplateSyntaxError):
            return BadTemplate(f"{bad.filename or place}:{bad.lineno}: {bad.message}")
        place = _last_place(bad.__traceback__) or place
        if isinstance(bad, jinja2.TemplateNotFound):
            return BadTemplate(f"{place}: there is no template {bad.name}")
        if isinstance(bad, RecursionError):
            return BadTemplate(f"{place}: it never ends: the shipped one is {SHIPPED}{name}")
        return BadTemplate(f"{place}: {bad}")


@cache
def shipped_templates() -> Templates:
    """The shipped templates alone."""
    return Templates()


def _check(folder: Path) -> None:
    if not folder.is_dir():
        raise BadUsage(f"--templates: {folder} is not a folder")
    if not any(_is_shipped(str(path.relative_to(folder))) for path in folder.rglob("*.j2")):
        raise BadUsage(
            f"--templates: no file in {folder} has the name of a shipped template, such as "
            "rsyslog.conf.j2"
        )


class _Environment(ImmutableSandboxedEnvironment):
    """What a macro or a block writes went through `finalize` piece by piece, and is safe."""

    def call(self, context: Context, called: object, /, *args: object, **named: object) -> object:
        """Call `called` from a template."""
        writes = isinstance(called, Macro | BlockReference)
        if "caller" in named and not writes:
            raise TypeError("only a macro can be called with a block")
        written = super().call(context, called, *args, **named)
        return Emitted(written) if writes else written


def _environment(loader: jinja2.BaseLoader) -> jinja2.Environment:
    environment = _Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        finalize=_only_emitted,
        optimized=False,  # Each is filled in a few times: to optimise it costs more than it gains.
        autoescape=False,  # HTML's rules are not RainerScript's; `finalize` lets nothing through.
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters = {
        "rs": _given(quoting.parameter),
        "constant": _given(quoting.constant),
        "word": _given(quoting.word),
        "literal": _given(quoting.literal),
        "variable": _given(quoting.variable),
        "ruleset": _given(quoting.identifier),
        "number": _given(quoting.number),
        "size": _given(quoting.size),
        "comment": _given(quoting.comment),
        "tojson": _given(quoting.json_value),
        "parameters": _laid_out,
        "indented": _indented,
    }
    return environment


def _given(quoter: Callable[[_Value], Emitted]) -> Callable[[_Value], Emitted]:
    """`quoter` for what has a value."""

    def quoted(value: _Value) -> Emitted:
        if isinstance(value, jinja2.Undefined):
            str(value)  # StrictUndefined raises here, with the name in the template
        return quoter(value)

    return quoted


def _only_emitted(value: object) -> Emitted:
    """What Jinja may write: nothing that did not come through the quoter."""
    if isinstance(value, Emitted):
        return value
    if isinstance(value, jinja2.Undefined):
        str(value)
    raise TypeError(f"{value!r} did not come through the quoter: write it with | rs")


def _laid_out(text: str) -> str:
    """`name=value` lines as they stand in an object: those without a value are left out; a few go
    on its first line, more on lines of their own.

    Not `Emitted`, so that nothing but a block of a template can be written by way of this.
    """
    lines = [line.strip(" ") for line in text.split("\n")]
    given = [line for line in lines if line and not line.endswith("=")]
    short = all(len(line.partition("=")[2]) <= _LONGEST_VALUE for line in given)
    if short and len(given) > _ONE_LINE:
        return "\n" + "".join(f"    {line}\n" for line in given)
    return " ".join(given)


def _indented(text: str) -> str:
    """The lines of a body, further in; not `Emitted`, as in `_laid_out`."""
    return "".join(f"    {line}\n" for line in text.split("\n") if line.strip(" "))


class _Shipped(jinja2.BaseLoader):
    """The shipped templates, and nothing outside of them; compiled once, as modules are."""

    def get_source(self, _: jinja2.Environment, name: str) -> tuple[str, str, None]:
        """The text of a template, and what to call it in a message."""
        split_template_path(name)
        if not _is_shipped(name):
            raise jinja2.TemplateNotFound(name)
        return asset_text("templates", name), f"{SHIPPED}{name}", None

    def load(
        self,
        environment: jinja2.Environment,
        name: str,
        values: MutableMapping[str, object] | None = None,
    ) -> jinja2.Template:
        """The template called `name`.  What it compiles to is kept as Python keeps that of modules,
        in `__pycache__`, and is trusted and turned off as that is; another text, Python, Jinja or
        environment, which this module makes, compiles it again."""
        text, place, _ = self.get_source(environment, name)
        compiled = Path(cache_from_source(asset("templates", name)))
        made_of = f"{jinja2.__version__} {Path(__file__).stat().st_mtime_ns} {text}"
        bucket = Bucket(environment, name, sha256(made_of.encode()).hexdigest())
        with suppress(OSError, EOFError, UnpicklingError):
            bucket.bytecode_from_string(compiled.read_bytes())
        if bucket.code is None:
            bucket.code = environment.compile(text, name, place)
            if not sys.dont_write_bytecode:
                SourceFileLoader(name, place).set_data(str(compiled), bucket.bytecode_to_string())
        return environment.template_class.from_code(environment, bucket.code, values or {})


def _is_shipped(name: str) -> bool:
    return (asset_folder("templates") / name).is_file()


def _last_place(step: TracebackType | None) -> str | None:
    """The file and line of a template at which an exception was raised."""
    place = None
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if file.endswith(".j2"):
            place = f"{file}:{step.tb_lineno}"
        step = step.tb_next
    return place


_DIGITS = 16


def fingerprint(sections: object) -> str:
    """The first 64 bits of the SHA-256 of plain data, in hexadecimal."""
    canonical = json.dumps(sections, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:_DIGITS]
