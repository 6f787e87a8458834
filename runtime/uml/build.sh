#!/bin/sh
# Compiles the kernel of the `uml` engine. Runs in the Debian root that `kernel.py` made for it, in
# /build, which holds the source's archive, the configuration, the patches, cc.sh and headers.h.
set -e
cd /build
echo "unpacking"
# But for what is compiled only for other machines, for devices, or never.
tar -xf linux-source-*.tar.xz --exclude='linux-source-*/arch/[!ux]*/*.[chS]' --exclude='*.dts*' --exclude='*.rst' --exclude='*.rs' \
    --exclude='linux-source-*/Documentation/[!K]*' --exclude='linux-source-*/drivers/[!bcmntv]*/*.[chS]' \
    --exclude='*/drivers/clk/*.[ch]' --exclude='*/drivers/crypto/*.[ch]' --exclude='*/drivers/media/*.[ch]' \
    --exclude='*/drivers/m[fmt]*/*.[ch]' --exclude='*/drivers/net/ethernet/*.[ch]' \
    --exclude='*/drivers/net/wireless/*.[ch]' --exclude='*/drivers/video/*.[ch]' --exclude='*/samples/*.[ch]' \
    --exclude='*/sound/*.[ch]' --exclude='*/tools/perf/*' --exclude='*/tools/testing/*'
mv linux-source-*/ linux
cd linux
for patch in ../patches/*.patch; do
    echo "applying $(basename "$patch")"
    patch --strip=1 --silent --fuzz=0 --no-backup-if-mismatch --input="$patch"
done
export ARCH=um
make --silent KCONFIG_ALLCONFIG=../kernel.config allnoconfig
while read -r line; do
    case $line in
        CONFIG_*=y) grep -qx "$line" .config || { echo "this source has no ${line%=y}"; exit 1; } ;;
    esac
done < ../kernel.config
# Most folders of drivers lead to no object: neither sources are there, nor does a Makefile name an option that is set. To
# look for objects in each of them takes longer than to compile forty files.
sed -n 's/^\(CONFIG_[A-Za-z0-9_]*\)=.*/\1/p' .config > ../options
{ find drivers -name '*.[cS]'; grep -rlwFf ../options --include=Makefile --include=Kbuild drivers; } |
    awk -F/ '{ path = $1; for (i = 2; i < NF; i++) print path = path "/" $i }' | sort -u > ../needed
find drivers -mindepth 2 -name Makefile | sed 's,/Makefile$,,' | sort | comm -23 - ../needed |
    while read -r folder; do : > "$folder/Makefile"; done
# Nothing is compiled twice, so no file needs to know on which headers it depends.
make --silent scripts_basic
printf '#!/bin/sh\nprintf "savedcmd_%%s := %%s\\n" "$2" "$3"\n' > scripts/basic/fixdep
# The image lies below 2 GB, so no address in it needs 64 bits; and the compiler may expand short
# copies. Modules lie anywhere: they keep the flags of User-Mode Linux.
export KCFLAGS="-mcmodel=small -fbuiltin"
# The compiled headers, as the kernel compiles one of its own files.
make --silent --jobs="$(nproc)" lib/ctype.o
flags=$(sed -n 's/^savedcmd_[^ ]* := gcc \(.*\) -c -o .*/\1/p' lib/.ctype.o.cmd |
    sed 's/-Wp,-MMD[^ ]*//; s/-D[_]*KBUILD_[^ ]*//g; s/-include [^ ]*compiler-version.h//')
gcc $flags -x c-header -o ../headers.h.gch ../headers.h
make --jobs="$(nproc)" CC="sh /build/cc.sh" linux modules
make --silent kernelversion > ../version
cp linux ../kernel
cp .config ../config
unset KCFLAGS
exec sh ../modules.sh
