"""The layers of validation, from the cheapest to the most real."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from posixpath import abspath

from tuner.errors import KeyPath, Problem, ProgramMissing, Refused, Severity
from tuner.host.programs import rsyslog_version
from tuner.host.usage import memory_bytes
from tuner.lab.check import (
    Check,
    check,
    check_fragment,
    check_own,
    place_in,
    runs_code,
    text_of_base,
)
from tuner.lint.load import LoadedProfile
from tuner.modules.input import Listener
from tuner.modules.secrets import SecretRef
from tuner.profile.model import Profile
from tuner.profile.placement import queue_memory
from tuner.reading import content
from tuner.render.artefacts import fragment_path, rsyslog_conf
from tuner.render.form import WHOLE, Form
from tuner.render.templates import Templates
from tuner.schema.numerals import counted
from tuner.script.quoting import quote, secret
from tuner.script.secrets import hidden

RSYSLOGD = "rsyslogd -N1"
DOCUMENTS = "documents"
TOO_LITTLE_MEMORY = "RT508"
NO_REPLAY = "RT509"
REJECTED = "RT510"


@dataclass(frozen=True)
class Layer:
    """One layer: whether it passed (None: it did not run), and a remark; whether it did not pass or
    run because a program, or a module of it, is `missing` here.

    `problems` are what it found in the profile, `notes` what a reader should know besides,
    `rejections` rsyslogd's words, each at the line that it names.
    """

    name: str
    passed: bool | None
    remark: str = ""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    missing: bool = False
    rejections: tuple[Problem, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems for which it did not pass."""
        return tuple(error for error in self.problems if error.severity is Severity.ERROR)


def problem(
    loaded: LoadedProfile,
    path: KeyPath,
    message: str,
    code: str,
    severity: Severity = Severity.ERROR,
) -> Problem:
    """A problem where the profile writes the value at `path`, or its section."""
    position, file = loaded.position(path), loaded.source.file_of(path)
    return Problem(file, position.line, position.column, message, code, severity)


def memory_problems(loaded: LoadedProfile, memory_bytes: int) -> tuple[Problem, ...]:
    """A warning when full queues take more than half of `memory_bytes`.

    Where the profile says how much rsyslogd may use (`guardrails.rss_bytes`), lint holds the
    queues against that instead, whatever machine it runs on.
    """
    needed = queue_memory(loaded.profile)
    if needed is None or loaded.profile.guardrails.rss_bytes is not None:
        return ()
    half = memory_bytes // 2
    if needed.total_bytes <= half:
        return ()
    return (
        problem(
            loaded,
            (*needed.largest.path, "size"),
            f"when they are full, the queues hold {needed.total_bytes // 1024**2} MiB, more than "
            f"half of the {memory_bytes // 1024**2} MiB that this machine has: let their sizes add "
            f"up to at most {half // needed.message_bytes}, or, for another machine, set "
            "guardrails.rss_bytes to what rsyslogd may use there",
            TOO_LITTLE_MEMORY,
            Severity.WARNING,
        ),
    )


def _replay_problems(loaded: LoadedProfile) -> tuple[Problem, ...]:
    """A warning where this machine lacks the file that measurements would replay."""
    replay = loaded.profile.workload.replay
    if replay is None or os.access(replay, os.R_OK):
        return ()
    message = (
        f"{replay}, the file to replay, is not on this machine or cannot be read: measurements "
        "need it where they run, on a cluster on each load host"
    )
    place = ("workload", "replay")
    return (problem(loaded, place, message, NO_REPLAY, Severity.WARNING),)


def layers(
    loaded: LoadedProfile, offline: bool, templates: Templates | None = None, form: Form = WHOLE
) -> tuple[Layer, ...]:
    """What each layer says of a profile that loaded; loading it is the schema and the lint.

    rsyslogd's verdict depends on this machine too: on the files and folders that the configuration
    names, which the target may have and this machine may not.
    """
    problems = (*memory_problems(loaded, memory_bytes()), *_replay_problems(loaded))
    lint = Layer("lint", True, problems=problems, notes=tuple(_notes(loaded, form)))
    lint = accepting(loaded.profile, lint, loaded.accepted)
    shown = (*loaded.warnings, *lint.problems)
    errors = sum(warning.severity is Severity.ERROR for warning in shown)
    counts = ((errors, "error"), (len(shown) - errors, "warning"))
    remark = ", ".join(counted(number, noun) for number, noun in counts if number)
    lint = replace(lint, passed=not errors, remark=remark)
    if offline:
        return (Layer("schema", True), lint, Layer(RSYSLOGD, None, "--offline"))
    return (Layer("schema", True), lint, rsyslogd_layer(loaded, templates, form))


