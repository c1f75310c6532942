"""`rsyslog-tune init` writes a first profile for this machine; `import` writes one on top of an
existing configuration, and lists what a search can change in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import normpath

from tuner.cli.console import print_result, say, working
from tuner.cli.hosts import machines_of
from tuner.cli.profiles import name_for, release_here
from tuner.cli.usage.profiles import ImportArguments, InitArguments
from tuner.deploy.host_files import HostFiles
from tuner.deploy.target import RemoteHost
from tuner.engine.access import client_for
from tuner.engine.installed import field_uses
from tuner.errors import BadUsage, JobFailed, Refused
from tuner.host.programs import version_in
from tuner.host.usage import cores, memory_bytes
from tuner.lab.bind import require_bindable
from tuner.lab.check import translated
from tuner.lab.text import LEFT_OUT, Replaced
from tuner.lint.lint import summary
from tuner.lint.load import parse_profile
from tuner.modules.field import FieldType
from tuner.profile.base import KeptBase
from tuner.profile.documents import UsedField, uses_text
from tuner.profile.model import Profile
from tuner.profile.schema import full_name
from tuner.profile.starter import LocalMachine, on_top_of, starter
from tuner.reading import asset_text
from tuner.script.configuration import Configuration, configuration, require_read
from tuner.script.native_yaml import is_native_yaml
from tuner.script.secrets import hidden
from tuner.script.tokens import SURROGATES
from tuner.space.knobs import knobs
from tuner.validate.layers import Layer, rsyslogd_layer
from tuner.writing import write_new


def init(options: InitArguments) -> None:
    """Carry out `rsyslog-tune init`."""
    machine = LocalMachine(release_here(), cores(), memory_bytes())
    profile = options.profile
    text = starter(asset_text("templates", "starter.yaml"), name_for(profile), machine)
    parse_profile(text, str(profile))
    write_new({profile: text})
    print_result(options.output, "init", {"profile": str(profile)}, str(profile))
    schema = profile.parent / "profile.schema.json"
    if not schema.exists():
        say(f"for completion in your editor: rsyslog-tune schema > {schema}")


@dataclass(frozen=True)
class _Original:
    """The configuration below a profile: the path of its main file in the profile, and its name for
    messages; the parsed configuration, if it is on this machine; else the copies to write beside
    the profile, with the folder that stands for the host's root."""

    base: str
    title: str
    read: Configuration | None = None
    copies: Mapping[Path, str] = field(default_factory=dict)
    root: str | None = None
    uses: str | None = None

    @property
    def beside(self) -> list[tuple[str, str]] | None:
        """The copies beside the profile, by absolute path; None if there are none."""
        return [(str(path.absolute()), text) for path, text in self.copies.items()] or None


def import_(options: ImportArguments) -> None:
    """Carry out `rsyslog-tune import`."""
    profile = options.profile
    machine = _machine(options.host, options.inventory)
    original = _original(options.file, machine, profile)
    release = _release(options.release, machine)
    name = name_for(profile or Path(original.title))
    text = on_top_of(original.base, name, release, original.root)
    if options.uses is not None or options.index is not None:
        original = _with_uses(original, text, profile, options.uses, options.index)
        text = on_top_of(original.base, name, release, original.root, uses=original.uses)
    file = str(profile or "the profile")
    loaded = parse_profile(text, file, beside=original.beside, base=original.read)
    if profile is not None:
        _write(profile, text, original.copies)
    verdict = rsyslogd_layer(loaded)
    lines, tunable = _tunable(loaded.profile)
    fields: dict[str, object] = {
        "schema": 2,
        "profile": None if profile is None else str(profile),
        "text": text,
        "files": [*map(str, original.copies), *(original.read.sources if original.read else ())],
        "rsyslogd": {"accepted": verdict.passed, "remark": verdict.remark},
        **tunable,
    }
    print_result(options.output, "import", fields, text.rstrip("\n") if profile is None else file)
    verdict_lines = (_verdict_on(original.title, verdict), *verdict.notes)
    unchanged = f"{original.title} stays as it is."
    for line in (*summary(loaded.warnings), *verdict_lines, unchanged, *lines):
        say(line)


# The field types that our explicit mapping supports; a user's own template can have others.
_TYPES = {
    **dict.fromkeys(("long", "integer", "short", "byte"), FieldType.INTEGER),
    **dict.fromkeys(("double", "float", "half_float"), FieldType.FLOAT),
    **dict.fromkeys(("text", "keyword", "match_only_text", "wildcard"), FieldType.STRING),
    "boolean": FieldType.BOOLEAN,
    "date": FieldType.DATE,
}


