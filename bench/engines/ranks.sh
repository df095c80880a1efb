#!/bin/bash
# Writes bench/results/engines/ranks.md: engines with data-parallel ranks, seen as they are or as one pool, in two minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in chat prompts; do
  python3 bench/engines/ranks.py "$table" | python3 bench/topics.py engines/ranks "$table" bench/engines/ranks.sh
done
