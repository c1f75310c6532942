"""A page of HTML as a browser's parser sees it: elements with their attributes, and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Seen(HTMLParser):
    """What was seen: each element's name and attributes, and the text outside of styles."""

    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    text: str = ""
    style: str = ""
    _inside: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.style += data
        else:
            self.text += data.replace("\N{NO-BREAK SPACE}", " ")

    def names(self) -> set[str]:
        return {name for name, _ in self.elements}

    def values(self, attribute: str) -> list[str]:
        return [found[attribute] for _, found in self.elements if attribute in found]


def seen(page: str) -> Seen:
    found = Seen()
    found.feed(page)
    found.close()
    return found
