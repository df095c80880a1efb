"""A process that has less memory or fewer threads than its configuration asks for."""
import contextlib
import os
import resource
import signal
import subprocess

import pytest
from processes import BINARY, free_port, replicas, wait_until
from raw_http import chat, request_bytes, send

MIB = 1 << 20
USER = 61_235  # Nobody else's: the limit of threads counts all processes of a user.


@contextlib.contextmanager
def limited(folder, config, limits, user=None):
    """A router under limits of the system: (process, the text of its log)."""
    port = free_port()
    path, log = folder / f"limited-{port}.yml", folder / f"limited-{port}.log"
    path.write_text(f"listen: 127.0.0.1:{port}\nthreads: 1\n{config}")
    with open(log, "wb") as output:
        router = subprocess.Popen(["prlimit", *limits, BINARY, "serve", str(path)], stdout=output,
                                  stderr=subprocess.STDOUT, user=user)
    try:
        wait_until(lambda: "listening" in log.read_text(), 20, log.read_text)
        yield router, path, log.read_text
        router.send_signal(signal.SIGTERM)
        assert router.wait(20) == 0, log.read_text()
        assert "penstock ends" in log.read_text()
    finally:
        if router.poll() is None:
            router.kill()
            router.wait()


@pytest.mark.unsanitized
def test_the_budgets_fit_the_memory_and_a_notice_says_so(folder, engine):
    with limited(folder, replicas([engine]), [f"--as={512 * MIB}"]) as (router, _, log):
        assert resource.prlimit(router.pid, resource.RLIMIT_AS)[0] == 512 * MIB
        for key, was in (("max_body_memory", "4GiB"), ("max_answer_memory", "1GiB"), ("max_answer", "256MiB")):
            assert f"limits.{key} is {was}, but the memory of this process (address space (ulimit -v): " in log(), log()


def another_user_can_start_it():
    if os.geteuid() != 0:
        return False
    with contextlib.suppress(OSError):
        return subprocess.run([BINARY, "--version"], stdout=subprocess.DEVNULL, user=USER, check=False).returncode == 0
    return False


@pytest.mark.skipif(not another_user_can_start_it(), reason="the limit of threads does not hold for this user")
def test_without_a_thread_cache_events_are_left_and_requests_go_on(folder, engine):
    for place in (folder, *folder.parents):
        if place.name.startswith(("penstock", "popen-", "pytest-")):
            place.chmod(0o755)
    with limited(folder, replicas([engine]), [], user=USER) as (router, _, log):
        threads = len(os.listdir(f"/proc/{router.pid}/task"))
    with limited(folder, replicas([engine]), [f"--nproc={threads}"], user=USER) as (router, path, log):
        events = f"{{endpoint: 'tcp://127.0.0.1:{free_port()}'}}"
        path.write_text(path.read_text().replace(replicas([engine]), replicas([engine], kv_events=events)))
        wait_until(lambda: "kv_events: no thread can start" in log(), 20, log)
        wait_until(lambda: "configuration reloaded" in log(), 20, log)
        port = int(path.read_text().split("127.0.0.1:")[1].split()[0])
        assert send(("127.0.0.1", port), request_bytes(body=chat(max_tokens=1))).status == 200


@pytest.mark.unsanitized
@pytest.mark.parametrize("mib", range(40, 120, 8))
def test_a_router_with_too_little_address_space_ends_with_a_message(folder, mib):
    """It has a message and the exit code of a bad run, or it runs."""
    path = folder / f"short-{mib}.yml"
    path.write_text(f"listen: 127.0.0.1:{free_port()}\nreplicas: [{{url: 'http://127.0.0.1:1'}}]\n")
    router = subprocess.Popen(["prlimit", f"--as={mib * MIB}", BINARY, "serve", str(path)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        for line in router.stderr:
            lines.append(line)
            if "engine does not answer" in line:
                router.send_signal(signal.SIGTERM)
        code, text = router.wait(20), "".join(lines)
        if "penstock ends" in text:
            assert code in (0, 3), text
        else:
            said = [line for line in lines if line.startswith("penstock: ")]  # The log may still write behind it.
            assert code == 1 and "ulimit -v" in "".join(said) and "terminate called" not in text, (code, text)
    finally:
        if router.poll() is None:
            router.kill()
            router.wait()
