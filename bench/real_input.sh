#!/usr/bin/env bash
# Replays a real chat trace against four simulated engines on two GPUs. The three ways are direct (round robin over the
# engines), through the threshold gate, through Penstock. Prints a Markdown table; a run at the defaults with the
# recorded trace also replaces the table of bench/results/real-input.md.
#
#   bench/real_input.sh [--duration 120] [--rates "1 2 4"] [--ways "direct threshold_gate penstock"]
#                       [--trace FILE|generate:NAME] [--binary build/release/penstock] [--port 9101] [--fresh]
#
# Engines and router are processes of their own, started anew for every run, on 127.0.0.1 ports PORT to PORT+4. One run
# takes its duration plus at most 60 s for its last answers. The raw results are build/bench/real_input/*.json. A
# result that is there is not measured again: an interrupted bench goes on where it stopped, and --fresh starts over.
# The trace is azure23_conv_a.csv in PENSTOCK_TRACES, else a generated workload of the same distributions.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
duration=120
rates="1 2 4"
ways="direct threshold_gate penstock"
trace=""
binary="$root/build/release/penstock"
port=9101
fresh=0
drain=60
options="$*"
model=llama-3.1-8b
out="$root/build/bench/real_input"

usage() {
  sed -n '2,13s/^# \{0,1\}//p' "$0"
  exit "$1"
}

while [ $# -gt 0 ]; do
  case "$1" in
    --fresh) fresh=1; shift; continue ;;
    -h|--help) usage 0 ;;
  esac
  [ $# -ge 2 ] || usage 2
  case "$1" in
    --duration) duration=$2 ;;
    --rates) rates=$2 ;;
    --ways) ways=$2 ;;
    --trace) trace=$2 ;;
    --binary) binary=$2 ;;
    --port) port=$2 ;;
    *) usage 2 ;;
  esac
  shift 2
done

if [ -z "$trace" ]; then
  trace="${PENSTOCK_TRACES:-$root/../shared/traces}/azure23_conv_a.csv"
  if [ ! -e "$trace" ]; then
    echo "no $trace: using generate:azure-conv" >&2
    trace=generate:azure-conv
  fi
