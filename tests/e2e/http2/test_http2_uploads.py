"""Uploads over HTTP/2 whose handler reads them in pieces."""
import signal

from http2_client import Http2Client
from processes import Router, replicas, wait_until

PART = (b'--B\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n{"a":1}\n')


def test_half_an_upload_is_refused_when_the_router_drains(folder, engine):
    config = f"{replicas([engine])}state: {{path: {folder}/jobs}}\nlimits: {{drain_timeout: 60s}}\n"
    with Router(folder, config=config) as router, Http2Client(router.address) as client:
        stream = client.send(PART, path="/v1/files", headers=[("content-type", "multipart/form-data; boundary=B")],
                             end=False)
        wait_until(lambda: list((folder / "jobs" / "uploads").iterdir()), 20, "no part of the file arrived")
        router.signal(signal.SIGTERM)
        answer = client.answer(stream)
        assert answer.status == 503
        assert "shutting down" in answer.json()["error"]["message"]
        client.until_closed()
        assert router.process.wait(20) == 0, router.log()
