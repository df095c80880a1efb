"""Storage that loses, blocks or hangs: a lost database, files of no row, a FIFO as a file, a call that never returns."""
import json
import os
import shutil
import signal
import subprocess
import threading
import time

import openai
import pytest
from batch_jobs import client_of, job_router, state_config
from processes import BINARY, free_port, get, wait_until

# rename() never returns while the file $HANG exists. It makes the file $HUNG then.
HANG = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int rename(const char* from, const char* to) {
  while (access(getenv("HANG"), F_OK) == 0) {
    close(creat(getenv("HUNG"), 0600));
    pause();
  }
  int (*real)(const char*, const char*) = dlsym(RTLD_NEXT, "rename");
  return real(from, to);
}
"""


def upload(router, data=b"bytes"):
    return client_of(router).files.create(file=("input.jsonl", data), purpose="batch").id


def names(path):
    return sorted(file.name for file in path.iterdir())


def test_files_without_their_database_stop_the_start_and_stay(folder, engine, tmp_path):
    state = tmp_path / "state"
    with job_router(tmp_path, [engine]) as router:
        files = sorted(upload(router) for _ in range(3))
        assert router.stop() == 0
        config = router.config_path
    (state / "jobs.db").rename(tmp_path / "backup.db")
    for empty in (False, True):
        if empty:
            (state / "jobs.db").touch()
        run = subprocess.run([BINARY, "serve", str(config)], capture_output=True, text=True, timeout=60)
        assert run.returncode == 1
        assert "jobs.db is missing or empty, and 3 files of it are in files/. Restore jobs.db" in run.stderr
        assert names(state / "files") == files
    (tmp_path / "backup.db").rename(state / "jobs.db")
    with job_router(tmp_path, [engine], port=free_port()) as router:
        assert client_of(router).files.content(files[0]).read() == b"bytes"


@pytest.mark.parametrize("part", ["jobs.db", "jobs.db-journal", "jobs.db-wal"])
def test_a_fifo_in_the_place_of_the_database_stops_the_start(engine, tmp_path, part):
    with job_router(tmp_path, [engine]) as router:
        assert router.stop() == 0
        config = router.config_path
    (tmp_path / "state" / part).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "state" / part)
    run = subprocess.run([BINARY, "serve", str(config)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert f"{part}: it is no regular file" in run.stderr


def test_files_that_no_row_knows_are_set_aside_with_a_line(engine, tmp_path):
    state = tmp_path / "state"
    with job_router(tmp_path, [engine]) as router:
        assert router.stop() == 0
    for number in range(3):
        (state / "files" / f"file-{number}").write_bytes(b"bytes")
    (state / "uploads" / "1").write_bytes(b"half")
    (state / "uploads" / "of-somebody").mkdir()
    with job_router(tmp_path, [engine], port=free_port()) as router:
        router.wait_for_log("moved 3 files that jobs.db does not know to", f"{state}/unknown")
        router.wait_for_log("removed 1 unfinished uploads from", f"{state}/uploads")
        assert names(state / "unknown") == ["file-0", "file-1", "file-2"]
        assert names(state / "uploads") == ["of-somebody"]


def test_files_that_no_row_knows_do_not_leave_by_a_link(engine, tmp_path):
    state = tmp_path / "state"
    with job_router(tmp_path, [engine]) as router:
        assert router.stop() == 0
        config = router.config_path
    (state / "files" / "file-0").write_bytes(b"bytes")
    (tmp_path / "elsewhere").mkdir()
    (state / "unknown").symlink_to(tmp_path / "elsewhere")
    run = subprocess.run([BINARY, "serve", str(config)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert "unknown: it is a link" in run.stderr
    assert names(tmp_path / "elsewhere") == [] and names(state / "files") == ["file-0"]


def test_a_fifo_in_the_place_of_a_file_keeps_nobody_waiting(engine, tmp_path):
    with job_router(tmp_path, [engine]) as router:
        path = tmp_path / "state" / "files" / upload(router)
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(openai.InternalServerError) as failed:
            client_of(router, retries=0).files.content(path.name)
        assert (failed.value.status_code, failed.value.code) == (503, "storage_failed")
        router.wait_for_count("penstock_job_store_faults_total", 1, kind="gone")
        router.wait_for_log("job_store", str(path), "it is no regular file")
        assert len(client_of(router).files.list().data) == 1
        upload(router)
        assert router.stop() == 0


@pytest.fixture
def hung(engine, tmp_path):
    """(process, its log): a router whose job store is in a call that does not return."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no compiler")
    (tmp_path / "hang.c").write_text(HANG)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "hang.so", tmp_path / "hang.c", "-ldl"], check=True)
    port = free_port()
    config, log = tmp_path / "hung.yaml", tmp_path / "hung.log"
    config.write_text(f"listen: 127.0.0.1:{port}\n{state_config(tmp_path, [engine])}limits: {{drain_timeout: 500ms}}\n")
    environment = {**os.environ, "LD_PRELOAD": str(tmp_path / "hang.so"), "HANG": str(tmp_path / "hang"),
                   "HUNG": str(tmp_path / "hung")}
    with open(log, "wb") as out:
        process = subprocess.Popen([BINARY, "serve", str(config)], stderr=out, env=environment)
    try:
        wait_until(lambda: get(("127.0.0.1", port), "/readyz")[0] == 200, 30, "the router is ready")
        (tmp_path / "hang").touch()
        client = threading.Thread(target=try_upload, args=(f"http://127.0.0.1:{port}",))
        client.start()
        wait_until((tmp_path / "hung").exists, 20, "the call of the store hangs")
        yield process, log
    finally:
        process.kill()
        process.wait()
        client.join()


def try_upload(url):
    class Address:
        pass

    Address.url = url
    try:
        client_of(Address, retries=0).files.create(file=("input.jsonl", b"bytes"), purpose="batch")
    except Exception:  # Its router ends.
        pass


@pytest.mark.unsanitized
def test_a_hung_store_ends_with_the_drain_and_is_named(hung):
    process, log = hung
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 3
    last = json.loads(log.read_text().splitlines()[-1])
    assert last["level"] == "error"
    assert "does not wait any longer for the thread of the job store" in last["message"]


@pytest.mark.unsanitized
def test_a_hung_store_ends_sooner_with_more_signals(hung):
    process, log = hung
    process.send_signal(signal.SIGTERM)
    wait_until(lambda: "draining" in log.read_text(), 20, log.read_text)
    begin = time.monotonic()

    def ended():
        process.send_signal(signal.SIGTERM)
        return process.poll() is not None

    wait_until(ended, 20, log.read_text)
    assert process.wait(1) == 3 and time.monotonic() - begin < 9
    assert "the thread of the job store" in log.read_text().splitlines()[-1]
