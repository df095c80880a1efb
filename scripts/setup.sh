#!/bin/sh
# Installs the Debian 12 packages that Penstock needs, as root or with sudo. Does nothing when they are installed.
#   scripts/setup.sh build    to build and run
#   scripts/setup.sh package  also to make the packages
#   scripts/setup.sh test     also to run ./test.sh
#   scripts/setup.sh browser  also to test the page in a browser
#   scripts/setup.sh all      also to fuzz
set -eu
cd "$(dirname "$0")/.."

build="g++ cmake ninja-build ccache libboost1.81-dev libabsl-dev nlohmann-json3-dev prometheus-cpp-dev libyaml-cpp-dev
 libssl-dev libcli11-dev libsimdjson-dev libxxhash-dev zlib1g-dev libzstd-dev libsqlite3-dev libnghttp2-dev
 libzmq3-dev cppzmq-dev libgtest-dev libgmock-dev"
package="dpkg-dev file gzip python3"
test="$package clang-format clang-tidy-19 python3-venv ca-certificates procps curl docker-compose"
browser="chromium chromium-driver fonts-dejavu-core"
all="clang libclang-rt-14-dev libbenchmark-dev"

case "${1:-test}" in
  build) wanted="$build" ;;
  package) wanted="$build $package" ;;
  test) wanted="$build $test" ;;
  browser) wanted="$build $test $browser" ;;
  all) wanted="$build $test $all" ;;
  *) echo "usage: scripts/setup.sh [build|package|test|browser|all]" >&2; exit 2 ;;
esac

say() { echo "setup: $*" >&2; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    say "packages are missing and this is neither root nor is there sudo: $missing"
    exit 1
  fi
}

missing=""
for package in $wanted; do
  status="$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)"
  case "$status" in
    *" installed") ;;
    *) missing="$missing $package" ;;
  esac
done

if [ -n "$missing" ]; then
  say "installing$missing"
  as_root apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
fi

have() { command -v "$1" >/dev/null 2>&1 || [ -x "build/tools/usr/bin/$1" ]; }

# The package prometheus is unpacked but not installed: an installed package would start a server.
if [ "${1:-test}" != build ] && [ "${1:-test}" != package ] && ! { have promtool && have prometheus; }; then
  say "fetching promtool and prometheus"
  mkdir -p build/tools
  if (cd build/tools && apt-get download -q prometheus >/dev/null 2>&1 &&
      dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool ./usr/bin/prometheus); then
    rm -f build/tools/prometheus_*.deb
  else
    say "prometheus cannot be downloaded: its tests will be skipped"
  fi
fi
say "ready"
