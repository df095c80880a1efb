"""The clients of the zoo: which program speaks for each, in which environment, and the errors that it should see."""
import dataclasses
import json
import os
import pathlib
import selectors
import subprocess
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("PENSTOCK_CLIENTS", HERE.parents[1] / "build/clients"))
REFUSING = "http://127.0.0.1:9"  # A proxy that is not there: clients that want another host fail at once.
CONFINED = {
    **{name: REFUSING for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")},
    **{name: "127.0.0.1" for name in ("no_proxy", "NO_PROXY")},
}
ENVIRONMENT_OF = {"openai-async": "openai"}


@dataclasses.dataclass(frozen=True)
class Kind:
    """One client. Its errors are pairs of a class and a status; a status is None where the client hides it."""

    name: str
    program: str
    missing_model: tuple = ("NotFoundError", 404)
    bad_request: tuple = ("BadRequestError", 400)
    jobs: bool = False

    @property
    def folder(self):
        return CACHE / ENVIRONMENT_OF.get(self.name, self.name)

    def command(self):
        if self.program.endswith(".py"):
            return [self.folder / "bin/python", HERE / "python" / self.program]
        if self.program.endswith(".cjs"):
            return ["node", HERE / "node" / self.program]
        if self.program == "Checks":
            return ["java", "-cp", f"{self.folder}/classes:{self.folder}/jars/*", self.program]
        return [self.folder / self.program]


KINDS = [
    Kind("openai", "openai_checks.py", jobs=True),
    Kind("openai-async", "openai_async_checks.py", jobs=True),
    Kind("openai-go", "checks", ("Error", 404), ("Error", 400)),
    Kind("async-openai", "checks", ("ApiError", 404), ("ApiError", 400)),
    Kind("openai-java", "Checks", ("NotFoundException", 404), ("BadRequestException", 400)),
    Kind("openai-node", "openai.cjs", jobs=True),
    Kind("anthropic", "anthropic_checks.py"),
    Kind("anthropic-node", "anthropic.cjs"),
    Kind("llm", "llm_checks.py"),
    Kind("langchain", "langchain_checks.py", ("OpenAIModelNotFoundError", 404), ("OpenAIInvalidRequestError", 400)),
    Kind("llamaindex", "llamaindex_checks.py"),
    Kind("litellm", "litellm_checks.py", bad_request=("ContextWindowExceededError", 400)),
    Kind("instructor", "instructor_checks.py", ("InstructorRetryException", None), ("InstructorRetryException", None)),
    Kind("pydantic-ai", "pydantic_ai_checks.py", ("ModelNotFoundError", 404), ("ModelContextWindowExceededError", 400)),
    Kind("ai-node", "ai.cjs", ("APICallError", 404), ("APICallError", 400)),
]


class Program:
    """A client's program while it runs: it takes the name of a check a line and answers with a line of JSON."""

    def __init__(self, kind, url, model):
        if not (kind.folder / "stamp").exists():
            pytest.skip(f"{kind.name} is not installed: run scripts/clients_env.sh")
        own = {"PENSTOCK_URL": url, "PENSTOCK_MODEL": model, "NODE_PATH": str(kind.folder / "node_modules")}
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(kind.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        env={**os.environ, **CONFINED, **own}, cwd=tempfile.gettempdir(), bufsize=0)
        self.answers = {}

    def ask(self, check, seconds=60):
        """The answer to a check, which runs once."""
        if check not in self.answers:
            self.process.stdin.write(check.encode() + b"\n")
            line = self._line(seconds)
            assert line.endswith(b"\n"), f"no answer to {check} within {seconds} s: {line!r}\n{self._errors()}"
            self.answers[check] = json.loads(line)
        answer = self.answers[check]
        assert "failed" not in answer, f"{answer['failed']}\n{self._errors()}"
        assert answer.pop("check", check) == check
        return answer

    def _line(self, seconds):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            return self.process.stdout.readline() if selector.select(seconds) else b""

    def _errors(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-4000:]

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()
