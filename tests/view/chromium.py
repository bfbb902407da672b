"""Debian's Chromium, headless and without a graphics card, for pages that have to be seen to be tested."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WIDTH_PX, HEIGHT_PX = 900, 560
ATTEMPTS = 5
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--use-gl=angle", "--use-angle=swiftshader"),
    "--enable-unsafe-swiftshader",
)


@contextmanager
def chromium(profile: Path, width_px: int = WIDTH_PX, height_px: int = HEIGHT_PX, *, dark: bool = False) -> Iterator:
    """A browser with a fresh profile; the test is skipped, saying so, where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs Chromium and its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        resize(browser, width_px, height_px)
        prefer(browser, dark=dark)
        yield browser
    finally:
        browser.quit()


def resize(browser, width_px: int = WIDTH_PX, height_px: int = HEIGHT_PX) -> None:
    size = {"width": width_px, "height": height_px, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def prefer(browser, *, dark: bool) -> None:
    """Tell pages that their reader wants them dark, or light."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def screenshot(browser) -> np.ndarray:
    """(height, width, 3); on a machine with much to do a picture may take the browser longer than it grants itself."""
    late = pytest.importorskip("selenium.common.exceptions").TimeoutException
    for attempt in range(ATTEMPTS):
        try:
            png = browser.get_screenshot_as_png()
            break
        except late:
            if attempt == ATTEMPTS - 1:
                raise
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def errors(browser) -> list[str]:
    """What the page complained about."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
