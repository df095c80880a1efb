#!/bin/bash
# Writes bench/results/grey.md: a replica that is slow or stands still in bursts, and false alarms: grey.sh [HOURS].
# HOURS of each of eight healthy workloads are simulated for the false alarms; 21 of each are a week, in half an hour.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in faults causes alarms; do
  python3 bench/rooms/grey.py "$table" "${1:-1}" | python3 bench/topics.py grey "$table" "bench/rooms/grey.sh ${1:-1}"
done
