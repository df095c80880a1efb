#!/bin/bash
# Soak: many requests go through the router onto the stub: bench/soak.sh [REQUESTS].
# The default is 1,000,000, half of them streams; 30,000 take under half a minute. The soak fails when memory grows: the last
# quarter is more than 2 % above the second. It also fails when a lease, a connection or a descriptor is left.
# A run without an argument replaces the table of bench/results/soak.md.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock proxy_stub proxy_client >/dev/null
exec python3 bench/proxy/soak.py "$@"
