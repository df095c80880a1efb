"""The log while the wall clock jumps."""
import os
import shutil
import subprocess

import pytest
from processes import BINARY, free_port, get, replicas, wait_until
from test_log import burst, end, lines_of


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (clock == CLOCK_REALTIME) {
    FILE* file = fopen(getenv("CLOCK_LEAD"), "r");
    long lead = 0;
    if (file && fscanf(file, "%ld", &lead) == 1) now->tv_sec += lead;
    if (file) fclose(file);
  }
  return result;
}
"""


@pytest.mark.unsanitized
def test_a_wall_clock_that_jumps_changes_the_times_of_lines_and_nothing_else(folder, engine):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no compiler")
    (folder / "clock.c").write_text(CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "clock.so", folder / "clock.c", "-ldl"], check=True)
    lead = folder / "lead"
    lead.write_text("0")
    log = folder / "jumping.log"
    port = free_port()
    path = folder / "jumping.yaml"
    path.write_text(f"listen: 127.0.0.1:{port}\n{replicas([engine])}log: {{access: true, path: {log}}}\n")
    environment = {**os.environ, "LD_PRELOAD": str(folder / "clock.so"), "CLOCK_LEAD": str(lead)}
    process = subprocess.Popen([BINARY, "serve", str(path)], stderr=subprocess.DEVNULL, env=environment)
    try:
        wait_until(lambda: get(("127.0.0.1", port), "/readyz")[0] == 200, 30, "the router is ready")
        for jump in (0, -10 * 365 * 86400, 86400):
            lead.write_text(str(jump))
            burst(port, 3)
        wait_until(lambda: log.read_text().count('"path":"/v1/chat/completions"') == 9, 20, log.read_text)
        lines = [line for line in lines_of(log.read_text()) if line.get("path") == "/v1/chat/completions"]
        years = {line["time"][:4] for line in lines}
        assert len(years) >= 2
        assert all(0 <= line["total_s"] < 20 for line in lines)
    finally:
        end(process)
