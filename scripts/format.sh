#!/bin/sh
# Checks the layout of every C++ file with clang-format; --fix writes it.
set -eu
cd "$(dirname "$0")/.."
mode="--dry-run -Werror"
[ "${1:-}" = "--fix" ] && mode="-i"
find base kvmodel router backends config bench app tests cmake -name '*.h' -print0 -o -name '*.cc' -print0 |
  xargs -0 -r -n 40 -P "$(nproc)" clang-format $mode
