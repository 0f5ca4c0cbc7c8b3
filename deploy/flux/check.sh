#!/usr/bin/env bash
# For the pipeline of every pull request that changes a package:
#
#   check.sh PACKAGE
#
# It fails if rendered/ is not what the spec and the inventory say, and if what is in it
# could destroy data in the cluster. Where a KUBECONFIG is at hand (read-only is enough for
# status, plan needs the right to a dry run) the change is held against the
# cluster; otherwise against the branch that the pull request goes to.
set -euo pipefail
package=${1:?check.sh PACKAGE}
base=${BASE:-origin/main}

poolwright render --check "$package"

if [ -n "${KUBECONFIG:-}" ]; then
  against=live
else
  old=$(mktemp -d)
  trap 'rm -rf "$old"' EXIT
  prefix=$(git -C "$package" rev-parse --show-prefix)
  git -C "$package" archive "$base:./rendered" | tar -x -C "$old" || echo "$base has no ${prefix}rendered: everything is new" >&2
  against=$old
fi
poolwright plan "$package" --against "$against" --fail-on destructive
