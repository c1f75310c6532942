"""`rsyslog-tune validate`: is this profile right?  Layer by layer, each named."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.annotations import github, gitlab
from tuner.cli.console import result, result_json, say, working
from tuner.cli.options import (
    EngineChoice,
    FragmentOption,
    LoadedOption,
    ProfilePath,
    TemplatesOption,
)
from tuner.cli.profiles import form_of
from tuner.errors import (
    BadProfile,
    BadUsage,
    JobFailed,
    LintWarnings,
    Problem,
    Severity,
    TuneError,
)
from tuner.lint.load import STDIN, LoadedProfile, load_profile
from tuner.lint.repairs import Mend, mended, repairs
from tuner.render.templates import Templates
from tuner.render.tree import write_whole
from tuner.validate.layer import Layer
from tuner.validate.layers import layers


class ProblemFormat(Enum):
    """How the problems and the layers are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    GITLAB = "gitlab"


_Output = Annotated[
    ProblemFormat,
    typer.Option(
        "--output",
        help="Format on stdout; github: only problems, as GitHub Actions annotations; gitlab: as a "
        "GitLab code quality report.",
    ),
]
_Url = Annotated[
    str | None,
    typer.Option(
        "--elasticsearch",
        metavar="URL",
        help="Have an existing Elasticsearch or OpenSearch check the rendered templates; nothing "
        "is stored in it, except with --smoke.",
        show_default=False,
    ),
]
_Smoke = Annotated[
    bool,
    typer.Option(
        "--smoke",
        help="Send one event through a real rsyslogd into the engine at URL, else into a lab, and "
        "find it by its content. Everything is removed afterwards.",
    ),
]


_Fix = Annotated[
    bool,
    typer.Option(
        "--fix",
        help="First repair in the file what loses events under the profile's own tier; nothing "
        "else of it changes.",
    ),
]


def validate(
    profile: ProfilePath,
    offline: Annotated[
        bool, typer.Option("--offline", help="Skip the layers that start a daemon.")
    ] = False,
    elasticsearch: _Url = None,
    smoke: _Smoke = False,
    templates: TemplatesOption = None,
    fragment: FragmentOption = False,
    loaded_modules: LoadedOption = None,
    fix: _Fix = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if there are warnings.")
    ] = False,
    output: _Output = ProblemFormat.TEXT,
) -> None:
    """Check a profile: schema, lint, then `rsyslogd -N1` on the whole rendered configuration.

    --fragment checks a drop-in inside this host's own /etc/rsyslog.conf.  --elasticsearch adds the
    layer `engine`, --smoke the layer `smoke`, which uses the shipped templates.  Exits with 78 when
    the profile or a template is wrong or an engine refuses it, with 1 when rsyslogd or the smoke
    test rejects it, with 4 when the engine does not answer, with 3 for warnings with --strict.
    """
    if offline and (smoke or elasticsearch is not None):
        raise BadUsage("--offline cannot be combined with --elasticsearch or --smoke")
    if fix and profile == STDIN:
        raise BadUsage("--fix writes into the profile's file: name one instead of -")
    site = None if templates is None else Templates(templates)
    mends = None
    try:
        mends = _fixed(profile, output) if fix else None
        loaded = load_profile(profile)
    except BadProfile as bad:
        if output is not ProblemFormat.TEXT:
            _show_to_program([], bad.problems, output, mends)
        elif not fix and profile != STDIN:
            _offer_repairs(profile)
        raise
    form = form_of(loaded, fragment, loaded_modules)
    found = list(layers(loaded, offline, site, form))
    for name, ask in _asked(loaded, elasticsearch, site, smoke, found):
        try:
            found.append(ask())
        except TuneError as error:
            found.append(Layer(name, None, str(error)))
            _show(loaded, found, output, mends)
            raise
    _show(loaded, found, output, mends)
    _judge(loaded, found, strict)


def _fixed(profile: Path, output: ProblemFormat) -> tuple[Mend, ...]:
    """Repair the file, and say so line by line unless a program will read it.  A link stays a
    link, and a profile that needs no repair is not written."""
    text, mends = mended(profile)
    if mends:
        write_whole(profile.resolve(), text)
    if output is not ProblemFormat.JSON:
        tell = result if output is ProblemFormat.TEXT else say
        for one in mends:
            tell(f"repaired {one}")
        if not mends:
            tell(f"nothing to repair in {profile}")
    return mends


def _offer_repairs(profile: Path) -> None:
    """Say what --fix would repair, where it can."""
    with contextlib.suppress(TuneError):
        count = len(mended(profile)[1])
        if count:
            say(_offer(profile, count))


