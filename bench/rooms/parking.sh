#!/bin/bash
# Writes the parking of bench/results/ablations.md: streams that lend their memory, or not, in half an hour.
#   bench/rooms/parking.sh [--part P] [--seeds N] [--workers N]
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/rooms/parking.py "$@" | python3 bench/topics.py ablations parking "bench/rooms/parking.sh${*:+ $*}"
