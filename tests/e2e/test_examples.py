"""Every example configuration checks as it lies there, and what `check` prints is a configuration without a warning more."""
import shutil
import subprocess

import pytest
from processes import BINARY, ROOT

EXAMPLES = sorted(path.name for path in (ROOT / "config/examples").glob("*.yaml"))


def check(path):
    return subprocess.run([BINARY, "check", "--config", str(path)], capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_checks_as_it_is(name):
    ended = check(ROOT / "config/examples" / name)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_output_of_check_checks_without_a_word_about_keys_without_effect(tmp_path, name):
    folder = tmp_path / "config/examples"
    shutil.copytree(ROOT / "config/examples", folder)
    shutil.copytree(ROOT / "tests/data/tls", tmp_path / "tests/data/tls")
    first = check(folder / name)
    (folder / "again.yaml").write_text(first.stdout)
    again = check(folder / "again.yaml")
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    new = [line for line in again.stderr.splitlines() if "placeholder" not in line]
    old = first.stderr.replace(name, "again.yaml").splitlines()
    assert set(new) <= set(old) and not [line for line in new if "no effect yet" in line], again.stderr
