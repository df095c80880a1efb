"""The files that packages carry: manual page, completions, container files."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from package_build import PACKAGING, run
from processes import BINARY, ROOT

GENERATED = ("penstock.1", "completions/penstock.bash", "completions/_penstock")


def commands():
    text = run(BINARY, "help").stdout
    return re.findall(r"^  (\w+)  ", text.split("Subcommands:\n")[1], re.MULTILINE)


@pytest.mark.parametrize("name", GENERATED)
def test_the_manual_and_the_completions_are_those_of_the_binary(tmp_path, name):
    made = run(PACKAGING / "generate.py", BINARY, tmp_path)
    assert made.returncode == 0, made.stderr
    assert (PACKAGING / name).read_text() == (tmp_path / name).read_text(), \
        "packaging/generate.py build/release/penstock packaging"


def test_the_manual_names_every_command_and_option():
    text = (PACKAGING / "penstock.1").read_text().replace("\\-", "-")
    assert len(commands()) >= 11
    for command in commands():
        assert f".SS penstock {command}" in text
        for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", run(BINARY, "help", command).stdout, re.MULTILINE):
            assert option in text, command


@pytest.mark.skipif(not shutil.which("man"), reason="needs man")
def test_the_manual_page_is_set_without_a_warning():
    page = run("man", "--warnings", "-l", PACKAGING / "penstock.1", env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    assert (page.returncode, page.stderr) == (0, "")
    assert "penstock simulate" in page.stdout


def completed(*words):
    """The offers of the completion for bash behind `words`, the last of which is being typed."""
    script = f"source {PACKAGING}/completions/penstock.bash; COMP_WORDS=(penstock \"$@\"); COMP_CWORD=$#; _penstock; " \
             "printf '%s\\n' \"${COMPREPLY[@]}\""
    return run("bash", "-c", script, "bash", *words, cwd=ROOT).stdout.split()


@pytest.mark.parametrize("words, offers", [
    (["che"], ["check"]),
    (["--ver"], ["--version"]),
    (["reference", "m"], ["metrics"]),
    (["help", "sim"], ["simulate"]),
    (["load", "--hea"], ["--header"]),
    (["engine", "--overflow", ""], ["preempt", "error"]),
    (["check", "config/examples/small"], ["config/examples/smallest.yaml"]),
    (["simulate", "--config", "config/examples/full"], ["config/examples/full.yaml"]),
])
def test_bash_completes(words, offers):
    assert completed(*words) == offers


def test_bash_completes_every_command():
    assert set(commands()) <= set(completed(""))


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_reads_its_completion():
    assert run("zsh", "-n", PACKAGING / "completions/_penstock").stderr == ""


@pytest.mark.parametrize("script", ["debian/postinst", "debian/prerm", "debian/postrm", "../scripts/package.sh"])
def test_the_shell_reads_the_scripts(script):
    assert run("sh", "-n", PACKAGING / script).stderr == ""


def instructions():
    """(stage, instruction, arguments) of the Dockerfile."""
    text = (PACKAGING / "docker/Dockerfile").read_text().replace("\\\n", " ")
    stage = -1
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, arguments = line.split(" ", 1)
            stage += word == "FROM"
            yield stage, word, arguments.split()


def test_the_dockerfile_has_known_instructions_and_files_that_exist():
    stages = set()
    for stage, word, arguments in instructions():
        assert word in {"FROM", "RUN", "COPY", "WORKDIR", "USER", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
        assert stage >= 0
        if word == "FROM":
            assert arguments[0].startswith("debian:12")
            stages |= {arguments[2]} if arguments[1:2] == ["AS"] else set()
        if word == "COPY" and arguments[0].startswith("--from="):
            assert arguments[0].removeprefix("--from=") in stages
        elif word == "COPY":
            assert all((ROOT / name).exists() for name in arguments[:-1])
        if word == "RUN":
            assert all((ROOT / name).exists() for name in arguments if name.startswith("scripts/"))
            assert subprocess.run(["sh", "-n", "-c", " ".join(arguments)], check=False).returncode == 0
    assert [arguments for _, word, arguments in instructions() if word == "USER"] == [["penstock"]]
    last = [arguments for _, word, arguments in instructions() if word == "CMD"][-1]
    assert "/etc/penstock/penstock.yaml" in " ".join(last)


def test_the_linter_finds_nothing_in_the_dockerfile():
    hadolint = pathlib.Path(sys.executable).parent / "hadolint"
    found = run(hadolint, "--no-color", "--failure-threshold", "warning", PACKAGING / "docker/Dockerfile")
    assert found.returncode == 0, found.stdout


@pytest.mark.skipif(not shutil.which("docker-compose"), reason="needs docker-compose")
def test_compose_reads_its_file():
    dry = run("docker-compose", "-f", PACKAGING / "docker/compose.yaml", "config")
    assert dry.returncode == 0, dry.stderr
    assert set(yaml.safe_load(dry.stdout)["services"]) == {"engine", "router"}


def test_the_compose_file_starts_commands_of_the_binary():
    folder = PACKAGING / "docker"
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    assert set(services) == {"engine", "router"}
    for name, service in services.items():
        assert service["command"][0] in commands(), name
        assert (folder / service["build"]["context"] / service["build"]["dockerfile"]).exists()
        helped = run(BINARY, "help", service["command"][0]).stdout
        assert all(word in helped for word in service["command"] if word.startswith("--"))
        assert set(service.get("depends_on", [])) <= set(services)
    source, target, mode = services["router"]["volumes"][0].split(":")
    assert (folder / source).exists() and services["router"]["command"][1] == target and mode == "ro"


def test_the_router_of_the_compose_file_reaches_its_engine():
    folder = PACKAGING / "docker"
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    config = yaml.safe_load((folder / "router.yaml").read_text())
    (replica,) = config["replicas"]
    port = services["engine"]["command"][services["engine"]["command"].index("--listen") + 1].split(":")[1]
    assert replica["url"] == f"http://engine:{port}"
    assert services["router"]["ports"][0].split(":")[-1] == config["listen"].split(":")[1]
    assert (ended := run(BINARY, "check", folder / "router.yaml")).returncode == 0, ended.stderr
