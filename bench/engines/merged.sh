#!/bin/bash
# Writes bench/results/engines/merged.md: small embedding requests that share calls to their engine, or do not, in five minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in engine server; do
  python3 bench/engines/merged.py "$table" | python3 bench/topics.py engines/merged "$table" bench/engines/merged.sh
done
