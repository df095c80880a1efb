#!/bin/sh
# Compares the policies over the scenarios of bench/policies.py and writes their tables and plots to bench/results/.
#   bench/policies.sh                 everything; under four hours on two cores; interrupted runs are resumed
#   bench/policies.sh --reduced       generated workloads only, for CI: checks that Penstock leads, writes nothing
#   bench/policies.sh --help          choose scenarios, loads, policies, seeds
set -eu
cd "$(dirname "$0")/.."
case " $* " in
  *" --reduced "* | *" --help "* | *" --no-plots "*) ;;
  *) scripts/python_env.sh bench ;;
esac
[ -x build/release/penstock ] || { scripts/setup.sh build && scripts/build.sh release penstock; }
python=.venv/bin/python
[ -x "$python" ] || python=python3
exec "$python" bench/policies.py "$@"