def _with_uses(
    original: _Original, text: str, profile: Path | None, url: str | None, index: str | None
) -> _Original:
    """Add a copy that records how each field was used in searches of the engine at `url`.  Raises
    BadUsage and JobFailed."""
    if url is None or profile is None:
        raise BadUsage("the file of --uses URL is kept beside the profile: name that, -o PROFILE")
    read = parse_profile(text, str(profile), beside=original.beside, base=original.read).profile
    pattern = index or ("" if read.base is None else read.base.kept.indices)
    if not pattern:
        raise BadUsage("events make the whole names of indices: name them, --index PATTERN")
    with working(f"asking {url}"), closing(client_for(url, read)) as client:
        used = field_uses(client, pattern)
    if used is None:
        raise JobFailed(f"{url} has no index {pattern} with fields: name others, --index PATTERN")
    fields = {
        name: UsedField(type=_TYPES[kind], uses=tuple(sorted(used.of_field[name], key=str)))
        for name, kind in used.types.items()
        if name in used.of_field and kind in _TYPES
    }
    since = "" if used.since is None else f" since {used.since:%Y-%m-%d %H:%M} UTC"
    why = f"; {used.why}, so what their mapping serves" if used.why else ""
    file = profile.with_suffix(".uses.yaml")
    say(f"{file}: what {len(fields)} fields of {pattern} must serve{why}")
    comment = f"What was asked of the fields of {pattern}{since}{why}."
    copies = {**original.copies, file: uses_text(fields, comment)}
    return replace(original, copies=copies, uses=file.name)


def _tunable(profile: Profile) -> tuple[Sequence[str], Mapping[str, object]]:
    """What a search can tune, and what a lab replaces: as lines of text, and as JSON data."""
    if profile.base is None or not profile.indexed:
        nothing = "No action goes into Elasticsearch or OpenSearch: search has nothing to measure."
        return [nothing], {}
    try:
        bound = require_bindable(profile, profile.release.rsyslog)
    except Refused as refused:
        return [f"A lab cannot measure it: {refused}"], {"unmeasured": str(refused)}
    base, replaced = profile.base.kept, bound.copy.replaced
    fields = {
        "tunable": tunable_objects(profile, base),
        "replaced": [
            vars(part.origin) | {"what": part.what, "used": part.used} for part in replaced
        ],
    }
    return [*tunable_page(profile, base, replaced)], fields


def _machine(host: str | None, inventory: Path | None) -> RemoteHost | None:
    """The host to read from; None for this machine.  Raises BadUsage."""
    if host is not None:
        return RemoteHost(machines_of([host], inventory, None)[0])
    if inventory is not None:
        raise BadUsage("--inventory needs --host: one host of it")
    return None


def _original(file: Path | None, machine: RemoteHost | None, profile: Path | None) -> _Original:
    """Read the configuration that the options name.  Raises BadUsage, and NotReadable if it cannot
    be read."""
    if machine is not None:
        return _on_host(file, machine, profile)
    if file is None:
        raise BadUsage("name the configuration, such as /etc/rsyslog.conf, or a --host")
    if is_native_yaml(str(file)):
        return _from_yaml(file, profile)
    read = configuration(file)
    require_read(read)
    is_beside = profile is not None and not file.is_absolute()
    base = os.path.relpath(file, profile.parent) if profile and is_beside else str(file)
    return _Original(base, str(file), read)


def _on_host(file: Path | None, machine: RemoteHost, profile: Path | None) -> _Original:
    """The files of a host, to be copied to a folder beside the profile that mirrors its paths."""
    first = file or Path(machine.machine.paths.configuration)
    if not first.is_absolute():
        raise BadUsage(f"{first}: on a host, name a file by its whole path")
    if profile is None:
        raise BadUsage("name the profile, -o PROFILE: the files of the host are kept beside it")
    with working(f"reading the configuration of {machine.machine.name}"):
        read = configuration(first, HostFiles(machine.host))
    require_read(read)
    root = f"{profile.stem}.files"
    # normpath removes `..`, so that no path of the host leads out of the folder.
    copies = {
        profile.parent / root / normpath(path).lstrip("/"): raw.decode("utf-8", SURROGATES)
        for path, raw in read.sources.items()
    }
    return _Original(f"{root}{first}", f"{machine.machine.name}:{first}", copies=copies, root=root)


