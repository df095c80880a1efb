#!/bin/sh
# Prints how many compilers may run at once: one per core, and 1.5 GB of memory for each.
cores="$(nproc)"
memory="$(awk '/^MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)"
[ "${memory:-1}" -lt 1 ] && memory=1
if [ "$memory" -lt "$cores" ]; then echo "$memory"; else echo "$cores"; fi
