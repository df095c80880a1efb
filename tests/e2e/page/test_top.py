"""`penstock top` on a pseudo terminal, and as plain lines."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest
from processes import BINARY, Engine, Router, free_port, replicas

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Screen:
    """A `penstock` on a pseudo terminal. `lines` is the last whole frame without its colours."""

    def __init__(self, arguments, columns=80, rows=24):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.process = subprocess.Popen([BINARY, *arguments], stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.output = ""

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if hasattr(self, "process"):
            self.process.send_signal(signal.SIGWINCH)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self):
        if select.select([self.master], [], [], 0.1)[0]:
            try:
                self.output += os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # The other end is closed.
                pass
        self.output = self.output[-200_000:]

    def lines(self):
        frames = re.findall(r"\x1b\[H(.*?)\x1b\[J", self.output, re.DOTALL)
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frames[-1]) if frames else ""
        return plain.replace("\r", "").split("\n")  # The pseudo terminal turns a line feed into both.

    def until(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not condition(self.lines()):
            assert time.monotonic() < end, "\n".join(self.lines())
            assert self.process.poll() is None, self.output[-2000:]
            self.read()
        return self.lines()

    def end(self, seconds=20):
        stop = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < stop, "it does not end"
            self.read()
        self.read()
        os.close(self.master)
        return self.process.returncode


@pytest.fixture(scope="module")
def fleet(folder):
    with Engine(folder, name="one") as one, Engine(folder, name="two") as two:
        config = "replicas:\n" + "".join(f"  - {{id: {name}, url: '{engine.url}'}}\n" for name, engine in (("one", one), ("two", two)))
        with Router(folder, config=config) as router:
            yield router


def test_fits_the_terminal_and_follows_its_size(fleet):
    screen = Screen(["top", fleet.url])
    lines = screen.until(lambda found: any(line.startswith("one ") for line in found))
    assert len(lines) == 24 and max(map(len, lines)) <= 80
    assert lines[0].startswith("penstock ") and fleet.url in lines[0]
    screen.resize(40, 12)
    lines = screen.until(lambda found: len(found) == 12)
    assert max(map(len, lines)) <= 40 and any(line.startswith("one ") for line in lines)
    screen.press("q")
    assert screen.end() == 0
    assert screen.output.count(ENTER) == 1 and screen.output.rstrip().endswith(LEAVE)


def test_a_terminal_of_40_columns_shows_whole_words_of_every_replica(fleet):
    screen = Screen(["top", fleet.url], columns=40, rows=12)
    lines = screen.until(lambda found: any(line.startswith("one ") for line in found))
    assert len(lines) == 12 and max(map(len, lines)) <= 40
    assert lines[0].startswith("penstock ")
    assert all(any(re.match(rf"{name} +up ", line) for line in lines) for name in ("one", "two")), lines
    screen.press("w")
    assert max(map(len, screen.until(lambda found: "Nobody waits." in found))) <= 40
    screen.press("q")
    assert screen.end() == 0


def test_keys_filter_sort_and_change_the_panel(fleet):
    screen = Screen(["top", fleet.url])
    screen.until(lambda found: any(line.startswith("one ") for line in found))
    screen.press("/tw")
    screen.until(lambda found: "filter: tw" in found[-1] and not any(line.startswith("one ") for line in found))
    screen.press("\x1b")
    screen.until(lambda found: any(line.startswith("one ") for line in found))
    screen.press("sS")
    order = screen.until(lambda found: any("REPLICA-" in line for line in found))
    names = [line.split()[0] for line in order if line.startswith(("one ", "two "))]
    assert names == ["two", "one"]
    screen.press("w")
    screen.until(lambda found: "Nobody waits." in found)
    screen.press("\x03")
    assert screen.end() == 0


def test_says_that_the_router_is_lost_and_finds_it_again(folder):
    with Engine(folder) as engine:
        port = free_port()
        with Router(folder, [engine], port=port):
            screen = Screen(["top", f"http://127.0.0.1:{port}"])
            screen.until(lambda found: any("up 1/1" in line for line in found))
        screen.until(lambda found: "LOST" in found[0])
        with Router(folder, [engine], port=port):
            screen.until(lambda found: "LOST" not in found[0])
            screen.process.send_signal(signal.SIGTERM)
            assert screen.end() == 0
            assert screen.output.rstrip().endswith(LEAVE)


def test_prints_plain_lines_where_the_output_is_no_terminal(fleet):
    done = subprocess.run([BINARY, "top", fleet.url, "--lines", "2", "--interval", "1s"], capture_output=True, text=True, timeout=20)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 2 and "\x1b" not in done.stdout
    assert all("replicas 2/2" in line for line in lines)


def test_names_what_is_wrong(folder):
    nobody = subprocess.run([BINARY, "top", f"http://127.0.0.1:{free_port()}", "--lines", "1"], capture_output=True, text=True, timeout=20)
    assert nobody.returncode == 1 and "refused" in nobody.stderr
    with Engine(folder) as engine, Router(folder, config=replicas([engine]) + "admin_keys: [an-admin-key]\n") as router:
        arguments = [BINARY, "top", router.url, "--lines", "1"]
        denied = subprocess.run(arguments, capture_output=True, text=True, timeout=20)
        assert denied.returncode == 1 and "wants an admin key in PENSTOCK_ADMIN_KEY" in denied.stderr
        other = {**os.environ, "PENSTOCK_ADMIN_KEY": "another-key"}
        denied = subprocess.run(arguments, capture_output=True, text=True, timeout=20, env=other)
        assert denied.returncode == 1 and "refuses the admin key in PENSTOCK_ADMIN_KEY" in denied.stderr
        none = subprocess.run([BINARY, "top", engine.url, "--lines", "1"], capture_output=True, text=True, timeout=20)
        assert none.returncode == 1 and "no page of a router is there" in none.stderr
        given = {**os.environ, "PENSTOCK_ADMIN_KEY": "an-admin-key"}
        assert subprocess.run(arguments, capture_output=True, text=True, timeout=20, env=given).returncode == 0


def test_the_demo_shows_it_too(folder):
    screen = Screen(["demo", "--listen", f"127.0.0.1:{free_port()}"])
    lines = screen.until(lambda found: any(line.startswith("chat-a ") for line in found), seconds=40)
    assert len(lines) == 24 and max(map(len, lines)) <= 80
    contest = screen.until(lambda found: any(re.match(r"round_robin +on time", line) for line in found), seconds=40)
    assert any(re.match(r"penstock +on time +[0-9.]+%", line) for line in contest)
    screen.press("q")
    assert screen.end() == 0
    assert "page     http://127.0.0.1:" in screen.output.replace("\r", "")


def test_the_demo_in_a_terminal_of_40_columns_shows_both_policies(folder):
    screen = Screen(["demo", "--listen", f"127.0.0.1:{free_port()}"], columns=40, rows=16)
    lines = screen.until(lambda found: any(re.match(r"round_robin +on time +[0-9.]+%", line) for line in found), seconds=40)
    assert len(lines) == 16 and max(map(len, lines)) <= 40
    assert any(re.match(r"penstock +on time +[0-9.]+%", line) for line in lines)
    assert any(re.match(r"chat-a +up ", line) for line in lines)
    screen.press("q")
    assert screen.end() == 0


def test_the_demo_compares_policies_of_the_same_traffic_when_piped(folder):
    command = [BINARY, "demo", "--listen", f"127.0.0.1:{free_port()}", "--duration", "6s"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0, shown.stderr
    rows = [line for line in shown.stdout.splitlines() if "same traffic" in line]
    assert len(rows) >= 2, "one beside each line of the demo, one at the end"
    assert re.search(r"penstock: on time .*round_robin: on time ", rows[-1]), rows[-1]
    alone = subprocess.run([*command[:-1], "1s", "--beside", "none"], capture_output=True, text=True, timeout=60)
    assert alone.returncode == 0 and "same traffic" not in alone.stdout
    unknown = subprocess.run([*command, "--beside", "luck"], capture_output=True, text=True, timeout=60)
    assert unknown.returncode != 0 and "luck" in unknown.stderr
