#!/bin/bash
# Writes bench/results/pairs/pairs.md: long prompts beside a chat, on pairs and on plain replicas, in some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/pairs/pairs.py | python3 bench/topics.py pairs/pairs pairs bench/pairs/run.sh
