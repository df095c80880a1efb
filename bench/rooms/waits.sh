#!/bin/bash
# Writes the waits of bench/results/kinds.md: requests that wait for a model, an adapter or others, in some seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/rooms/waits.py | python3 bench/topics.py kinds waits bench/rooms/waits.sh
