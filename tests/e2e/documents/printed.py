"""The commands of a document, and a shell that runs them as they are printed."""
import os
import pathlib
import re
import signal
import subprocess
import sys

from processes import BINARY, ROOT, free_port, wait_until

STAND_IN = pathlib.Path(__file__).with_name("stand_in.py")
# Ports that documents print. A run takes free ones in their place.
PORTS = re.compile(r"(?<=127\.0\.0\.1:)(?:80|90|40)\d\d\b|(?<=--port )\d+\b")


def text_of(document):
    return (ROOT / document).read_text()


def sections(document):
    """The text below each heading of the second level, by heading."""
    parts = re.split(r"^## (.+)$", text_of(document), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def blocks(text, language=r"\w*"):
    """The fenced blocks of a text whose language fits."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for found, block in fenced if re.fullmatch(language, found)]


def with_free_ports(text):
    ports = {}
    return PORTS.sub(lambda match: str(ports.setdefault(match[0], free_port())), text)


def make_tools(folder, stand_in):
    """A folder with the commands that documents call: penstock, and engines that a program plays."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "penstock").symlink_to(pathlib.Path(BINARY).resolve())
    for name in ("vllm", "llama-server"):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "{stand_in}" {name} "$@"\n')
        (tools / name).chmod(0o755)
    return tools


def gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def end_group(shell):
    """Ends what the commands left running."""
    if gone(shell.pid):
        return
    os.killpg(shell.pid, signal.SIGTERM)
    try:
        wait_until(lambda: shell.poll() is not None and gone(shell.pid), 10, "the commands have ended")
    except AssertionError:
        os.killpg(shell.pid, signal.SIGKILL)
        raise


def run(script, folder, seconds=60, cwd=None, stand_in=STAND_IN):
    """(exit code, output) of a script in a shell of its own that stops at the first failure."""
    path = f"{make_tools(folder, stand_in)}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PENSTOCK_BINARY": str(pathlib.Path(BINARY).resolve())}
    output = folder / "output"
    with open(output, "wb") as log:
        shell = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=cwd or folder, env=environment,
                                 stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = shell.wait(seconds)
        except subprocess.TimeoutExpired:
            code = "not ended in time"
        finally:
            end_group(shell)
    return code, output.read_text(errors="replace")


def check(config, folder):
    """The result of `penstock check` on the text of a configuration."""
    file = folder / "penstock.yaml"
    file.write_text(config)
    return subprocess.run([BINARY, "check", "--config", str(file)], capture_output=True, text=True, timeout=30)
