"""Options and paths that all tests share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import docker_daemon
import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
IN_REAL_TIME = ("containers", "torture")

# A busy machine is no failure of what a property says.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Say so where a package in `plugins/` is not installed: much else would fail, unexplained."""
    for project in sorted(TESTS.parent.glob("plugins/*/pyproject.toml")):
        name = project.parent.name
        if not find_spec(f"fairc_{name}"):
            pytest.exit(
                f"plugins/{name} is not installed. `make setup`, or: {sys.executable} -m pip"
                " install --no-deps --no-build-isolation -e plugins/deviations -e plugins/fake",
                returncode=3,
            )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests in real time fail twice: other work on this machine can disturb any of them. Each
    repetition is printed. Tests in virtual time pass at once or fail.
    """
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in IN_REAL_TIME:
            item.add_marker(pytest.mark.flaky(reruns=2))


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
