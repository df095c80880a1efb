"""The section of the page about the shadow, in a headless Chromium. PENSTOCK_PICTURES=FOLDER writes a picture there."""
import concurrent.futures
import os
import pathlib
import sys

import pytest
from processes import MODEL, Router, free_port, wait_until
from raw_http import chat, request_bytes, send

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "page"))

import webdriver  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.skipif(not webdriver.available(), reason="chromium and chromium-driver are not installed")]

FLEET = (
    "policy: {decide: round_robin, shadow: penstock}\n"
    "gpus: [{id: g0, kind: a100-80}, {id: g1, kind: a100-80}]\n"
    "replicas:\n"
    f"  - {{id: r0, gpus: [g0], model: {MODEL}, simulated: {{time_scale: 10}}}}\n"
    f"  - {{id: r1, gpus: [g1], model: {MODEL}, simulated: {{time_scale: 10}}}}\n"
    "classes:\n  standard: {ttft: 2s, tpot: 100ms, queue: 30s, default: true}\n"
)


def test_the_page_shows_both_policies_on_the_same_requests(folder):
    with Router(folder, config=FLEET) as router, webdriver.Browser(free_port()) as browser:
        wait_until(lambda: router.metrics().sum("penstock_replica_up") == 2, 20, "two replicas are up")
        bodies = [request_bytes(body=chat(f"Request {i}", model=MODEL, max_tokens=30, stream=True)) for i in range(220)]
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            assert {answer.status for answer in clients.map(lambda body: send(router.address, body, timeout=60), bodies)} == {200}
        browser.resize(1280, 1180)
        browser.open(router.url + "/")
        browser.wait("!document.querySelector('#shadow').hidden", 20)
        browser.wait("document.querySelectorAll('#shadow-runs tbody tr').length == 3", 20)
        browser.wait("/penstock beside round_robin/.test(document.querySelector('#shadow-note').innerText)")
        browser.wait("/points on time/.test(document.querySelector('#shadow-copies').innerText)", 40)
        assert browser.run("return document.querySelectorAll('#shadow-verdicts tbody tr').length") >= 1
        if "PENSTOCK_PICTURES" in os.environ:
            browser.picture(pathlib.Path(os.environ["PENSTOCK_PICTURES"]) / "shadow.png")
        assert browser.errors() == []
