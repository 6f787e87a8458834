#!/bin/sh
# Fetch a file so many times, each over a connection of its own; write the medians of curl's times.
for _ in $(seq "$2"); do
  curl --silent --fail --output /dev/null --write-out '%{time_starttransfer} %{time_total}\n' "$1" || exit 1
done > times
median() { cut -d ' ' -f "$1" times | sort -n | sed -n "$(($2 / 2 + 1))p"; }
echo "median first byte, s: $(median 1 "$2")" > fetches
echo "median whole file, s: $(median 2 "$2")" >> fetches
