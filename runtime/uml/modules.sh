#!/bin/sh
# Puts what compiles a module for this kernel into a file system, modules.ext2, for a machine that compiles one: the headers
# of the kernel and its symbols, the compiler that built it with the libraries that this loads, and how it is called. Runs
# in /build after the kernel has been built in /build/linux.
set -e
cd /build
# How the kernel compiles and links one of its own: what a module that does nothing leaves behind.
mkdir -p probe tree/build/linux/scripts
printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("nothing");\n' > probe/probe.c
echo 'obj-m := probe.o' > probe/Makefile
make --silent -C linux ARCH=um modules_prepare
make --silent -C linux ARCH=um M=/build/probe modules
words() { # FILE WORD...: the words of a command that it keeps, but for its program and those that name files and the module
    sed -n 's/^savedcmd_[^ ]* := *[^ ]* \(.*\)$/\1/p' "probe/$1" |
        sed 's/-Wp,-MMD[^ ]*//; s/-D[_]*KBUILD_[^ ]*//g; s/ -c -o .*//; s/ -o .*//; s/ *$//'
}
words .probe.o.cmd > tree/build/linux/compile
words .probe.ko.cmd > tree/build/linux/link
words .Module.symvers.cmd > tree/build/linux/modpost
cp probe/.module-common.o tree/build/linux/module-common.o
cp linux/Module.symvers tree/build/linux/
cp linux/scripts/module.lds linux/scripts/mod/modpost tree/build/linux/scripts/
(cd linux && find include arch/um/include arch/x86/um arch/x86/include \
    -path 'include/config' -prune -o -path 'include/dt-bindings' -prune -o -path 'include/drm' -prune -o \
    -path 'include/media' -prune -o -path 'include/sound' -prune -o -path 'include/rdma' -prune -o \
    -path 'include/soc' -prune -o -path 'include/xen' -prune -o -path 'include/video' -prune -o -path 'include/scsi' -prune -o \
    -path 'include/linux/mfd' -prune -o -path 'include/linux/platform_data' -prune -o -path 'include/linux/usb' -prune -o \
    -path 'include/linux/bn*' -prune -o -path 'include/linux/mlx5' -prune -o -path 'include/linux/qed' -prune -o \
    -name '*.h' -print | tar -cf - -T -) | tar -xf - -C tree/build/linux

# The compiler, and every library that it loads, by its path.
gcc=$(readlink -f "$(command -v gcc)")
collect() {
    for file; do
        mkdir -p "tree$(dirname "$file")"
        cp -L "$file" "tree$file"
    done
}
collect "$(gcc -print-prog-name=cc1)" /lib64/ld-linux-x86-64.so.2
mkdir -p tree/usr/bin
cp -L "$gcc" tree/usr/bin/gcc
cp -L "$(command -v as)" tree/usr/bin/as
cp -L "$(command -v ld)" tree/usr/bin/ld
for program in "$(gcc -print-prog-name=cc1)" "$gcc" "$(command -v as)" "$(command -v ld)" linux/scripts/mod/modpost; do
    ldd "$program"
done | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u > libraries
# shellcheck disable=SC2046
collect $(cat libraries)
gcc --version | head -n 1 > tree/build/linux/compiler
mkdir -p tree/dev tree/tmp
tar -cf tree.tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C tree .
blocks=$(($(du -sk tree | cut -f 1) / 4 + 2048))
genext2fs --block-size=4096 --size-in-blocks="$blocks" --number-of-inodes="$(($(find tree | wc -l) + 64))" \
    --reserved-percentage=0 --faketime --tarball=tree.tar modules.ext2
