"""Storage that loses: a lost database, files of no row."""
import subprocess

from batch_jobs import client_of, job_router
from processes import BINARY, free_port


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


def test_files_that_no_row_knows_are_set_aside_with_a_line(engine, tmp_path):
    state = tmp_path / "state"
    with job_router(tmp_path, [engine]) as router:
        assert router.stop() == 0
    for number in range(3):
        (state / "files" / f"file-{number}").write_bytes(b"bytes")
    (state / "uploads" / "1").write_bytes(b"half")
    with job_router(tmp_path, [engine], port=free_port()) as router:
        router.wait_for_log("moved 3 files that jobs.db does not know to", f"{state}/unknown")
        router.wait_for_log("removed 1 unfinished uploads from", f"{state}/uploads")
        assert names(state / "unknown") == ["file-0", "file-1", "file-2"]
