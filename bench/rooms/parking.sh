#!/bin/bash
# Writes the parking of bench/results/ablations.md: streams that lend their memory, or not, in half an hour.
#   bench/rooms/parking.sh [--carried] [--part P] [--seeds N] [--workers N]
# With --carried, the loads carried with and without them.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
block=parking
case " $* " in *" --carried "*) block=parking-carried ;; esac
python3 bench/rooms/parking.py "$@" | python3 bench/topics.py ablations "$block" "bench/rooms/parking.sh${*:+ $*}"
