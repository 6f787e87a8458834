#!/usr/bin/python3
"""The client of a page load that is a browser: Chromium, driven by Selenium through ChromeDriver.

    fairc-browser --epoch-ns N DESCRIPTION

DESCRIPTION is the JSON object of the role `web-client`; events go to standard output, one JSON
object a line (docs/reference/endpoints-protocol.md). Every load is a browser of its own; all share
one profile, made anew for this run. What each flag is for is in docs/learn/pages.md. `page_record`
lies beside this file. Standard library and Selenium only: the virtual machine has both files too.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, NoReturn

import page_record

PROGRAMS = {"chromium": "/usr/lib/chromium/chromium", "chromedriver": "/usr/bin/chromedriver"}
# How long before its load is due a browser is started: it has calmed down by then.
LEAD_NS = 4_000_000_000
# For a browser to start, and to end.
PATIENCE_S = 30.0
# For a browser that hangs: until it is killed after its load's deadline, and for a screenshot of
# it.
GRACE_S = 2.0
# The load beside: of the same page, from a server on this very node.
OWN_PORT = 4443

# What a user's browser does beside loading a page, switched off; docs/learn/pages.md says of each
# why it is not measured.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    "--disable-field-trial-config",
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--metrics-recording-only",
    "--no-pings",
    "--password-store=basic",
    "--window-size=1280,800",
)
PREFERENCES = {
    # No connection is opened before the navigation asks for it: connectStart is the load's own
    # then.
    "net.network_prediction_options": 2,
    # Not the page of a new tab, which is larger than the pages that are measured.
    "session.restore_on_startup": 4,
    "session.startup_urls": ["about:blank"],
}
HTTP = {
    "h1": ("--disable-quic", "--disable-http2"),
    "h2": ("--disable-quic",),
    "h3": ("--origin-to-force-quic-on={name}:{port}",),
}


class Unable(Exception):
    """There is no browser, or it cannot be driven: the message says why."""


class Overdue(BaseException):
    """Something is past its time. Not an Exception: no library on the way may swallow it."""


def overdue(number: int, frame: object) -> NoReturn:
    """Raise Overdue: the handler of SIGALRM."""
    raise Overdue


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise Overdue in what is done here after so many seconds."""
    signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def stop(number: int, frame: object) -> NoReturn:
    """End as asked: the handler of SIGTERM."""
    sys.exit(0)


def find(program: str) -> str:
    """Return the path of `chromium` or `chromedriver`; raise Unable."""
    for path in (PROGRAMS[program], shutil.which(program)):
        if path and os.access(path, os.X_OK):
            return path
    raise Unable(f"{program} is not installed")


class Driver:
    """A running ChromeDriver, in a process group of its own with the browsers that it starts."""

    def __init__(self, folder: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]  # ChromeDriver does not say its own choice without IPv6
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [find("chromedriver"), f"--port={port}", "--log-level=SEVERE"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=folder, TMPDIR=folder),
            start_new_session=True,
        )
        assert self.process.stdout is not None, "a pipe was asked for"
        try:
            if not any(b"started successfully" in line for line in self.process.stdout):
                raise Unable(f"chromedriver ended with status {self.process.wait()}")
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End it and everything that it has started, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None, "a pipe was asked for"
        self.process.stdout.close()


