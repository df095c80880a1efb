#!/bin/bash
# Writes bench/results/nodes/storage.md: requests that need the storage of their nodes, in some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in needs learned others; do
  python3 bench/rooms/storage.py "$table" | python3 bench/topics.py nodes/storage "$table" bench/rooms/storage.sh
done
