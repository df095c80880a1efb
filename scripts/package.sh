#!/bin/sh
# Makes the packages in build/release/packages: scripts/package.sh [deb|portable]. Left out: both.
#   penstock_VERSION_amd64.deb              for Debian 12; its libraries come from Debian
#   penstock-VERSION-linux-x86_64.tar.gz    needs libc and libstdc++ of Debian 12 or newer, and no other library
# Needs the packages of scripts/setup.sh package. Builds the release preset where it is not built.
set -eu
cd "$(dirname "$0")/.."
kind="${1:-all}"
case "$kind" in all | deb | portable) ;; *) echo "usage: scripts/package.sh [deb|portable]" >&2; exit 2 ;; esac
build=build/release
say() { echo "package: $*" >&2; }

if [ "$kind" = portable ]; then scripts/build.sh release penstock_portable penstock_manual; fi
if [ "$kind" = deb ]; then scripts/build.sh release penstock penstock_manual; fi
if [ "$kind" = all ]; then scripts/build.sh release penstock penstock_portable penstock_manual; fi
version="$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' $build/CMakeCache.txt)"
mkdir -p $build/packages

if [ "$kind" != portable ]; then
  (cd $build && cpack -G DEB >cpack.log 2>&1) || { cat $build/cpack.log >&2; exit 1; }
  say "$build/packages/penstock_${version}_amd64.deb"
fi
[ "$kind" != deb ] || exit 0

name="penstock-$version-linux-x86_64"
stage="$build/portable/$name"
rm -rf "$stage"
cmake --install $build --component portable --prefix "$stage" --strip >/dev/null
mkdir -p "$stage/lib" "$stage/share/doc/penstock/licenses"

# The libraries without an archive, as the binary names them, with those that ZeroMQ needs. Then the licence of every
# library that is part of the archive.
for library in libsimdjson.so.14 libprometheus-cpp-core.so.1.0 libzmq.so.5 libsodium.so.23 libpgm-5.3.so.0 libnorm.so.1 \
  libgssapi_krb5.so.2 libkrb5.so.3 libk5crypto.so.3 libkrb5support.so.0 libcom_err.so.2 libkeyutils.so.1 libbsd.so.0 libmd.so.0; do
  cp -L "/usr/lib/x86_64-linux-gnu/$library" "$stage/lib/$library"
done
for package in libzmq5 libsodium23 libpgm-5.3-0 libnorm1 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 \
  libkeyutils1 libbsd0 libmd0 cppzmq-dev libabsl-dev libboost1.81-dev libcli11-dev libnghttp2-14 libprometheus-cpp-core1.0 libsimdjson14 libsqlite3-0 libssl3 \
  libxxhash-dev libyaml-cpp0.7 libzstd1 nlohmann-json3-dev zlib1g; do
  cp -L "/usr/share/doc/$package/copyright" "$stage/share/doc/penstock/licenses/$package"
done

# Equal inputs give equal bytes.
tar -C $build/portable --sort=name --owner=0 --group=0 --numeric-owner --mtime='2024-01-01 00:00Z' -cf - "$name" |
  gzip -9n >"$build/packages/$name.tar.gz"
say "$build/packages/$name.tar.gz"
