"""The Debian package: installed below a root of its own, run, upgraded, removed and purged."""
import os
import pathlib
import re
import resource
import shlex
import shutil
import stat
import subprocess
import tempfile

import pytest
from package_build import PACKAGING, of_release, package, run
from processes import Engine, free_port, get, replicas, wait_until
from raw_http import chat, request_bytes, send

pytestmark = of_release


class Root:
    """A folder that dpkg takes for the root of a system. Its scripts run outside of it and see it as DPKG_ROOT."""

    def __init__(self, folder):
        self.path = folder
        for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "etc", "run"):
            (folder / name).mkdir(parents=True)
        (folder / "var/lib/dpkg/status").touch()

    def dpkg(self, *arguments):
        # The libraries are those of this system, which the root knows nothing of.
        ended = run("dpkg", f"--root={self.path}", f"--log={self.path}/dpkg.log", "--force-not-root", "--force-depends",
                    "--force-script-chrootless", *arguments)
        assert ended.returncode == 0, ended.stderr
        return ended

    def __truediv__(self, name):
        return self.path / name

    def binary(self, *arguments):
        return run(self.path / "usr/bin/penstock", *arguments)


@pytest.fixture(scope="module")
def deb():
    return package("deb")


@pytest.fixture
def root(tmp_path, deb):
    installed = Root(tmp_path / "root")
    installed.dpkg("--install", deb)
    return installed


def test_the_installed_router_takes_its_default_configuration(root):
    ended = root.binary("check", root / "etc/penstock/penstock.yaml")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.endswith("penstock.yaml: ok\n")
    assert root.binary("--version").stdout.startswith("penstock ")


def test_the_installed_examples_check(root):
    examples = sorted((root / "usr/share/doc/penstock/examples").glob("*.yaml"))
    assert len(examples) >= 4
    for example in examples:
        assert (ended := root.binary("check", example)).returncode == 0, ended.stderr


def test_an_edited_configuration_survives_an_upgrade_and_goes_with_a_purge(root, deb):
    config = root / "etc/penstock/penstock.yaml"
    edited = "replicas: [{url: http://127.0.0.1:9000}]\n"
    config.write_text(edited)
    root.dpkg("--install", deb)
    assert config.read_text() == edited
    (root / "var/lib/penstock").mkdir(parents=True)
    root.dpkg("--remove", "penstock")
    assert not (root / "usr/bin/penstock").exists()
    assert config.read_text() == edited and (root / "var/lib/penstock").exists()
    root.dpkg("--purge", "penstock")
    left = [path for path in root.path.rglob("*penstock*") if "dpkg" not in str(path)]
    assert left == []


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("systemd-sysusers"), reason="needs root and systemd-sysusers")
def test_the_service_has_a_user_who_reads_the_configuration_and_nobody_else(root):
    group = re.search(r"^penstock:[^:]*:(\d+):", (root / "etc/group").read_text(), re.MULTILINE)
    assert re.search(r"^penstock:", (root / "etc/passwd").read_text(), re.MULTILINE)
    status = (root / "etc/penstock/penstock.yaml").stat()
    assert stat.S_IMODE(status.st_mode) == 0o640 and status.st_gid == int(group[1])


def service_of(root):
    """The settings of the installed unit; of a repeated one the last."""
    text = (root / "lib/systemd/system/penstock.service").read_text()
    return dict(re.findall(r"^(\w+)=(.*)$", text.split("[Service]")[1].split("[Install]")[0], re.MULTILINE))


def start_as_the_unit_does(root, output):
    """A process with the command, user, mask, limit and privileges of the unit, as far as they need no systemd."""
    unit = service_of(root)
    command = [word.replace("/usr/bin", f"{root / 'usr/bin'}").replace("/etc/penstock", f"{root / 'etc/penstock'}")
               for word in shlex.split(unit["ExecStart"])]
    user, files = None, int(unit["LimitNOFILE"])
    if os.geteuid() == 0:
        known = re.search(rf"^{unit['User']}:[^:]*:(\d+):(\d+):", (root / "etc/passwd").read_text(), re.MULTILINE)
        user = tuple(map(int, known.groups()))
        state = root / "var/lib/penstock"  # StateDirectory.
        state.mkdir(mode=0o755)
        os.chown(state, *user)
        command = ["setpriv", f"--reuid={user[0]}", f"--regid={user[1]}", "--clear-groups", "--no-new-privs",
                   "--bounding-set=-all", "--inh-caps=-all", *command]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = files if most == resource.RLIM_INFINITY else min(files, most)
    return user, subprocess.Popen(command, stdout=output, stderr=output, cwd="/", umask=int(unit["UMask"], 8), env={},
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most)))


