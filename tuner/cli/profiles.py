"""The profile that a command is about, or the configuration in place of one."""

from __future__ import annotations

from pathlib import Path

from tuner.cli.console import say, say_at_end
from tuner.cli.options import LOCAL, Rendering
from tuner.errors import BadUsage, ProgramMissing
from tuner.host.programs import rsyslog_version
from tuner.lint.lint import summary
from tuner.lint.load import LoadedProfile, load_profile, parse_profile, snippets_of
from tuner.profile.starter import on_top_of
from tuner.reading import asset
from tuner.render.form import Form
from tuner.render.templates import Templates
from tuner.rule import Rank
from tuner.schema.scalars import as_name
from tuner.script.native_yaml import is_native_yaml


def templates_of(folder: Path | None) -> Templates | None:
    """The site's templates over the shipped ones; None for the shipped ones alone."""
    return None if folder is None else Templates(folder)


# What the configuration of Debian and its like loads.
_LOADED_BY_HOST = ("imuxsock", "imklog")


CONFIGURATION = ".conf"
"""What the name of a file of rsyslog's ends with."""


def require_configuration(conf: Path | None, profile: Path | None) -> None:
    """Raise BadUsage where `--conf` stands beside a profile, or names what is read as one."""
    if conf is not None and profile is not None:
        raise BadUsage(f"--conf {conf} is in place of a profile: remove {profile} or --conf")
    if conf is not None and is_native_yaml(str(conf)):
        load_profile(conf)  # Says what to do with rsyslog's own YAML.
    if conf is not None and conf.suffix != CONFIGURATION:
        raise BadUsage(
            f"--conf {conf}: the name of a configuration ends in {CONFIGURATION}; name a profile "
            "without --conf"
        )


def read_profile(path: Path, sample: Path | None = None) -> LoadedProfile:
    """The profile; a configuration of rsyslog, a file that ends in .conf, is the base of one that
    says nothing else but the release of the rsyslogd here, and the sample of its traffic.  Raises
    BadUsage where none is named and none lies here."""
    if path == LOCAL and not path.exists():
        raise BadUsage(
            f"no profile is named, and there is no {LOCAL} here: name one, or make one with "
            f"rsyslog-tune init, or of a configuration with rsyslog-tune import FILE -o {LOCAL}"
        )
    if path.suffix == CONFIGURATION:
        learnt = None if sample is None else str(sample.absolute())
        text = on_top_of(path.name, name_for(path), release_here(), sample=learnt)
        return parse_profile(text, str(path))
    return load_profile(path)


def load(path: Path, sample: Path | None = None) -> LoadedProfile:
    """The profile, its warnings of lost events said at the end, the others counted; see
    read_profile."""
    loaded = read_profile(path, sample)
    say_at_end(summary(loaded.warnings, Rank.LOSS))
    return loaded


def release_here() -> str | None:
    """The release of the rsyslogd here.  Where none is installed it says so and gives None: what
    needs one stops later."""
    try:
        return rsyslog_version()
    except ProgramMissing as missing:
        say(f"release.rsyslog is the default: {missing}")
        return None


def load_or_default(path: Path | None) -> LoadedProfile:
    """The profile named, else rsyslog-tune.yaml in this folder, else the shipped default."""
    if path is not None:
        return load(path)
    return load(LOCAL if LOCAL.exists() else asset("profiles", "default.yaml"))


def form_of(loaded: LoadedProfile, options: Rendering) -> Form:
    """How the profile is to be rendered, its snippets read; raises BadUsage and BadProfile."""
    if not options.fragment:
        if options.loaded_modules:
            raise BadUsage(
                "--loaded needs --fragment: a whole configuration loads its modules itself"
            )
        return Form(snippets_of(loaded))
    modules = frozenset((*_LOADED_BY_HOST, *(options.loaded_modules or ())))
    return Form(snippets_of(loaded), is_fragment=True, loaded=modules)


def name_for(profile: Path) -> str:
    """The name of a profile in that file: the file's, as far as names may be spelled so."""
    word = as_name(profile.stem)[:100]
    # rsyslogd calls no ruleset whose name is one letter (seen on 8.2302).
    return word if word[:1].isalpha() and len(word) > 1 and profile != LOCAL else "starter"
