#!/bin/sh
# Run by mmdebstrap with the new root file system as its argument, before it is packed: adds the
# kernel and its modules without the package's own initramfs machinery, notes what is inside, and
# drops what no cell reads.
set -e
root=$1
pool=$root/tmp/kernel

package=$(chroot "$root" apt-cache depends --no-recommends --no-suggests \
    linux-image-cloud-amd64/bookworm-backports | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p')
mkdir -p "$pool"
chmod 777 "$pool"
(cd "$pool" && chroot "$root" sh -c "cd /tmp/kernel && apt-get download --quiet $package")
dpkg-deb -x "$pool"/linux-image-*.deb "$pool/tree"
mkdir -p "$root/usr/lib/modules"
cp -a "$pool"/tree/lib/modules/* "$root/usr/lib/modules/"
cp "$pool"/tree/boot/vmlinuz-* "$root/boot/vmlinuz"
release=$(ls "$root/usr/lib/modules")
chroot "$root" depmod "$release"

mkdir -p "$root/usr/share/fairc"
{
    echo "kernel $(basename "$pool"/linux-image-*.deb .deb) $(sha256sum "$pool"/linux-image-*.deb | cut -d' ' -f1)"
    chroot "$root" dpkg-query -W -f '${Package} ${Version}\n'
} > "$root/usr/share/fairc/packages.txt"
echo "$release" > "$root/usr/share/fairc/kernel-release"
rm -rf "$pool"

rm -rf "$root"/usr/share/doc/* "$root"/usr/share/locale/* "$root"/usr/share/man/* "$root"/var/cache/apt/* \
    "$root"/var/lib/apt/lists/* "$root"/var/log/*
# Written by whichever process came first, so not the same bytes every time.
rm -rf "$root"/usr/share/python3/debpython/__pycache__
printf '127.0.0.1 localhost\n' > "$root/etc/hosts"
printf 'fairc\n' > "$root/etc/hostname"
