"""The GitHub action: its script over the fake engine, its comment against a server of the test's
own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml
from waiting import completed

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "fairc"

SPEC = """fexp 1
experiment tiny {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow a { cca = cubic  workload = file(100kB) }
  repeat  = 6
  measure = [goodput]
  claim "something arrives" { holds = median(goodput) > BOUND }
}
"""


def run(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "FAIRC_ENGINE": "fake",
        "XDG_STATE_HOME": str(folder / "state"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "SPEC": "tiny.fexp",
        **more,
    }
    return completed([ACTION / "run.sh"], cwd=folder, env=environment)


@pytest.mark.parametrize(
    ("allow", "said"),
    [("program images", "not `images`"), ("--allow-program", "not `--allow-program`")],
)
def test_it_allows_nothing_that_it_does_not_know(tmp_path: Path, allow: str, said: str) -> None:
    done = run(tmp_path, ALLOW=allow)
    assert done.returncode == 2
    assert said in done.stderr


def test_what_is_allowed_reaches_the_command(tmp_path: Path) -> None:
    """A script in place of `fairc` leaves its arguments, and fails so that nothing follows."""
    (tmp_path / "fairc").write_text('#!/bin/sh\necho "$@" > arguments\nexit 2\n')
    (tmp_path / "fairc").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert run(tmp_path, ALLOW="program module", PATH=path).returncode == 2
    words = (tmp_path / "arguments").read_text().split()
    assert {"--allow-program", "--allow-module"} <= set(words)
    assert run(tmp_path, PATH=path).returncode == 2
    assert "--allow" not in (tmp_path / "arguments").read_text()


@pytest.mark.parametrize("folder", ["results", "elsewhere"])
def test_committed_results_are_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder / "ci/cells").mkdir(parents=True)
    (tmp_path / folder / "ci/cells/forged.json").write_text("{}")
    if folder != "results":
        (tmp_path / "results").symlink_to(folder)
    for words in (["init"], ["add", "."]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    done = run(tmp_path)
    assert done.returncode == 2
    assert "the repository holds files below results/ci: remove them" in done.stderr


def test_nothing_is_written_through_a_committed_link(tmp_path: Path) -> None:
    """Neither through a file of the answer nor through its folder."""
    (tmp_path / "fairc").write_text("#!/bin/sh\necho written\n")
    (tmp_path / "fairc").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/comment.md").write_text("mine")
    (tmp_path / "results/ci-ci").mkdir(parents=True)
    (tmp_path / "results/ci-ci/comment.md").symlink_to("../../victim/comment.md")
    (tmp_path / "results/two-ci").symlink_to(tmp_path / "victim")
    for words in (["init"], ["add", "results"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    for name in ("ci", "two"):
        done = run(tmp_path, RUN=f"results/{name}", PATH=path)
        assert (tmp_path / "victim/comment.md").read_text() == "mine"
        assert done.returncode == 2
        assert f"the repository holds files below results/{name}-ci" in done.stderr


@pytest.mark.full
def test_it_runs_decides_and_compares(tmp_path: Path) -> None:
    (tmp_path / "tiny.fexp").write_text(SPEC.replace("BOUND", "1kbit/s"))
    done = run(tmp_path, RUN="one")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text() == "comment=one-ci/comment.md\n"
    comment = (tmp_path / "one-ci" / "comment.md").read_text()
    assert "1 claim: 1 holds" in comment and "baseline" not in comment
    assert "<testsuite " in (tmp_path / "one-ci" / "junit.xml").read_text()

    (tmp_path / "tiny.fexp").write_text(SPEC.replace("BOUND", "1Gbit/s"))
    done = run(tmp_path, RUN="two", BASELINE="one-ci/study.zip")
    assert done.returncode == 1, done.stderr
    comment = (tmp_path / "summary").read_text()
    assert "| something arrives | holds | fails |" in comment
    assert "6 cells in both, 6 of them equal to the byte" in comment


def test_an_error_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "tiny.fexp").write_text(SPEC.replace("BOUND", "1kbit"))
    assert run(tmp_path).returncode == 2
    assert not (tmp_path / "output").exists()


def test_the_action_gives_its_script_and_nothing_else_the_inputs() -> None:
    """An expression inside `run` would be a way to run what an input says."""
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    steps = action["runs"]["steps"]
    given = {name for step in steps for name in step.get("env", {})}
    assert given == {
        *("SPEC", "BASELINE", "ALLOW", "RUN", "STRICT", "TOKEN", "COMMENT", "PULL"),
        *("REF", "REPOSITORY", "VENV", "GH_TOKEN"),  # of the install script
    }
    assert all("${{" not in step.get("run", "") for step in steps)
    assert set(action["inputs"]) == {
        *("spec", "baseline", "allow", "run", "strict", "comment", "token"),
    }


@pytest.mark.parametrize(
    ("pull", "path"),
    [("", "/repos/o/r/commits/abc/comments"), ("7", "/repos/o/r/issues/7/comments")],
)
def test_it_comments_on_a_pull_request_or_on_the_commit(
    tmp_path: Path, pull: str, path: str
) -> None:
    seen: list[tuple[str, str, dict[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, self.headers["Authorization"], body))
            self.send_response(201)
            self.end_headers()
            self.wfile.write(b'{"html_url": "there"}')

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.handle_request, daemon=True)
    thread.start()
    (tmp_path / "comment.md").write_text("| a | b |\n" + "x" * 70_000)
    environment = {
        **os.environ,
        "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_SHA": "abc",
        "TOKEN": "t",
        "PULL": pull,
        "COMMENT": str(tmp_path / "comment.md"),
        "no_proxy": "127.0.0.1",
    }
    done = completed([sys.executable, ACTION / "comment.py"], env=environment)
    thread.join(timeout=60)
    server.server_close()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "there\n"
    ((where, token, body),) = seen
    assert (where, token) == (path, "Bearer t")
    assert body["body"].startswith("| a | b |") and len(body["body"]) < 65_536


def installed(folder: Path, ref: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run `install.sh` with scripts in place of gh, make and python3; return the calls of these."""
    tools, calls = folder / "tools", folder / "calls"
    tools.mkdir()
    programs = {
        "gh": 'touch "${@: -1}/fairc-1.whl"',
        "make": 'mkdir -p "$2/.venv/bin" && cp "$0" "$2/.venv/bin/pip"',
        "python3": 'mkdir -p "$3/bin" && cp "$0" "$3/bin/pip"',
    }
    for name, does in programs.items():
        text = f'#!/bin/bash\necho "$(basename "$0")" "$@" >> {calls}\n'
        text += f'[ "$(basename "$0")" = pip ] || {{ {does}; }}\n'
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    done = completed(
        [ACTION / "install.sh"],
        env={
            "PATH": f"{tools}:{os.environ['PATH']}",
            "ROOT": str(folder / "action"),
            "VENV": str(folder / "venv"),
            "REF": ref,
            "REPOSITORY": "someone/fairc",
        },
    )
    return done, calls.read_text().splitlines()


def test_a_release_of_the_action_installs_its_wheels(tmp_path: Path) -> None:
    done, calls = installed(tmp_path, "v0.2.0")
    assert done.returncode == 0, done.stderr
    assert calls[0].startswith("gh release download v0.2.0 --repo someone/fairc")
    assert calls[-1].startswith("pip install") and calls[-1].endswith("/fairc-1.whl")
    assert not any(line.startswith("make") for line in calls)


@pytest.mark.parametrize("ref", ["main", "v1", "", "v0.2.0; true"])
def test_any_other_commit_of_the_action_is_built(tmp_path: Path, ref: str) -> None:
    done, calls = installed(tmp_path, ref)
    assert done.returncode == 0, done.stderr
    assert calls[0] == f"make -C {tmp_path}/action install"
    assert calls[1].endswith("plugins/deviations")
    assert (tmp_path / "venv/bin/pip").exists()
