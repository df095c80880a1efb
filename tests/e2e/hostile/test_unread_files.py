"""Downloads and lists of files that nobody reads: they hold no descriptor, and their memory and places are bounded."""
import contextlib
import http.client
import json
import os
import socket
import sqlite3
import time

import pytest
from http2.http2_client import Http2Client
from processes import Router, replicas, wait_until

BOUNDARY = "penstock-boundary"
MIB = 1 << 20


@pytest.fixture(scope="module")
def router(folder, engine):
    section = f"state: {{path: {folder}/unread}}\nlimits: {{max_answer_memory: 2MiB}}\nthreads: 1\n"
    with Router(folder, config=replicas([engine]) + section) as running:
        yield running


def ask(router, method, path, key, body=None):
    """(status, headers, bytes) of one request."""
    connection = http.client.HTTPConnection(*router.address, timeout=60)
    headers = {"Authorization": f"Bearer {key}"}
    if body is not None:
        headers["Content-Type"] = f"multipart/form-data; boundary={BOUNDARY}"
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    read = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, read


def upload(router, data, key, name="a.jsonl"):
    """The id of the stored file."""
    field = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    file = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="'
    body = (field + file).encode() + (name if isinstance(name, bytes) else name.encode()) + b'"\r\n\r\n' + data
    status, _, read = ask(router, "POST", "/v1/files", key, body + f"\r\n--{BOUNDARY}--\r\n".encode())
    assert status == 200, read
    return json.loads(read)["id"]


