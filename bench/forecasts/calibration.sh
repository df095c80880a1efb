#!/bin/bash
# Writes the bands of bench/results/forecast.md: the forecasts' own bands against their errors, in ten minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/forecasts/calibration.py | python3 bench/topics.py forecast bands bench/forecasts/calibration.sh
