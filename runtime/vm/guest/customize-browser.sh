#!/bin/sh
# Run by mmdebstrap after customize.sh: drops what a browser without a screen never opens.
set -e
root=$1
rm -rf "$root"/usr/share/icons/* "$root"/usr/lib/x86_64-linux-gnu/dri
