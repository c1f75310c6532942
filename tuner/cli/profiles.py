"""Loads the profile that a command is for; a configuration can be named in place of one."""

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
    """The templates in `folder`, which replace shipped ones; None for the shipped ones alone."""
    return None if folder is None else Templates(folder)


# The modules that rsyslog.conf of Debian and its derivatives loads.
_LOADED_BY_HOST = ("imuxsock", "imklog")


CONFIGURATION = ".conf"
"""The suffix of rsyslog's configuration files."""


def require_configuration(conf: Path | None, profile: Path | None) -> None:
    """Raise BadUsage if `--conf` is combined with a profile, or names no .conf file."""
    if conf is not None and profile is not None:
        raise BadUsage(f"--conf {conf} is in place of a profile: remove {profile} or --conf")
    if conf is not None and is_native_yaml(str(conf)):
        load_profile(conf)  # Raises BadProfile with a remedy for rsyslog's own YAML.
    if conf is not None and conf.suffix != CONFIGURATION:
        raise BadUsage(
            f"--conf {conf}: the name of a configuration ends in {CONFIGURATION}; name a profile "
            "without --conf"
        )


def read_profile(path: Path, sample: Path | None = None) -> LoadedProfile:
    """Load a profile.  A configuration of rsyslog, FILE.conf, becomes the base of a profile that
    has nothing else but the release of the installed rsyslogd and the sample of traffic.  Raises
    BadUsage if `path` is the default and does not exist."""
    if path == LOCAL and not path.exists():
        raise BadUsage(
            f"no profile is named, and there is no {LOCAL} here: name one, or make one with "
            f"rsyslog-tune init, or of a configuration with rsyslog-tune import FILE -o {LOCAL}"
        )
    if path.suffix == CONFIGURATION:
        sample_path = None if sample is None else str(sample.absolute())
        text = on_top_of(path.name, name_for(path), release_here(), sample=sample_path)
        return parse_profile(text, str(path))
    return load_profile(path)


def load(path: Path, sample: Path | None = None) -> LoadedProfile:
    """Load a profile as `read_profile` does; at the end of the command its warnings of lost events
    are printed, and others are counted."""
    loaded = read_profile(path, sample)
    say_at_end(summary(loaded.warnings, Rank.LOSS))
    return loaded


def release_here() -> str | None:
    """The release of the installed rsyslogd.  If there is none, say so and return None: a step that
    needs rsyslogd fails later."""
    try:
        return rsyslog_version()
    except ProgramMissing as missing:
        say(f"release.rsyslog is the default: {missing}")
        return None


def load_or_default(path: Path | None) -> LoadedProfile:
    """Load the named profile, else rsyslog-tune.yaml in this folder, else the shipped default."""
    if path is not None:
        return load(path)
    return load(LOCAL if LOCAL.exists() else asset("profiles", "default.yaml"))


def form_of(loaded: LoadedProfile, options: Rendering) -> Form:
    """The form that the options choose, with the profile's snippets; raises BadUsage and
    BadProfile."""
    if not options.fragment:
        if options.loaded_modules:
            raise BadUsage(
                "--loaded needs --fragment: a whole configuration loads its modules itself"
            )
        return Form(snippets_of(loaded))
    modules = frozenset((*_LOADED_BY_HOST, *(options.loaded_modules or ())))
    return Form(snippets_of(loaded), is_fragment=True, loaded=modules)


def name_for(profile: Path) -> str:
    """A name for a profile, made from its file's name; "starter" for the default file, or if that
    name is not a valid one."""
    word = as_name(profile.stem)[:100]
    # `call` does not work for a ruleset whose name is one letter (seen on 8.2302).
    return word if word[:1].isalpha() and len(word) > 1 and profile != LOCAL else "starter"
