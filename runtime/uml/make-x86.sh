#!/bin/sh
# Stands for `make` where build.sh and modules.sh compile a kernel of one's own for the engine `vm`: of the two ARCH that GNU
# make is then given the last one counts, and the program that they take away is the image that QEMU boots.
make() {
    /usr/bin/make "$@" ARCH=x86_64
}
case " $* " in
*" linux modules ")
    for word; do
        shift
        [ "$word" != linux ] || word=bzImage
        set -- "$@" "$word"
    done
    make "$@" || exit
    cp arch/x86/boot/bzImage linux
    ;;
*" M=/build/probe "*)
    # A module has no debugging information. objtool follows the compiler, as in guest/compiler.sh of `vm`.
    make "$@" CONFIG_DEBUG_INFO= || exit
    to=tree/build/linux
    sed -n 's/^savedcmd_[^ ]* .*tools\/objtool\/objtool \(.*\) [^ ]*$/\1/p' probe/.probe.o.cmd > $to/objtool
    grep -q . $to/objtool || { echo "error: how a module is compiled has changed: no objtool"; exit 1; }
    cp linux/tools/objtool/objtool $to/scripts/
    ldd $to/scripts/objtool | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | while read -r library; do
        mkdir -p "tree$(dirname "$library")"
        cp -L "$library" "tree$library"
    done
    mkdir -p tree/proc
    ;;
*) make "$@" ;;
esac
