"""Signals beside SIGTERM and SIGHUP, and signals while a command starts."""
import glob
import signal
import subprocess
import time

from processes import BINARY, Engine, Router, free_port
from test_lifecycle import finish_stream, start_stream


def test_sigquit_drains_and_signals_without_a_meaning_do_nothing(folder):
    with Engine(folder) as engine, Router(folder, [engine]) as router:
        connection, received = start_stream(router, 200)
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
            router.signal(number)
        text = finish_stream(connection, received)
        assert text.count(b'"content"') >= 200 and b"[DONE]" in text
        assert router.process.wait(20) == 0


def blocks(process, number):
    """True once a thread of the process blocks the signal. The main thread shows none while it waits for signals."""
    masks = []
    for thread in glob.glob(f"/proc/{process.pid}/task/*/status"):
        with open(thread) as status:
            masks += [line.split()[1] for line in status if line.startswith("SigBlk")]
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)


def started_until_it_blocks(number, *arguments, **pipes):
    """A command that just began to block the signal. Without a pause between two looks: a start takes some milliseconds."""
    process = subprocess.Popen([BINARY, *arguments], **pipes)
    end = time.monotonic() + 20
    while not blocks(process, number):
        assert time.monotonic() < end, "the command blocks its signals"
    return process


def test_a_signal_that_comes_while_the_router_starts_is_not_lost(folder):
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGQUIT):
        process = started_until_it_blocks(number, "serve", "--listen", f"127.0.0.1:{free_port()}", "--replica",
                                          "http://127.0.0.1:9", stderr=subprocess.PIPE)
        process.send_signal(number)
        assert any(b"listening" in line for line in process.stderr), number
        if number not in (signal.SIGTERM, signal.SIGQUIT):
            process.terminate()
        process.stderr.read()
        assert process.wait(20) == 0, number


def test_a_demo_that_is_ended_while_it_starts_has_not_failed():
    process = started_until_it_blocks(signal.SIGINT, "demo", "--listen", f"127.0.0.1:{free_port()}",
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 0 and b"did not come up" not in said, said


def test_a_demo_that_could_not_write_its_figures_fails():
    with open("/dev/full", "w") as full:
        ended = subprocess.run([BINARY, "demo", "--listen", f"127.0.0.1:{free_port()}", "--beside", "none", "--duration", "1s"],
                               stdout=full, stderr=subprocess.DEVNULL, timeout=60)
    assert ended.returncode == 1
