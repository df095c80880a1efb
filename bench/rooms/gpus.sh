#!/bin/bash
# Writes bench/results/gpus.md: the fewest GPUs for the multi-model hour. `bench/rooms/gpus.sh --help` lists its flags.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/rooms/gpus.py "$@" | python3 bench/topics.py gpus gpus "bench/rooms/gpus.sh $*"
