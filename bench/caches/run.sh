#!/bin/bash
# Writes bench/results/caches/, in some minutes: run.sh [host-cache | kv-events]. Prefix caches are compared with and
# without the memory of their hosts, and with and without the events of their engines (kv_events).
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
for page in ${1:-host-cache kv-events}; do
  for table in agentic rag long-context; do
    [ "$page/$table" != host-cache/rag ] || continue
    python3 "bench/caches/${page/-/_}.py" "$table" | python3 bench/topics.py "caches/$page" "$table" bench/caches/run.sh
  done
done
