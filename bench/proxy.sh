#!/bin/bash
# Measures Penstock beside nginx and HAProxy with the same traffic on loopback: bench/proxy.sh [--quick] [--only PARTS].
# Five alternating runs each take under 12 minutes, --quick under one. PARTS: short,half,streams,memory,prompts,waiting,scaling,
# gateways. The last part runs the gateways that bench/proxy/install_gateways.sh has installed.
# A part replaces its tables in bench/results/proxy.md or gateways.md; --quick prints them only.
# The rivals are Debian packages. They are unpacked without being installed, so no service starts.
set -euo pipefail
cd "$(dirname "$0")/.."

rivals="build/tools/rivals"
if [ ! -x "$rivals/usr/sbin/nginx" ] || [ ! -x "$rivals/usr/sbin/haproxy" ]; then
  mkdir -p "$rivals/packages"
  (cd "$rivals/packages" && apt-get download -q nginx haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1)
  for package in "$rivals"/packages/*.deb; do dpkg-deb -x "$package" "$rivals"; done
fi

[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock proxy_stub proxy_client >/dev/null
ulimit -n "$(ulimit -Hn)"
exec python3 bench/proxy/bench.py "$@"
