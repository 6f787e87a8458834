#!/bin/sh
# Run by mmdebstrap with the new root file system as its argument, before it is packed: adds the
# kernel and its modules without the package's own initramfs machinery, compiles one that Debian
# leaves out, notes what is inside, and drops what no cell reads.
set -e
root=$1
pool=$root/tmp/kernel

series=$FAIRC_KERNEL_SERIES
release=$(chroot "$root" apt-cache depends --no-recommends --no-suggests \
    linux-modules-cloud-amd64/trixie-backports | sed -n 's/^ *Depends: linux-modules-\([0-9][^ ]*\)$/\1/p')
case $release in
    "$series".*) ;;
    *)
        echo "E: Debian has a kernel ${release:-that is unknown} now, and this fairc needs one of series $series" >&2
        exit 1
        ;;
esac
mkdir -p "$pool"
chmod 777 "$pool"
(cd "$pool" && chroot "$root" sh -c \
    "cd /tmp/kernel && apt-get download --quiet linux-binary-$release linux-modules-$release")
for package in "$pool"/*.deb; do
    dpkg-deb -x "$package" "$pool/tree"
done
mkdir -p "$root/usr/lib/modules"
cp -a "$pool"/tree/usr/lib/modules/* "$root/usr/lib/modules/"
mv "$root/usr/lib/modules/$release/vmlinuz" "$root/boot/vmlinuz"

# A module that Debian leaves out, from its source of this kernel; with Debian's headers and its compiler, which do not stay.
beyond=net/sched/sch_dualpi2
common=${release%-cloud-amd64}
mkdir -p "$pool/beyond" "$pool/compiler/partial"
(cd "$pool" && chroot "$root" sh -ec \
    "cd /tmp/kernel && apt-get download --quiet linux-headers-$release linux-headers-$common-common linux-kbuild-$common \
        linux-source-$series
    apt-get --quiet --yes --no-install-recommends --download-only -o Dir::Cache::archives=/tmp/kernel/compiler \
        install gcc-14 make xz-utils")
for package in "$pool"/compiler/*.deb "$pool"/linux-headers-*.deb "$pool"/linux-kbuild-*.deb; do
    dpkg-deb -x "$package" "$pool/tree"
done
for folder in src lib; do
    for made in "$pool/tree/usr/$folder"/linux-*; do
        ln -s "/tmp/kernel/tree/usr/$folder/$(basename "$made")" "$root/usr/$folder/"
    done
done
rm "$pool/tree/usr/src/linux-headers-$release/vmlinux" # no BTF, which would need pahole
dpkg-deb --fsys-tarfile "$pool"/linux-source-*.deb | tar -xO "./usr/src/linux-source-$series.tar.xz" | xz -dc |
    tar -x --occurrence=1 -C "$pool/beyond" --strip-components=3 "linux-source-$series/$beyond.c"
echo "obj-m += $(basename "$beyond").o" > "$pool/beyond/Makefile"
compiler=/tmp/kernel/tree/usr
chroot "$root" env PATH="$compiler/bin:$PATH" LD_LIBRARY_PATH="$compiler/lib/x86_64-linux-gnu" sh -ec \
    "make --silent -C /usr/src/linux-headers-$release M=/tmp/kernel/beyond modules
    strip --strip-debug /tmp/kernel/beyond/*.ko"
mkdir "$root/usr/lib/modules/$release/updates"
cp "$pool"/beyond/*.ko "$root/usr/lib/modules/$release/updates/"
rm "$root"/usr/src/linux-* "$root"/usr/lib/linux-*
chroot "$root" depmod "$release"

mkdir -p "$root/usr/share/fairc"
{
    for package in "$pool"/*.deb; do
        echo "kernel $(basename "$package" .deb) $(sha256sum "$package" | cut -d' ' -f1)"
    done
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
