"""The page in a headless Chromium. PENSTOCK_PICTURES=FOLDER writes pictures of it there."""
import http.client
import json
import os
import pathlib
import sys
import time

import pytest
from processes import Engine, Process, Router, free_port, replicas, wait_until
from raw_http import chat, request_bytes, send

sys.path.insert(0, os.path.dirname(__file__))

import webdriver  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.skipif(not webdriver.available(), reason="chromium and chromium-driver are not installed")]

HOSTILE = "<img src=x onerror='document.title=1'>"
ADMIN_KEY = "key-of-an-admin"


@pytest.fixture(scope="module")
def browser():
    with webdriver.Browser(free_port()) as running:
        yield running


@pytest.fixture(scope="module")
def busy(folder):
    """A router with a running and a waiting request, and decisions about names that mean harm."""
    config = f"tenants:\n  - {{name: \"{HOSTILE.replace(' ', '_')}\", keys: [tenant-key], tokens_per_minute: 100000}}\nadmin_keys: [{ADMIN_KEY}]\n"
    with Engine(folder, max_seqs=1, name="narrow") as engine, Router(folder, config=replicas([engine], id="narrow", max_seqs=1) + config) as router:
        head = {"Content-Type": "application/json", "Authorization": "Bearer tenant-key"}
        connections = []
        for i in range(2):
            connection = http.client.HTTPConnection(*router.address, timeout=60)
            body = json.dumps(chat(f"Long {i}", max_tokens=20000, stream=True))
            connection.request("POST", "/v1/chat/completions", body, {**head, "x-request-id": f"long-{i}"})
            connections.append(connection)
        refused = request_bytes(body=chat(model=HOSTILE), headers={"Authorization": "Bearer tenant-key", "x-request-id": "refused-1"})
        assert send(router.address, refused).status == 404
        yield router
        for connection in connections:
            connection.close()


@pytest.fixture
def page(browser, busy):
    """The page with its first data; the test ends without a complaint of the browser."""
    browser.resize(1280, 900)
    browser.open(busy.url + "/")
    browser.run("sessionStorage.setItem('penstock-key', arguments[0])", ADMIN_KEY)
    browser.open(busy.url + "/")
    browser.wait("document.querySelectorAll('#waiting tbody td button').length == 1")
    browser.errors()
    yield browser
    assert browser.errors() == []


def test_shows_the_fleet_the_queue_and_the_decisions(page):
    assert page.text("#link") == "live"
    assert "narrow" in page.text("#replica-table") and "up" in page.text("#replica-table")
    assert page.run("return document.querySelectorAll('.gpu rect.held').length") == 1
    assert "standard" in page.text("#queue-groups") or "interactive" in page.text("#queue-groups")
    assert "refuse" in page.text("#decision-table")
    page.wait("document.querySelector('#token-plot path.line.active')")


def test_names_stay_text(page):
    assert HOSTILE in page.text("#decision-table")
    assert HOSTILE.replace(" ", "_") in page.text("#tenant-table")
    assert page.run("return document.querySelectorAll('img').length") == 0
    assert page.run("return document.title") == "Penstock"


def test_one_request_can_be_opened_and_closed_by_keyboard(page):
    page.run("document.querySelector('#decision-filter').focus()")
    page.press(*"refused-1")
    page.wait("document.querySelectorAll('#decision-table tbody tr').length == 1")
    page.run("document.querySelector('#decision-table td button').focus()")
    page.press("\ue007")
    page.wait("document.querySelector('#detail').open")
    assert "refused-1" in page.text("#detail-title") and "unknown model" in page.text("#detail-events")
    page.press("\ue00c")
    page.wait("!document.querySelector('#detail').open")


def test_focus_and_order_survive_new_data(page):
    page.run("[...document.querySelectorAll('#replica-table th button')].find((each) => each.textContent.startsWith('Running')).focus()")
    page.press("\ue007")
    page.wait("document.querySelector('#replica-table th[aria-sort=ascending]').innerText.startsWith('Running')")
    before = page.run("return latest.fleet.sequence")
    page.wait(f"latest.fleet.sequence > {before} + 1")
    assert page.run("return document.activeElement.textContent").startswith("Running")
    page.press("\ue007")
    page.wait("document.querySelector('#replica-table th[aria-sort=descending]')")


