"""Fixtures of the tests with real engines. Engines live for the whole session, because a start of vLLM takes minutes."""
import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from engines import Llama, Vllm, installed, wait_until_up  # noqa: E402
from processes import BINARY, Router  # noqa: E402

LOGS = HERE.parents[1] / "build/real/logs"
failed = pytest.StashKey[bool]()


def pytest_configure(config):
    config.addinivalue_line("markers", "long: needs vLLM; only with ./test.sh --all")
    config.stash[failed] = False


def pytest_sessionstart(session):
    if not pathlib.Path(BINARY).exists():
        pytest.exit(f"{BINARY} is not built", returncode=1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.config.stash[failed] |= report.failed
    return report


@pytest.fixture(scope="session")
def folder(tmp_path_factory, request):
    """The folder of all logs; after a failure they stay in build/real/logs."""
    made = tmp_path_factory.mktemp("real")
    yield made
    shutil.rmtree(LOGS, ignore_errors=True)
    if request.config.stash[failed]:
        shutil.copytree(made, LOGS)
        print(f"\nthe logs are in {LOGS}")


@pytest.fixture(scope="session")
def llama(folder):
    if not installed("light"):
        pytest.skip("no llama-server: run scripts/real_env.sh light")
    with Llama(folder, "llama") as engine:
        yield engine.wait()


@pytest.fixture(scope="session")
def vllms(folder):
    """Two vLLM, started together."""
    if not installed("vllm"):
        pytest.skip("no vLLM: run scripts/real_env.sh vllm")
    with Vllm(folder, "vllm-a") as a, Vllm(folder, "vllm-b") as b:
        yield [a.wait(), b.wait()]


@pytest.fixture(scope="session")
def engines(request):
    """engines(kind) is a list of all engines of that kind."""
    return lambda kind: request.getfixturevalue("vllms") if kind == "vllm" else [request.getfixturevalue("llama")]


@pytest.fixture(scope="module")
def through(engines, folder):
    """through(kind) is a router in front of one engine of that kind."""
    routers = {}

    def router(kind):
        if kind not in routers:
            routers[kind] = wait_until_up(Router(folder, engines(kind)[:1]), 1)
        return routers[kind]

    yield router
    for running in routers.values():
        running.stop()
