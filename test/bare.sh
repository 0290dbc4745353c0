#!/usr/bin/env bash
# Runs the tests as on a machine that has Node and git alone. In a mount namespace of its own, the
# programs that some tests need beside those are hidden from the tests, and from nobody else.
# Arguments are for Vitest.
set -euo pipefail

if [ "$(uname)" != Linux ] || [ "$(id -u)" -ne 0 ]; then
  echo "npm run test:bare hides programs from the tests. That needs root on Linux." >&2
  exit 1
fi

# Where whiteouts go. It is mounted in the namespace and ends with it.
hidden=$(mktemp -d)
trap 'rmdir "$hidden"' EXIT
unshare --mount bash -euo pipefail -c '
  hidden=$1
  shift
  mount -t tmpfs tmpfs "$hidden"
  for program in bwrap chromium redis-server redis-cli haproxy strace promtool systemd-analyze ssh ssh-keygen script; do
    while path=$(type -P "$program"); do
      folder=$(realpath "$(dirname "$path")")
      layer=$hidden/${folder//\//-}
      if [ ! -d "$layer" ]; then
        mkdir "$layer" "$layer.work"
        mount -t overlay overlay -o "lowerdir=$folder,upperdir=$layer,workdir=$layer.work" "$folder"
      fi
      rm "$folder/$program"
    done
  done
  npm test -- "$@"
' bare "$hidden" "$@"
