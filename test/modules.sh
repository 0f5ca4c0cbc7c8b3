#!/bin/sh
# Runs the tests of each folder of a module that is given, beside one another: the
# engines mostly wait. Each one's output is shown whole, once it has ended, in the
# order given. Exits 1 if the tests of any failed.
set -u
logs=$(mktemp -d)
pids=
stop() { kill $pids 2>/dev/null; wait; rm -rf "$logs"; }
trap 'stop; exit 130' INT TERM

number=0
for module; do
  number=$((number + 1))
  (cd "$module" && exec go test -timeout 30m ./...) >"$logs/$number" 2>&1 &
  pids="$pids $!"
done

number=0
failed=
for module; do
  number=$((number + 1))
  set -- $pids; shift $((number - 1))
  wait "$1" || failed="$failed $module"
  echo "tests of $module"
  cat "$logs/$number"
done
rm -rf "$logs"
test -z "$failed" || { echo "failed:$failed" >&2; exit 1; }
