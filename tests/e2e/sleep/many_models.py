"""Servers that load and unload each of their models: llama-server in router mode, Ollama. SGLang with its memory saver, and
vLLM with its sleep mode have one model."""
import collections
import http.server
import json
import threading


class Server:
    """Leaving the context ends it. `loaded` are its models in memory; `verbs` the paths and bodies of its verbs."""

    kind = ""
    models = ("big", "small")
    refuses_early = None  # The error for a model that is not loaded. None: it answers.

    def __init__(self):
        outer = self
        self.asked = collections.Counter()  # Reads of each page.
        self.loaded = {"big"}
        self.verbs = []
        self.early = []  # Models that were asked while they were not loaded.
        self.hearing = threading.Event()  # Not set: it is deaf, and answers nothing.
        self.hearing.set()
        self.ended = False  # It closes each connection.

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, body, kind="application/json"):
                data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def handle_one_request(self):
                super().handle_one_request()
                self.close_connection |= outer.ended

            def parse_request(self):
                outer.hearing.wait(60)
                return not outer.ended and super().parse_request()

            def do_GET(self):
                outer.asked[self.path] += 1
                page = outer.pages().get(self.path)
                self.answer(404 if page is None else 200, page or {})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "{}")
                if self.path.startswith("/v1/"):
                    if outer.name_of(body["model"]) not in outer.loaded:
                        outer.early.append(body["model"])
                        if outer.refuses_early is not None:
                            return self.answer(400, outer.refuses_early)
                    return self.answer(200, *(outer.chat if "messages" in body else outer.embedding)(body))
                outer.verbs.append((self.path, body))
                self.answer(*outer.verb(self.path, body))

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def name_of(self, model):
        return model if model in self.models else f"{model}:latest"

    def chat(self, body):
        message = {"role": "assistant", "content": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return ({"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]},)
        choice = {"index": 0, "delta": message, "finish_reason": "stop"}
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": [choice]}
        return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", "text/event-stream"

    def embedding(self, body):
        return ({"object": "list", "model": body["model"], "data": [{"object": "embedding", "index": 0, "embedding": [1.0]}],
                 "usage": {"prompt_tokens": 1, "total_tokens": 1}},)

    def listed(self, **more):
        return {"object": "list", "data": [{"id": model, "object": "model", **more} for model in self.models]}

    def __enter__(self):
        return self

    def end(self):
        """Its process ends: nothing takes connections."""
        self.ended = True
        self.http.shutdown()
        self.http.server_close()

    def __exit__(self, *_):
        self.hearing.set()
        if not self.ended:
            self.end()


class LlamaRouter(Server):
    """Loads in the background: its page says so for a while. It loads nothing for a request (--no-models-autoload)."""

    kind = "llamacpp"
    refuses_early = {"error": {"code": 400, "message": "model is not loaded", "type": "invalid_request_error"}}

    def __init__(self):
        super().__init__()
        self.loading = {}

    def pages(self):
        for model in list(self.loading):
            self.loading[model] -= 1
            if self.loading[model] < 0:
                del self.loading[model]
                self.loaded.add(model)
        states = [
            {"id": model, "status": {"value": "loaded" if model in self.loaded else "loading" if model in self.loading else "unloaded"}}
            for model in self.models
        ]
        return {"/props": {"role": "router", "build_info": "b1"}, "/health": {"status": "ok"}, "/models": {"data": states},
                "/v1/models": self.listed(owned_by="llamacpp")}

    def verb(self, path, body):
        model = body["model"]
        if path == "/models/load" and model not in self.loaded:
            self.loading[model] = 3
        elif path == "/models/unload" and model in self.loaded:
            self.loaded.remove(model)
        else:
            return 400, {"error": {"message": "model is already so"}}
        return 200, {"success": True}


class Ollama(Server):
    """A name without a tag means the latest. An empty request loads a model, or unloads it; /api/generate refuses to load one
    for embeddings."""

    kind = "ollama"
    models = ("big:latest", "small:latest", "vectors:latest")

    def __init__(self):
        super().__init__()
        self.loaded = {"big:latest"}

    def pages(self):
        return {"/api/version": {"version": "0.9"}, "/api/tags": {"models": [{"name": model} for model in self.models]},
                "/api/ps": {"models": [{"name": model, "context_length": 4096} for model in self.loaded]},
                "/v1/models": self.listed(owned_by="library")}

    def verb(self, path, body):
        name = self.name_of(body["model"])
        if name not in self.models:
            return 404, {"error": f"model '{body['model']}' not found"}
        if path == "/api/embed" and "input" not in body:
            self.loaded.add(name)
            return 200, {"model": body["model"], "embeddings": []}
        if path != "/api/generate" or "prompt" in body:
            return 404, {}
        if body["keep_alive"] == 0:
            self.loaded.discard(name)
            return 200, {"model": body["model"], "response": "", "done": True, "done_reason": "unload"}
        if name.startswith("vectors"):
            return 400, {"error": f"\"{body['model']}\" does not support generate"}
        self.loaded.add(name)
        return 200, {"model": body["model"], "response": "", "done": True, "done_reason": "load"}


class Sglang(Server):
    """One model, no page that tells its memory, and no copy of its weights."""

    kind = "sglang"
    models = ("big",)
    busy = False  # Requests run that its page does not tell yet.

    def pages(self):
        info = {"max_total_num_tokens": 10000, "enable_memory_saver": True, "model_path": "org/big"}
        load = {"num_running_reqs": 0, "num_waiting_reqs": 0, "num_used_tokens": 0, "max_total_num_tokens": 10000}
        return {"/v1/models": self.listed(owned_by="sglang", max_model_len=4096), "/server_info": info, "/v1/loads": {"loads": [load]}}

    def verb(self, path, body):
        if path == "/flush_cache" and self.busy:
            return 400, "Flush cache failed.\n"
        if path == "/release_memory_occupation":
            self.loaded.clear()
        elif path == "/update_weights_from_disk":
            self.loaded.add("big")
        return 200, {}


class Vllm(Server):
    """One model. Its sleep is at level 1 or 2, as its metrics tell, and a wake by another level leaves it without weights."""

    kind = "vllm"

    def __init__(self, model):
        self.models = (model,)
        super().__init__()
        self.loaded = {model}
        self.level = 0  # 0: awake.
        self.tells = True  # Its metrics have the level.

    def pages(self):
        states = {"awake": 0, "weights_offloaded": 1, "discard_all": 2}
        told = {name: int(self.level == level) for name, level in states.items() if self.tells or name == "awake"}
        metrics = "".join(f'vllm:engine_sleep_state{{sleep_state="{name}"}} {value}\n' for name, value in told.items())
        return {"/v1/models": self.listed(owned_by="vllm", max_model_len=4096), "/version": {"version": "0.12.0"},
                "/health": "ok", "/metrics": "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n" + metrics,
                "/is_sleeping": {"is_sleeping": self.level > 0}}

    def verb(self, path, body):
        if path.startswith("/sleep?level="):
            self.level = int(path[-1])
            self.loaded.clear()
        elif path == "/collective_rpc" or (path == "/wake_up" and self.level == 1):
            self.loaded.add(self.models[0])
        if path in ("/wake_up", "/wake_up?tags=kv_cache"):
            self.level = 0
        return 200, {}

    def paths(self):
        """The verbs since the last call."""
        paths, self.verbs = [path for path, _ in self.verbs], []
        return paths
