#!/bin/sh
# Gathers what compiles a module for the kernel of `vm` into an archive, /compiler.tar, of the disk of a machine that compiles
# one: the kernel's headers and symbols, the compiler with the libraries that it loads, objtool, and how they are called. Run
# by customize.sh in the root file system, where all of it lies below /tmp/kernel/tree for the moment.
set -e
from=/tmp/kernel/tree own=/usr/src/linux-headers-$1 common=/usr/src/linux-headers-${1%-cloud-amd64}-common
to=/tmp/kernel/compiler-tree linux=/tmp/kernel/compiler-tree/build/linux
mkdir -p /tmp/kernel/probe "$linux/own" "$linux/common" "$linux/scripts"
cd /tmp/kernel/probe
# How the kernel compiles and links one of its own: what a module that does nothing leaves behind.
printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("nothing");\n' > probe.c
echo 'obj-m := probe.o' > Makefile
make --silent -C "$own" M=/tmp/kernel/probe modules
words() { # FILE: the words of its first command, but for the program, debugging information, and what names files and the module
    sed -n 's/^savedcmd_[^ ]* := *[^ ]* \(.*\)$/\1/p' "$1" |
        sed "s/;.*//; s/-Wp,-MMD[^ ]*//; s/-D[_]*KBUILD_[^ ]*//g; s/ -c -o .*//; s/ -o .*//; s/ -g / /
            s|$from$common|/build/linux/common|g; s|$from$own|/build/linux/own|g; s/ *\$//"
}
words .probe.o.cmd > "$linux/compile"
words .probe.ko.cmd > "$linux/link"
words .Module.symvers.cmd > "$linux/modpost"
sed -n 's/^savedcmd_[^ ]* .*tools\/objtool\/objtool \(.*\) [^ ]*$/\1/p' .probe.o.cmd > "$linux/objtool"
for file in compile link objtool; do
    grep -q . "$linux/$file" || { echo "E: how a module is compiled has changed: no $file" >&2; exit 1; }
done
cp .module-common.o "$linux/module-common.o"
cp "$own/Module.symvers" "$linux/"
# Debian's programs of these names choose one by the architecture.
cp "$own/scripts/mod/modpost.real-lsb-64" "$linux/scripts/modpost"
cp "$own/tools/objtool/objtool.real-x86" "$linux/scripts/objtool"
headers() { # FOLDER NAME: those of it that a module of the network may include
    (cd "$from$1" && find include arch/x86 \
        -path 'include/config' -prune -o -path 'include/dt-bindings' -prune -o -path 'include/drm' -prune -o \
        -path 'include/media' -prune -o -path 'include/sound' -prune -o -path 'include/rdma' -prune -o \
        -path 'include/soc' -prune -o -path 'include/xen' -prune -o -path 'include/video' -prune -o -path 'include/scsi' -prune -o \
        -path 'include/linux/mfd' -prune -o -path 'include/linux/platform_data' -prune -o -path 'include/linux/usb' -prune -o \
        -path 'include/linux/bn*' -prune -o -path 'include/linux/mlx5' -prune -o -path 'include/linux/qed' -prune -o \
        \( -name '*.h' -o -name '*.lds' \) -print | tar -cf - -T -) | tar -xf - -C "$linux/$2"
}
headers "$own" own
headers "$common" common

# The compiler, and every library that it loads, where each is installed.
collect() {
    for file; do
        place=$to${file#"$from"}
        mkdir -p "$(dirname "$place")"
        cp -L "$file" "$place"
    done
}
gcc=$(readlink -f "$(command -v x86_64-linux-gnu-gcc-14)")
cc1=$(x86_64-linux-gnu-gcc-14 -print-prog-name=cc1)
as=$(command -v x86_64-linux-gnu-as) ld=$(command -v x86_64-linux-gnu-ld)
collect "$cc1" /lib64/ld-linux-x86-64.so.2
mkdir -p "$to/usr/bin"
cp -L "$gcc" "$to/usr/bin/gcc"
cp -L "$as" "$to/usr/bin/as"
cp -L "$ld" "$to/usr/bin/ld"
for program in "$cc1" "$gcc" "$as" "$ld" "$linux/scripts/modpost" "$linux/scripts/objtool"; do
    ldd "$program"
done > loaded
if grep 'not found' loaded >&2; then exit 1; fi
sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' loaded | sort -u > libraries
# shellcheck disable=SC2046
collect $(cat libraries)
x86_64-linux-gnu-gcc-14 --version | head -n 1 > "$linux/compiler"
mkdir -p "$to/dev" "$to/proc" "$to/tmp"
tar -cf /compiler.tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$to" .
