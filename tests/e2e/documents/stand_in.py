"""Plays the engine that a document starts: stand_in.py NAME ARGUMENTS..., with NAME vllm or llama-server.

It becomes `penstock engine` at the port and with the model of the printed command line.
"""
import os
import pathlib
import struct
import sys


def value_of(flag, arguments, otherwise=None):
    return arguments[arguments.index(flag) + 1] if flag in arguments else otherwise


def make_segment(name):
    """kvcached makes this file when an engine starts: limit, use, preallocated."""
    pathlib.Path("/dev/shm", name).write_bytes(struct.pack("=qqq", 20 * 10**9, 0, 0))


def main():
    name, *arguments = sys.argv[1:]
    port = value_of("--port", arguments)
    if name == "vllm":
        assert arguments[0] == "serve"
        model = value_of("--served-model-name", arguments, arguments[1].rsplit("/", 1)[-1])
        more = ["--gpu", "a100-80", "--kv-memory", "18GB"]
        if os.environ.get("ENABLE_KVCACHED") == "true":
            make_segment(os.environ["KVCACHED_IPC_NAME"])
    else:
        model = value_of("--alias", arguments)
        more = ["--gpu", "l4", "--overflow", "error", "--kv-tokens", value_of("--ctx-size", arguments),
                "--max-seqs", value_of("--parallel", arguments)]
    binary = os.environ["PENSTOCK_BINARY"]
    os.execv(binary, [binary, "engine", "--listen", f"127.0.0.1:{port}", "--model", model, *more])


main()
