"""`rsyslog-tune validate`: is this profile right?  Layer by layer, each named."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from posixpath import abspath

from tuner.cli.console import ProblemFormat, print_problems, result, say, say_when_slow, working
from tuner.cli.options import EngineChoice
from tuner.cli.profiles import CONFIGURATION, form_of, read_profile, templates_of
from tuner.cli.usage.profiles import ValidateArguments
from tuner.errors import (
    BadProfile,
    BadUsage,
    JobFailed,
    LintWarnings,
    Problem,
    ProgramMissing,
    Severity,
    TuneError,
)
from tuner.lint.lint import summary
from tuner.lint.load import STDIN, LoadedProfile, text_of
from tuner.lint.repairs import Mend, mended, mended_files, repairs
from tuner.profile.model import BaseFiles
from tuner.reading import content, resolved
from tuner.render.templates import Templates
from tuner.rule import Rank
from tuner.schema.numerals import counted
from tuner.validate.layers import DOCUMENTS, Layer, accepting, layers
from tuner.writing import raw_of, require_writable, write_whole

_Mends = Sequence[Mend] | None
_WITH_ALL = {"problems", "rejections"}


def validate(options: ValidateArguments) -> None:
    """Carry out `rsyslog-tune validate`."""
    profile, fix, output, verbose = options.profile, options.fix, options.output, options.verbose
    if options.offline and (options.smoke or options.elasticsearch is not None):
        raise BadUsage("--offline cannot be combined with --elasticsearch or --smoke")
    if fix and profile == STDIN:
        raise BadUsage(f"--fix writes into the profile's file: name one instead of {profile}")
    site = templates_of(options.templates)
    mends = None
    try:
        mends = _fixed(profile, output) if fix else None
        loaded = read_profile(profile)
    except BadProfile as bad:
        if output is not ProblemFormat.TEXT:
            _print_problems([], bad.problems, output, mends)
        elif not fix and profile != STDIN and profile.suffix != CONFIGURATION:
            with contextlib.suppress(TuneError):
                for line in _offer(profile, mended(profile)[1]):
                    say(line)
        raise
    form = form_of(loaded, options)
    waits_s = loaded.profile.start_checks_s
    slow = say_when_slow(
        "still running rsyslogd -N1: from 8.2510 it asks each server for its version, which takes "
        f"up to {waits_s:g} s when none answers"
    )
    with slow if waits_s else contextlib.nullcontext():
        done = list(layers(loaded, options.offline, site, form))
    for name, ask in _asked(loaded, options, site, done):
        try:
            done.append(accepting(loaded.profile, ask()))
        except TuneError as error:
            done.append(Layer(name, None, str(error)))
            _show(loaded, done, output, mends, verbose)
            raise
    _show(loaded, done, output, mends, verbose)
    _judge(loaded, done, options.strict)


def _fixed(profile: Path, output: ProblemFormat) -> tuple[Mend, ...]:
    """Repair the file, of a configuration of rsyslog those that it consists of, and say so line by
    line unless a program will read it.  A file that needs no repair is not written."""
    if profile.suffix == CONFIGURATION:
        loaded = read_profile(profile)
        files, mends = mended_files(loaded)
        before = dict(loaded.beside or ())
        texts = {Path(path): (before[str(Path(path).absolute())], text)
                 for path, text in files.items()}  # fmt: skip
    else:
        old = text_of(profile)
        text, mends = mended(profile)
        texts = {profile: (old, text)} if mends else {}
    tell = result if output is ProblemFormat.TEXT else say
    for path in texts:
        require_writable(resolved(path))
    for path, (old, text) in texts.items():
        _rewrite(path, old, text)
    if output is not ProblemFormat.JSON:
        for mend in mends:
            tell(f"repaired {mend}")
        if not mends:
            tell(f"nothing to repair in {profile}")
    return mends


def _rewrite(path: Path, old: str, text: str) -> None:
    """Put another text in the place of a file, or of what a link leads to, which stays a link and
    is named."""
    target = resolved(path)
    if content(target) != raw_of(old):
        raise JobFailed(f"{path} was changed while it was read, and is not repaired: try again")
    if str(target) != abspath(str(path)):
        say(f"{path} leads to {target}: that file is repaired")
    write_whole(target, text)


def _offer(profile: Path, several: Sequence[object]) -> Iterator[str]:
    """What --fix would repair, where it can."""
    if count := len(several):
        settings = "1 setting that loses" if count == 1 else f"{count} settings that lose"
        yield f"rsyslog-tune validate --fix {profile} repairs {settings} events"


def _asked(
    loaded: LoadedProfile, options: ValidateArguments, site: Templates | None, done: list[Layer]
) -> Iterator[tuple[str, Callable[[], Layer]]]:
    """The layers that need an engine; a profile that is rejected already is not started."""
    url, smoke = options.elasticsearch, options.smoke
    rejected = [layer.name for layer in done if layer.passed is False]
    base = loaded.profile.base
    if base is not None:
        if url is not None:
            yield "engine", partial(_engine, loaded, url, site)
        if not smoke or rejected:
            why = f"rejected by {rejected[0]}" if rejected else "--smoke asks a real rsyslogd"
            done.append(Layer(DOCUMENTS, None, why))
        else:
            yield DOCUMENTS, partial(_documents, loaded, base)
        return
    if url is not None:
        yield "engine", partial(_engine, loaded, url, site)
    if smoke and rejected:
        done.append(Layer("smoke", None, f"rejected by {rejected[0]}"))
    elif smoke:
        yield "smoke", partial(_smoke, loaded, url, site)


def _documents(loaded: LoadedProfile, base: BaseFiles) -> Layer:
    """What a real rsyslogd makes of the base."""
    from tuner.cli.place import LabSpec, prepared_lab
    from tuner.validate.smoke import documents_layer

    with prepared_lab(LabSpec(EngineChoice.SINK, None), loaded.profile, say) as lab:
        say("sending messages through rsyslogd")
        return documents_layer(lab, loaded.profile, base, loaded.warnings)


def _engine(loaded: LoadedProfile, url: str, site: Templates | None) -> Layer:
    from tuner.engine.access import client_for
    from tuner.validate.engine import engine_layer

    if not loaded.profile.indexed:
        return Layer("engine", None, "no output goes into an engine")
    with working(f"asking {url}"), contextlib.closing(client_for(url, loaded.profile)) as client:
        return engine_layer(loaded, client, site)


def _smoke(loaded: LoadedProfile, url: str | None, site: Templates | None) -> Layer:
    """Imported here: what measures takes longer to import than the other layers take."""
    from tuner.cli.place import LabSpec, prepared_lab
    from tuner.validate.smoke import smoke_layer

    with prepared_lab(LabSpec(EngineChoice.NODE, url, site), loaded.profile, say) as lab:
        say(f"sending one event through rsyslogd into {lab.engine.name}")
        return smoke_layer(lab, loaded.profile)


def _problems(loaded: LoadedProfile, done: list[Layer]) -> tuple[Problem, ...]:
    return (*loaded.warnings, *(problem for layer in done for problem in layer.problems))


def _judge(loaded: LoadedProfile, done: list[Layer], strict: bool) -> None:
    """Choose the exit code."""
    problems = _problems(loaded, done)
    errors = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
    if errors:
        raise BadProfile(errors)
    for layer in done:
        if layer.passed is False:
            kind = ProgramMissing if layer.missing else JobFailed
            raise kind(f"{loaded.path}: rejected by {layer.name}")
    for layer in done:
        if layer.missing:
            raise ProgramMissing(
                f"{loaded.path}: {layer.name} did not run: {layer.remark}; --offline leaves it out"
            )
    if strict and problems:
        raise LintWarnings(f"{loaded.path}: {counted(len(problems), 'warning')}")


def _show(
    loaded: LoadedProfile, done: list[Layer], output: ProblemFormat, mends: _Mends, verbose: bool
) -> None:
    """The layers; of the problems only warnings as text, because errors end the command."""
    problems = _problems(loaded, done)
    if output is not ProblemFormat.TEXT:
        rejections = [problem for layer in done for problem in layer.rejections]
        _print_problems(done, (*problems, *rejections), output, mends)
        return
    warnings = [problem for problem in problems if problem.severity is Severity.WARNING]
    lines = summary(warnings, Rank.ADVICE if verbose else Rank.OTHER)
    for layer in done:
        word = {True: "ok", False: "REJECTED", None: "not run"}[layer.passed]
        lines.append(f"{layer.name:<14} {word}{': ' + layer.remark if layer.remark else ''}")
        lines += [f"{'':<14} {note}" for note in layer.notes]
    result("\n".join([*lines, *_offer(loaded.path, repairs(loaded.profile))]))


def _print_problems(
    done: list[Layer], problems: Sequence[Problem], output: ProblemFormat, mends: _Mends
) -> None:
    # A layer's problems stand with all others.
    shown = [
        {key: value for key, value in vars(layer).items() if key not in _WITH_ALL} for layer in done
    ]
    data = {"schema": 1, "kind": "validate", "layers": shown, "problems": problems}
    if mends is not None:
        data["repaired"] = mends
    print_problems(output, problems, data)
