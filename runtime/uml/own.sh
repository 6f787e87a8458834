#!/bin/sh
# Prepares a kernel of one's own for build.sh, which then compiles it. Runs in the Debian root that `kernel.py` made for it, in
# /build, which holds `source.tar`, an archive of a kernel's source in any compression.
set -e
cd /build
gcc --version | head -n 1 > compiler
mkdir unpacked
tar -xf source.tar -C unpacked
rm source.tar
if [ -e unpacked/Makefile ]; then mv unpacked linux-source-own; else mv unpacked/*/ linux-source-own; fi
[ -e linux-source-own/arch/um/Kconfig ] || { echo "error: this is not a kernel's source: it has no arch/um/Kconfig"; exit 1; }
make --silent -C linux-source-own kernelversion | {
    IFS=. read -r major minor rest
    [ "$major" -gt 6 ] || { [ "$major" -eq 6 ] && [ "${minor%%-*}" -ge 16 ]; } ||
        { echo "error: this is Linux $major.$minor: the engine uml runs kernels from 6.16 on"; exit 1; }
}
tar -cf linux-source-own.tar.xz linux-source-own
rm -r linux-source-own
exec sh build.sh
