#!/usr/bin/env bash
# Installs fairc into VENV. Of a release (REF is its tag, `v1.2.3`) the wheels that belong to it: 30 seconds, any Linux with
# Python 3.11. Of any other commit the tree at ROOT, with a kernel compiled on Debian.
set -euo pipefail
: "${ROOT:?a clone of fairc}" "${VENV:?where to install}" "${REF:=}" "${REPOSITORY:=}"

if [[ $REF =~ ^v[0-9]+(\.[0-9]+){2}$ ]]; then
  wheels=$(mktemp -d)
  trap 'rm -r "$wheels"' EXIT
  gh release download "$REF" --repo "$REPOSITORY" --pattern '*.whl' --dir "$wheels"
  python3 -m venv "$VENV"
  "$VENV/bin/pip" install --quiet "$wheels"/*.whl
else
  make -C "$ROOT" install
  [ "$ROOT/.venv" -ef "$VENV" ] || ln -s "$ROOT/.venv" "$VENV"
  "$VENV/bin/pip" install --quiet "$ROOT/plugins/deviations"
fi