@pytest.fixture
def open_root(deb):
    """A root that the user of the service may enter, too."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-root-"))
    folder.chmod(0o755)
    installed = Root(folder)
    installed.dpkg("--install", deb)
    yield installed
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() == 0 and not (shutil.which("systemd-sysusers") and shutil.which("setpriv")),
                    reason="root needs systemd-sysusers and setpriv to become the user of the service")
def test_the_installed_service_serves_drains_and_leaves_nothing(open_root, tmp_path):
    root, port, log = open_root, free_port(), tmp_path / "service.log"
    with Engine(tmp_path) as engine, open(log, "wb") as output:
        # The file keeps the owner and the mode that the package gave it.
        (root / "etc/penstock/penstock.yaml").write_text(f"listen: 127.0.0.1:{port}\n{replicas([engine])}")
        user, service = start_as_the_unit_does(root, output)
        try:
            wait_until(lambda: get(("127.0.0.1", port), "/readyz")[0] == 200, 30, log.read_text)
            if user is not None:
                status = pathlib.Path(f"/proc/{service.pid}/status").read_text()
                assert re.search(r"^Uid:\s+(\d+)", status, re.MULTILINE)[1] == str(user[0])
                assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE), "it has no capability"
            answer = send(("127.0.0.1", port), request_bytes(body=chat(max_tokens=4)), timeout=30)
            assert answer.status == 200, answer.body
            service.terminate()
            assert service.wait(timeout=30) == 0, log.read_text()
        finally:
            if service.poll() is None:
                service.kill()
                service.wait()
    root.dpkg("--remove", "penstock")
    assert not (root / "usr/bin/penstock").exists() and (root / "etc/penstock/penstock.yaml").exists()
    root.dpkg("--purge", "penstock")
    assert [path for path in root.path.rglob("*penstock*") if "dpkg" not in str(path)] == []


@pytest.mark.parametrize("script, action", [("postinst", "configure"), ("prerm", "remove"), ("postrm", "purge")])
def test_the_scripts_need_no_systemd(tmp_path, script, action):
    """Only the tools that every Debian system has are in the way of the script."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "sed", "chgrp", "chmod", "rm", "rmdir"):
        (tools / tool).symlink_to(shutil.which(tool))
    ended = run("/bin/sh", PACKAGING / "debian" / script, action, "",
                env={"PATH": str(tools), "DPKG_ROOT": str(tmp_path / "root")})
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_package_names_the_libraries_of_the_binary(deb):
    depends = run("dpkg-deb", "--field", deb, "Depends").stdout
    for library in ("libc6", "libstdc++6", "libssl3", "libabsl20220623", "libyaml-cpp0.7", "libsimdjson14", "libsqlite3-0"):
        assert library in depends
    # All of them are here, or the binary would not run.
    names = [re.split(r"[ (]", part.strip())[0] for part in depends.split(",")]
    assert run("dpkg-query", "--show", *names).returncode == 0


def test_the_package_has_no_debugging_sections_and_is_owned_by_root(deb):
    listing = run("dpkg-deb", "--contents", deb).stdout
    assert all(line.split()[1] == "root/root" for line in listing.splitlines())
    size = next(int(line.split()[2]) for line in listing.splitlines() if line.endswith("./usr/bin/penstock"))
    assert size < 25_000_000


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_the_unit_is_valid_and_hardened(root):
    unit = root / "lib/systemd/system/penstock.service"
    text = unit.read_text().replace("/usr/bin/penstock", str(root / "usr/bin/penstock"))
    text = text.replace("Documentation=man:penstock(1)\n", "")  # The page is not in this system's path.
    unit.write_text(text)
    verified = run("systemd-analyze", "verify", unit)
    assert (verified.returncode, verified.stderr) == (0, "")
    # From 0 (closed) to 100 (open).
    security = run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
    assert security.returncode == 0, security.stdout[-2000:]
