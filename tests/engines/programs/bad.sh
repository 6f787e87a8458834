#!/bin/sh
# A client that does what its first word says.
case $1 in
fails) echo "no route to happiness" >&2; exit 3 ;;
crashes) kill -SEGV $$ ;;
prints) exec yes 0123456789 ;;
fills) exec dd if=/dev/zero of=much bs=1M count=100 2>&1 ;;
deaf) trap "" TERM; while :; do sleep 1; done ;;
forks) while :; do (:); done ;;
spins) while :; do :; done ;;
breaks)
    for attempt in "echo x > /program/bad.sh" "echo x > /etc/hosts" "echo x > /usr/bin/x" "kill -9 1" \
        "ls /run/fairc" "echo reno > /proc/sys/net/ipv4/tcp_congestion_control" "nc -l -p 80 -w 1" "cat /dev/exchange"; do
        sh -c "$attempt" > /dev/null 2>&1 && echo "WORKS: $attempt"
    done
    echo "id $(id -u), processes $(ls /proc | grep -c '^[0-9]')"
    ;;
esac
exit 0
