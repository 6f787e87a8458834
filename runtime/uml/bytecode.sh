#!/bin/busybox sh
# Compiles the Python modules in /fairc, as the first program of a machine whose disk is the image that runs them.
# Leaves an archive of their bytecode on the exchange.
b=/bin/busybox
$b mount -t devtmpfs none /dev
$b mkdir /root
$b mount -t ext2 -o ro /dev/image /root
$b mount -t tmpfs none /root/run
$b cp -r /fairc /root/run/fairc
$b chroot /root /usr/bin/python3 -S -E -m compileall -q --invalidation-mode unchecked-hash /run/fairc
$b tar -cf - -C /root/run/fairc $(cd /root/run/fairc && $b find . -name '*.pyc') > /dev/exchange
$b sync
$b poweroff -f
