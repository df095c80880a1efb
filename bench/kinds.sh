#!/bin/bash
# Writes bench/results/kinds.md: the share on time of single kinds of requests, in four minutes. `--part 0.2` cuts the windows.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in kinds flows padding; do
  python3 bench/kinds.py --table "$table" "$@" | python3 bench/topics.py kinds "$table" "bench/kinds.sh${*:+ $*}"
done
