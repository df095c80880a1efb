"""The file of the log: it may be no file of the router, and a failure to open it anew is seen."""
import json
import os
import shutil
import signal
import subprocess
import tempfile

import pytest
from processes import BINARY, ROOT, Router, free_port, replicas, wait_until
from test_log import ask, burst


@pytest.mark.parametrize("log", ["own.yaml", "server.key", "state/jobs.db", "link"])
def test_a_log_that_would_destroy_a_file_of_the_router_is_refused(folder, engine, log):
    folder = folder / f"own-{log.replace('/', '-')}"
    folder.mkdir()
    tls = ROOT / "tests/data/tls"
    for name in ("server.pem", "server.key"):
        shutil.copy(tls / name, folder / name)
    (folder / "link").symlink_to("own.yaml")
    path = folder / "own.yaml"
    text = f"listen: 127.0.0.1:{free_port()}\ntls: {{certificate: server.pem, key: server.key}}\n{replicas([engine])}"
    text += f"state: {{path: {folder}/state}}\nlog: {{path: {folder / log}}}\n"
    path.write_text(text)
    before = (folder / log).read_bytes() if (folder / log).exists() else None
    for command in ("check", "serve"):
        ended = subprocess.run([BINARY, command, str(path)], capture_output=True, text=True, timeout=20)
        assert ended.returncode == 1, ended.stderr
        assert f"log.path: {folder / log}" in ended.stderr and "would destroy" in ended.stderr
    assert ((folder / log).read_bytes() if (folder / log).exists() else None) == before
    assert path.read_text() == text


def test_a_reload_that_reads_the_file_of_the_log_is_refused(folder, engine):
    log = folder / "reread.log"
    first = f"log: {{path: {log}}}\n{replicas([engine])}"
    with Router(folder, config=first) as router:
        router.write_config(first + f"tenants: [{{name: t, keys: ['file:{log}']}}]\n")
        os.truncate(log, 0)
        log.write_text("a-key\n")
        router.signal(signal.SIGHUP)
        wait_until(lambda: "the configuration is kept" in log.read_text(), 20, log.read_text)
        assert "would destroy it" in log.read_text()
        assert router.metrics().sum("penstock_config_last_reload_successful") == 0


def test_a_log_that_cannot_be_opened_anew_is_told_counted_and_tried_again(folder, engine):
    own = folder / "own-logs"
    own.mkdir()
    with Router(folder, config=f"log: {{path: {own}/log, access: true}}\n{replicas([engine])}") as router:
        shutil.rmtree(own)
        router.signal(signal.SIGHUP)
        router.wait_for_log("No such file or directory")
        ask(router)
        wait_until(lambda: router.metrics().sum("penstock_log_lines_dropped_total") >= 2, 20, "lines are counted")
        notices = json.loads(router.get("/penstock/requests")[2])["decisions"]
        assert any("No such file or directory" in (entry.get("message") or "") for entry in notices), notices
        own.mkdir()
        router.wait_for_log("is open again")
        ask(router)
        wait_until(lambda: '"event":"access"' in (own / "log").read_text(), 20, (own / "log").read_text)
        assert "lines of the log are lost" in (own / "log").read_text()


def cut_lines(log):
    """The lines of an ended router's log that are no JSON."""
    cut = []
    for line in open(log).read().splitlines():
        try:
            json.loads(line)
        except ValueError:
            cut.append(line)
    return cut


@pytest.fixture
def small_disk():
    """A file system of 64 KiB."""
    place = tempfile.mkdtemp(prefix="penstock-disk-")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True, text=True)
    if mounted.returncode != 0:
        shutil.rmtree(place)
        pytest.skip(f"no right to mount: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=False)
    shutil.rmtree(place, ignore_errors=True)


def test_a_full_disk_costs_lines_and_they_go_on_when_there_is_room(folder, engine, small_disk):
    log = os.path.join(small_disk, "router.log")
    filler = os.path.join(small_disk, "filler")
    section = replicas([engine]) + f"log: {{path: {log}, access: true, all_decisions: true}}\n"
    with Router(folder, config=section) as router:
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 512):
                    pass
            except OSError:
                pass
        burst(router.port, 60)  # Fills what the page of the log has left.
        wait_until(lambda: router.metrics().sum("penstock_log_lines_dropped_total") > 0, 20, "lines are counted")
        router.wait_for_log(f"cannot write {log}: No space left on device")
        os.unlink(filler)
        burst(router.port, 5)
        wait_until(lambda: "lines of the log are lost" in open(log).read(), 20, lambda: open(log).read()[-2000:])
    assert len(cut_lines(log)) <= 1, cut_lines(log)  # The disk ended within one line.
