"""Chromium for tests: where it is, and how it starts."""

from __future__ import annotations

import shutil

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
LACKS = "" if CHROMIUM and DRIVER else "needs the Debian packages chromium and chromium-driver"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
