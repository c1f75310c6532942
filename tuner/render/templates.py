"""The templates of rendered files: shipped ones, and a site's laid over them.

Jinja writes only text that passed the quoter, and refuses any other.  Templates run in a sandbox
that has only the filters of this module: another one could write unquoted text.
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
_MOST_ON_ONE_LINE = 4
# Longer values may have to be folded, which only works for an object on one line.
_LONGEST_VALUE = 1000

_Value = TypeVar("_Value")


class Templates:
    """The templates of rendered files: the shipped ones, overridden by those of `folder`.

    A site's template finds the shipped one of its name below `shipped/`.  Raises BadUsage if the
    folder does not exist or overrides nothing.
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
        """Render the template `name`; raises BadTemplate for an error in a site's template."""
        try:
            return self._environment.get_template(name).render(values)
        except Exception as error:
            if self._folder is None:
                raise  # it is ours
            raise self._located(name, error) from error

    def fill_json(self, name: str, **values: object) -> dict[str, object]:
        """Render the template `name`, and parse its output as a JSON object."""
        text = self.fill(name, **values)
        try:
            body = json.loads(text)
        except ValueError as error:
            raise self._located(name, ValueError(f"what it writes is not JSON: {error}")) from error
        if not isinstance(body, dict):
            raise self._located(name, ValueError("what it writes is not a JSON object"))
        return body

    def site_files(self, name: str) -> list[tuple[str, str]]:
        """The site's files that the template `name` uses, each with its text."""
        if self._folder is None:
            return []
        try:
            return sorted((part, text) for part, text in self._parts(name) if self._is_own(part))
        except Exception as error:
            raise self._located(name, error) from error

    @property
    def files(self) -> dict[str, str]:
        """The texts of the site's files that override a shipped template, and of the files that
        they use, by name below the folder."""
        shipped = (name for name in self._files() if _is_shipped(name))
        return dict(part for name in shipped for part in self.site_files(name))

    def _parts(self, name: str) -> Iterator[tuple[str, str]]:
        """The template and everything that it imports, includes or extends; if it computes a name,
        all files of the site."""
        queue, known = [name], {name}
        while queue:
            template = queue.pop()
            try:
                text = self._loader.get_source(self._environment, template)[0]
            except jinja2.TemplateNotFound:
                continue  # filling it in says so, with the line that names it
            yield template, text
            for referenced in meta.find_referenced_templates(
                self._environment.parse(text, template)
            ):
                for part in [referenced] if referenced is not None else self._files():
                    if part not in known:
                        known.add(part)
                        queue.append(part)

    def _files(self) -> list[str]:
        folder = self._folder
        if folder is None:
            return []
        return [str(path.relative_to(folder)) for path in folder.rglob("*.j2")]

    def _is_own(self, name: str) -> bool:
        folder = self._folder
        return folder is not None and not name.startswith(SHIPPED) and (folder / name).is_file()

    def _located(self, name: str, error: Exception) -> BadTemplate:
        """`error` as a BadTemplate that names the file and line in the template."""
        place = f"{self._folder}/{name}" if self._is_own(name) else name
        if isinstance(error, jinja2.TemplateSyntaxError):
            return BadTemplate(f"{error.filename or place}:{error.lineno}: {error.message}")
        place = _last_place(error.__traceback__) or place
        if isinstance(error, jinja2.TemplateNotFound):
            return BadTemplate(f"{place}: there is no template {error.name}")
        if isinstance(error, RecursionError):
            return BadTemplate(f"{place}: it never ends: the shipped one is {SHIPPED}{name}")
        return BadTemplate(f"{place}: {error}")


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
    """Accepts the output of macros and blocks, whose parts have all passed `finalize`."""

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
        "rs": _filter(quoting.parameter),
        "constant": _filter(quoting.constant),
        "word": _filter(quoting.word),
        "literal": _filter(quoting.literal),
        "variable": _filter(quoting.variable),
        "ruleset": _filter(quoting.identifier),
        "number": _filter(quoting.number),
        "size": _filter(quoting.size),
        "comment": _filter(quoting.comment),
        "tojson": _filter(quoting.json_value),
        "parameters": _layout,
        "indented": _indent,
    }
    return environment


def _filter(quoter: Callable[[_Value], Emitted]) -> Callable[[_Value], Emitted]:
    """`quoter` as a filter that raises for an undefined value."""

    def quoted(value: _Value) -> Emitted:
        if isinstance(value, jinja2.Undefined):
            str(value)  # StrictUndefined raises here, with the name in the template
        return quoter(value)

    return quoted


def _only_emitted(value: object) -> Emitted:
    """The value, if it came through the quoter; raises TypeError for any other."""
    if isinstance(value, Emitted):
        return value
    if isinstance(value, jinja2.Undefined):
        str(value)
    raise TypeError(f"{value!r} did not come through the quoter: write it with | rs")


def _layout(text: str) -> str:
    """Lays out the `name=value` lines of an object, without those that have no value: up to four on
    one line, more on a line each.

    The result is not `Emitted`, so that it can only be used around a block of a template.
    """
    lines = [line.strip(" ") for line in text.split("\n")]
    parameters = [line for line in lines if line and not line.endswith("=")]
    short = all(len(line.partition("=")[2]) <= _LONGEST_VALUE for line in parameters)
    if short and len(parameters) > _MOST_ON_ONE_LINE:
        return "\n" + "".join(f"    {line}\n" for line in parameters)
    return " ".join(parameters)


def _indent(text: str) -> str:
    """Indents the lines of a body; not `Emitted`, as in `_layout`."""
    return "".join(f"    {line}\n" for line in text.split("\n") if line.strip(" "))


class _Shipped(jinja2.BaseLoader):
    """Loads only shipped templates, and caches the compiled ones."""

    def get_source(self, _: jinja2.Environment, name: str) -> tuple[str, str, None]:
        """The text of a template, and its name for messages."""
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
        """The template `name`.  Its bytecode is cached in `__pycache__`, like a module's, with the
        same trust and the same switch (PYTHONDONTWRITEBYTECODE).  It is compiled anew if its
        text, Python, Jinja or this module has changed."""
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
    """The line of a template, as file:line, that raised an exception."""
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
