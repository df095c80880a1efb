#!/bin/bash
# Writes bench/results/early-refusals.md: what early refusals bring and cost at every load, in ten minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/early_refusals.py | python3 bench/topics.py early-refusals early bench/early_refusals.sh
