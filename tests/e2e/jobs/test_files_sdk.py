"""client.files of the official openai SDK on a router with `state.path`."""
import io
import json

import openai
import pytest
from openai.types import FileObject
from processes import Router, replicas, wait_until

LINES = b'{"custom_id": "1"}\n{"custom_id": "2"}\n'


@pytest.fixture(scope="module")
def router(folder, engine):
    with Router(folder, config=f"{replicas([engine])}state: {{path: {folder}/jobs}}\n") as running:
        yield running


def sdk(router, key="any"):
    return openai.OpenAI(base_url=router.url + "/v1", api_key=key, max_retries=0, timeout=60)


@pytest.fixture(scope="module")
def client(router):
    with sdk(router) as made:
        yield made


def upload(client, data=LINES, name="input.jsonl", purpose="batch", **more):
    return client.files.create(file=(name, io.BytesIO(data)), purpose=purpose, **more)


def test_a_file_is_uploaded_shown_read_and_deleted(client):
    file = upload(client)
    assert (file.object, file.bytes, file.filename, file.purpose, file.status) == (
        "file", len(LINES), "input.jsonl", "batch", "processed")
    assert file.id.startswith("file-")
    assert file.expires_at is None
    assert set(file.to_dict()) == set(FileObject.model_fields), "every field of the SDK's type"
    assert client.files.retrieve(file.id).to_dict() == file.to_dict()
    assert client.files.content(file.id).read() == LINES
    gone = client.files.delete(file.id)
    assert (gone.id, gone.object, gone.deleted) == (file.id, "file", True)
    with pytest.raises(openai.NotFoundError, match=f"No such File object: {file.id}"):
        client.files.retrieve(file.id)


