"""Take the README's pictures of a report: `python tests/support/screenshot.py RUN/report.html`."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

from chromium import CHROMIUM, DRIVER, FLAGS, LACKS
from selenium import webdriver

WIDTH, HEIGHT, SCALE = 960, 1500, 2
SCHEMES = ("light", "dark")


def take(page: Path, folder: Path) -> None:
    """Write `report-light.png` and `report-dark.png`: the top of the page, CSS pixels doubled."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, "--hide-scrollbars"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for scheme in SCHEMES:
            feature = {"name": "prefers-color-scheme", "value": scheme}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            driver.get(page.resolve().as_uri())
            picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
            (folder / f"report-{scheme}.png").write_bytes(base64.b64decode(picture["data"]))
    finally:
        driver.quit()


def main() -> None:
    """Take the pictures into docs/img."""
    page = Path(sys.argv[1] if len(sys.argv) > 1 else "results/quickstart/report.html")
    if LACKS:
        sys.exit(f"it {LACKS}")
    if not page.is_file():
        sys.exit(f"{page} does not exist: run `make demo` first")
    folder = Path(__file__).parents[2] / "docs" / "img"
    folder.mkdir(exist_ok=True)
    take(page, folder)


if __name__ == "__main__":
    main()
