#!/usr/bin/env bash
# Run this in the pipeline of every pull request that changes a package:
#
#   check.sh PACKAGE
#
# It fails if rendered/ is out of date, and if the change could destroy data. It compares
# the change with $BASE, the target branch of the pull request, and, if there is a
# KUBECONFIG, also with the cluster (which needs permission for a dry run of an apply).
set -euo pipefail
package=${1:?check.sh PACKAGE}
base=${BASE:-origin/main}

# Without any spec this fails, too; the comparison below shows what its deletion means.
checked=0
poolwright render --check "$package" || checked=$?

top=$(git -C "$package" rev-parse --show-toplevel)
rendered=$(git -C "$package" rev-parse --show-prefix)rendered
if ! git -C "$top" rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
  echo "check.sh: $base is not in this clone; fetch it, or name another branch with BASE" >&2
  exit 1
fi
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
mkdir -p "$old/$rendered"
if git -C "$top" cat-file -e "$base:$rendered" 2>/dev/null; then
  git -C "$top" archive "$base" "$rendered" | tar -x -C "$old"
fi
poolwright plan "$package" --against "$old/$rendered" --fail-on destructive

if [ -n "${KUBECONFIG:-}" ]; then
  # The comparison above shows deleted specs. Other running objects may be of another package.
  poolwright plan "$package" --against live --prune=false --fail-on destructive
fi
exit "$checked"
