import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from processes import BINARY, Engine, Router, findings  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "long: only with ./test.sh --all")
    config.addinivalue_line(
        "markers", "unsanitized: it measures memory or turns of a loop, or interposes calls, where a sanitized binary differs by nature")
    config.addinivalue_line("markers", "alone: measures short times, so no other test runs beside it")


def pytest_sessionstart(session):
    if not os.path.exists(BINARY):
        pytest.exit(f"{BINARY} is not built", returncode=1)


left_by_workers = []  # The findings of worker processes behind their last test.


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    left_by_workers.extend(getattr(node, "workeroutput", {}).get("findings", []))


def pytest_sessionfinish(session):
    left = findings()
    if hasattr(session.config, "workeroutput"):  # Only the process that started the workers has an exit status.
        session.config.workeroutput["findings"] = left
    elif left := left_by_workers + left:
        print("\n".join(left))
        session.exitstatus = 1


@pytest.fixture(autouse=True)
def no_sanitizer_finds_anything():
    yield
    assert not (found := findings()), "\n".join(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("penstock")


@pytest.fixture(scope="module")
def engine(folder):
    with Engine(folder) as running:
        yield running


@pytest.fixture(scope="module")
def router(folder, engine):
    """The smallest configuration: a listen address and the replica's URL."""
    with Router(folder, [engine]) as running:
        yield running
