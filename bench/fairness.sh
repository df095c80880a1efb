#!/bin/bash
# Writes bench/results/fairness.md: quiet and large tenants beside a flood, and the cost of fair shares, in six minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in flood large cost; do
  python3 bench/fairness.py "$table" | python3 bench/topics.py fairness "$table" bench/fairness.sh
done
