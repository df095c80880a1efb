"""Becomes the real llama-server that a document starts: printed_engine.py llama-server ARGUMENTS... Its model is the small one."""
import os
import sys

from engines import CACHE, HERE

arguments = sys.argv[2:]
python = str(CACHE / "light/bin/python")
port, alias = (arguments[arguments.index(flag) + 1] for flag in ("--port", "--alias"))
os.execv(python, [python, str(HERE / "llama_server.py"), str(CACHE / "model/model.gguf"), port, alias])
