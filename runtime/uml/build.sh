#!/bin/sh
# Compiles the kernel of the `uml` engine. Runs in the Debian root that `kernel.py` made for it, in
# /build, which holds the source's archive, the configuration and the patches.
set -e
cd /build
echo "unpacking"
tar -xf linux-source-*.tar.xz
mv linux-source-*/ linux
cd linux
for patch in ../patches/*.patch; do
    echo "applying $(basename "$patch")"
    patch --strip=1 --silent --fuzz=0 --no-backup-if-mismatch --input="$patch"
done
export ARCH=um
make --silent allnoconfig
scripts/kconfig/merge_config.sh -m .config ../kernel.config > /dev/null
make --silent olddefconfig
while read -r line; do
    case $line in
        CONFIG_*=y) grep -qx "$line" .config || { echo "this source has no ${line%=y}"; exit 1; } ;;
    esac
done < ../kernel.config
make --jobs="$(nproc)" linux
make --silent kernelversion > ../version
cp linux ../kernel
cp .config ../config
