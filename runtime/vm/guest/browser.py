#!/usr/bin/python3
"""The client of a page load that is a browser: Chromium, driven by Selenium through ChromeDriver.

    fairc-browser --epoch-ns N DESCRIPTION

DESCRIPTION is the JSON object of the role `web-client`; events go to standard output, one JSON
object a line (docs/architecture.md). Every load is a browser of its own; all share one profile, made
anew for this run. What each flag is for is in docs/browser.md. Standard library and Selenium only:
the virtual machine has this file too.
"""

import base64
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = {"chromium": "/usr/lib/chromium/chromium", "chromedriver": "/usr/bin/chromedriver"}
# Virtual time for a browser to start before its load is due: it has calmed down by then.
LEAD_NS = 4_000_000_000
# After the end of a load: for the paint that follows it, and for a browser to answer or to end.
SETTLE_MS = 500
PATIENCE_S = 30

# What a user's browser does beside loading a page, switched off; docs/browser.md says why that is
# not measured.
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
    "--disable-gpu",
    "--metrics-recording-only",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
    "--window-size=1280,800",
)
HTTP = {
    "h1": ("--disable-quic", "--disable-http2"),
    "h2": ("--disable-quic",),
    "h3": ("--origin-to-force-quic-on={name}:{port}",),
}
PROTOCOLS = {"http/1.1": "h1", "h2": "h2", "h3": "h3"}

# Runs in the page once its document is complete: waits for the end of the load event and for the
# paint after it, then reads what the page has recorded of itself. Nothing is polled.
READ = """
const done = arguments[arguments.length - 1];
const finish = () => setTimeout(() => {
  const seen = [];
  const observer = new PerformanceObserver(list => seen.push(...list.getEntries()));
  observer.observe({type: "largest-contentful-paint", buffered: true});
  setTimeout(() => done(JSON.stringify({
    origin: performance.timeOrigin,
    href: location.href,
    navigation: performance.getEntriesByType("navigation"),
    resources: performance.getEntriesByType("resource"),
    paint: performance.getEntriesByType("paint"),
    lcp: seen.map(entry => entry.startTime),
    text: location.href.startsWith("chrome-error:") ? document.documentElement.innerHTML : "",
  })), 0);
}, SETTLE_MS);
document.readyState === "complete" ? finish() : addEventListener("load", finish);
""".replace("SETTLE_MS", str(SETTLE_MS))


class Unable(Exception):
    """There is no browser, or it cannot be driven: the message says why."""


class Overdue(BaseException):
    """A load is past its deadline. Not an Exception: no library on the way may swallow it."""


def overdue(number, frame):
    """Raise Overdue: the handler of SIGALRM."""
    raise Overdue


@contextlib.contextmanager
def time_limit(seconds):
    """Raise Overdue in what is done here after so many seconds."""
    signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def find(program):
    """Return the path of `chromium` or `chromedriver`; raise Unable."""
    for path in (PROGRAMS[program], shutil.which(program)):
        if path and os.access(path, os.X_OK):
            return path
    raise Unable(f"{program} is not installed")


