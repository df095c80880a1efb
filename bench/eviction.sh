#!/bin/bash
# Writes bench/results/eviction.md: bursts of interactive requests on a fleet full of background jobs, and with parking, in some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/eviction.py | python3 bench/topics.py eviction bursts bench/eviction.sh
python3 bench/rooms/eviction_waits.py | python3 bench/topics.py eviction waits bench/eviction.sh
python3 bench/rooms/two_classes.py | python3 bench/topics.py eviction two-classes bench/eviction.sh
