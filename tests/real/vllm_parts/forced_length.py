"""Forces the length of vLLM's answers: a random model never ends by itself.

A request tells the length in `vllm_xargs: {"output_tokens": n}`, or in the header `x-simulated-output-tokens`, which the
load client sends. The router does not know either, so the lengths are hidden from it.
"""
import json

import torch
from vllm.config import VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.v1.sample.logits_processor import AdapterLogitsProcessor


class ForcedLength(AdapterLogitsProcessor):
    """Gives the end token no chance before the last token, and every chance there."""

    def __init__(self, config: VllmConfig, device: torch.device, pinned: bool):
        super().__init__(config, device, pinned)
        self.end = config.model_config.hf_config.eos_token_id

    @classmethod
    def validate_params(cls, params: SamplingParams):
        length = (params.extra_args or {}).get("output_tokens")
        if length is not None and int(length) < 1:
            raise ValueError("output_tokens must be at least 1")

    def is_argmax_invariant(self) -> bool:
        return False

    def new_req_logits_processor(self, params: SamplingParams):
        length = (params.extra_args or {}).get("output_tokens")
        if length is None:
            return None
        length = int(length)

        def process(output_ids: list[int], logits: torch.Tensor) -> torch.Tensor:
            if len(output_ids) + 1 < length:
                logits[self.end] = -float("inf")
            else:
                end = logits[self.end].item()
                logits.fill_(-float("inf"))
                logits[self.end] = end if end > -float("inf") else 0.0
            return logits

        return process


class LengthHeader:
    """Moves the header's length into the body of a request."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        wanted = dict(scope.get("headers", ())).get(b"x-simulated-output-tokens")
        if scope["type"] != "http" or wanted is None:
            return await self.app(scope, receive, send)
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
        request = json.loads(body)
        request.setdefault("vllm_xargs", {})["output_tokens"] = int(wanted)
        body = json.dumps(request).encode()
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        scope["headers"] = [*headers, (b"content-length", str(len(body)).encode())]
        given = False

        async def changed():
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return await self.app(scope, changed, send)
