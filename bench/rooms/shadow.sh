#!/bin/bash
# Writes bench/results/shadow.md: the estimate of a shadow against a run of its policy, in some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/rooms/shadow.py | python3 bench/topics.py shadow estimates bench/rooms/shadow.sh
