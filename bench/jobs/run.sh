#!/bin/bash
# Writes bench/results/jobs/jobs.md: a job beside interactive load, alone, its memory and its prefixes, in about half an hour.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build build/release --target penstock >/dev/null
python3 bench/jobs/simulated.py | python3 bench/topics.py jobs/jobs simulated "bench/jobs/simulated.py"
for table in day held; do
  {
    python3 bench/jobs/simulated.py --$table
    printf '\nThe same with `--peak 32`:\n\n'
    python3 bench/jobs/simulated.py --$table --peak 32
  } | python3 bench/topics.py jobs/jobs $table "bench/jobs/simulated.py --$table"
done
for table in beside alone memory prefixes; do
  python3 bench/jobs/jobs.py "$table" | python3 bench/topics.py jobs/jobs "$table" bench/jobs/run.sh
done