def _from_yaml(file: Path, profile: Path | None) -> _Original:
    """rsyslogd's RainerScript translation of its own YAML, to be kept beside the profile."""
    if profile is None:
        raise BadUsage(
            f"{file} is rsyslog's own YAML: name the profile, -o PROFILE; what rsyslogd "
            "translates it to is kept beside it"
        )
    script = profile.with_suffix(".conf")
    copies = {script: translated(str(file))}
    say(f"{file} is rsyslog's own YAML: the profile stands on its translation, {script}")
    return _Original(script.name, str(script), copies=copies)


def _write(profile: Path, text: str, copies: Mapping[Path, str]) -> None:
    """Write a profile and the copies beside it; only the owner can read those with secrets."""
    private = {path for path, script in copies.items() if hidden(script) != script}
    write_new({**copies, profile: text}, private)
    for path in sorted(private):
        say(f"{path} holds a password or a key: only you may read it; keep it out of the "
            "repository, or have rsyslogd read that from a file")  # fmt: skip


def _verdict_on(title: str, layer: Layer) -> str:
    """The verdict of `rsyslogd -N1` on the configuration, in a sentence."""
    if layer.passed is None:
        return f"rsyslogd -N1 was not asked about {title}: {layer.remark}"
    verdict = "accepts" if layer.passed else "rejects"
    return f"rsyslogd -N1 {verdict} {title}{': ' if layer.remark else ''}{layer.remark}"


def _release(option: str | None, machine: RemoteHost | None) -> str | None:
    """The release of rsyslog for the profile: `option` if given, else that of the rsyslogd on the
    host or here, which is printed; None if there is none.  Raises BadUsage."""
    if option is not None:
        if re.fullmatch(r"8\.[0-9]{2,4}", option) is None:
            raise BadUsage(f"--release {option}: a release of rsyslog is written as 8.2512")
        return option
    if machine is None:
        release, place = release_here(), "here"
    else:
        place = f"on {machine.machine.name}"
        reply = machine.host.run(["sh", "-c", "PATH=$PATH:/usr/sbin:/sbin rsyslogd -v"])
        release = version_in(reply.out.decode(errors="replace"))
        if release is None:
            say(f"release.rsyslog is the default: there is no rsyslogd {place}; --release sets it")
    if release is not None:
        say(f"release.rsyslog is {release}, that of the rsyslogd {place}: --release names another")
    return release


_MOST_LINES = 15


@dataclass(frozen=True)
class TunableObject:
    """An object of a configuration with its place ("" if it is not written anywhere) and the
    parameters that a search can change."""

    address: str
    place: str
    parameters: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place or 'not written'}: {self.address}: {', '.join(self.parameters)}"


def tunable_objects(profile: Profile, base: KeptBase) -> tuple[TunableObject, ...]:
    """The objects that a search of this profile can change."""
    names = [full_name(profile, str(knob.path)) for knob in knobs(profile)]
    parameters: dict[str, list[str]] = {}
    for name in names:
        place = base.written.place_of(name)
        address = "template" if place is None else place[0]
        parameters.setdefault(address, []).append(name.removeprefix(f"{address}."))
    return tuple(
        TunableObject(address, _place(base, address), tuple(names_at_address))
        for address, names_at_address in parameters.items()
    )


def tunable_page(profile: Profile, base: KeptBase, replaced: Sequence[Replaced]) -> Iterator[str]:
    """What a search can change and what its lab replaces, in lines; `replaced` lists the latter."""
    yield "A search can change these parameters, each where it stands:"
    yield from _first_lines(tunable_objects(profile, base))
    flooded = [base.view.sections.get(("inputs", n)) for n in profile.flooded_numbers]
    entrances = [
        f"{address} ({_place(base, address)})" for address in flooded if address is not None
    ]
    yield f"It sends traffic to {' and '.join(entrances) or 'an input of its own'}."
    replaced = [part for part in replaced if not part.is_routine]
    left_out = [f"{part.place}: {part.what}" for part in replaced if part.used == LEFT_OUT]
    if left_out:
        yield (
            "Its lab leaves out what takes events of this host, runs programs or sends to others, "
            "and what it has no part for:"
        )
        yield from _first_lines(left_out)
    changed = [str(part) for part in replaced if part.used != LEFT_OUT]
    if changed:
        yield "Its lab replaces:"
        yield from _first_lines(changed)
    yield "All else runs there as it stands, with servers, ports, index names and folders of a lab."


def _place(base: KeptBase, address: str) -> str:
    """The place of an object, as file and line; "" if it is not written anywhere."""
    written = base.written.objects.get(address)
    if written is not None:
        return str(written.origin)
    return base.given.file if address == "template" and base.given is not None else ""


def _first_lines(lines: Sequence[object]) -> Iterator[str]:
    yield from (f"  {line}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"  and {len(lines) - _MOST_LINES} more, which --output json lists"
