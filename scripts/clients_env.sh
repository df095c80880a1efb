#!/bin/sh
# Installs the clients of tests/clients, each into a folder of its own under build/clients; quick when they are there.
#   scripts/clients_env.sh           every client
#   scripts/clients_env.sh NAME...   these clients
# A client whose tool or package index is away is named and left out, and its tests are skipped. Fails when none is there.
# PENSTOCK_CLIENTS names another folder than build/clients, so that several checkouts can share one.
set -u
cd "$(dirname "$0")/.."
cache="${PENSTOCK_CLIENTS:-$PWD/build/clients}"
python=/usr/bin/python3
[ -x "$python" ] || python=python3
mkdir -p "$cache"
# Two runs that share the folder take turns.
exec 9>"$cache/lock"
flock 9

have() { command -v "$1" >/dev/null 2>&1 || { echo "$1 is not installed" >&2; return 1; }; }

from_pypi() {
  if [ ! -x "$cache/uv/bin/uv" ]; then
    "$python" -m venv --clear "$cache/uv" &&
      "$cache/uv/bin/pip" install --quiet --disable-pip-version-check --retries 1 uv==0.13.9 || return 1
  fi
  "$python" -m venv --clear --without-pip "$cache/$1" &&
    "$cache/uv/bin/uv" pip install --quiet --python "$cache/$1/bin/python" $2
}

from_npm() {
  have npm && mkdir -p "$cache/$1" &&
    npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts --fetch-retries 1 \
      --prefix "$cache/$1" $2
}

from_go() { have go && (cd "$2" && go build -mod=readonly -o "$cache/$1/checks" .); }

from_cargo() {
  have cargo && cargo build --quiet --locked --manifest-path "$2/Cargo.toml" --target-dir "$cache/$1/target" &&
    mv "$cache/$1/target/debug/checks" "$cache/$1/checks" && rm -rf "$cache/$1/target"
}

from_maven() {
  have mvn && mvn -q -B -Dstyle.color=never -f "$2/pom.xml" -Dfolder="$cache/$1" compile dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$cache/$1/jars"
}

# client NAME INDEX PACKAGES: a stamp says what the folder has. Compiled clients name the folder of their sources.
client() {
  sources=""
  [ ! -d "$3" ] || sources="$(find "$3" -type f | sort | xargs cat)"
  stamp="$(echo "$2 $3 $sources" | sha256sum | cut -d' ' -f1)"
  if [ "$(cat "$cache/$1/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "${cache:?}/$1"
    if ! "from_$2" "$1" "$3" >&2; then
      echo "clients: $1 cannot be installed" >&2
      return 1
    fi
    echo "$stamp" > "$cache/$1/stamp"
  fi
  installed=$((installed + 1))
}

installed=0
while read -r name index packages; do
  case "$name" in '' | '#'*) continue ;; esac
  case " ${*:-$name} " in *" $name "*) client "$name" "$index" "$packages" </dev/null ;; esac
done < tests/clients/packages.txt
[ "$installed" -gt 0 ]
