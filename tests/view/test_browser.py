"""The viewer in a real browser: the page loads without a complaint, and what the panel is told the robot does."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser")

from haloid.cli import main as cli
from tests.view.chromium import chromium, errors, prefer, resize, screenshot
from tests.view.small_result import small_result

pytestmark = pytest.mark.slow
PATIENCE_S = 60.0
BESIDE_PANEL = np.s_[:, :-400]
ABOVE_PANEL = np.s_[:450]
"""What the panel leaves of the window, of a phone's in the second."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


class Viewer:
    """`haloid view` as a process of its own."""

    def __init__(self, what: str, folder: Path) -> None:
        line = [sys.executable, "-m", "haloid", "view", what, "--port", "0"]
        self._said = folder / "stderr"
        with self._said.open("w") as stderr:
            self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", self.process.stdout.readline())
        assert found, self.said()
        self.address = found.group()

    def said(self) -> str:
        """On stderr."""
        return self._said.read_text()

    def end(self) -> int:
        """As a user does, with Ctrl-C; the exit status."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode


def until(holds, what: str) -> None:
    started_s = time.monotonic()
    while not holds():
        assert time.monotonic() - started_s < PATIENCE_S, what
        time.sleep(0.3)


def robot_pixels(browser, *, dark: bool = True, stage=BESIDE_PANEL) -> np.ndarray:
    """(n, 2) rows and columns of the stage that the robot's dark parts cover; or of the load's orange."""
    image = screenshot(browser)[stage]
    image[:170, :330] = 255  # where the client complains about the missing graphics card
    orange = (image[..., 0] > 180) & (image[..., 0] - image[..., 2] > 60)
    return np.argwhere((image.max(axis=2) < 60) if dark else orange)


def show(browser, address: str, *, stage=BESIDE_PANEL) -> None:
    browser.get("about:blank")
    errors(browser)  # of a page before, whose server is gone
    browser.get(address)
    until(lambda: len(robot_pixels(browser, stage=stage)) > 500, "no robot on the stage")


def scheme(browser) -> str | None:
    return browser.find_element("tag name", "html").get_attribute("data-mantine-color-scheme")


def test_time_moves_the_robot_by_hand_and_by_itself_and_leaving_is_told(browser, tmp_path: Path):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    viewer = Viewer("squat", tmp_path)
    show(browser, viewer.address)
    standing = robot_pixels(browser)
    slider = browser.find_element("css selector", "[role=slider]")
    seconds = browser.find_element("css selector", "input.mantine-NumberInput-input")
    seconds.send_keys(keys.CONTROL, "a")
    seconds.send_keys("3", keys.ENTER)
    until(lambda: robot_pixels(browser)[:, 0].min() > standing[:, 0].min() + 8, "the robot's head did not go down")
    slider.send_keys(keys.HOME)
    until(lambda: abs(robot_pixels(browser)[:, 0].min() - standing[:, 0].min()) <= 2, "it did not stand up again")
    assert "knee_joint (rad)" in browser.find_element("tag name", "body").text
    (play,) = [button for button in browser.find_elements("tag name", "button") if button.text == "Play"]
    play.click()
    until(lambda: float(slider.get_attribute("aria-valuenow")) > 0.1, "time does not move")
    assert play.text == "Pause"
    assert errors(browser) == []
    page = browser.current_window_handle
    browser.switch_to.new_window("tab")
    (other,) = {*browser.window_handles} - {page}
    browser.switch_to.window(page)
    browser.close()
    browser.switch_to.window(other)
    closed = f"the browser is closed; open {viewer.address} again, or end with Ctrl-C\n"
    until(lambda: closed in viewer.said(), "nobody noticed that the browser left")
    assert viewer.end() == 0
    assert viewer.said().endswith("ended\n")


def test_the_page_is_as_dark_as_the_browser_wants_and_fits_a_phone(browser, tmp_path: Path):
    viewer = Viewer("squat", tmp_path)
    prefer(browser, dark=True)
    resize(browser, 390, 844)
    show(browser, viewer.address, stage=ABOVE_PANEL)
    until(lambda: robot_pixels(browser, stage=ABOVE_PANEL)[:, 1].min() > 50, "no robot before a lighter background")
    (panel,) = browser.find_elements("css selector", ".mantine-Paper-root[style*='width: 20em']")
    assert panel.rect["width"] == 390
    lowest, rightmost = robot_pixels(browser, stage=ABOVE_PANEL).max(axis=0)
    assert (lowest < panel.rect["y"] - 10, rightmost < 340) == (True, True), "the robot is cut off"
    assert scheme(browser) == "dark"
    prefer(browser, dark=False)
    resize(browser)
    browser.get(viewer.address)
    until(lambda: scheme(browser) == "light", "the page stays dark")
    assert errors(browser) == []
    assert viewer.end() == 0


def test_an_identification_shows_its_payload_and_says_how_well_it_fits(browser, tmp_path: Path):
    viewer = Viewer(str(small_result(tmp_path)), tmp_path)
    show(browser, viewer.address)
    until(lambda: len(robot_pixels(browser, dark=False)) > 100, "no payload on the stage")
    text = browser.find_element("tag name", "body").text
    assert re.search(r"calibrated model: [01]\.\d mrad rms from the encoders", text)
    assert re.search(r"\d\.\d+ ± 0\.\d+ kg at torso_link", text)
    assert errors(browser) == []
    assert viewer.end() == 0


def test_the_exported_page_plays_without_a_server(browser, tmp_path: Path):
    page = tmp_path / "squat.html"
    assert cli.main(["view", "squat", "--export", str(page)]) == 0
    assert page.stat().st_size < 4e6
    show(browser, page.as_uri())
    first = screenshot(browser)
    until(lambda: np.abs(screenshot(browser) - first).max(axis=2).mean() > 0.5, "nothing moves")
    marked = float(browser.find_element("css selector", "#haloid line.now").get_attribute("x1"))
    until(
        lambda: float(browser.find_element("css selector", "#haloid line.now").get_attribute("x1")) != marked,
        "the mark in the curves stands still",
    )
    assert browser.find_element("css selector", "#haloid h3").text.endswith("knee_joint (rad)")
    joints = browser.find_elements("css selector", "#haloid option")
    joints[0].click()
    assert browser.find_element("css selector", "#haloid h3").text == f"{joints[0].text} (rad)"
    assert errors(browser) == []
    assert "<title>squat</title>" in page.read_text(encoding="utf-8")