def accepting(profile: Profile, layer: Layer, before: Sequence[Problem] = ()) -> Layer:
    """A layer without the warnings that the profile accepts; a note for each code of these, and of
    those that were accepted before, says why."""
    codes = profile.lint.accept
    accepted = [
        warning
        for warning in layer.problems
        if warning.severity is Severity.WARNING and warning.code in codes
    ]
    times = Counter(warning.code for warning in (*before, *accepted))
    notes = (
        f"accepted: {code}{f', {times[code]} times' if times[code] > 1 else ''} ({why})"
        for code, why in codes.items()
        if times[code]
    )
    left = tuple(warning for warning in layer.problems if warning not in accepted)
    return replace(layer, problems=left, notes=(*layer.notes, *notes))


def _notes(loaded: LoadedProfile, form: Form) -> Iterator[str]:
    for name in form.snippets:
        yield f"{name} is not analysed: it is RainerScript of your own"
    if not loaded.profile.outputs and loaded.profile.base is None:
        yield "it has no outputs: what its snippets do can be neither measured nor tuned"
    for number, source in enumerate(loaded.profile.inputs):
        if isinstance(source, Listener) and "address" not in source.model_fields_set:
            yield (
                f"inputs[{number}] listens on {source.address} alone: to take events from other "
                "machines write its address, * for all"
            )


def _secret_files(loaded: LoadedProfile) -> list[Path]:
    return [Path(ref.file) for ref in loaded.profile.secrets if ref.file is not None]


def _why_not(loaded: LoadedProfile) -> tuple[bool | None, str] | None:
    """Why rsyslogd need not be asked: a file that this machine lacks, whatever refers to which it
    rejects; or a secret's file with white space, which it takes for a part of the password."""
    for path, role in loaded.profile.files_beside.items():
        if not Path(path).is_file():
            return None, f"{path}, the {role}, is not on this machine"
    for secret_file in _secret_files(loaded):
        if not os.access(secret_file, os.R_OK):
            continue
        try:
            written = content(secret_file).decode()
        except UnicodeDecodeError:
            return False, f"the secret in {secret_file} is not UTF-8"
        if any(c.isspace() for c in written):
            return False, (
                f"{secret_file} holds white space, which rsyslogd refuses in a password; a newline "
                "at the end counts: write it with printf %s"
            )
    return None


def rsyslogd_layer(
    loaded: LoadedProfile, templates: Templates | None = None, form: Form = WHOLE
) -> Layer:
    """What rsyslogd says of what a profile is rendered to."""
    not_asked = _why_not(loaded)
    if not_asked is not None:
        return Layer(RSYSLOGD, *not_asked)
    try:
        rsyslog_version()  # Raises where --rsyslogd names a program that is not rsyslogd.
        return _asked(loaded, templates, form)
    except (ProgramMissing, Refused) as cannot:
        return Layer(RSYSLOGD, None, str(cannot), missing=isinstance(cannot, ProgramMissing))


def _asked(loaded: LoadedProfile, templates: Templates | None, form: Form) -> Layer:
    profile = loaded.profile
    if profile.base is None:
        config = rsyslog_conf(profile, templates=templates, form=form)
    else:
        verdict = check_own(profile.base.kept.written, is_copy=bool(profile.base.kept.root))
        if verdict is not None and not (verdict.accepted and profile.base.kept.changes):
            return _judged(loaded, verdict)
        if runs_code(profile.base.kept.changed):
            why = "the base loads modules by their paths, or sets what rsyslogd obeys as it reads"
            return Layer(RSYSLOGD, None, why)
        config = text_of_base(profile.base.kept.changed)
    # rsyslogd refuses a configuration that names a missing file: a word of ours stands for it.
    missing = [str(path) for path in _secret_files(loaded) if not path.is_file()]
    for path in missing:
        config = config.replace(secret(SecretRef(file=path)), quote("stand-in"))
    inherits, waits_s = profile.secret_variables, profile.start_checks_s
    if form.is_fragment:
        name_there = Path(fragment_path(profile)).name
        verdict = check_fragment(name_there, config, inherits, waits_s)
    else:
        verdict = check(config, inherits, waits_s)
    remarks = [f"with a stand-in for {path}, which this machine lacks" for path in missing]
    return _judged(loaded, verdict, remarks)


def _judged(loaded: LoadedProfile, verdict: Check, remarks: Sequence[str] = ()) -> Layer:
    warned = ("rsyslogd warns, as expected, about " + ", ".join(verdict.expected),)
    return Layer(
        RSYSLOGD,
        verdict.accepted,
        "; ".join((*([] if verdict.accepted else [verdict.why_not]), *remarks)),
        notes=(*map(hidden, verdict.remarks), *(warned if verdict.expected else ())),
        missing=bool(verdict.modules),
        rejections=tuple(_rejections(loaded, verdict.complaints)),
    )


def _rejections(loaded: LoadedProfile, complaints: Sequence[str]) -> Iterator[Problem]:
    """Each complaint, at its line of the user's own file, else where the profile begins."""
    base = loaded.profile.base
    files = {} if base is None else {abspath(path): path for path in base.kept.written.files}
    for complaint in complaints:
        file, line = place_in(complaint) or ("", 1)
        written = files.get(file)
        yield Problem(
            str(loaded.path) if written is None else written,
            1 if written is None else line,
            1,
            complaint,
            REJECTED,
        )