def unread(router, path, key):
    """A client that asks and reads nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(router.address)
    client.sendall(f"GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n\r\n".encode())
    return client


def open_files(router):
    """The descriptors of stored bytes."""
    names = []
    for descriptor in os.listdir(f"/proc/{router.process.pid}/fd"):
        with contextlib.suppress(OSError):
            names.append(os.readlink(f"/proc/{router.process.pid}/fd/{descriptor}"))
    return [name for name in names if "/unread/files/" in name or "/unread/uploads/" in name]


def turned_away(router, limit):
    return router.metrics().sum("penstock_turned_away_total", limit=limit)


def test_downloads_that_nobody_reads_hold_no_descriptor_and_stay_in_the_memory_of_answers(router):
    file, other = upload(router, b"x" * (16 * MIB), "greedy"), upload(router, b"small", "modest")
    before = turned_away(router, "answer_memory")
    with contextlib.ExitStack() as clients:
        for _ in range(60):
            clients.enter_context(contextlib.closing(unread(router, f"/v1/files/{file}/content", "greedy")))
        wait_until(lambda: turned_away(router, "answer_memory") > before + 20, 30, "the memory of answers is full")
        assert 0 < router.buffered() <= 2 * MIB
        wait_until(lambda: open_files(router) == [], 20, lambda: f"no file is open, not {open_files(router)}")
        status, headers, read = ask(router, "GET", f"/v1/files/{file}/content", "greedy")
        assert (status, headers["x-penstock-reason"]) == (503, "answer_memory"), read[:200]
        assert "retry-after" in headers
        assert ask(router, "GET", f"/v1/files/{other}/content", "modest")[2] == b"small"
    wait_until(lambda: router.buffered() == 0, 20, "the memory is free again")
    assert ask(router, "GET", f"/v1/files/{file}/content", "greedy")[2] == b"x" * (16 * MIB)


def test_one_caller_has_half_of_the_places_of_downloads(router):
    file, other = upload(router, b"y", "many"), upload(router, b"z", "few")
    before = turned_away(router, "store_reads")
    with contextlib.ExitStack() as clients:
        streams = [Http2Client(router.address, window=0) for _ in range(4)]
        for client in streams:
            clients.enter_context(contextlib.closing(client.socket))
            for _ in range(90):
                client.send(path=f"/v1/files/{file}/content", method="GET", headers=[("authorization", "Bearer many")])
        wait_until(lambda: turned_away(router, "store_reads") >= before + 360 - 256, 30,
                   lambda: f"{turned_away(router, 'store_reads')} refused")
        status, headers, _ = ask(router, "GET", f"/v1/files/{file}/content", "many")
        assert (status, headers["x-penstock-reason"]) == (503, "store_reads")
        assert "retry-after" in headers
        assert ask(router, "GET", f"/v1/files/{other}/content", "few")[2] == b"z"
    wait_until(lambda: ask(router, "GET", f"/v1/files/{file}/content", "many")[0] == 200, 20, "the places are free again")


def test_deleted_files_count_while_somebody_reads_them(folder, engine):
    section = f"state: {{path: {folder}/counted, max_bytes_per_tenant: 20MB}}\n"
    with Router(folder, config=replicas([engine]) + section) as router:
        file = upload(router, b"x" * 15_000_000, "a")
        with contextlib.closing(unread(router, f"/v1/files/{file}/content", "a")) as reader:
            assert reader.recv(1)
            assert ask(router, "DELETE", f"/v1/files/{file}", "a")[0] == 200
            with pytest.raises(AssertionError, match="quota_exceeded"):
                upload(router, b"x" * 15_000_000, "a")
        wait_until(lambda: not list((folder / "counted" / "uploads").iterdir()), 20, "the bytes are gone")
        upload(router, b"x" * 15_000_000, "a")


def files_of(folder, router, count, name):
    """Fills the store of a stopped router with so many rows like its newest file."""
    with contextlib.closing(sqlite3.connect(folder / "listed" / "jobs.db")) as database:
        row = database.execute("SELECT tenant, purpose, bytes, created_at FROM files LIMIT 1").fetchone()
        database.executemany("INSERT INTO files(id, tenant, purpose, bytes, created_at, filename) VALUES(?, ?, ?, ?, ?, ?)",
                             [(f"file-{i:024x}", *row, name) for i in range(count)])
        database.commit()


@pytest.fixture(scope="module")
def listing(folder, engine):
    """A router whose caller `many` has 3001 files with names that escape to six times their bytes."""
    section = f"state: {{path: {folder}/listed}}\nlimits: {{max_answer_memory: 2MiB}}\nthreads: 1\n"
    with Router(folder, config=replicas([engine]) + section) as router:
        upload(router, b"x", "many", name=b"first")
    files_of(folder, router, 3000, "\x01" * 255)
    with Router(folder, config=replicas([engine]) + section) as router:
        upload(router, b"x", "few")
        yield router


def test_a_long_list_comes_whole_in_parts(listing):
    status, headers, read = ask(listing, "GET", "/v1/files?limit=3000", "many")
    page = json.loads(read)
    assert (status, headers["content-type"]) == (200, "application/json")
    assert (len(page["data"]), page["has_more"]) == (3000, True)
    assert (page["first_id"], page["last_id"]) == (page["data"][0]["id"], page["data"][-1]["id"])
    assert len({file["id"] for file in page["data"]}) == 3000
    rest = json.loads(ask(listing, "GET", f"/v1/files?after={page['last_id']}", "many")[2])
    assert [file["filename"] for file in rest["data"]] == ["first"]
    assert rest["has_more"] is False
    oldest = json.loads(ask(listing, "GET", "/v1/files?order=asc", "many")[2])
    assert [file["id"] for file in oldest["data"]] == [file["id"] for file in (page["data"] + rest["data"])[::-1]]
    wait_until(lambda: listing.buffered() == 0, 20, "its memory is free")


def test_lists_that_nobody_reads_stay_in_the_memory_of_answers(listing):
    before = turned_away(listing, "answer_memory")
    with contextlib.ExitStack() as clients:
        for _ in range(60):
            clients.enter_context(contextlib.closing(unread(listing, "/v1/files", "many")))
        wait_until(lambda: turned_away(listing, "answer_memory") > before, 30, "the memory of answers is full")
        assert listing.buffered() <= 2 * MIB
        assert json.loads(ask(listing, "GET", "/v1/files", "few")[2])["data"]
    wait_until(lambda: listing.buffered() == 0, 20, "the memory is free again")


@pytest.mark.alone
def test_lists_of_one_caller_keep_no_other_waiting_and_no_loop(listing):
    with contextlib.ExitStack() as clients:
        for _ in range(2):
            client = Http2Client(listing.address, window=0)
            clients.enter_context(contextlib.closing(client.socket))
            for _ in range(100):
                client.send(path="/v1/files", method="GET", headers=[("authorization", "Bearer many")])
        for _ in range(10):
            began = time.monotonic()
            assert ask(listing, "GET", "/v1/files?limit=1", "few")[0] == 200
            assert time.monotonic() - began < 1
    with Http2Client(listing.address) as client:
        assert len(client.ask(path="/v1/files", method="GET", headers=[("authorization", "Bearer many")]).json()["data"]) == 3001
    assert listing.metrics().sum("penstock_loop_longest_turn_seconds") < 0.2
