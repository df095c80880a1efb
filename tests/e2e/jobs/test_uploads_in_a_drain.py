"""Uploads that are there in part when the router begins to drain."""
import signal

from processes import Router, replicas, wait_until
from raw_http import read_answer
from test_uploads import connect, form, head, uploads


def test_half_an_upload_is_refused_when_the_router_drains(folder, engine):
    config = f"{replicas([engine])}state: {{path: {folder}/jobs}}\nlimits: {{drain_timeout: 60s}}\n"
    router = Router(folder, config=config)
    before, _ = form(b'{"a":1}\n' * 100)
    with connect(router) as connection:
        connection.sendall(head(100_000) + before)
        wait_until(lambda: uploads(folder), 20, "no part of the file arrived")
        router.signal(signal.SIGTERM)
        answer = read_answer(connection)
        assert answer.status == 503, answer.body
        assert "shutting down" in answer.json()["error"]["message"]
        assert connection.recv(1) == b""
    assert router.process.wait(20) == 0, router.log()
    assert uploads(folder) == [], "a part of a file stays"
