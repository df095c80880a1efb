#!/bin/bash
# Writes bench/results/fairness.md: a quiet tenant beside a flood, and the cost of fair shares, in five minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in flood cost; do
  python3 bench/fairness.py "$table" | python3 bench/topics.py fairness "$table" bench/fairness.sh
done