fi
[ -x "$binary" ] || { echo "no $binary: build the release preset first, or name one with --binary" >&2; exit 1; }
label=$(basename "${trace#generate:}" .csv)
mkdir -p "$out"
[ "$fresh" = 0 ] || rm -f "$out"/*.json

pids=()
stop_all() {
  for pid in "${pids[@]:-}"; do [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]:-}"; do [ -z "$pid" ] || wait "$pid" 2>/dev/null || true; done
  pids=()
}
trap stop_all EXIT
trap 'exit 130' INT TERM

# The example's fleet on the ports of this run.
fleet() {
  local engine
  local text
  text=$(sed "s/127\.0\.0\.1:8080/127.0.0.1:$((port + 4))/" "$root/config/examples/$1.yaml")
  for engine in 0 1 2 3; do
    text=${text//127.0.0.1:$((9101 + engine))/127.0.0.1:$((port + engine))}
  done
  printf '%s\n' "$text" > "$out/$1.yaml"
}

answers_200() {
  local line
  exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
  printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3
  read -r -t 2 line <&3 || line=""
  exec 3<&- 3>&-
  [[ $line == *" 200"* ]]
}

wait_for() {
  local tries
  for tries in $(seq 1 100); do
    if (answers_200 "$1" "$2") 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  echo "nothing answers on port $1 ($2); see $out/*.log" >&2
  exit 1
}

start_engines() {
  "$binary" engine --config "$out/colocated-a100.yaml" 2> "$out/engines.log" &
  pids+=($!)
  local engine
  for engine in 0 1 2 3; do wait_for $((port + engine)) /health; done
}

start_router() {
  "$binary" serve --config "$out/$1.yaml" 2> "$out/router.log" &
  pids+=($!)
  wait_for $((port + 4)) /readyz
  # The router knows every engine within a second of its answering.
  sleep 1.5
}

measure() {
  local way=$1 rate=$2 json=$3
  local target=(--url "http://127.0.0.1:$((port + 4))")
  start_engines
  case "$way" in
    direct)
      target=(--direct "$(printf 'http://127.0.0.1:%d,' $((port)) $((port + 1)) $((port + 2)) $((port + 3)) | sed 's/,$//')") ;;
    threshold_gate) start_router threshold-gate ;;
    penstock) start_router colocated-a100 ;;
    *) echo "unknown way: $way" >&2; exit 2 ;;
  esac
  timeout $((duration + drain + 60)) "$binary" load "${target[@]}" --trace "$trace" --rate "$rate" \
    --duration "${duration}s" --model "$model" --ttft 2s --tpot 100ms --drain "${drain}s" --json > "$json.part" || [ $? -eq 4 ]
  mv "$json.part" "$json"
  stop_all
}

# number FILE NAME: the first, outermost value of that name.
number() { grep -o "\"$2\":[^,}]*" "$1" | head -n 1 | cut -d: -f2; }
percent() { awk -v x="$1" 'BEGIN { printf "%.2f %%", 100 * x }'; }
# The on-time share of a prompt quartile.
quartile() { sed 's/.*"per_prompt_quartile"://' "$1" | grep -o "\"$2\":{[^}]*}" | head -n 1 | grep -o '"on_time_share":[^,}]*' | cut -d: -f2; }
# The sum of the counts of an outermost object of counts.
total() { grep -o "\"$2\":{[^}]*}" "$1" | head -n 1 | grep -o ':[0-9][0-9]*' | awk -F: '{ sum += $2 } END { print sum + 0 }'; }

row() {
  local json=$1 offered preemptions
  offered=$(number "$json" offered)
  preemptions=$(number "$json" preemptions)
  printf '| %sx | %s | %s | %.1f | %.1f | %s | %s / %s / %s / %s | %s | %s | %s |\n' "$2" "$3" "$offered" \
    "$(number "$json" active_tokens_per_s)" "$(number "$json" goodput_tokens_per_s)" \
    "$(percent "$(number "$json" on_time_share)")" \
    "$(percent "$(quartile "$json" q1)")" "$(percent "$(quartile "$json" q2)")" \
    "$(percent "$(quartile "$json" q3)")" "$(percent "$(quartile "$json" q4)")" \
    "$(percent "$(awk -v r="$(total "$json" refused)" -v o="$offered" 'BEGIN { print o ? r / o : 0 }')")" \
    "$(total "$json" failed)" "$preemptions"
}

fleet colocated-a100
fleet threshold-gate
for rate in $rates; do
  for way in $ways; do
    json="$out/$label-${duration}s-${rate}x-$way.json"
    if [ -s "$json" ]; then
      echo "have $(basename "$json")" >&2
    else
      echo "measuring $way at ${rate}x for $duration s" >&2
      measure "$way" "$rate" "$json"
    fi
  done
done

table() {
  echo "Trace $label, $duration s, two a100-80 (time slicing) with two $model replicas of 18 GB KV each; TTFT 2 s, TPOT 100 ms."
  echo
  echo "| rate | way | offered | active tokens/s | goodput tokens/s | on time | on time by prompt quartile (short to long) | refused | failed | preemptions |"
  echo "|---:|---|---:|---:|---:|---:|---|---:|---:|---:|"
  for rate in $rates; do
    for way in $ways; do
      row "$out/$label-${duration}s-${rate}x-$way.json" "$rate" "$way"
    done
  done
}

# The results show the recorded trace at the default rates, ways and duration.
if [ "${trace##*/}" = azure23_conv_a.csv ] && [[ "$options" =~ ^(--fresh)?$ ]]; then
  table | python3 "$root/bench/topics.py" real-input table bench/real_input.sh
else
  table
fi
