#!/bin/sh
# Sets up, builds and starts the demo: two simulated GPUs, the router in front of them, live traffic.
# Arguments go to `penstock demo`, for example ./run.sh --duration 60s.
set -eu
cd "$(dirname "$0")"
scripts/setup.sh build
scripts/build.sh release penstock
exec build/release/penstock demo "$@"
