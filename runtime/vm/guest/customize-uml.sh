#!/bin/sh
# Run by mmdebstrap with a folder as its argument into which packages have been unpacked, none of them installed: makes
# a root file system of it, with what the conductor of a cell and a user's programs run in User-Mode Linux and no more,
# and notes what is in it.
set -e
root=$1
library=usr/lib/x86_64-linux-gnu
programs="usr/bin/busybox usr/bin/ip usr/bin/iperf3 usr/bin/python3.13 usr/sbin/tc"
# Of busybox, for the scripts of users (docs/learn/programs.md).
applets="[ awk basename cat chmod cmp cp cut date dd dirname echo env expr false find grep head hexdump hostname httpd id
    ln ls md5sum mkdir mktemp mv nc od printf ps pwd rm sed seq sh sha256sum sleep sort tail tee test timeout touch tr
    true uname uniq wc wget xargs"

# What nothing here runs: other programs, and modules of Python for tests, terminals and databases.
cd "$root"
for folder in usr/bin usr/sbin usr/libexec; do
    for file in "$folder"/*; do
        case " $programs usr/bin/python3 " in *" $file "*) ;; *) rm -rf "$file" ;; esac
    done
done
rm -rf usr/share/[!i]* usr/share/i[!p]* usr/include usr/games usr/src usr/lib/python3 usr/lib/valgrind \
    etc/alternatives etc/apt/apt.conf.d/70debconf etc/cron.daily etc/debconf.conf etc/dpkg/* etc/gss etc/logrotate.d \
    etc/netconfig etc/python3* etc/rmt
python=usr/lib/python3.13
for module in __phello__ curses ensurepip idlelib lib2to3 pydoc_data sqlite3 test tkinter turtledemo venv; do
    rm -rf "${python:?}/$module"
done
for module in _ctypes_test _curses _curses_panel _dbm _gdbm _sqlite3 _testbuffer _testcapi _testclinic \
    _testclinic_limited _testexternalinspection _testimportmultiple _testinternalcapi _testlimitedcapi \
    _testmultiphase _testsinglephase _tkinter _xxtestfuzz readline xxlimited xxlimited_35 xxsubtype; do
    rm -f "$python/lib-dynload/$module".*
done

# What these packages' own scripts would do, and what a file system begins with.
for folder in bin lib lib64 sbin; do
    ln -s "usr/$folder" "$folder"
done
for folder in dev home mnt proc root run sys tmp var/tmp; do
    mkdir -p "$folder"
done
chmod 1777 tmp var/tmp
for applet in $applets; do
    ln -sf busybox "usr/bin/$applet"
done
printf 'root:x:0:0:root:/root:/bin/sh\n' > etc/passwd
printf 'root:x:0:\n' > etc/group
printf '127.0.0.1 localhost\n' > etc/hosts
printf 'fairc\n' > etc/hostname
rm -f etc/resolv.conf etc/fstab

# Only the libraries that these programs and modules load.
for file in $programs "$python"/lib-dynload/*.so; do
    [ "$file" = usr/bin/busybox ] || chroot . /lib64/ld-linux-x86-64.so.2 --list "/$file"
done | sed -n 's/.*=> \/lib\/x86_64-linux-gnu\/\([^ ]*\) .*/\1/p' | sort -u > tmp/needed
# Loaded by name: by the end of a thread; and read by tc: the shapes of netem's jitter.
mkdir tmp/kept
for name in $(cat tmp/needed) ld-linux-x86-64.so.2 libgcc_s.so.1 tc; do
    if [ -L "$library/$name" ]; then
        mv "$library/$(readlink "$library/$name")" tmp/kept/
    fi
    mv "$library/$name" tmp/kept/
done
rm -rf "$library"
mv tmp/kept "$library"
rm tmp/needed
for file in usr/lib/*; do
    case $file in "$library" | "$python") ;; *) rm -rf "$file" ;; esac
done

# The packages that something is left of: name, version, source and its version.
mkdir -p usr/share/fairc
for package in var/cache/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -t | sed 's,^\./,,' | while read -r file; do
        [ ! -f "$file" ] || [ -L "$file" ] || { echo kept; break; }
    done | grep -q kept || continue
    dpkg-deb --show --showformat '${Package} ${Version} ${source:Package} ${source:Version}\n' "$package"
done | sort > usr/share/fairc/packages.txt

# Compiled once, and not compared with their source at each boot.
chroot . /usr/bin/python3 -m compileall -q -f --invalidation-mode unchecked-hash "/$python"
