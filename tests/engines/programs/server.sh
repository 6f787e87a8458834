#!/bin/sh
# Answers each connection by 200 kB, with busybox.
exec nc -ll -p "$1" -e dd if=/dev/zero bs=1000 count=200
