#!/bin/sh
# Builds a preset: scripts/build.sh PRESET [TARGET...]. Configures it first when needed. Progress goes to stderr.
set -eu
cd "$(dirname "$0")/.."
preset="$1"
shift
if [ ! -f "build/$preset/build.ninja" ]; then
  cmake --preset "$preset" >&2
fi
if [ $# -gt 0 ]; then
  exec cmake --build "build/$preset" --parallel "$(scripts/jobs.sh)" --target "$@" >&2
fi
exec cmake --build "build/$preset" --parallel "$(scripts/jobs.sh)" >&2
