#!/bin/sh
# Makes .venv with the pinned packages of the end-to-end tests; quick when it exists. Fails when they cannot be downloaded.
#   scripts/python_env.sh          for tests/e2e
#   scripts/python_env.sh bench    also the packages that draw the plots of bench/policies.sh
set -eu
cd "$(dirname "$0")/.."
python=/usr/bin/python3
[ -x "$python" ] || python=python3
install() { .venv/bin/pip install --quiet --disable-pip-version-check --retries 1 -r "$1" >&2; }

stamp="$(sha256sum tests/e2e/requirements.txt | cut -d' ' -f1)"
if [ "$(cat .venv/stamp 2>/dev/null)" != "$stamp" ] || ! .venv/bin/python -c 'import anthropic, openai, pytest, xdist' 2>/dev/null; then
  "$python" -m venv --clear .venv
  install tests/e2e/requirements.txt
  echo "$stamp" > .venv/stamp
fi
if [ "${1:-}" = bench ] && ! .venv/bin/python -c 'import matplotlib' 2>/dev/null; then
  install bench/requirements.txt
fi