def test_pausing_keeps_the_decisions(page):
    page.click("#pause")
    assert page.run("return document.querySelector('#pause').getAttribute('aria-pressed')") == "true"
    page.click("#pause")
    assert page.run("return document.querySelector('#pause').getAttribute('aria-pressed')") == "false"


def test_the_theme_changes_and_stays(page, busy):
    ground = "return getComputedStyle(document.body).backgroundColor"
    first = page.run(ground)
    page.click("#theme")
    second = page.run(ground)
    assert first != second
    page.open(busy.url + "/")
    page.wait("document.querySelectorAll('#replica-table tbody tr').length == 1")
    assert page.run(ground) == second
    page.click("#theme")


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_is_wider_than_the_view(page, width):
    page.resize(width, 844)
    before = page.run("return latest.fleet.sequence")
    page.wait(f"latest.fleet.sequence > {before}")
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_the_command_is_ready_to_copy(page):
    command = page.text("#curl")
    assert command.startswith("curl -N http://127.0.0.1:") and '"model":"llama-3.1-8b"' in command
    assert "$PENSTOCK_KEY" in command
    page.click("#copy")
    page.wait("document.querySelector('#copied').innerText")


def test_a_wrong_key_is_asked_for_again(browser, busy):
    browser.open(busy.url + "/")
    browser.run("sessionStorage.clear()")
    browser.open(busy.url + "/")
    browser.wait("!document.querySelector('#key-form').hidden")
    assert browser.text("#link") == "key needed"
    browser.type("#key", "wrong\ue007")
    browser.wait("document.querySelector('#key').value == '' && !document.querySelector('#key-form').hidden")
    browser.type("#key", ADMIN_KEY + "\ue007")
    browser.wait("document.querySelector('#link').innerText == 'live'")
    browser.errors()  # The browser logs each 401.


def test_a_lost_connection_is_told_and_comes_back(browser, folder):
    with Engine(folder) as engine:
        router = Router(folder, [engine])
        with router:
            browser.open(router.url + "/")
            browser.wait("document.querySelector('#link').innerText == 'live'")
            assert browser.run("return document.querySelector('#banner').hidden")
        browser.wait("!document.querySelector('#banner').hidden && document.querySelector('#banner').innerText.includes('s old')", 15)
        assert browser.text("#link") == "lost"
        assert float(browser.run("return getComputedStyle(document.querySelector('main')).opacity")) < 1
        with Router(folder, [engine], port=router.port):
            browser.click("#retry")
            browser.wait("document.querySelector('#link').innerText == 'live' && document.querySelector('#banner').hidden", 20)
    browser.errors()  # The browser logs each failed try.


def test_the_states_of_the_gpus_are_drawn_per_gpu_and_for_all(page):
    page.wait("/productive/.test(document.querySelector('#fleet-states svg').getAttribute('aria-label'))")
    assert page.run("return document.querySelectorAll('#gpu-list svg.states rect').length") > 0
    assert page.wait("/productive GPU-hours/.test(document.querySelector('#fleet-states p').innerText)")
    widths = page.run("return [...document.querySelectorAll('#fleet-states rect')].map((bar) => Number(bar.getAttribute('width')))")
    assert abs(sum(widths) - 1000) < 1


@pytest.mark.skipif("PENSTOCK_PICTURES" not in os.environ, reason="draws pictures only when asked to")
def test_pictures(browser, folder):
    target = pathlib.Path(os.environ["PENSTOCK_PICTURES"])
    port = free_port()
    demo = Process(["demo", "--listen", f"127.0.0.1:{port}"], port, folder / "demo.log")
    with demo:
        demo.wait_for("/readyz")
        browser.open(demo.url + "/")
        browser.wait("document.querySelector('#link').innerText == 'live'")
        browser.wait("document.querySelectorAll('#comparison-table tbody tr').length == 2", 20)
        seen = time.monotonic()
        wait_until(lambda: time.monotonic() - seen > 70, 90, "a minute of history")
        for name, width, height, theme in (("page", 1280, 1180, "light"), ("page-dark", 1280, 820, "dark"), ("page-phone", 390, 844, "dark")):
            browser.resize(width, height)
            browser.run(f"setTheme('{theme}')")
            before = browser.run("return latest.fleet.sequence")
            browser.wait(f"latest.fleet.sequence > {before} + 1")
            browser.picture(target / f"{name}.png")
