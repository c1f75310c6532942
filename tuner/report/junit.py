"""Results of tests as JUnit XML, which CI servers show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from tuner.cases.judge import JudgedCase


def junit_xml(files: Iterable[tuple[str, Sequence[JudgedCase], float]]) -> str:
    """The results of files, each with its name and the seconds that it took."""
    root = ElementTree.Element("testsuites")
    for name, cases, took_s in files:
        counts = {"tests": len(cases), "failures": sum(not case.passed for case in cases)}
        attributes = {key: str(value) for key, value in {"name": name, **counts}.items()}
        suite = ElementTree.SubElement(root, "testsuite", {**attributes, "time": f"{took_s:.3f}"})
        for case in cases:
            names = {"classname": _printable(name), "name": _printable(case.name)}
            element = ElementTree.SubElement(suite, "testcase", names)
            if case.problems:
                lines = [_printable(str(problem)) for problem in case.problems]
                failure = ElementTree.SubElement(element, "failure", {"message": lines[0]})
                failure.text = "\n".join(lines)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """XML has no control characters, nor halves of characters."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else "?" for character in text
    )
