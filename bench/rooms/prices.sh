#!/bin/bash
# Writes the prices of bench/results/gpus.md: the cost of active tokens on two kinds of GPU, in ten minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/rooms/prices.py | python3 bench/topics.py gpus prices bench/rooms/prices.sh
