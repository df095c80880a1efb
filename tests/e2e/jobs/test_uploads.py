"""Uploads that are large, slow, broken or unlucky, and folders that cannot be used."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess

import pytest
from processes import BINARY, Router, free_port, replicas, wait_until
from raw_http import read_answer

BOUNDARY = "penstock-boundary"
MIB = 1 << 20


@pytest.fixture(scope="module")
def router(folder, engine):
    with Router(folder, config=f"{replicas([engine])}state: {{path: {folder}/jobs}}\n") as running:
        yield running


def form(data, purpose="batch", name="a.jsonl"):
    """(before the bytes, behind the bytes) of a form; `data` None: no file."""
    field = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
    file = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return (field + file).encode() + data, f"\r\n--{BOUNDARY}--\r\n".encode()


def head(length=None, more=""):
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return (f"POST /v1/files HTTP/1.1\r\nHost: p\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
            f"{framing}\r\n{more}\r\n").encode()


def connect(router):
    return socket.create_connection(router.address, timeout=60)


def uploads(folder):
    return list((folder / "jobs" / "uploads").iterdir())


def memory(router, what):
    status = pathlib.Path(f"/proc/{router.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(what)).split()[1]) * 1024


def remove_all(router):
    for file in json.loads(router.get("/v1/files")[2])["data"]:
        connection = http.client.HTTPConnection(*router.address, timeout=60)
        connection.request("DELETE", "/v1/files/" + file["id"])
        assert connection.getresponse().status == 200
        connection.close()


def test_parallel_uploads_keep_their_own_bytes(router):
    def upload(letter):
        before, behind = form(letter * 300_000)
        with connect(router) as connection:
            # Head and first bytes in one packet: the rest of a read waits while other connections read.
            whole = head(len(before) + len(behind)) + before + behind
            for at in range(0, len(whole), 40_000):
                connection.sendall(whole[at:at + 40_000])
            answer = read_answer(connection)
            assert answer.status == 200, answer.body
            return letter, json.loads(answer.body)["id"]

    letters = [bytes([97 + i]) for i in range(16)] * 3
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        files = list(pool.map(upload, letters))
    for letter, name in files:
        assert router.get(f"/v1/files/{name}/content")[2] in (letter * 300_000, (letter * 300_000).decode())
    remove_all(router)


@pytest.mark.unsanitized
def test_200_megabytes_go_to_the_disk_and_back_in_bounded_memory(router):
    before = memory(router, "VmHWM")
    first, last = form(b"")
    size = 200 * MIB
    block = bytes(range(256)) * 4096
    with connect(router) as client:
        client.sendall(head(len(first) + size + len(last)) + first)
        for _ in range(size // len(block)):
            client.sendall(block)
        client.sendall(last)
        file = read_answer(client).json()
    assert file["bytes"] == size
    connection = http.client.HTTPConnection(*router.address, timeout=60)
    connection.request("GET", f"/v1/files/{file['id']}/content")
    answer = connection.getresponse()
    assert int(answer.headers["content-length"]) == size
    for _ in range(size // len(block)):
        assert answer.read(len(block)) == block
    connection.close()
    assert memory(router, "VmHWM") - before < 32 * MIB
    assert router.metrics().sum("penstock_buffered_bytes") == 0
    remove_all(router)


def test_a_file_that_is_deleted_meanwhile_is_sent_to_its_end(router):
    data = bytes(range(256)) * (64 * 1024)
    first, last = form(data)
    with connect(router) as client:
        client.sendall(head(len(first) + len(last)) + first + last)
        file = read_answer(client).json()["id"]
    connection = http.client.HTTPConnection(*router.address, timeout=60)
    connection.request("GET", f"/v1/files/{file}/content")
    answer = connection.getresponse()
    received = answer.read(1000)
    gone = http.client.HTTPConnection(*router.address, timeout=60)
    gone.request("DELETE", f"/v1/files/{file}")
    assert gone.getresponse().status == 200
    assert received + answer.read() == data
    assert router.get(f"/v1/files/{file}")[0] == 404


@pytest.mark.parametrize("step", [1, 7, 1000, 100_000])
def test_a_form_may_come_in_pieces_of_any_size(router, step):
    first, last = form(b"0123456789" * (20 if step == 1 else 50_000))
    body = first + last
    with connect(router) as client:
        client.sendall(head())
        for at in range(0, len(body), step):
            piece = body[at : at + step]
            client.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        client.sendall(b"0\r\n\r\n")
        assert read_answer(client).json()["bytes"] == len(first) - len(form(b"")[0])
        client.sendall(b"GET /v1/files HTTP/1.1\r\nHost: p\r\n\r\n")
        assert read_answer(client).status == 200, "the connection takes the next request"
    remove_all(router)


def test_a_client_that_asks_for_leave_gets_it_before_it_sends(router):
    first, last = form(b"bytes")
    with connect(router) as client:
        client.sendall(head(len(first + last), "Expect: 100-continue\r\n"))
        assert read_answer(client).status == 100
        client.sendall(first + last)
        assert read_answer(client).status == 200
    remove_all(router)


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/json"])
def test_another_content_type_is_refused_before_the_body(router, kind):
    with connect(router) as client:
        usual = f"multipart/form-data; boundary={BOUNDARY}"
        client.sendall(head(10**8, "Expect: 100-continue\r\n").replace(usual.encode(), kind.encode()))
        assert read_answer(client).status == 415
        assert client.recv(1) == b"", "the connection is closed"


def test_a_file_over_the_limit_is_refused_before_the_body(router):
    with connect(router) as client:
        client.sendall(head(10**10, "Expect: 100-continue\r\n"))
        assert read_answer(client).status == 413


def test_a_client_that_leaves_in_the_middle_leaves_nothing(router, folder):
    with connect(router) as client:
        client.sendall(head(50 * MIB) + form(b"x" * MIB)[0])
        wait_until(lambda: any(file.stat().st_size for file in uploads(folder)), 20, "the upload reaches the disk")
    wait_until(lambda: not uploads(folder), 20, "the upload is removed")
    assert json.loads(router.get("/v1/files")[2])["data"] == []
    router.wait_for_count("penstock_buffered_bytes", 0)


@pytest.mark.parametrize(("body", "message"), [
    (b"", "ends before its last boundary"),
    (b"--other\r\n", "ends before its last boundary"),
    (b"x" * 10_000, "the boundary does not begin the body"),
    (form(b"bytes")[0], "ends before its last boundary"),
    (f"--{BOUNDARY}\r\n\r\nx\r\n--{BOUNDARY}--\r\n".encode(), "a part has no name"),
    (f"--{BOUNDARY}--\r\n".encode(), "'file' is a required property"),
    (f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=file; filename=a\r\n\r\nx\r\n--{BOUNDARY}--".encode(),
     "'purpose' is a required property"),
])
def test_broken_forms_are_refused_and_leave_nothing(router, folder, body, message):
    with connect(router) as client:
        client.sendall(head(len(body)) + body)
        answer = read_answer(client)
    assert answer.status == 400
    assert message in answer.json()["error"]["message"]
    wait_until(lambda: not uploads(folder), 20, "the upload is removed")


def test_an_upload_does_not_wait_for_another(router):
    first, last = form(b"bytes")
    with connect(router) as slow, connect(router) as fast:
        slow.sendall(head(len(first + last)) + first)
        fast.sendall(head(len(first + last)) + first + last)
        assert read_answer(fast).status == 200
        slow.sendall(last)
        assert read_answer(slow).status == 200
    remove_all(router)


# Folders.


def start(config):
    """The end of a router that cannot start: (exit code, output)."""
    run = subprocess.run([BINARY, "serve", "--config", str(config)], capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout + run.stderr


def config_with(folder, engine, path):
    config = folder / f"config-{free_port()}.yml"
    config.write_text(f"listen: 127.0.0.1:{free_port()}\n{replicas([engine])}state: {{path: {path}}}\n")
    return config


def test_a_second_router_on_the_folder_refuses_to_start(router, folder, engine):
    code, output = start(config_with(folder, engine, folder / "jobs"))
    assert code != 0
    assert "another router has this folder" in output
    assert str(folder / "jobs") in output
    assert router.get("/v1/files")[0] == 200


def test_a_folder_without_a_parent_stops_the_start(folder, engine):
    code, output = start(config_with(folder, engine, folder / "missing/jobs"))
    assert code != 0
    assert "No such file or directory" in output


@contextlib.contextmanager
def mounted(path, *options):
    """A file system of its own at a path; skips without the right to mount."""
    path.mkdir()
    if os.getuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount")
    if subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(path)], capture_output=True).returncode != 0:
        pytest.skip("this place allows no mounts")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_read_only_folder_stops_the_start(folder, engine):
    with mounted(folder / "read-only", "-o", "ro") as path:
        code, output = start(config_with(folder, engine, path))
        assert code != 0
        assert "Read-only file system" in output


def test_a_full_disk_is_an_error_of_its_own_and_ends_with_the_disk(folder, engine):
    first, last = form(b"x" * 6 * MIB)
    with mounted(folder / "small", "-o", "size=8m") as path:
        with Router(folder, config=f"{replicas([engine])}state: {{path: {path}}}\n") as router:
            for _ in range(2):
                with connect(router) as client:
                    client.sendall(head(len(first + last)) + first + last)
                    answer = read_answer(client)
                if answer.status != 200:
                    break
            assert (answer.status, answer.json()["error"]["code"]) == (503, "storage_failed")
            assert "full" in answer.json()["error"]["message"]
            assert str(path) not in answer.json()["error"]["message"]
            router.wait_for_count("penstock_job_store_faults_total", 1, kind="disk_full")
            router.wait_for_log("job_store", str(path), "No space left on device")
            assert not list((path / "uploads").iterdir())
            remove_all(router)
            with connect(router) as client:
                client.sendall(head(len(first + last)) + first + last)
                assert read_answer(client).status == 200, "there is room again"
            with connect(router) as client:
                request = b'{"model":"llama-3.1-8b","prompt":"x","max_tokens":1}'
                client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: p\r\nContent-Type: application/json\r\n"
                               b"Content-Length: %d\r\n\r\n%s" % (len(request), request))
                assert read_answer(client).status == 200, "other requests do not notice"


def test_bytes_that_are_gone_from_the_folder_are_an_error_of_their_own(router, folder):
    first, last = form(b"bytes")
    with connect(router) as client:
        client.sendall(head(len(first + last)) + first + last)
        file = read_answer(client).json()["id"]
    (folder / "jobs" / "files" / file).unlink()
    status, _, text = router.get(f"/v1/files/{file}/content")
    assert (status, json.loads(text)["error"]["code"]) == (503, "storage_failed")
    assert "gone" in json.loads(text)["error"]["message"]
    remove_all(router)
