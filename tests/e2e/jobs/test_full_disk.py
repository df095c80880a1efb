"""A disk that fills up under a running batch: the batch waits, loses no answer and writes none twice, and ends with room."""
from batch_jobs import begin, by_custom_id, client_of, finish, line, rows
from processes import Engine, Router, replicas, wait_until
from test_uploads import MIB, mounted

LINES = 400


def test_a_batch_waits_for_room_on_its_disk(folder):
    with mounted(folder / "filling", "-o", "size=8m") as path, Engine(folder, name="filling", time_scale=20) as engine:
        with Router(folder, config=f"{replicas([engine])}state: {{path: {path}}}\n") as router:
            client = client_of(router)
            # The batch finds its input and little room beside it.
            batch = begin(client, [line(i, content="word " * 20, max_tokens=150) for i in range(LINES)])
            wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed > 10, 60, router.log)
            with open(path / "ballast", "wb") as ballast:
                try:
                    while True:
                        ballast.write(b"x" * (MIB // 16))
                        ballast.flush()
                except OSError:
                    pass
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


def test_a_folder_without_room_for_the_reserve_serves_and_says_so(folder, engine):
    with mounted(folder / "tiny", "-o", "size=900k") as path:
        with Router(folder, config=f"{replicas([engine])}state: {{path: {path}}}\n") as router:
            router.wait_for_log("no room for the reserve in", f"{path}/reserve")
            client = client_of(router)
            file = client.files.create(file=("input.jsonl", b"{}"), purpose="batch")
            assert client.files.delete(file.id).deleted
