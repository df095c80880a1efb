#!/bin/bash
# Writes bench/results/agents.md: coding agents with and without the names of their sessions, in a quarter of an hour.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for table in hashes names; do
  python3 bench/rooms/agents.py "$table" | python3 bench/topics.py agents "$table" bench/rooms/agents.sh
done
