#!/bin/bash
# Writes the programs of bench/results/forecast.md: output curves by program, on and off, in five minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/forecasts/levels.py | python3 bench/topics.py forecast programs bench/forecasts/levels.sh
