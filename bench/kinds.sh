#!/bin/bash
# Writes bench/results/kinds.md: the share on time of single kinds of requests, in four minutes. `--part 0.2` cuts the windows.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/kinds.py "$@" | python3 bench/topics.py kinds kinds "bench/kinds.sh $*"
