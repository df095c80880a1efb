#!/bin/bash
# Sets up, builds and runs the tests: ./test.sh [--all] [--only NAME]. The flag --all adds the long tests and the lint of
# every file. With --only, the stages of this name run after the release build, or those of a pattern such as "soak*".
# The last line is "N passed, N failed, N skipped"; the exit code is 0 when nothing failed.
set -u
cd "$(dirname "$0")"

long=0
only="*"
met=0
while [ $# -gt 0 ]; do
  case "$1" in
    --all) long=1 ;;
    --only)
      [ -n "${2:-}" ] || { echo "--only needs the name of a stage" >&2; exit 2; }
      only="$2"
      shift
      ;;
    *) echo "usage: ./test.sh [--all] [--only NAME]" >&2; exit 2 ;;
  esac
  shift
done

passed=0
failed=0
skipped=0
summary=()
started=$SECONDS

say() { printf '\n== %s\n' "$*"; }

# add NAME SECONDS "passed failed skipped"
add() {
  local counts
  read -r -a counts <<<"$3"
  passed=$((passed + counts[0]))
  failed=$((failed + counts[1]))
  skipped=$((skipped + counts[2]))
  summary+=("$(printf '%-28s %5d s  %5d passed %3d failed %3d skipped' "$1" "$2" "${counts[@]}")")
}

# wanted NAME: whether --only lets the stage run.
wanted() {
  # shellcheck disable=SC2053  # A pattern.
  [[ "$1" == $only ]] && met=1
}

# step NAME COMMAND...: a stage that is one test. A build is no choice of --only.
step() {
  local name="$1" from=$SECONDS
  shift
  [[ "$name" == build* ]] || wanted "$name" || return 0
  say "$name"
  if "$@"; then add "$name" $((SECONDS - from)) "1 0 0"; return 0; fi
  echo "$name failed" >&2
  add "$name" $((SECONDS - from)) "0 1 0"
  return 1
}

