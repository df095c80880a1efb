"""The commands of the README run as printed, and the commands, flags and pages that it names exist."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

from printed import blocks, run, text_of, with_free_ports  # noqa: E402
from processes import BINARY, ROOT, Engine  # noqa: E402

README = text_of("README.md")
COMMANDS = [line for block in blocks(README, "") for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def help_of(*command):
    return subprocess.run([BINARY, *command, "--help"], capture_output=True, text=True, timeout=30).stdout


def commands():
    return re.findall(r"^  (\w+) ", help_of().split("Subcommands:")[1], re.MULTILINE)


def test_the_readme_has_only_commands_that_are_run_here():
    starts = {command.split()[0] for command in COMMANDS}
    # tests/e2e/packages installs the packages; nobody's service is started here.
    installs = {"apt", "tar", "penstock", "systemctl"}
    assert starts - installs == {"./run.sh", "build/release/penstock", "curl"}


def test_the_router_in_front_of_two_engines_answers_the_printed_request(folder, tmp_path):
    serve = next(command for command in COMMANDS if " serve " in command)
    curl = next(command for command in COMMANDS if command.startswith("curl"))
    with Engine(folder) as one, Engine(folder) as two:
        script = with_free_ports(f"{serve} &\ncurl -sf --retry 30 --retry-delay 1 --retry-connrefused URL/readyz\n{curl}")
        listen = re.search(r"--listen (\S+)", script)[1]
        for printed, engine in zip(re.findall(r"--replica (\S+)", script), (one, two)):
            script = script.replace(printed, engine.url)
        script = script.replace("URL/", f"http://{listen}/").replace("build/release/penstock", "penstock").replace("MODEL", one.model)
        code, output = run(script, tmp_path)
    assert code == 0 and "data: [DONE]" in output, output


def test_the_simulation_runs_as_printed(tmp_path):
    simulate = next(command for command in COMMANDS if " simulate " in command)
    code, output = run(simulate.replace("build/release/penstock", "penstock"), tmp_path, cwd=ROOT)
    assert code == 0 and "on time" in output, output


def test_the_table_of_commands_is_complete():
    table = README.split("## Commands")[1].split("\n## ")[0]
    assert sorted(set(re.findall(r"^\| `penstock (\w+)", table, re.MULTILINE))) == sorted(commands())


def test_every_flag_that_the_readme_names_exists():
    texts = "".join(help_of(command) for command in commands())
    ours = "\n".join(line for line in README.splitlines() if not line.startswith("systemctl "))
    for flag in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ours)):
        assert flag in texts, flag


def test_every_page_that_the_readme_links_exists_and_every_page_is_linked():
    linked = set(re.findall(r"\]\((docs/[\w./-]+\.md)\)", README))
    assert all((ROOT / page).exists() for page in linked)
    assert {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - linked == set()