def _offer(profile: Path, count: int) -> str:
    repairs = "1 setting that loses" if count == 1 else f"{count} settings that lose"
    return f"rsyslog-tune validate --fix {profile} repairs {repairs} events"


Asked = tuple[str, Callable[[], Layer]]


def _asked(
    loaded: LoadedProfile,
    url: str | None,
    site: Templates | None,
    smoke: bool,
    found: list[Layer],
) -> Iterator[Asked]:
    """The layers that need an engine; a profile that is rejected already is not started."""
    if url is not None:
        yield "engine", lambda: _engine(loaded, url, site)
    rejected = [layer.name for layer in found if layer.passed is False]
    if smoke and rejected:
        found.append(Layer("smoke", None, f"rejected by {rejected[0]}"))
    elif smoke:
        yield "smoke", lambda: _smoke(loaded, url)


def _engine(loaded: LoadedProfile, url: str, site: Templates | None) -> Layer:
    from tuner.cli.cluster import client_for
    from tuner.validate.engine import engine_layer

    if not loaded.profile.indexed:
        return Layer("engine", None, "no output goes into an engine")
    with (
        working(f"asking {url}"),
        contextlib.closing(client_for(url, loaded.profile)) as client,
    ):
        return engine_layer(loaded, client, site)


def _smoke(loaded: LoadedProfile, url: str | None) -> Layer:
    """Imported here: what measures takes longer to import than the other layers take."""
    from tuner.cli.site import Wanted, open_lab, prepare
    from tuner.validate.smoke import smoke_layer, without_stream

    wanted = Wanted(EngineChoice.NODE, url)
    prepare(wanted, [without_stream(loaded.profile)[0]], say)
    with open_lab(wanted, loaded.profile, Path(tempfile.gettempdir()), say) as lab:
        say(f"sending one event through rsyslogd into {lab.engine.name}")
        return smoke_layer(lab, loaded.profile)


def _problems(loaded: LoadedProfile, found: list[Layer]) -> tuple[Problem, ...]:
    return (*loaded.warnings, *(one for layer in found for one in layer.problems))


def _judge(loaded: LoadedProfile, found: list[Layer], strict: bool) -> None:
    """Choose the exit code."""
    errors = tuple(one for layer in found for one in layer.errors)
    if errors:
        raise BadProfile(errors)
    rejected = [layer for layer in found if layer.passed is False]
    if rejected:
        raise JobFailed(f"{loaded.path}: rejected by {rejected[0].name}")
    warnings = len(_problems(loaded, found))
    if strict and warnings:
        raise LintWarnings(
            f"{loaded.path}: {'1 warning' if warnings == 1 else f'{warnings} warnings'}"
        )


def _show(
    loaded: LoadedProfile, found: list[Layer], output: ProblemFormat, mends: Sequence[Mend] | None
) -> None:
    """The layers; of the problems only warnings as text, because errors end the command."""
    problems = _problems(loaded, found)
    if output is not ProblemFormat.TEXT:
        _show_to_program(found, problems, output, mends)
        return
    lines = [str(one) for one in problems if one.severity is Severity.WARNING]
    for layer in found:
        word = {True: "ok", False: "REJECTED", None: "not run"}[layer.passed]
        lines.append(f"{layer.name:<14} {word}{': ' + layer.remark if layer.remark else ''}")
        lines += [f"{'':<14} {note}" for note in layer.notes]
    several = repairs(loaded.profile)
    if several:
        lines.append(_offer(loaded.path, len(several)))
    result("\n".join(lines))


def _show_to_program(
    found: list[Layer],
    problems: Sequence[Problem],
    output: ProblemFormat,
    mends: Sequence[Mend] | None,
) -> None:
    if output is ProblemFormat.GITLAB:
        result_json(gitlab(problems))
    elif output is ProblemFormat.GITHUB:
        if problems:
            result(github(problems))
    else:
        shown = [_layer(layer) for layer in found]
        told = [_problem(problem) for problem in problems]
        data = {"schema": 1, "kind": "validate", "layers": shown, "problems": told}
        if mends is not None:
            data["repaired"] = [asdict(one) for one in mends]
        result_json(data)


def _layer(layer: Layer) -> dict[str, object]:
    """A layer for a program; its problems stand with all others."""
    return {key: value for key, value in asdict(layer).items() if key != "problems"}


def _problem(problem: Problem) -> dict[str, object]:
    return asdict(problem) | {"severity": problem.severity.value}
