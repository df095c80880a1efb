"""The portable archive: unpacked anywhere, it needs libc and libstdc++ only."""
import json
import re
import tarfile

import pytest
from package_build import of_release, package, run
from processes import BINARY, ROOT

pytestmark = [of_release, pytest.mark.long]

# libstdc++ needs libgcc_s and libm; the first and the last are the kernel's and the loader. libpthread and libresolv are libc's.
SYSTEM = {"libpthread.so.0", "libresolv.so.2", "linux-vdso.so.1", "libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "/lib64/ld-linux-x86-64.so.2"}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("portable")
    with tarfile.open(package("portable")) as archive:
        archive.extractall(folder)
    (top,) = folder.iterdir()
    return top


def test_the_system_gives_libc_and_libstdcxx_only(unpacked):
    linked = run("ldd", unpacked / "bin/penstock").stdout.splitlines()
    own, others = set(), set()
    for line in linked:
        name, path = re.match(r"\s*(\S+)(?: => (\S+))?", line).groups()
        (own if path and path.startswith(str(unpacked)) else others).add(name)
    assert others <= SYSTEM
    assert own == {path.name for path in (unpacked / "lib").iterdir()}


def test_it_needs_no_newer_system_than_debian_12(unpacked):
    for binary in (unpacked / "bin/penstock", *(unpacked / "lib").iterdir()):
        text = run("objdump", "-T", binary).stdout
        newest = max((tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_(\d+\.\d+)", text)), default=(0,))
        assert newest <= (2, 36), binary
        newest = max((tuple(map(int, version.split("."))) for version in re.findall(r"GLIBCXX_3\.4\.(\d+)", text)), default=(0,))  # Libraries of C name none.
        assert newest <= (30,), binary


def test_every_library_in_it_has_its_licence(unpacked):
    licences = {path.name for path in (unpacked / "share/doc/penstock/licenses").iterdir()}
    assert {"libabsl-dev", "libboost1.81-dev", "libsimdjson14", "libsqlite3-0", "libssl3", "libzmq5", "libsodium23", "libprometheus-cpp-core1.0"} <= licences
    assert all((unpacked / "share/doc/penstock/licenses" / name).stat().st_size > 200 for name in licences)


def test_it_takes_its_default_configuration_and_the_examples(unpacked):
    for path in (unpacked / "share/penstock/penstock.yaml", *(unpacked / "share/doc/penstock/examples").glob("*.yaml")):
        assert (ended := run(unpacked / "bin/penstock", "check", path)).returncode == 0, ended.stderr


def test_it_decides_as_the_other_binary_does(unpacked):
    """The same objects with other copies of the libraries."""
    def figures(binary):
        ended = run(binary, "simulate", "--config", ROOT / "config/examples/colocated-a100.yaml", "--trace",
                    "generate:azure-conv", "--rate", "4", "--duration", "20s", "--json")
        assert ended.returncode == 0, ended.stderr
        return {key: value for key, value in json.loads(ended.stdout).items() if key != "decision_us"}
    assert figures(unpacked / "bin/penstock") == figures(BINARY)
