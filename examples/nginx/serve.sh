#!/bin/sh
# A file of 100 kB, served by nginx on a port.
head -c 100000 /dev/zero > /work/file
sed "s/listen 5001/listen $1/" /program/nginx.conf > /tmp/nginx.conf
exec nginx -e stderr -c /tmp/nginx.conf -g "daemon off;"
