#!/bin/bash
# Writes bench/results/elastic.md: elastic memory of one GPU, split in four ways, in a few minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in rates seeds rivals; do
  python3 bench/rooms/elastic.py "$table" | python3 bench/topics.py elastic "$table" bench/rooms/elastic.sh
done