def test_files_of_any_size_come_back_byte_for_byte(client):
    for size in (1, 4_000, 200_000, 262_144, 3_000_001):
        data = bytes(i * 7 % 251 for i in range(1000)) * (size // 1000 + 1)
        file = upload(client, data[:size], purpose="user_data")
        assert client.files.content(file.id).read() == data[:size]
        client.files.delete(file.id)


def test_a_streamed_download_gives_the_bytes(client):
    data = b"0123456789" * 100_000
    file = upload(client, data)
    with client.files.with_streaming_response.content(file.id) as response:
        assert b"".join(response.iter_bytes()) == data
    client.files.delete(file.id)


def test_a_list_has_pages_purposes_and_both_orders(client):
    made = [upload(client, purpose=purpose).id for purpose in ("batch", "user_data", "batch", "batch", "batch")]
    newest = list(reversed(made))
    assert [file.id for file in client.files.list()] == newest
    assert [file.id for file in client.files.list(limit=2)] == newest, "the SDK asks for page after page"
    assert [file.id for file in client.files.list(order="asc")] == made
    assert [file.id for file in client.files.list(purpose="user_data")] == [made[1]]
    page = client.files.list(limit=2, after=newest[0])
    assert ([file.id for file in page.data], page.has_more) == (newest[1:3], True)
    for bad in ({"limit": 0}, {"limit": 10_001}, {"order": "up"}, {"after": "file-unknown"}):
        with pytest.raises(openai.BadRequestError):
            client.files.list(**bad)
    for file in made:
        client.files.delete(file)
    assert not client.files.list().data


def test_a_file_may_have_a_life_of_its_own(client):
    file = upload(client, expires_after={"anchor": "created_at", "seconds": 3600})
    assert file.expires_at == file.created_at + 3600
    with pytest.raises(openai.BadRequestError, match="between 3600 and 2592000"):
        upload(client, expires_after={"anchor": "created_at", "seconds": 3599})
    client.files.delete(file.id)


def test_names_with_letters_of_any_kind_come_back(client):
    file = upload(client, name="é ü.jsonl")
    assert file.filename == "é ü.jsonl"
    assert client.files.content(file.id).response.headers["content-disposition"].startswith("attachment; filename=")
    client.files.delete(file.id)


def test_bad_uploads_are_refused_with_the_field(client):
    with pytest.raises(openai.BadRequestError, match="'nothing' is not one of") as error:
        upload(client, purpose="nothing")
    assert error.value.param == "purpose"
    with pytest.raises(openai.BadRequestError, match="The file is empty"):
        upload(client, b"")
    assert not client.files.list().data


def test_a_key_sees_its_own_files_only(client, router):
    file = upload(client)
    with sdk(router, "another") as other:
        assert not other.files.list().data
        for call in (other.files.retrieve, other.files.content, other.files.delete):
            with pytest.raises(openai.NotFoundError):
                call(file.id)
        with pytest.raises(openai.BadRequestError):
            other.files.list(after=file.id)
    client.files.delete(file.id)


def test_a_key_with_the_name_of_a_team_sees_none_of_its_files(folder, engine):
    config = f"{replicas([engine])}tenant_header: x-team\nstate: {{path: {folder}/teams}}\n"
    with Router(folder, config=config) as router, sdk(router) as team, sdk(router, "team-a") as stranger:
        header = {"x-team": "team-a"}
        file = upload(team, extra_headers=header)
        assert not stranger.files.list().data
        with pytest.raises(openai.NotFoundError):
            stranger.files.content(file.id)
        assert team.files.content(file.id, extra_headers=header).read() == LINES


def test_files_outlive_a_killed_router(folder, engine):
    config = f"{replicas([engine])}state: {{path: {folder}/outliving}}\n"
    with Router(folder, config=config) as first:
        with sdk(first) as client:
            file = upload(client)
        first.kill()
    with Router(folder, config=config) as second, sdk(second) as client:
        assert client.files.retrieve(file.id).to_dict() == file.to_dict()
        assert client.files.content(file.id).read() == LINES
        second.wait_for_count("penstock_job_files", 1)
        second.wait_for_count("penstock_job_file_bytes", len(LINES))


def test_a_router_without_a_folder_names_the_key(folder, engine):
    with Router(folder, [engine]) as router, sdk(router) as client:
        for call in (lambda: upload(client), client.files.list, lambda: client.files.retrieve("file-1")):
            with pytest.raises(openai.APIStatusError, match="state.path") as error:
                call()
            assert error.value.status_code == 501
            assert error.value.response.headers["x-should-retry"] == "false"


def test_limits_of_a_tenant(folder, engine):
    limits = "max_file: 1MB, max_bytes_per_tenant: 1500kB, max_files_per_tenant: 2"
    with Router(folder, config=f"{replicas([engine])}state: {{path: {folder}/limited, {limits}}}\n") as router:
        with sdk(router) as client:
            with pytest.raises(openai.APIStatusError) as error:
                upload(client, b"x" * 1_000_001)
            assert (error.value.status_code, error.value.code) == (413, "file_too_large")
            with pytest.raises(openai.APIStatusError) as error:
                upload(client, b"x" * 2_000_000)
            assert error.value.status_code in (403, 413)
            assert "1000000 bytes" in str(error.value) or error.value.status_code == 403
            upload(client, b"x" * 900_000)
            with pytest.raises(openai.PermissionDeniedError, match="1500000 bytes together"):
                upload(client, b"x" * 700_000)
            upload(client, b"x")
            with pytest.raises(openai.PermissionDeniedError, match="as many files"):
                upload(client, b"x")
            with sdk(router, "another") as other:
                assert upload(other, b"x").bytes == 1
    assert not list((folder / "limited" / "uploads").iterdir())


def test_expired_files_are_removed(folder, engine):
    with Router(folder, config=f"{replicas([engine])}state: {{path: {folder}/short, file_expiry: 1s}}\n") as router:
        with sdk(router) as client:
            file = upload(client)
            assert file.expires_at == file.created_at + 1
            router.wait_for_count("penstock_job_files", 0)
            # Its bytes go once the store no longer knows it.
            left = folder / "short" / "files"
            wait_until(lambda: not list(left.iterdir()), 20, lambda: f"no file, not {list(left.iterdir())}")
            assert json.loads(router.get("/v1/files/" + file.id)[2])["error"]["code"] == "not_found"


def test_access_lines_of_files_and_batches_name_the_tenant(folder, engine):
    section = f"state: {{path: {folder}/named}}\nlog: {{access: true}}\n"
    tenants = "tenants: [{name: team-a, keys: [sk-team-a]}]\n"
    with Router(folder, config=replicas([engine]) + section + tenants) as router:
        with sdk(router, "sk-team-a") as client:
            file = upload(client)
            client.files.retrieve(file.id)
            client.batches.list()
        with sdk(router, "sk-wrong") as stranger, pytest.raises(openai.AuthenticationError):
            stranger.files.list()

        def named():
            lines = [json.loads(line) for line in router.log().splitlines() if '"event":"access"' in line]
            return [(line["path"], line.get("tenant")) for line in lines if line["path"].startswith(("/v1/files", "/v1/batches"))]

        expected = [("/v1/files", "team-a"), ("/v1/files/" + file.id, "team-a"), ("/v1/batches", "team-a"), ("/v1/files", None)]
        wait_until(lambda: named() == expected, 20, lambda: f"{named()}, not {expected}")
