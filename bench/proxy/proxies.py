"""The proxies of the proxy benchmark, their configurations, and the load client in front of them."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import gateways

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
RIVALS = ROOT / "build/tools/rivals"
STUB_PORTS = (19101, 19102, 19103)
PORTS = {"direct": 19101, "nginx": 19110, "haproxy": 19120, "penstock": 19130,
         **{name: 19140 + 10 * i for i, name in enumerate(gateways.NAMES)}}
WAYS = ("direct", "nginx", "haproxy", "penstock")
PROXIES = WAYS[1:]

NGINX = """
daemon off; worker_processes {threads}; worker_rlimit_nofile {files}; pid {folder}/nginx.pid; error_log stderr crit;
events {{ worker_connections {files}; multi_accept on; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  keepalive_requests 1000000000; keepalive_timeout 75s; tcp_nodelay on;
  client_max_body_size 64m; client_body_buffer_size 64k;
  upstream engines {{ least_conn; {servers} keepalive 512; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_pass http://engines; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 600s;
    }}
  }}
}}
"""

HAPROXY = """
global
  maxconn {connections}
  nbthread {threads}
  stats socket {folder}/haproxy.sock
defaults
  mode http
  timeout connect 3s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 75s
  option http-no-delay
  http-reuse always
frontend clients
  bind 127.0.0.1:{port} backlog 4096
  default_backend engines
backend engines
  balance leastconn
{servers}
"""

# Full admission: classes refuse late requests, every request is forecast, leased, placed and recorded.
PENSTOCK = """
listen: 127.0.0.1:{port}
threads: {threads}
gpus:
  - {{id: a, kind: h100}}
  - {{id: b, kind: h100}}
replicas:
  - {{id: s1, url: http://127.0.0.1:{first}, gpus: [a], engine: openai, model: stub, kv_tokens: 400000000,
     max_context: 2000000, max_seqs: 65536, max_batched_tokens: 16777216}}
  - {{id: s2, url: http://127.0.0.1:{second}, gpus: [b], engine: openai, model: stub, kv_tokens: 400000000,
     max_context: 2000000, max_seqs: 65536, max_batched_tokens: 16777216}}
  - {{id: p1, url: http://127.0.0.1:{third}, gpus: [b], engine: openai, model: parked, kv_tokens: 100000,
     max_context: 100000, max_seqs: 1}}
classes:
  standard: {{ttft: 600s, tpot: 100s, queue: 600s, default: true}}
"""


class Proxy:
    """One running proxy: its processes and where it listens."""

    running = []
    patience = 60  # Seconds until it answers: a gateway in Python loads for long.

    def __init__(self, name, folder, threads=1):
        self.name = name
        self.port = PORTS[name]
        self.process = None
        self.flags = []
        if name == "direct":
            return
        files = os.sysconf("SC_OPEN_MAX")
        first, second, third = STUB_PORTS
        nginx_servers = "".join(f"server 127.0.0.1:{port} max_fails=0; " for port in (first, second))
        haproxy_servers = "\n".join(f"  server s{port} 127.0.0.1:{port}" for port in (first, second))
        values = dict(port=self.port, threads=threads, folder=folder, files=files, connections=(files - 100) // 2,
                     first=first, second=second, third=third)
        environment = dict(os.environ)
        config = pathlib.Path(folder, f"{name}.conf")
        if name == "nginx":
            config.write_text(NGINX.format(servers=nginx_servers, **values))
            command = [RIVALS / "usr/sbin/nginx", "-p", folder, "-c", config]
        elif name == "haproxy":
            config.write_text(HAPROXY.format(servers=haproxy_servers, **values))
            command = [RIVALS / "usr/sbin/haproxy", "-db", "-q", "-f", config]
            environment["LD_LIBRARY_PATH"] = str(RIVALS / "usr/lib/x86_64-linux-gnu")
        elif name in gateways.NAMES:
            command = gateways.command(name, self.port, (first, second), folder)
            environment = gateways.environment()
            self.flags = gateways.client_flags(name, (first, second))
        else:
            config.write_text(PENSTOCK.format(**values))
            command = [os.environ.get("PENSTOCK", BUILD / "penstock"), "serve", "--config", config]
        self.start(command, environment, folder, threads)

    def start(self, command, environment, folder, threads):
        name = self.name
        core = "0" if threads == 1 else "0,1"
        self.process = subprocess.Popen(["taskset", "-c", core, *map(str, command)], env=environment,
                                        stdout=subprocess.DEVNULL, stderr=open(pathlib.Path(folder, f"{name}.err"), "w"))
        Proxy.running.append(self)
        wait_for(self.port, self.patience)
        self.ready()
        if self.process.poll() is not None:
            sys.exit(f"{name} ended at once; is its port taken?")

    def ready(self):
        """Until a request is answered with 200."""
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            if client(self, "--seconds", 0.01, "--connections", 1, quiet=True)["requests"] > 0:
                return
            time.sleep(0.1)
        sys.exit(f"{self.name} does not answer")

    def pids(self):
        if self.process is None:
            return []
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def resident(self):
        """Bytes in memory that are its own."""
        total = 0
        for pid in self.pids():
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Private_Clean:", "Private_Dirty:")):
                    total += int(line.split()[1]) * 1024
        return total

    def stop(self):
        if self in Proxy.running:
            Proxy.running.remove(self)
            self.process.send_signal(signal.SIGINT if self.name == "penstock" else signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def wait_for(port, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    sys.exit(f"nothing listens on {port}")


def client_command(proxy, arguments):
    pids = [part for pid in proxy.pids() for part in ("--pid", str(pid))]
    return ["taskset", "-c", "1", str(BUILD / "bench/proxy/proxy_client"), "--port", str(proxy.port), *pids,
            *proxy.flags, *map(str, arguments)]


def client(proxy, *arguments, quiet=False):
    result = subprocess.run(client_command(proxy, arguments), stdout=subprocess.PIPE, check=False,
                            stderr=subprocess.DEVNULL if quiet else None)
    if result.returncode != 0 and not quiet:
        sys.exit(f"{proxy.name}: the load failed: {arguments}")
    answer = json.loads(result.stdout)
    answer["cpu_per_request"] = answer["cpu_us"] / max(1, answer["requests"])
    answer["cpu_per_event"] = answer["cpu_us"] / max(1, answer["events"])
    answer["rate"] = answer["requests"] / max(1e-9, answer["seconds"])
    return answer


class Held:
    """Open streams, or waiting requests, until it is left."""

    def __init__(self, proxy, *arguments):
        self.process = subprocess.Popen(client_command(proxy, ("--mode", "hold", *arguments)), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.result = json.loads(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.communicate("\n")
