#!/bin/bash
# Writes bench/results/batching.md: bursts of requests over one long prompt, with and without waiting, in three minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in fanout others; do
  python3 bench/rooms/batching.py "$table" | python3 bench/topics.py batching "$table" bench/rooms/batching.sh
done
