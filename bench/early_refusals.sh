#!/bin/bash
# Writes bench/results/early-refusals.md: what early refusals bring and cost at every load, in a quarter of an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in early rivals; do
  python3 bench/early_refusals.py "$table" | python3 bench/topics.py early-refusals "$table" bench/early_refusals.sh
done
