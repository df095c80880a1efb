#!/bin/bash
# Writes bench/results/attention.md: the share on time with linear and with quadratic prefill, in some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/attention.py | python3 bench/topics.py attention attention bench/attention.sh
