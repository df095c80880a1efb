#!/bin/bash
# Writes bench/results/engines/speculation.md: engines with speculative decoding, with and without learning the tokens of
# a step, in two minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in goals memory; do
  python3 bench/engines/speculation.py "$table" | python3 bench/topics.py engines/speculation "$table" bench/engines/speculation.sh
done
