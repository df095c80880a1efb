#!/bin/sh
# Runs clang-tidy: scripts/lint.sh [--all | FILE...] (scripts/lint.py says which files). The compile commands are those of a
# build without precompiled headers, which clang could not read; nothing is built.
set -eu
cd "$(dirname "$0")/.."
cmake -S . -B build/lint -G Ninja -DCMAKE_BUILD_TYPE=Release -DPENSTOCK_PRECOMPILED=OFF -DPENSTOCK_TESTS=OFF >/dev/null
exec python3 scripts/lint.py "$@"
