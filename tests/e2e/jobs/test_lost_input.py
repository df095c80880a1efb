"""An input file that goes away under its running batch: by its client, or in the folder behind Penstock's back."""
import openai
import pytest
from batch_jobs import begin, by_custom_id, client_of, job_router, line, rows, wait_for
from processes import Engine, wait_until

LINES = 3000


@pytest.fixture
def running(folder, tmp_path):
    """(client, batch, folder of the state, router): a batch that has some answers and many lines to go."""
    with Engine(folder, name="slow", max_seqs=4, time_scale=5) as engine, job_router(tmp_path, [engine]) as router:
        client = client_of(router, retries=0)
        batch = begin(client, [line(i, content=f"{i} " * 60, max_tokens=2) for i in range(LINES)])
        wait_until(lambda: client.batches.retrieve(batch.id).request_counts.completed >= 4, 60, "some answers")
        yield client, batch, tmp_path / "state", router


def test_a_client_cannot_delete_the_input_of_a_running_batch(running):
    client, batch, _, _ = running
    with pytest.raises(openai.ConflictError):
        client.files.delete(batch.input_file_id)
    client.batches.cancel(batch.id)
    wait_for(client, batch, "cancelled")
    assert client.files.delete(batch.input_file_id).deleted


def test_a_file_that_vanishes_from_the_folder_fails_each_line_that_was_not_read(running):
    client, batch, state, router = running
    (state / "files" / batch.input_file_id).unlink()
    ended = wait_for(client, batch, "completed")
    counts = ended.request_counts
    assert counts.completed >= 4 and counts.failed > 0
    assert counts.completed + counts.failed == counts.total == LINES
    answers, errors = by_custom_id(rows(client, ended.output_file_id)), rows(client, ended.error_file_id)
    assert (len(answers), len(errors)) == (counts.completed, counts.failed)
    assert {row["error"]["code"] for row in errors} == {"input_file_unreadable"}
    # The router serves on.
    assert wait_for(client, begin(client, [line("next")]), "completed").request_counts.completed == 1
    router.wait_for_nothing()
