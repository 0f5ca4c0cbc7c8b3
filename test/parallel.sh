#!/usr/bin/env bash
# Runs the command lines that are given beside one another. The first's output is shown as it
# comes, that of each other whole, in the order given. Which tests failed is said again at the end.
# Exits 1 if any failed.
set -u -o pipefail
logs=$(mktemp -d)
pids=
# Each in the background is a process group, so that what its tests started ends with it.
set -m
stop() { for pid in $pids; do kill -- "-$pid" 2>/dev/null; done; wait; rm -rf "$logs"; }
trap 'stop; exit 130' INT TERM

first=$1
shift
number=0
for command; do
  number=$((number + 1))
  sh -c "$command" >"$logs/$number" 2>&1 &
  pids="$pids $!"
done
set +m

failed=
sh -c "$first" 2>&1 | tee "$logs/0" || failed="$first"
number=0
for command; do
  number=$((number + 1))
  wait "$(echo $pids | cut -d ' ' -f $number)" || failed="$failed
$command"
  echo "+ $command"
  cat "$logs/$number"
done
if [ -n "$failed" ]; then
  echo "failed: $failed"
  cat "$logs"/* | grep -A 3 -E '^ *--- FAIL|^FAIL|^panic:|running tests:' | cut -c 1-300 | tail -n 60
fi >&2
rm -rf "$logs"
test -z "$failed"
