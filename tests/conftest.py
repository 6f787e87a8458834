"""Options and paths that all tests share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path

import docker_daemon
import pytest
from hypothesis import is_hypothesis_test, settings

TESTS = Path(__file__).parent
IN_REAL_TIME = ("containers", "torture")
# What `make test` leaves to `make test-rest`, marked `full`: folders and modules that need another
# engine's image, a browser, Docker, Mininet on this kernel, an emulated CPU or a build, and those
# that take long. Of a family of tests alike a few stay in `make test`: the others have
# `@pytest.mark.full`, or are parameters that `few` leaves out (tests/support/representatives.py).
FULL = (
    "calibration",
    "cli/test_distribution.py",
    "cli/test_harm.py",
    "cli/test_interruption.py",
    "cli/test_interruption_of_reports.py",
    "compiler/test_script_runs.py",
    "containers",
    "endpoints/test_web_in_chromium.py",
    "engines/browser",
    "engines/contract/test_contract.py",
    "engines/test_bpf.py",
    "engines/test_copa.py",
    "engines/test_correct_cells.py",
    "engines/test_emitted.py",
    "engines/test_emitted_middleboxes.py",
    "engines/test_emitted_networks.py",
    "engines/test_false_verdicts.py",
    "engines/test_hosts_limit_nothing.py",
    "engines/test_iperf3.py",
    "engines/test_modules.py",
    "engines/test_mptcp_on_vm.py",
    "engines/test_other_cpus.py",
    "engines/test_own_kernels.py",
    "engines/test_prague.py",
    "engines/test_prio_waits.py",
    "engines/test_uml_hosts.py",
    "engines/test_vm.py",
    "engines/test_words_on_vm.py",
    "report/test_browser.py",
    "torture/test_short.py",
    "vm/test_snapshot_whole.py",
    "vm/test_strange_guests.py",
    "vm/test_whole_build.py",
)

# A busy machine is no failure of what a property says. `make test` tries fewer examples of each.
settings.register_profile("few", deadline=None, max_examples=20)
settings.register_profile("many", deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples a property gets.

    Say so where a package in `plugins/` is not installed: much else would fail, unexplained.
    """
    config.addinivalue_line("markers", "full: left to `make test-rest`")
    config.addinivalue_line(
        "markers", "examples: a property, with more examples in `make test-rest`"
    )
    settings.load_profile("few" if config.option.markexpr == "not full" else "many")
    for project in sorted(TESTS.parent.glob("plugins/*/pyproject.toml")):
        name = project.parent.name
        if not find_spec(f"fairc_{name}"):
            pytest.exit(
                f"plugins/{name} is not installed. `make setup`, or: {sys.executable} -m pip"
                " install --no-deps --no-build-isolation -e plugins/deviations -e plugins/fake",
                returncode=3,
            )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in FULL and properties, and let tests in real time fail twice.

    Other work on this machine can disturb any of the latter. Each repetition is printed. Tests in
    virtual time pass at once or fail.
    """
    for item in items:
        place = item.path.relative_to(TESTS).as_posix()
        if any(place == name or place.startswith(f"{name}/") for name in FULL):
            item.add_marker(pytest.mark.full)
        if is_hypothesis_test(getattr(item, "function", None)):
            item.add_marker(pytest.mark.examples)
        if item.path.relative_to(TESTS).parts[0] in IN_REAL_TIME:
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what a program said that failed or did not end: these exceptions do not."""
    report = yield
    error = call.excinfo and call.excinfo.value
    if isinstance(error, subprocess.TimeoutExpired | subprocess.CalledProcessError):
        for name, said in (("output", error.stdout), ("errors", error.stderr)):
            text = said.decode(errors="replace") if isinstance(said, bytes) else said
            if text:
                report.sections.append((f"its {name}", text))
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update`, which rewrites golden files instead of comparing with them."""
    parser.addoption("--update", action="store_true", help="rewrite golden files")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Tell whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(scope="session")
def examples() -> Path:
    """Return the folder of the example files."""
    return TESTS.parent / "examples"


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[None]:
    """Have a Docker engine with fairc's image: this machine's, or one that ends with the tests."""
    with docker_daemon.running() as lacking:
        if lacking:
            pytest.skip(f"this machine lacks: {lacking}")
        yield
