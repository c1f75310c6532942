"""The page of a search's report in a real browser: Debian's chromium, headless."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from tests.report.test_search_page import drawn, hostile, with_stages
from tests.search.simulated import START_S, World, search

pytestmark = pytest.mark.live

PHONE, DESKTOP = 360, 1280


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """A browser that keeps a log of its console and of everything that it asks for."""
    options = ChromeOptions()
    options.add_argument("--headless")
    options.add_argument("--disable-gpu")
    if os.geteuid() == 0:
        # Chromium refuses its sandbox to root; the page is our own.
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location = shutil.which("chromium") or ""
    driver = Chrome(options, ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="module", params=["plain", "hostile"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page in a file, as a reader has it; its study is one that was computed."""
    folder = tmp_path_factory.mktemp("report")
    study = with_stages(search(folder, World(START_S, computes_s=0.25, restart_s=5.0)))
    path = folder / "report.html"
    told = study if request.param == "plain" else hostile(study)
    path.write_text(drawn(told), encoding="utf-8")
    return path


def shown_at(browser: Chrome, report: Path, width: int, scheme: str = "light") -> None:
    """Show the page as a screen of that width would."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
    browser.get(report.as_uri())


def logged(browser: Chrome, kind: str) -> list[dict[str, Any]]:
    """What the browser wrote into one of its logs since it was last asked."""
    read: Callable[[str], list[dict[str, Any]]] = browser.get_log
    return read(kind)


def test_it_renders_asks_for_nothing_and_has_no_complaint(browser: Chrome, report: Path) -> None:
    logged(browser, "performance")
    shown_at(browser, report, DESKTOP)
    assert logged(browser, "browser") == []
    events = [json.loads(entry["message"])["message"] for entry in logged(browser, "performance")]
    asked = [one["params"] for one in events if one["method"] == "Network.requestWillBeSent"]
    assert {one["request"]["url"] for one in asked} == {report.as_uri()}
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(one => {"
        "  const box = one.getBoundingClientRect(); return [box.width, box.height] })"
    )
    assert len(drawn) == 1
    assert all(width > 200 and height > 100 for width, height in drawn)
    style = "return getComputedStyle(document.querySelector('.verdict')).borderLeftStyle"
    assert browser.execute_script(style) == "solid"


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_nothing_is_wider_than_the_screen(browser: Chrome, report: Path, width: int) -> None:
    shown_at(browser, report, width)
    sizes = "const root = document.documentElement; return [root.clientWidth, root.scrollWidth]"
    has, needs = browser.execute_script(sizes)
    assert has <= width
    assert needs <= has


def test_a_phone_shows_all_of_every_table(browser: Chrome, report: Path) -> None:
    """Opened, nothing in it is scrolled sideways: each row of a wide one is a block."""
    shown_at(browser, report, PHONE)
    script = (
        "document.querySelectorAll('details').forEach(one => { one.open = true });"
        "return [...document.querySelectorAll('.scroll')].filter("
        "  one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)"
    )
    assert browser.execute_script(script) == []


def test_plots_follow_light_and_dark(browser: Chrome, report: Path) -> None:
    colours = []
    for scheme in ("light", "dark"):
        shown_at(browser, report, DESKTOP, scheme)
        colours.append(
            browser.execute_script(
                "return [getComputedStyle(document.body).backgroundColor,"
                "  getComputedStyle(document.querySelector('svg text')).fill]"
            )
        )
    (light, light_text), (dark, dark_text) = colours
    assert light != dark
    assert light_text != dark_text


def visible(browser: Chrome, which: str) -> list[bool]:
    """Of each element whether it can be seen."""
    script = "return [...document.querySelectorAll(arguments[0])].map(one => one.checkVisibility())"
    found: list[bool] = browser.execute_script(script, which)
    assert found, which
    return found


def test_on_paper_everything_is_open_but_the_long_tables(browser: Chrome, report: Path) -> None:
    """What a reader of the screen opens by a click is open there, but for the figures of the plots
    and the trials, which would take dozens of pages."""
    shown_at(browser, report, DESKTOP)
    assert not any(visible(browser, "details:not(.screen) table"))
    assert not any(visible(browser, ".paper"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert all(visible(browser, "details:not(.screen) table"))
    assert all(visible(browser, ".paper"))
    assert not any(visible(browser, "details.screen table"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert printed.startswith(b"%PDF")
