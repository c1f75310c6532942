"""Results of tests as JUnit XML, which CI servers show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from tuner.cases.judge import JudgedCase


def junit_xml(files: Iterable[tuple[str, Sequence[JudgedCase], float]]) -> str:
    """The results of files, each with its name and the seconds that it took."""
    root = ElementTree.Element("testsuites")
    for name, cases, took_s in files:
        counts = {"tests": len(cases), "failures": sum(not one.passed for one in cases)}
        told = {key: str(value) for key, value in {"name": name, **counts}.items()}
        suite = ElementTree.SubElement(root, "testsuite", {**told, "time": f"{took_s:.3f}"})
        for one in cases:
            case = {"classname": _printable(name), "name": _printable(one.name)}
            here = ElementTree.SubElement(suite, "testcase", case)
            if one.problems:
                lines = [_printable(str(each)) for each in one.problems]
                failure = ElementTree.SubElement(here, "failure", {"message": lines[0]})
                failure.text = "\n".join(lines)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """XML has no control characters, nor halves of characters."""
    return "".join(one if one.isprintable() or one in "\n\t" else "?" for one in text)
