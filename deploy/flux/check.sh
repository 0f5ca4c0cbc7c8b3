#!/usr/bin/env bash
# For the pipeline of every pull request that changes a package:
#
#   check.sh PACKAGE
#
# It fails if rendered/ is not what the spec and the inventory say, and if what is in
# it could destroy data. The change is held against $BASE, the branch that the pull
# request goes to, and where a KUBECONFIG is at hand against the cluster, too (which
# takes the right to a dry run of an apply).
set -euo pipefail
package=${1:?check.sh PACKAGE}
base=${BASE:-origin/main}

# Without any spec this fails, too: what its deletion means is still to be told.
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
  # A spec that was deleted is seen above. What else lives may be another package's.
  poolwright plan "$package" --against live --prune=false --fail-on destructive
fi
exit "$checked"
