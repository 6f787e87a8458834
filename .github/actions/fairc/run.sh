#!/usr/bin/env bash
# Runs SPEC into RUN, decides its claims, and compares it with BASELINE. Leaves RUN-ci/comment.md, junit.xml and
# study.zip (the next baseline). Exit status: that of `fairc run`.
set -euo pipefail
: "${SPEC:?the .fexp file}" "${RUN:=results/ci}" "${BASELINE:=}" "${STRICT:=false}" "${ALLOW:=}"

strict=()
[ "$STRICT" = true ] && strict=(--strict)

allowed=()
for code in $ALLOW; do
  case $code in
    program | module) allowed+=("--allow-$code") ;;
    *) echo "\`allow\` takes \`program\` and \`module\`, not \`$code\`" >&2; exit 2 ;;
  esac
done

# A run goes on with the results that it finds: those that somebody committed would be taken for its own. A committed
# link would lead what is written elsewhere.
out="$RUN-ci"
for folder in "$RUN" "$out"; do
  if [ -L "$folder" ] || [ -n "$(git ls-files -- "$(realpath -m -- "$folder")" 2> /dev/null)" ]; then
    echo "the repository holds files below $folder: remove them from it, or give \`run\` another folder" >&2
    exit 2
  fi
done

# 0 and 1 are answers (claims hold, or one fails); anything else is an error.
answer() {
  local status=0
  "$@" || status=$?
  [ "$status" -le 1 ] || exit "$status"
  return 0
}

result=0
fairc run "$SPEC" -o "$RUN" --quiet "${strict[@]}" "${allowed[@]}" || result=$?
[ "$result" -le 1 ] || exit "$result"

mkdir -p "$out"
answer fairc verdict "$RUN" --format junit > "$out/junit.xml"
answer fairc verdict "$RUN" --format md > "$out/comment.md"
if [ -n "$BASELINE" ]; then
  echo >> "$out/comment.md"
  answer fairc compare "$RUN" --baseline "$BASELINE" --format md >> "$out/comment.md"
fi
fairc pack "$RUN" -o "$out/study.zip" --quiet

cat "$out/comment.md" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
echo "comment=$out/comment.md" >> "${GITHUB_OUTPUT:-/dev/null}"
exit "$result"
