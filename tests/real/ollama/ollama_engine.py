"""A real Ollama with three small models: two for chats and one for embeddings.

PENSTOCK_OLLAMA names the program, else the path has it. Its llama-server and llama-quantize have to be beside it, as its
packages have them.
"""
import hashlib
import http.client
import json
import os
import shutil
import struct

from engines import CACHE, RealEngine, call
from processes import free_port, get, wait_until

CHATS = ("big", "small")
EMBEDDINGS = "vectors"
START_SECONDS = 60


def program():
    """Its path, or None."""
    given = os.environ.get("PENSTOCK_OLLAMA")
    return given if given else shutil.which("ollama")


def renamed(model, name):
    """The model of make_model.py under another name of as many letters: other bytes, so that Ollama runs it apart."""
    assert len(name) == 4 and model.count(b"tiny") == 1
    return model.replace(b"tiny", name.encode())


def pooled(model):
    """The same for embeddings. Two keys of 64 bytes together leave the tensors where they are aligned."""
    magic, version, tensors, keys = struct.unpack_from("<4sIQQ", model)
    assert magic == b"GGUF"

    def key(name, kind, value):
        return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + value

    added = key(b"llama.pooling_type", 4, struct.pack("<I", 1)) + key(b"tests.filling.key", 7, b"\1")
    assert len(added) == 64
    return struct.pack("<4sIQQ", magic, version, tensors, keys + 2) + added + model[24:]


class Ollama(RealEngine):
    """It has at most one request of a model at a time, and no page of metrics."""

    def __init__(self, folder, name="ollama"):
        port = free_port()
        home = folder / f"{name}-{port}"
        home.mkdir()
        variables = {"OLLAMA_HOST": f"127.0.0.1:{port}", "OLLAMA_MODELS": str(home / "models"), "HOME": str(home),
                     "OLLAMA_CONTEXT_LENGTH": "4096", "OLLAMA_NUM_PARALLEL": "1", "OLLAMA_NO_CLOUD": "1"}
        super().__init__(name, [program(), "serve"], port, folder / f"{name}-{port}.log", variables)

    def wait(self):
        def answers():
            assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}:\n{self.log()[-4000:]}"
            return get(self.address, "/api/version", timeout=2)[0] == 200

        wait_until(answers, START_SECONDS, lambda: f"{self.name} answers:\n{self.log()[-4000:]}")
        return self

    def create(self, name, model):
        digest = f"sha256:{hashlib.sha256(model).hexdigest()}"
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        connection.request("POST", f"/api/blobs/{digest}", model)
        response = connection.getresponse()
        assert response.status in (200, 201), response.read()
        connection.close()
        body = {"model": name, "files": {f"{name}.gguf": digest}, "parameters": {"num_thread": 1}, "stream": False}
        status, _, answer = call(self.address, "/api/create", body)
        assert status == 200, answer

    def with_models(self):
        model = (CACHE / "model/model.gguf").read_bytes()
        self.create(CHATS[0], model)
        self.create(CHATS[1], renamed(model, "wren"))
        self.create(EMBEDDINGS, pooled(model))
        return self

    def loaded(self):
        """The names of the models in memory."""
        return {model["name"] for model in json.loads(get(self.address, "/api/ps")[2])["models"]}

    def unload_all(self):
        for name in (*CHATS, EMBEDDINGS):
            call(self.address, "/api/generate", {"model": name, "keep_alive": 0})
        wait_until(lambda: not self.loaded(), 30, lambda: f"no model is loaded: {self.loaded()}")
