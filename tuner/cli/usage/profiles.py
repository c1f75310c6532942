"""Arguments and help of the commands about profiles."""

from __future__ import annotations

from pathlib import Path

import typer

from tuner.cli.console import ProblemFormat
from tuner.cli.options import (
    INVENTORY,
    LOCAL,
    PROFILE,
    RSYSLOGD,
    TEMPLATES,
    Arguments,
    Rendering,
    Reporting,
    flag,
    optional,
    required_profile,
)
from tuner.render.form import Format


class InitArguments(Reporting, home="first_profile"):
    """Write a commented first profile that fits this machine; never overwrites a file."""

    profile: Path = typer.Argument(LOCAL)
    """The file to write."""


class ImportArguments(Reporting, home="first_profile"):
    """Write a profile on top of an existing rsyslog configuration.

    The configuration stays as it is, byte for byte: what a search finds is changed in it, parameter
    by parameter.  Of a --host its files are kept beside the profile, in PROFILE.files, to be
    checked in with it.  rsyslog's own YAML (rsyslog.yaml) is translated by rsyslogd, 8.2604 or
    newer, and the translation kept beside the profile.

    The profile is loaded and linted at once.  Where rsyslogd is installed, rsyslogd -N1 reads the
    configuration, and its verdict is printed.  Then it lists, each with its place, what a search
    can change, and what a lab leaves out or replaces.
    """

    file: Path | None = typer.Argument(None, metavar="FILE")
    """rsyslog's configuration, such as /etc/rsyslog.conf; what it includes is read with it."""
    profile: Path | None = optional("-o", "--output-file", metavar="PROFILE")
    """The file to write."""
    host: str | None = optional(metavar="HOST")
    """Read the files on this host, /etc/rsyslog.conf where none is named: one of the inventory by
    its name, or an address such as ssh://USER@HOST."""
    inventory: Path | None = INVENTORY
    uses: str | None = optional(metavar="URL")
    """Ask this engine what each field of the indices was searched for, and keep it beside the
    profile, in PROFILE.uses.yaml: a search then tries an explicit mapping."""
    index: str | None = optional(metavar="PATTERN")
    """The indices to ask about with --uses; by default those that the configuration writes to by
    name."""
    release: str | None = optional(metavar="RELEASE")
    """The release of rsyslog that the profile is for, such as 8.2512; by default that of the
    rsyslogd here, or on HOST."""
    rsyslogd: Path | None = RSYSLOGD


class AdviseArguments(Reporting):
    """Advise what to change in a profile, in a second and without measuring: its repairs, and the
    recipe of a search that fits it.

    Each change has its reason and its price; none is measured.  What would weaken a guarantee,
    reorder events that the profile keeps in order, or let a crash lose more is left to a search,
    which also shows what a change gives.
    """

    profile: Path = PROFILE
    conf: Path | None = optional(metavar="FILE")
    """Advise on a configuration of rsyslog, such as /etc/rsyslog.conf, in place of a profile: only
    its parameters change."""
    cores: float | None = optional(min=0.1)
    """Cores of the machine that rsyslogd runs on; by default of this."""
    memory: str | None = optional(metavar="SIZE")
    """Memory of that machine, such as 512m or 16g; by default of this."""
    write: Path | None = optional(metavar="FILE")
    """Write the profile with the advice to FILE, a new one, or - for stdout; of a configuration of
    rsyslog, a profile on top of it."""
    upgrade: list[str] | None = optional(metavar="SOFTWARE=RELEASE")
    """Say instead what changes with this release, such as rsyslog=8.2610 or elasticsearch=9.5: what
    breaks, what behaves otherwise, which known faults are met or left behind; OLD..NEW says from
    which. Can be repeated. Exits with 2 when something breaks."""
    new_rsyslogd: Path | None = optional(metavar="PATH")
    """With --upgrade: send the same messages through --rsyslogd and through this one, and compare
    documents, files and forwards."""
    new_elasticsearch: str | None = optional(metavar="URL")
    """With --upgrade: have an engine of the new release check the index templates of the profile;
    nothing is stored in it."""
    rsyslogd: Path | None = RSYSLOGD


class ValidateArguments(Rendering):
    """Check a profile: schema, lint, then `rsyslogd -N1` on the whole rendered configuration.

    --fragment checks a drop-in inside this host's own /etc/rsyslog.conf.  --elasticsearch adds the
    layer `engine`, --smoke the layer `smoke`.  Exits with 78 when the profile or a template is
    wrong or an engine refuses it, with 1 when rsyslogd or the smoke test rejects it, with 4 when
    the engine does not answer, with 69 where rsyslogd or a module of it is missing (--offline asks
    for none), with 3 for warnings with --strict.
    """

    profile: Path = PROFILE
    offline: bool = flag("--offline")
    """Skip `rsyslogd -N1`, so that no rsyslogd is needed."""
    elasticsearch: str | None = optional(metavar="URL")
    """Have an existing Elasticsearch or OpenSearch check the rendered templates; nothing is stored
    in it, except with --smoke."""
    smoke: bool = flag("--smoke")
    """Send one event through a real rsyslogd into the engine at URL, else into a lab, and find it
    by its content; of a configuration of rsyslog, messages into a test sink, and say which
    documents an engine would refuse. Everything is removed afterwards."""
    fix: bool = flag("--fix")
    """First repair in the file what loses events under the profile's own tier; nothing else of it
    changes. In a configuration of rsyslog, and in what it includes, parameters are set where they
    stand."""
    strict: bool = flag("--strict")
    """Exit with 3 if there are warnings."""
    verbose: bool = flag("--verbose", "-v")
    """Print each piece of advice too."""
    rsyslogd: Path | None = RSYSLOGD
    output: ProblemFormat = typer.Option(ProblemFormat.TEXT)
    """Format on stdout; github: only problems, as GitHub Actions annotations; gitlab: as a GitLab
    code quality report."""