finish() {
  say "summary ($((SECONDS - started)) s)"
  [ ${#summary[@]} -gt 0 ] && printf '%s\n' "${summary[@]}"
  [ $met -eq 1 ] || { echo "no stage that ran is named \"$only\"" >&2; exit 2; }
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
  exit
}

# unit_tests NAME PRESET [CTEST ARGUMENTS...]
unit_tests() {
  local name="$1" preset="$2" from=$SECONDS results="$PWD/build/$2/results"
  shift 2
  wanted "$name" || return 0
  say "$name"
  rm -rf "$results"
  mkdir -p "$results"
  # The folder's slash makes GoogleTest write one file per binary.
  GTEST_OUTPUT="xml:$results/" ctest --test-dir "build/$preset" --output-on-failure --parallel "$(nproc)" \
    --no-tests=error --output-junit "$results/ctest-junit" "$@"
  local status=$?
  if [ ! -f "$results/ctest-junit" ]; then
    add "$name" $((SECONDS - from)) "0 1 0"
    return
  fi
  local counts
  counts="$(python3 scripts/count_results.py "$results/ctest-junit" "$results")" || counts="0 1 0"
  # A failure that ctest reports counts as at least one.
  [ $status -ne 0 ] && [ "$(cut -d' ' -f2 <<<"$counts")" -eq 0 ] && counts="0 1 0"
  add "$name" $((SECONDS - from)) "$counts"
}

# sanitized NAME PRESET LABEL: builds and runs the tests of one label.
sanitized() {
  local name="$1" preset="$2" label="$3" tests
  wanted "$name" || return 0
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null || { add "$name" 0 "0 1 0"; return 1; }
  # An up-to-date list needs an up-to-date configuration.
  cmake --build "build/$preset" --target rebuild_cache >/dev/null
  tests="$(ctest --test-dir "build/$preset" -N -L "^$label\$" | sed -n 's/^ *Test *#[0-9]*: //p')"
  step "build $preset" scripts/build.sh "$preset" $tests || return 1
  unit_tests "$name" "$preset" -L "^$label\$"
}

# end_to_end NAME PRESET MARKS FOLDER...: tests/e2e against the binary of a preset. Most of its time is waiting, so several
# tests run at once. Tests that measure short times, and the long ones, run one by one afterwards.
end_to_end() {
  local name="$1" preset="$2" marks="$3" workers
  shift 3
  wanted "$name" || wanted "$name, alone" || return 0
  [ "$preset" = release ] || step "build $preset binary" scripts/build.sh "$preset" penstock || return
  say "$name"
  if ! scripts/python_env.sh; then
    echo "the Python package index cannot be reached: the end-to-end tests are skipped" >&2
    add "$name" 0 "0 0 $(grep -rhoE '^ *(async )?def test_' tests/e2e --include='test_*.py' | wc -l)"
    return
  fi
  # Four test files at once use half of two cores; a sanitized binary takes more. A test that fails beside others runs
  # once more, and the output shows its R; a finding of a sanitizer is never passed over.
  workers=$(($(nproc) * 2))
  local again="--reruns=1"
  [ "$preset" = release ] || { workers="$(nproc)"; again="--reruns=0"; marks="($marks) and not unsanitized"; }
  if [ "$marks" = long ]; then
    end_to_end_part "$name" "$preset" -m long "$@"
    return
  fi
  end_to_end_part "$name" "$preset" -m "($marks) and not (alone or long)" -n "$workers" --dist loadfile "$again" "$@"
  end_to_end_part "$name, alone" "$preset" -m "($marks) and (alone or long)" "$@"
}

# end_to_end_part NAME PRESET PYTEST ARGUMENTS...
end_to_end_part() {
  local name="$1" preset="$2" from=$SECONDS counts results="$PWD/build/$2/results/${1//[^A-Za-z]/-}.junit"
  shift 2
  wanted "$name" || return 0
  mkdir -p "$(dirname "$results")"
  rm -f "$results"
  PENSTOCK_BINARY="$PWD/build/$preset/penstock" PYTHONDONTWRITEBYTECODE=1 timeout 2400 .venv/bin/python -m pytest \
    -p no:cacheprovider -q -rfER --junitxml "$results" -o junit_family=xunit1 "$@"
  local status=$?
  counts="$(python3 scripts/count_results.py "$results")" || counts="0 1 0"
  [ $status -ne 0 ] && [ "$(cut -d' ' -f2 <<<"$counts")" -eq 0 ] && counts="0 1 0"
  add "$name" $((SECONDS - from)) "$counts"
}

# real_engines NAME PART [PYTEST ARGUMENTS...]: tests/real with the engines of one part of scripts/real_env.sh.
real_engines() {
  local name="$1" part="$2" from=$SECONDS counts results="$PWD/build/release/results/real.junit"
  shift 2
  wanted "$name" || return 0
  say "$name"
  if ! timeout "$([ "$part" = light ] && echo 300 || echo 1500)" scripts/real_env.sh "$part"; then
    echo "the engines cannot be installed: their tests are skipped" >&2
    add "$name" $((SECONDS - from)) "0 0 $(grep -rhoE '^ *(async )?def test_' tests/real --include='test_*.py' | wc -l)"
    return
  fi
  rm -f "$results"
  PENSTOCK_BINARY="$PWD/build/release/penstock" PYTHONDONTWRITEBYTECODE=1 timeout 3600 \
    "${PENSTOCK_REAL:-build/real}/light/bin/python" -m pytest -p no:cacheprovider -q --junitxml "$results" \
    -o junit_family=xunit1 "$@" tests/real
  local status=$?
  counts="$(python3 scripts/count_results.py "$results")" || counts="0 1 0"
  [ $status -ne 0 ] && [ "$(cut -d' ' -f2 <<<"$counts")" -eq 0 ] && counts="0 1 0"
  add "$name" $((SECONDS - from)) "$counts"
}

# clients_zoo NAME: tests/clients with the clients that scripts/clients_env.sh can install; the tests of others are skipped.
clients_zoo() {
  wanted "$1" || return 0
  say "$1"
  if ! scripts/python_env.sh; then
    echo "the Python package index cannot be reached: the clients are skipped" >&2
    add "$1" 0 "0 0 $(grep -rhoE '^def test_' tests/clients --include='test_*.py' | wc -l)"
    return
  fi
  timeout 1200 scripts/clients_env.sh
  end_to_end_part "$1" release tests/clients
}

say "set up"
scripts/setup.sh test || { add "set up" $((SECONDS - started)) "0 1 0"; finish; }
PATH="$PWD/build/tools/usr/bin:$PATH"

# Early failures first: the checks of the sources take seconds, the sanitizers need builds of their own.
step "layers and sizes" scripts/check_structure.py
step "the check of layers and sizes" python3 tests/layers/structure_test.py
step "plain words" scripts/plain_words.py
step "the check of words" python3 tests/scripts/plain_words_test.py
step "the writer of results" python3 tests/scripts/results_test.py
step "layout" scripts/format.sh
if step "build release" scripts/build.sh release; then
  unit_tests "unit tests" release
  if [ $long -eq 1 ]; then step "lint" scripts/lint.sh --all; else step "lint of changes" scripts/lint.sh; fi
  end_to_end "end to end" release "not long" tests/e2e
  real_engines "real engines, short" light -m "not long"
  step "policies, reduced" bench/policies.sh --reduced
  step "tables, reduced" bench/tables.sh --reduced
fi
sanitized "pure parts, ASan + UBSan" asan-ubsan pure
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 suppressions=$PWD/tests/tsan.suppressions"
sanitized "live parts, TSan" tsan live
part="tests/e2e/test_lifecycle.py tests/e2e/test_resume.py tests/e2e/test_cancellation.py"
[ $long -eq 1 ] && part=tests/e2e
end_to_end "end to end, TSan" tsan "not long" $part
unset TSAN_OPTIONS
if [ $long -eq 1 ]; then
  scripts/setup.sh browser || echo "no browser can be installed: the tests of the page in one are skipped" >&2
  end_to_end "end to end, long; chaos" release long tests/e2e
  real_engines "real engines" clients -m long
  clients_zoo "clients zoo"
  step "soak, a million requests" bench/soak.sh 1000000
  step "core under faults, 20000 seeds" env PENSTOCK_FAULT_SEEDS=20000 build/release/tests/core/core_faults_test
  step "reloads, 5000 seeds" env PENSTOCK_RELOAD_SEEDS=5000 build/release/tests/app/fleet_reloads_test
  step "fuzzing, ten minutes each" sh -c "scripts/setup.sh all && scripts/fuzz.sh 600"
  end_to_end "end to end, ASan + UBSan" asan-ubsan "not long" tests/e2e
fi
finish
