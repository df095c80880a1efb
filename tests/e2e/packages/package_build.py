"""Makes the packages of the release build, for the tests beside this file."""
import pathlib
import subprocess

import pytest
from processes import BINARY, ROOT

RELEASE = ROOT / "build/release"
PACKAGING = ROOT / "packaging"
of_release = pytest.mark.skipif(pathlib.Path(BINARY).resolve().parent != RELEASE, reason="packages are of the release build")


def run(*command, **settings):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **settings)


def package(kind):
    """The path of the package that scripts/package.sh makes."""
    made = run(ROOT / "scripts/package.sh", kind)
    assert made.returncode == 0, made.stderr
    return ROOT / made.stderr.strip().split("package: ")[-1]
