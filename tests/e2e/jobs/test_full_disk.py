"""A disk that fills up under a running batch: the batch waits, loses no answer and writes none twice, and ends with room."""
import contextlib

from batch_jobs import begin, by_custom_id, client_of, finish, line, rows, wait_for
from processes import Engine, Router, replicas, wait_until
from test_uploads import MIB, mounted

LINES = 400
RESERVE = MIB


def fill(path):
    """Leaves no room on the file system of this folder."""
    with open(path / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(b"x" * (MIB // 16))


def room_of(file):
    return file.stat().st_blocks * 512


def test_a_batch_waits_for_room_on_its_disk(folder):
    with mounted(folder / "filling", "-o", "size=8m") as path, Engine(folder, name="filling", time_scale=20) as engine:
        with Router(folder, config=f"{replicas([engine])}state: {{path: {path}}}\n") as router:
            client = client_of(router)
            # The batch finds its input and little room beside it.
            batch = begin(client, [line(i, content="word " * 20, max_tokens=150) for i in range(LINES)])
            wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed > 10, 60, router.log)
            fill(path)
            wait_until(lambda: router.metrics().sum("penstock_job_store_faults_total", kind="disk_full") > 0, 60, router.log)
            router.wait_for_log("job_store", "state.path: ")
            stuck = client.batches.retrieve(batch.id)
            assert stuck.status == "in_progress" and stuck.request_counts.failed == 0
            # Other work goes on.
            assert client.chat.completions.create(model=engine.model, max_tokens=1, messages=[{"role": "user", "content": "x"}])
            (path / "ballast").unlink()
            ended = finish(client, batch, seconds=180)
            assert ended.request_counts.completed == LINES
            assert set(by_custom_id(rows(client, ended.output_file_id))) == {str(i) for i in range(LINES)}


def test_a_full_disk_takes_deletions_and_cancellations(folder):
    with mounted(folder / "stuck", "-o", "size=8m") as path, Engine(folder, name="stuck", time_scale=20) as engine:
        with Router(folder, config=f"{replicas([engine])}state: {{path: {path}}}\n") as router:
            client = client_of(router, retries=0)
            idle = [client.files.create(file=("input.jsonl", b"{}"), purpose="batch").id for _ in range(40)]
            batches = [begin(client, [line(i, max_tokens=150) for i in range(LINES)]) for _ in range(2)]
            for batch in batches:
                wait_until(lambda of=batch: client.batches.retrieve(of.id).request_counts.completed > 0, 60, router.log)
            assert room_of(path / "reserve") >= RESERVE
            fill(path)
            wait_until(lambda: router.metrics().sum("penstock_job_store_faults_total", kind="disk_full") > 0, 60, router.log)
            for file in idle:
                assert client.files.delete(file).deleted
            # Others take the little room that was freed.
            (path / "ballast").rename(path / "old")
            fill(path)
            for batch in batches:
                assert client.batches.cancel(batch.id).status == "cancelling"
            for batch in batches:
                ended = wait_for(client, batch, "cancelled")
                assert client.files.delete(batch.input_file_id).deleted
                assert len(rows(client, ended.output_file_id)) == ended.request_counts.completed > 0
                assert client.files.delete(ended.output_file_id).deleted
            assert not list((path / "files").iterdir())
            client.files.create(file=("input.jsonl", b"{}"), purpose="batch")
            assert room_of(path / "reserve") >= RESERVE


def test_a_folder_without_room_for_the_reserve_serves_and_says_so(folder, engine):
    with mounted(folder / "tiny", "-o", "size=900k") as path:
        with Router(folder, config=f"{replicas([engine])}state: {{path: {path}}}\n") as router:
            router.wait_for_log("no room for the reserve in", f"{path}/reserve")
            client = client_of(router)
            file = client.files.create(file=("input.jsonl", b"{}"), purpose="batch")
            assert client.files.delete(file.id).deleted


def test_a_router_that_starts_on_a_full_disk_takes_deletions(folder):
    with mounted(folder / "killed", "-o", "size=8m") as path, Engine(folder, name="killed-full", time_scale=20) as engine:
        config = f"{replicas([engine])}state: {{path: {path}}}\n"
        with Router(folder, config=config) as router:
            client = client_of(router, retries=0)
            idle = [client.files.create(file=("input.jsonl", b"{}"), purpose="batch").id for _ in range(3)]
            batch = begin(client, [line(i, max_tokens=150) for i in range(LINES)])
            wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed > 0, 60, router.log)
            fill(path)
            router.kill()
        (path / "ballast").rename(path / "old")
        fill(path)
        with Router(folder, config=config) as router:
            client = client_of(router, retries=0)
            for file in idle:
                assert client.files.delete(file).deleted
            client.batches.cancel(batch.id)
            wait_for(client, batch, "cancelled")
            assert client.files.delete(batch.input_file_id).deleted
            assert room_of(path / "reserve") >= RESERVE
