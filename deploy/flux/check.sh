#!/usr/bin/env bash
# For the pipeline of every pull request that changes a package:
#
#   check.sh PACKAGE
#
# It fails if rendered/ is not what the spec and the inventory say, and if what is in
# it could destroy data. Where a KUBECONFIG is at hand the change is held against the
# cluster (which takes the right to a dry run of an apply), otherwise against $BASE, the
# branch that the pull request goes to.
set -euo pipefail
package=${1:?check.sh PACKAGE}
base=${BASE:-origin/main}

poolwright render --check "$package"

against=live
if [ -z "${KUBECONFIG:-}" ]; then
  top=$(git -C "$package" rev-parse --show-toplevel)
  rendered=$(git -C "$package" rev-parse --show-prefix)rendered
  old=$(mktemp -d)
  trap 'rm -rf "$old"' EXIT
  against=$old/$rendered
  mkdir -p "$against"
  if git -C "$top" cat-file -e "$base:$rendered" 2>/dev/null; then
    git -C "$top" archive "$base" "$rendered" | tar -x -C "$old"
  fi
fi
poolwright plan "$package" --against "$against" --fail-on destructive