class Driver:
    """A running ChromeDriver, in a process group of its own with the browsers that it starts."""

    def __init__(self, folder):
        environment = dict(os.environ, HOME=folder, TMPDIR=folder)
        self.process = subprocess.Popen(
            [find("chromedriver"), "--port=0", "--log-level=SEVERE"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            text=True,
        )
        for line in self.process.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                self.url = f"http://127.0.0.1:{found[1]}"
                return
        raise Unable(f"chromedriver ended with status {self.process.wait()}")

    def kill(self):
        """End it and everything that it has started, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


class Client:
    """The loads of one flow."""

    def __init__(self, job, epoch_ns, folder):
        self.job, self.epoch_ns, self.folder = job, epoch_ns, folder
        self.page = job["workload"]["page"]
        self.timeout_s = job["workload"]["timeout_ns"] / 1e9
        self.name = job.get("name", "web.fairc")
        self.version = ""
        self.driver = None

    def now_ns(self):
        """Return the time after the epoch."""
        return time.time_ns() - self.epoch_ns

    def say(self, event, **fields):
        """Write an event."""
        print(json.dumps({"t_ns": self.now_ns(), "event": event, **fields}), flush=True)

    def sleep_until(self, due_ns):
        """Sleep until a time after the epoch."""
        time.sleep(max(0, due_ns - self.now_ns()) / 1e9)

    def options(self, protocol, log):
        """Return Selenium's options for a browser that speaks the protocol."""
        from selenium.webdriver.chrome.options import Options

        options = Options()
        options.binary_location = find("chromium")
        flags = [*FLAGS, *(flag.format(name=self.name, port=self.job["port"]) for flag in HTTP[protocol])]
        flags.append(f"--user-data-dir={self.folder}/profile")
        flags.append(f"--host-resolver-rules=MAP {self.name} {self.job['address']}, MAP * ~NOTFOUND")
        with open(self.job["flow"] + ".spki") as file:
            flags.append(f"--ignore-certificate-errors-spki-list={file.read().strip()}")
        flags += ["--enable-logging", f"--log-file={log}"]
        for flag in flags + self.job.get("flags", []):
            options.add_argument(flag)
        # Tells ChromeDriver not to add flags that contradict ours.
        options.add_experimental_option("excludeSwitches", ["enable-automation"])
        options.page_load_strategy = "normal"
        return options

    def load(self, number, protocol, due_ns):
        """Load the page once, in a browser of its own; return its event."""
        from selenium import webdriver

        log = f"{self.folder}/log"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(log)
        event = {"load": number, "wanted": protocol, "protocol": None, "status": None, "error": ""}
        browser = None
        try:
            with time_limit(PATIENCE_S):
                self.driver = self.driver or Driver(self.folder)
                browser = webdriver.Remote(self.driver.url, options=self.options(protocol, log))
                browser.set_page_load_timeout(self.timeout_s)
                browser.set_script_timeout(self.timeout_s)
            self.version = f"Chromium {browser.capabilities['browserVersion']}"
            self.sleep_until(due_ns)
            event["begin_ns"] = self.now_ns()
            read = None
            with time_limit(self.timeout_s):
                browser.get(f"https://{self.name}:{self.job['port']}{self.page[0]['path']}")
                read = json.loads(browser.execute_async_script(READ))
            event.update(self.measured(read))
            event["error"] = self.fault(event, read)
        except Overdue:
            event["error"] = "it did not end within its time" if browser else "the browser did not start"
        except Exception as error:  # noqa: BLE001  # Selenium's own, urllib3's and the system's: all are failed loads
            event["error"] = reason(error)
        event["t_ns"] = self.now_ns()
        if event["error"]:
            self.keep_evidence(number, browser, log)
        self.close(browser)
        return event

    def keep_evidence(self, number, browser, log):
        """Leave a screenshot and the browser's log in the cell's folder, as far as there are any."""
        stem = f"{self.job['flow']}.load-{number}"
        with contextlib.suppress(Overdue, Exception), time_limit(PATIENCE_S):
            with open(stem + ".png", "wb") as file:
                file.write(base64.b64decode(browser.get_screenshot_as_base64()))
        with contextlib.suppress(OSError):
            shutil.copyfile(log, stem + ".log")

    def close(self, browser):
        """Close the browser as a user would; kill it when it does not go."""
        try:
            with time_limit(PATIENCE_S):
                browser.quit()
        except (Overdue, Exception):
            if self.driver:
                self.driver.kill()
                self.driver = None

    def measured(self, read):
        """Return the fields of a load's event from what the page has recorded."""
        origin_ns = round(read["origin"] * 1e6) - self.epoch_ns

        def at(value):
            return origin_ns + round(value * 1e6) if value else None

        if not read["navigation"]:
            return {}
        document = read["navigation"][0]
        protocol = PROTOCOLS.get(document["nextHopProtocol"], document["nextHopProtocol"] or None)
        paint = {entry["name"]: entry["startTime"] for entry in read["paint"]}
        types = {item["path"]: item["type"] for item in self.page}
        resources = [
            {
                "path": (path := re.sub(r"^\w+://[^/]*", "", entry["name"])),
                "type": types.get(path),
                "protocol": PROTOCOLS.get(entry["nextHopProtocol"], entry["nextHopProtocol"] or None),
                "status": entry["responseStatus"] or None,
                "bytes": entry["encodedBodySize"],
                "start_ns": origin_ns + round(entry["startTime"] * 1e6),
                "connect_start_ns": at(entry["connectStart"]),
                "connect_end_ns": at(entry["connectEnd"]),
                "request_start_ns": at(entry["requestStart"]),
                "response_start_ns": at(entry["responseStart"]),
                "response_end_ns": at(entry["responseEnd"]),
            }
            for entry in [document, *read["resources"]]
        ]
        return {
            "protocol": protocol,
            "status": document["responseStatus"] or None,
            "begin_ns": origin_ns,
            "connect_start_ns": at(document["connectStart"]),
            "secure_start_ns": None if protocol == "h3" else at(document["secureConnectionStart"]),
            "connect_end_ns": at(document["connectEnd"]),
            "request_start_ns": at(document["requestStart"]),
            "response_start_ns": at(document["responseStart"]),
            "response_end_ns": at(document["responseEnd"]),
            "dom_content_loaded_ns": at(document["domContentLoadedEventEnd"]),
            "load_event_end_ns": at(document["loadEventEnd"]),
            "fcp_ns": at(paint.get("first-contentful-paint")),
            "lcp_ns": at(read["lcp"][-1]) if read["lcp"] else None,
            "bytes": sum(resource["bytes"] for resource in resources),
            "resources": resources,
        }

    def fault(self, event, read):
        """Return why a load that came to an end has failed all the same, or nothing."""
        if read["href"].startswith("chrome-error:"):
            found = re.search(r"ERR_[A-Z0-9_]+", read["text"])
            return f"navigation error: {found[0] if found else 'without a name'}"
        if event["status"] != 200:
            return f"the server answered with status {event['status']}"
        if event["protocol"] != event["wanted"]:
            return f"the document came over {event['protocol']}, not over {event['wanted']}"
        got = {resource["path"]: resource for resource in event["resources"]}
        for item in self.page:
            resource = got.get(item["path"])
            if resource is None:
                return f"{item['path']} is missing"
            if resource["status"] != 200:
                return f"{item['path']} was answered with status {resource['status']}"
            if resource["bytes"] != item["bytes"]:
                return f"{item['path']} has {resource['bytes']} bytes, not {item['bytes']}"
            if resource["protocol"] != event["wanted"]:
                return f"{item['path']} came over {resource['protocol']}, not over {event['wanted']}"
        if not event["load_event_end_ns"]:
            return "its load event did not end"
        return ""

    def run(self):
        """Do all loads."""
        workload = self.job["workload"]
        end_ns, loads = self.job["starts_ns"][0], 0
        for number, protocol in enumerate(workload["protocols"], 1):
            due_ns = end_ns + (workload["idle_ns"][number - 1] if number > 1 else 0)
            self.sleep_until(due_ns - LEAD_NS)
            event = self.load(number, protocol, due_ns)
            end_ns = event.pop("t_ns")
            fields = {"client": "chromium", "version": self.version}
            print(json.dumps({"t_ns": end_ns, "event": "load", **event, **fields}), flush=True)
            loads += 1
        if self.driver:
            self.driver.kill()
        self.say("done", loads=loads)


def reason(error):
    """Return an exception in words, on one line; the name of a network error when it has one."""
    text = getattr(error, "msg", None) or str(error)
    if found := re.search(r"net::(ERR_[A-Z0-9_]+)", text):
        return f"navigation error: {found[1]}"
    if type(error).__name__ == "TimeoutException":
        return "it did not end within its time"
    return f"{type(error).__name__}: {text.partition(chr(10))[0]}"


def main(arguments):
    """Run as `--epoch-ns N JSON`; return the exit status."""
    try:
        option, epoch, description = arguments
        if option != "--epoch-ns":
            raise ValueError(option)
        epoch_ns, job = int(epoch), json.loads(description)
    except ValueError as error:
        print(f"usage: fairc-browser --epoch-ns N JSON: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="fairc-browser-", ignore_cleanup_errors=True) as folder:
        client = Client(job, epoch_ns, folder)
        try:
            find("chromium"), find("chromedriver")
            client.run()
        except (Unable, ImportError) as error:
            client.say("error", connection=None, message=str(error))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