def _completions(incomplete: str) -> list[str]:
    """The keys that start with `incomplete`, for shell completion."""
    # Imported here because it is slow, and `--help` does not need it.
    from tuner.profile.schema import every_key

    return sorted({key.name for key in every_key() if key.name.startswith(incomplete)})


class TestArguments(Arguments, home="cases"):
    """Test what messages become: documents with their index and fields, lines in files, or
    nothing.

    The rendered profile, or a configuration of rsyslog, runs on a real rsyslogd on loopback.  It
    gets the message of each case; the built-in sink stands for the engine, files for all other
    places.  What comes of a message is compared with what its case expects, field by field.

    Exits with 2 when a case fails, with 78 when TESTS or the profile is wrong, with 1 when rsyslogd
    rejects the configuration, with 69 when rsyslogd or a module of it is missing.
    """

    tests: list[Path] = typer.Argument(metavar="TESTS...")
    """Files of cases, in YAML; see docs/test.md."""
    profile: Path | None = optional(
        metavar="PROFILE",
        help=f"The profile to test, in place of the one that TESTS name; by default {LOCAL}.",
    )
    conf: Path | None = optional(metavar="FILE")
    """The configuration of rsyslog to test, such as /etc/rsyslog.conf, in place of a profile."""
    record: Path | None = optional(metavar="LOG")
    """Write TESTS, which must not exist yet: a case for each line of LOG that expects what comes of
    it today."""
    by_input: str | None = optional("--input", metavar="NAME")
    """Record by this input: its type, or type and port, file or socket where several have it, such
    as imudp:514; by default the first that takes messages from the network."""
    junit: Path | None = optional(metavar="FILE")
    """Write the results as JUnit XML too, for CI servers."""
    templates: Path | None = TEMPLATES
    rsyslogd: Path | None = RSYSLOGD
    output: ProblemFormat = typer.Option(ProblemFormat.TEXT)
    """Format on stdout; github: only differences, as GitHub Actions annotations; gitlab: as a
    GitLab code quality report."""


class ExplainArguments(Reporting):
    """Explain a key of a profile: what it does, its default, range and pitfalls; an rsyslog
    module and its keys; or a lint rule, by the code at the end of its messages.

    Other words are looked up: what people call a setting, then keys, rules and documentation that
    have all of them.
    """

    key: list[str] = typer.Argument(metavar="KEY...", autocompletion=_completions)
    """A key such as dequeueBatchSize, a path such as outputs[].index.settings.refresh_interval, a
    word of rsyslog's such as imtcp or searchIndex, a code such as RT112 or F11, or words such as:
    queue full."""


class SchemaArguments(Arguments, home="explain"):
    """Print the JSON Schema of a profile, for editors that complete and check YAML.

    Write it beside the profile as profile.schema.json, the name in the profile's first line.
    """


class RenderArguments(Rendering, Reporting):
    """Render a profile to files: rsyslog.conf, index and component templates, live settings,
    policy, first index, settings of the node.

    The same profile always gives the same bytes; a profile has only those files that it needs.
    With -o it names each file of the folder as new, changed, unchanged or removed.  Without -o the
    files are printed, each after a line that names it.  With --inventory the configuration of each
    host is hosts/HOST/rsyslog.conf, and what each host needs is listed.  Exits with 5 where a
    file in the folder would be overwritten that rsyslog-tune did not render, with 78 when the
    profile or a template is wrong.
    """

    profile: Path = PROFILE
    file: str | None = typer.Argument(None)
    """With --stdout: print this file alone."""
    directory: Path | None = optional("-o", "--output-dir")
    """Where the files go: one folder for each profile."""
    check: bool = flag("--check")
    """Write nothing; exit with 2 when files are stale."""
    diff: bool = flag("--diff")
    """Print what would change; write nothing, exit as --check."""
    stdout: bool = flag("--stdout")
    """Write nothing; print the files, or FILE alone."""
    inventory: Path | None = optional(metavar="FILE")
    """hosts.yaml, or an inventory of Ansible's: a configuration for each collector in it that is to
    run this profile, with the host's own changes."""
    format_: Format = typer.Option(Format.PLAIN, "--format")
    """plain: the files as they are. Else what your configuration management installs them with: a
    role, a module or a state, which checks them first and takes them back."""


class DiffArguments(Reporting, home="render"):
    """Compare a cluster's templates, policies and live settings with the rendered profile, or what
    two profiles render.

    Exits with 0 when they are the same, else with 2 after a unified diff: lines with - are in the
    cluster, lines with + are in the profile; of two profiles - is the first.
    """

    profile: Path = required_profile()
    other: Path | None = typer.Argument(None, metavar="OTHER")
    """Another profile, or configuration of rsyslog."""
    elasticsearch: str | None = optional(metavar="URL")
    """The Elasticsearch or OpenSearch to compare with; read only."""
    templates: Path | None = TEMPLATES
