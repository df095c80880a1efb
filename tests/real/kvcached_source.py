"""The Python files of the kvcached package, without a GPU.

The package index has kvcached as source only, and both its build and its first import ask for torch. The files that keep the
segment are plain Python. An empty module named torch stands in for the real one.
"""
import os
import pathlib
import subprocess
import sys

VERSION = "0.1.6"
# The build asks torch for this before it names the package.
STAND_IN = """
__version__ = "2.10.0"


class version:
    cuda, hip = "12.8", None


class _C:
    _GLIBCXX_USE_CXX11_ABI = True
"""
BUILD_STAND_IN = """
from setuptools import Extension as CppExtension
from setuptools import Extension as CUDAExtension
from setuptools.command.build_ext import build_ext as BuildExtension

CUDA_HOME = ROCM_HOME = None
IS_HIP_EXTENSION = False


def include_paths(*_, **__):
    return []


library_paths = include_paths
"""


def fetch(folder):
    """Makes an environment below `folder`; returns its Python and the path for imports. Raises without an index."""
    folder = pathlib.Path(folder)
    python = folder / "env/bin/python"
    path = f"{folder / 'source'}:{folder / 'torch'}"
    if (folder / "done").exists():
        return python, path
    parts = folder / "torch/torch/utils"
    parts.mkdir(parents=True, exist_ok=True)
    (folder / "torch/torch/__init__.py").write_text(STAND_IN)
    (parts / "__init__.py").write_text("")
    (parts / "cpp_extension.py").write_text(BUILD_STAND_IN)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder / "env"], check=True)
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "--retries", "1"]
    subprocess.run([*pip, "install", "setuptools>=77", "wheel", "numpy", "posix_ipc"], check=True, timeout=300)
    download = [*pip, "download", "--no-deps", "--no-build-isolation", "--dest", folder, f"kvcached=={VERSION}"]
    subprocess.run(download, check=True, timeout=300, env={**os.environ, "PYTHONPATH": str(folder / "torch")})
    source = folder / "source"
    source.mkdir(exist_ok=True)
    unpack = ["tar", "-xzf", folder / f"kvcached-{VERSION}.tar.gz", "--strip-components=1", "-C", source]
    subprocess.run(unpack, check=True)
    (folder / "done").touch()
    return python, path