class Client:
    """The loads of one flow.

    job: the description. folder: of its own, for the profile and what else the browser writes.
    """

    def __init__(self, job: dict[str, Any], epoch_ns: int, folder: str) -> None:
        self.job, self.epoch_ns, self.folder = job, epoch_ns, folder
        self.flow, self.name = job["flow"], job.get("name", "web.fairc")
        self.page = job["workload"]["page"]
        self.timeout_s = job["workload"]["timeout_ns"] / 1e9
        self.log = os.path.join(folder, "chromium.log")
        self.version = ""
        self.driver: Driver | None = None

    def run(self) -> None:
        """Do all loads, then the one beside; say what came of each."""
        workload = self.job["workload"]
        start_ns = end_ns = self.job["starts_ns"][0]
        protocols, idle_ns = workload["protocols"], (0, *workload["idle_ns"][1:])
        for number, (protocol, pause_ns) in enumerate(zip(protocols, idle_ns, strict=True), 1):
            due_ns = max(end_ns + pause_ns, start_ns + (number - 1) * workload["every_ns"])
            self.sleep_until(due_ns - LEAD_NS)
            server = (self.job["address"], self.job["port"], self.flow + ".spki")
            result = self.load(f"load-{number}", protocol, due_ns, server)
            end_ns = result["end_ns"]
            self.say("load", {"load": number} | result)
        if self.job.get("own_time"):
            self.say("own-time", self.own_time(protocols[-1]))
        if self.driver:
            self.driver.kill()
        self.say("done", {"loads": len(protocols)})

    def now_ns(self) -> int:
        """Return the time after the epoch."""
        return time.time_ns() - self.epoch_ns

    def say(self, event: str, fields: dict[str, Any]) -> None:
        """Write an event."""
        at_ns = fields.pop("end_ns", None) or self.now_ns()
        print(json.dumps({"t_ns": at_ns, "event": event, **fields}), flush=True)

    def sleep_until(self, due_ns: int) -> None:
        """Sleep until a time after the epoch."""
        time.sleep(max(0, due_ns - self.now_ns()) / 1e9)

    def load(
        self, name: str, protocol: str, due_ns: int, server: tuple[str, int, str]
    ) -> dict[str, Any]:
        """Load the page once, in a browser of its own, and close it; return what came of it.

        name: of the evidence that a failure leaves. due_ns: when to navigate. server: address, port
        and the file with the hash of its key.
        """
        from selenium import webdriver

        event: dict[str, Any] = {"wanted": protocol, "protocol": None, "status": None, "error": ""}
        # These stand where neither the browser nor the page came to say more.
        event |= {"begin_ns": self.now_ns(), "resources": []}
        browser = None
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.log)
        try:
            with time_limit(PATIENCE_S):
                self.driver = self.driver or Driver(self.folder)
                options = self.options(protocol, *server)
                browser = webdriver.Remote(self.driver.url, options=options)
                browser.set_page_load_timeout(self.timeout_s)
                browser.set_script_timeout(self.timeout_s)
            self.version = f"Chromium {browser.capabilities['browserVersion']}"
            self.sleep_until(due_ns)
            event["begin_ns"] = self.now_ns()
            with time_limit(self.timeout_s + GRACE_S):
                browser.get(f"https://{self.name}:{server[1]}{self.page[0]['path']}")
                read = json.loads(browser.execute_async_script(page_record.READ))
            event |= page_record.measured(read, self.page, self.epoch_ns)
            event["error"] = page_record.fault(event, read, self.page)
        except Overdue:
            event["error"] = LATE if browser else "the browser did not start"
        except Unable:
            raise
        except Exception as error:  # Selenium's, urllib3's, the system's: the load has failed
            event["error"] = reason(error)
        event |= {"client": "chromium", "version": self.version, "end_ns": self.now_ns()}
        if event["error"]:
            self.keep_evidence(f"{self.flow}.{name}", browser)
        self.close(browser)
        return event

    def options(self, protocol: str, address: str, port: int, key: str) -> Any:
        """Return Selenium's options for a browser that speaks the protocol with the server."""
        from selenium.webdriver.chrome.options import Options

        try:
            with open(key) as file:
                spki = file.read().strip()
        except OSError as error:
            raise Unable(f"the server's key is not known: {error}") from None
        options = Options()
        options.binary_location = find("chromium")
        options.page_load_strategy = "normal"
        options.add_experimental_option("prefs", PREFERENCES)
        for flag in (
            *FLAGS,
            *(flag.format(name=self.name, port=port) for flag in HTTP[protocol]),
            f"--user-data-dir={self.folder}/profile",
            f"--host-resolver-rules=MAP {self.name} {address}, MAP * ~NOTFOUND",
            f"--ignore-certificate-errors-spki-list={spki}",
            "--enable-logging",
            f"--log-file={self.log}",
        ):
            options.add_argument(flag)
        return options

    def keep_evidence(self, stem: str, browser: Any) -> None:
        """Leave a screenshot and the browser's log in the cell's folder, as far as there are
        any.
        """
        if browser:
            with contextlib.suppress(Overdue, Exception), time_limit(GRACE_S):
                picture = base64.b64decode(browser.get_screenshot_as_base64())
                with open(stem + ".png", "wb") as file:
                    file.write(picture)
        with contextlib.suppress(OSError):
            shutil.copyfile(self.log, stem + ".log")

    def close(self, browser: Any) -> None:
        """Close the browser as a user would; kill it, and its driver, when it does not go."""
        try:
            with time_limit(PATIENCE_S):
                browser.quit()
        except (Overdue, Exception):
            if self.driver:
                self.driver.kill()
                self.driver = None

    def own_time(self, protocol: str) -> dict[str, Any]:
        """Load the page from a server on this very node, without any network between.

        The same browser, profile and procedure, after all loads that are measured.
        """
        folder = os.path.join(self.folder, "own")
        os.makedirs(folder, exist_ok=True)
        description = {
            "flow": "own",
            "address": "127.0.0.1",
            "port": OWN_PORT,
            "workload": self.job["workload"],
            "options": self.job["options"],
            "buffer_bytes": self.job["buffer_bytes"],
            "cca": "cubic",
            "quic": self.job["own_time"]["quic"],
            "connections": 1,
            "starts_ns": self.job["starts_ns"],
            "rate_bps": None,
            "sample_every_ns": 1_000_000_000,
        }
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fairc-endpoints")
        program = beside if os.access(beside, os.X_OK) else "fairc-endpoints"
        command = [program, "web-server", "--epoch-ns", str(self.epoch_ns), json.dumps(description)]
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as server:
            assert server.stdout is not None, "a pipe was asked for"
            try:
                if b'"listening"' not in server.stdout.readline():
                    raise Unable("the server of the load beside did not start")
                due_ns = self.now_ns() + LEAD_NS
                place = ("127.0.0.1", OWN_PORT, os.path.join(folder, "own.spki"))
                return self.load("own", protocol, due_ns, place)
            finally:
                server.kill()


LATE = "it did not end within its time"


def reason(error: Exception) -> str:
    """Return an exception in words, on one line; the name of a network error when it has one."""
    text = getattr(error, "msg", None) or str(error)
    if found := re.search(r"net::(ERR_[A-Z0-9_]+)", text):
        return f"navigation error: {found[1]}"
    if type(error).__name__ == "TimeoutException":
        return LATE
    return f"{type(error).__name__}: {text.partition(chr(10))[0]}"


def main(arguments: list[str]) -> int:
    """Run as `--epoch-ns N JSON`; return the exit status."""
    try:
        option, epoch, description = arguments
        if option != "--epoch-ns":
            raise ValueError(option)
        epoch_ns, job = int(epoch), json.loads(description)
    except ValueError as error:
        print(f"usage: fairc-browser --epoch-ns N JSON: {error}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, stop)
    with tempfile.TemporaryDirectory(prefix="fairc-browser-", ignore_cleanup_errors=True) as folder:
        client = Client(job, epoch_ns, folder)
        try:
            for program in PROGRAMS:
                find(program)
            client.run()
        except (Unable, ImportError) as error:
            client.say("error", {"connection": None, "message": str(error)})
            return 1
        finally:
            if client.driver:
                client.driver.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
