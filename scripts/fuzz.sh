#!/bin/sh
# Runs every fuzzer for some seconds, two at a time: scripts/fuzz.sh [SECONDS]. Needs the packages of `setup.sh all`.
# Inputs that fail lie under build/fuzz/found; their names begin with the fuzzer. New inputs stay under build/fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."
seconds="${1:-60}"
scripts/build.sh fuzz fuzzers
mkdir -p build/fuzz/found
export ASAN_OPTIONS="allocator_may_return_null=1" UBSAN_OPTIONS="halt_on_error=1 print_stacktrace=1"
for folder in tests/fuzz/corpus/*; do basename "$folder"; done |
  xargs -P 2 -I{} sh -c 'mkdir -p build/fuzz/corpus/{} && nice build/fuzz/tests/fuzz/{}_fuzz build/fuzz/corpus/{} \
      tests/fuzz/corpus/{} -max_total_time='"$seconds"' -timeout=60 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
      -artifact_prefix=build/fuzz/found/{}- >build/fuzz/{}.log 2>&1 || { tail -40 build/fuzz/{}.log >&2; exit 1; }
      echo "{}: $(grep -o "stat::number_of_executed_units: *[0-9]*" build/fuzz/{}.log | grep -o "[0-9]*$") runs" >&2'
