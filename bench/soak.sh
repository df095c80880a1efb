#!/bin/bash
# Soak: many requests through the router onto the stub, and what is left afterwards: bench/soak.sh [REQUESTS].
# Default 1,000,000, half of them streams; 30,000 take under half a minute. Fails when memory grows (the last quarter is more
# than 2 % above the second), or when a lease, a connection or a descriptor is left.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock proxy_stub proxy_client >/dev/null
exec python3 bench/proxy/soak.py "${1:-1000000}"
