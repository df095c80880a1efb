#!/bin/bash
# Writes bench/results/market.md: the GPUs that models with little demand need where they sleep, in an hour of arrivals.
# `bench/market.sh day` makes one table.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in ${1:-gpus awake share rivals host turns day}; do
  python3 bench/market.py "$table" | python3 bench/topics.py market "$table" bench/market.sh
done
