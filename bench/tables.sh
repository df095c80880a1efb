#!/bin/bash
# Makes the tables of bench/results/ anew, from one revision in one run:
#   bench/tables.sh             whole windows, all rivals and settings: a day of two cores
#   bench/tables.sh --short     a fifth of each first window, the strongest rivals: about half an hour of two idle cores
#   bench/tables.sh --reduced   generated workloads of seconds, for CI: writes copies under build/tables/, and checks them
# It makes the pages of bench/policies.sh, bench/kinds.sh and bench/rooms/gpus.sh. Runs of
# bench/policies.sh that were interrupted are resumed. Other pages have benches of their own (bench/results/README.md).
set -euo pipefail
cd "$(dirname "$0")/.."

rivals=least_request,cache_aware,dynamo_cost,llmd_concurrency,present_use
case "${1:-}" in
  --reduced)
    export PENSTOCK_RESULTS="$PWD/build/tables" PENSTOCK_TRACES=none
    rm -rf build/tables
    cp -r bench/results build/tables
    bench/policies.sh --scenarios one-copy,rag,two-classes --windows 1 --part 0.1 --loads 0.7,1.0,1.25 --seeds 1 \
      --carried-seeds 2 --policies least_request,cache_aware --settings-of one-copy --no-plots
    bench/kinds.sh --part 0.2
    bench/rooms/gpus.sh --seconds 60 --seeds 2 --rates 0.1
    python3 bench/rooms/check_tables.py build/tables one-copy rag two-classes
    ;;
  --short)
    bench/kinds.sh --part 0.5
    bench/policies.sh --windows 1 --part 0.2 --loads 0.7,1.0,1.25 --seeds 1 --policies "$rivals" \
      --settings-of one-copy --no-plots
    bench/rooms/gpus.sh --seconds 300 --seeds 5 --rates 0.25
    ;;
  "")
    bench/policies.sh
    bench/kinds.sh
    bench/rooms/gpus.sh
    ;;
  *)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
    ;;
esac
