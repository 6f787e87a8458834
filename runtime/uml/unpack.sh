#!/bin/busybox sh
# Makes a file system of a tar, as the first program of a machine whose disk is the tar: on the exchange, which
# becomes the disk of cells. Reads /image/ratio, the bytes for each inode.
b=/bin/busybox
$b mount -t devtmpfs none /dev
$b mkdir /root
read -r ratio < /image/ratio
$b mke2fs -b 4096 -m 0 -i "$ratio" /dev/exchange > /dev/null &&
    $b mount -t ext2 /dev/exchange /root &&
    $b tar -xf /dev/image -C /root &&
    $b umount /root &&
    echo "the image is unpacked"
$b poweroff -f
