#!/bin/busybox sh
# Compiles a kernel module, as the first program of a machine whose disk is a kernel's modules.ext2.
# Reads /module: source.c, glue.c, and `names`, which sets FILE (the source's name), MODULE, REGISTERS, NAME,
# WRAPS (the kernel's function that registers it) and WRAPS_QUEUE (1: it is a queueing discipline). Leaves an archive on the exchange: what the compiler and modpost said and, if all went well, module.ko.
b=/bin/busybox
$b mount -t devtmpfs none /dev
$b mkdir /root
$b mount -t ext2 -o ro /dev/image /root
$b mount -t devtmpfs none /root/dev
$b mount -t tmpfs none /root/tmp
$b mkdir /root/tmp/out
$b cp "$b" /module/* /root/tmp/
$b cat > /root/tmp/make <<'END'
. /tmp/names
tree=/build/linux
export PATH=/usr/bin
cd /tmp
read -r compile < $tree/compile
read -r link < $tree/link
read -r modpost < $tree/modpost
compiled() { # FILE OBJECT WORD...
    input=$1 object=$2
    shift 2
    gcc $compile -DKBUILD_BASENAME="\"$MODULE\"" -DKBUILD_MODNAME="\"$MODULE\"" -D__KBUILD_MODNAME="$MODULE" \
        "$@" -c -o "$object" "$input"
}
/tmp/busybox mv source.c "$FILE"
compiled "$FILE" own.o -fdiagnostics-format=json-stderr 2> out/compiler || exit
compiled glue.c glue.o -DREGISTERS="\"$REGISTERS\"" -DNAME="\"$NAME\"" -DWRAPS_QUEUE=$WRAPS_QUEUE 2> out/glue || exit
wrap=
[ "$REGISTERS" = "$NAME" ] || wrap=--wrap=$WRAPS
ld -r -m elf_x86_64 $wrap -o "$MODULE.o" own.o ${wrap:+glue.o} 2> out/linker || exit
echo "$MODULE.o" > modules.order
echo ./own.o > "$MODULE.mod"
$tree/scripts/modpost $modpost -e -i $tree/Module.symvers -T modules.order -o symvers 2> out/modpost || exit
compiled "$MODULE.mod.c" "$MODULE.mod.o" 2> out/glue || exit
ld $link -o out/module.ko "$MODULE.o" "$MODULE.mod.o" $tree/module-common.o 2>> out/linker
END
$b chroot /root /tmp/busybox sh /tmp/make
$b tar -cf - -C /root/tmp/out . > /dev/exchange
$b sync
$b poweroff -f
