#!/bin/bash
# Writes bench/results/caches/host-cache.md: prefix caches with and without the memory of their hosts, in some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in agentic long-context; do
  python3 bench/caches/host_cache.py "$table" | python3 bench/topics.py caches/host-cache "$table" bench/caches/run.sh
done
