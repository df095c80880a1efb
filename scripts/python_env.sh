#!/bin/sh
# Makes .venv with the pinned packages of the end-to-end tests; quick when it is there. Fails when they cannot be had.
set -eu
cd "$(dirname "$0")/.."
python=/usr/bin/python3
[ -x "$python" ] || python=python3
stamp="$(sha256sum tests/e2e/requirements.txt | cut -d' ' -f1)"
if [ "$(cat .venv/stamp 2>/dev/null)" = "$stamp" ] && .venv/bin/python -c 'import openai, pytest' 2>/dev/null; then
  exit 0
fi
"$python" -m venv --clear .venv
.venv/bin/pip install --quiet --disable-pip-version-check --retries 1 -r tests/e2e/requirements.txt >&2
echo "$stamp" > .venv/stamp
