#!/bin/sh
# Runs clang-tidy: scripts/lint.sh [FILE...]. Without files: the sources of the folders without coroutines that changed
# since the last clean run (clang-tidy 14 cannot parse the coroutines of Asio with libstdc++ 12).
# Needs build/release/compile_commands.json.
set -eu
cd "$(dirname "$0")/.."
folders="base kvmodel router/core router/telemetry router/policies config backends/dialect backends/simulated bench"
stamp=build/lint.stamp

if [ $# -eq 0 ]; then
  newer=""
  # A new header, check list or flag may change the verdict on any file; a new source only its own.
  if [ -f "$stamp" ] && [ -z "$(find kvmodel router backends config bench .clang-tidy -newer "$stamp" \
      \( -name '*.h' -o -name .clang-tidy -o -name CMakeLists.txt \) -print -quit)" ]; then
    newer="-newer $stamp"
  fi
  mkdir -p build
  touch "$stamp.new"
  set -- $(find $folders -name '*.cc' -not -path '*/micro/*' $newer -exec grep -LE 'boost/(asio|beast)|backends/(upstream|adapter)\.h|bench/load_|openai_adapter\.h' {} + | sort)
  [ $# -eq 0 ] && { mv "$stamp.new" "$stamp"; exit 0; }
  checked_all=1
fi

echo "lint: $# files" >&2
printf '%s\n' "$@" | xargs -n 4 -P "$(nproc)" clang-tidy -p build/release --quiet --warnings-as-errors='*' 2>/dev/null
[ -n "${checked_all:-}" ] && mv "$stamp.new" "$stamp"
exit 0
