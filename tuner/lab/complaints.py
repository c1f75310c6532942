"""What rsyslogd says of a configuration with -N1, told apart: faults of its files, what it does not
stop at, and what only this machine lacks; pure.

rsyslogd ends with 1 whichever it is.  Each sort was run on a real 8.2302: what stands in `runs` and
`here` starts and passes events, there or where the machine has what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from tuner.host.programs import to_install
from tuner.modules.registry import UNPACKAGED, every_package, packaged_since

PARSING = "error during parsing file"
"""What rsyslogd begins a complaint with that has a file and a line."""
NOT_LOADED = "could not load module"
LOADED_TWICE = "already in this config, cannot be added"
_PLACE = re.compile(rf"{PARSING} (?P<file>.+?), on or before line (?P<line>[0-9]+): ")
_FRAME = re.compile(r"^rsyslogd: *|\s*\[v8\.[^\]]*\]\s*$")
# Values that rsyslogd changes, and what it only mentions.
_RUNS = (
    "is set larger than queue.size",
    "imfile: no working or state file directory set",
    "maxMessageSize tried to set to",
    LOADED_TWICE,
    "using HUP-only reload",
)
# A user, file, limit or name of the machine.  A configuration that is to be included is no such
# file: what it says is not known.
_HERE = re.compile(
    r"\bID for (?:user|group) |could not set process file limit|"
    r"No such file or directory|Permission denied|Operation not permitted|"
    r"can ?not be accessed, probably does not exist|could not be accessed for `cat|"
    r"Can't resolve \"|WON'T be added to ACL|adding allowed sender entry - ignoring"
)
_UNKNOWN_OWNER = re.compile(r"\bID for (?:user|group) '?([^'\s]+)'? could not be found")
_OWNER = re.compile(
    r"""(\$(?:PrivDropTo(?:User|Group)|(?:File|Dir)(?:Owner|Group))[ \t]+|"""
    r"""\b(?:privdrop\.(?:user|group)\.name|(?:file|dir)(?:owner|group))\s*=\s*["'])([^\s"']+)""",
    re.IGNORECASE,
)
_INCLUDED = "error accessing config file or directory"
_NAME = re.compile(r"'([^'\s]+)'|(/[^\s',\]:]+)")
_MODULE = re.compile(rf"{NOT_LOADED} '([^']+)'")
_UNKNOWN_MODULE = re.compile(r"module name '([^']+)' is unknown")
_UNKNOWN_DIRECTIVE = "invalid or yet-unknown config file command"
# What only says that there was another complaint.
_FOLLOWS = re.compile(
    r"(?:errors|warnings) occurred in file '|could not interpret master config file|"
    r"error processing (?:global )?config parameters|failed processing config parameters|"
    r"run failed with error|"
    r"AbortOnUncleanConfig=\"on\"\) is set|^Check error log for details|"
    r"^resort, you may want|^to permit a startup"
)
_ONLY_WARNS = "warnings occurred in file '"
_MOST_SHOWN = 3


class Sort(Enum):
    """Whose matter a complaint is."""

    FAULT = "the files"
    RUNS = "nobody's: rsyslogd runs all the same"
    HERE = "this machine's"
    MODULE = "a module that this machine lacks"


@dataclass(frozen=True)
class Check:
    """What rsyslogd said of a configuration, by whose matter it is.

    `modules` are complaints about modules that are not installed here; `is_without` says that for
    want of something here a part of the configuration is left out, and `expected` are warnings, by
    name, that are no reason to change anything.
    """

    faults: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    is_without: bool = False
    expected: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether it takes the configuration as it is written."""
        return not self.faults and not self.modules

    @property
    def is_whole(self) -> bool:
        """Whether every part of the configuration has its effect here."""
        return not self.faults and not self.is_without

    @property
    def complaints(self) -> tuple[str, ...]:
        """Why it does not take the configuration, what to install first."""
        return (*packages_to_install(self.modules), *self.modules, *self.faults)

    @property
    def why_not(self) -> str:
        """Its first complaints."""
        return shortened(self.complaints)

    @property
    def remarks(self) -> Iterator[str]:
        """A sentence on what rsyslogd says of what it accepts."""
        if self.runs:
            yield f"rsyslogd says, and runs all the same: {shortened(self.runs)}"
        if self.here:
            yield f"rsyslogd complains of this machine, not of the files: {shortened(self.here)}"

    @property
    def owners(self) -> dict[str, str]:
        """The complaints about users and groups that are not known here, by their names: rsyslogd
        may end at one, and what follows is then not known."""
        return {name: line for line in self.here for name in _UNKNOWN_OWNER.findall(line)}


def packages_to_install(complaints: Sequence[str]) -> tuple[str, ...]:
    """What to install for the modules that rsyslogd could not load, one sentence for each."""
    ways = {module: to_install(package) for module, package in every_package().items()}
    for module, release in packaged_since().items():
        ways[module] += f", which Debian has since rsyslog 8.{release}"
    ways |= dict.fromkeys(UNPACKAGED, "Debian has no package of it: see rsyslog's repositories")
    return tuple(
        f"{module} is not installed: {way}"
        for module, way in ways.items()
        if any(f"{NOT_LOADED} '{module}'" in line for line in complaints)
    )


def shortened(complaints: Sequence[str]) -> str:
    """The first complaints, each with its place as FILE:LINE, and how many more there are."""
    first = [_PLACE.sub(r"\g<file>:\g<line>: ", line) for line in complaints[:_MOST_SHOWN]]
    more = len(complaints) - _MOST_SHOWN
    return "; ".join((*first, *([f"and {more} more"] if more > 0 else ())))


def place_in(complaint: str) -> tuple[str, int] | None:
    """The file and the line that a complaint names, None where it names none."""
    place = _PLACE.search(complaint)
    return None if place is None else (place["file"], int(place["line"]))


def owned_by_root(text: str, names: Container[str]) -> str:
    """A configuration in which root stands for users and groups of these names; lines stay."""
    return _OWNER.sub(lambda owner: f"{owner[1]}root" if owner[2] in names else owner[0], text)


def classified(lines: Sequence[str]) -> Check:
    """rsyslogd's lines by whose matter they are, each once and without what stands around its
    words."""
    words = list(dict.fromkeys(_FRAME.sub("", line).strip() for line in lines))
    sorts = dict(_sorted(words))
    by_sort: dict[Sort, list[str]] = {sort: [] for sort in Sort}
    for line, sort in sorts.items():
        if not (_FOLLOWS.search(line) and by_sort[sort]):
            by_sort[sort].append(line)
    faults, runs, here, modules = (tuple(by_sort[sort]) for sort in Sort)
    is_without = any(
        PARSING in line for line, sort in sorts.items() if sort in {Sort.HERE, Sort.MODULE}
    )
    return Check(faults, runs, here, modules, is_without)


def _sorted(lines: Sequence[str]) -> Iterator[tuple[str, Sort]]:
    modules = {name for line in lines for name in _MODULE.findall(line)}
    missing = set[str]()
    before: Sort | None = None
    places = dict[tuple[str, int], Sort]()
    for line in lines:
        place = place_in(line)
        if _FOLLOWS.search(line):
            sort = before or (Sort.RUNS if _ONLY_WARNS in line else Sort.FAULT)
        else:
            sort = _sort(line, modules, missing)
            if sort is Sort.FAULT and place in places:
                sort = places[place]
        if sort is Sort.HERE:
            names = _NAME.findall(_PLACE.sub("", line))
            missing.update(name for pair in names for name in pair if name)
        if sort in {Sort.HERE, Sort.MODULE} and place is not None:
            places[place] = sort
        before = sort
        yield line, sort


def _sort(line: str, modules: set[str], missing: set[str]) -> Sort:
    """Whose matter a line is by its words, and by what was found to be missing before it."""
    unknown = _UNKNOWN_MODULE.search(line)
    is_of_module = unknown is not None and unknown[1] in modules
    if NOT_LOADED in line or is_of_module or (modules and _UNKNOWN_DIRECTIVE in line):
        return Sort.MODULE
    if any(words in line for words in _RUNS):
        return Sort.RUNS
    words = _PLACE.sub("", line)
    if _INCLUDED not in line and (_HERE.search(line) or any(name in words for name in missing)):
        return Sort.HERE
    return Sort.FAULT
