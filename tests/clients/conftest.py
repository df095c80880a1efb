"""Fixtures of the tests with clients that others write."""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
sys.dont_write_bytecode = True

from processes import BINARY, Engine  # noqa: E402


def pytest_sessionstart(session):
    if not pathlib.Path(BINARY).exists():
        pytest.exit(f"{BINARY} is not built", returncode=1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="session")
def engine(folder):
    with Engine(folder, max_model_len=8192) as running:
        yield running
