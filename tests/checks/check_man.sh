#!/usr/bin/env bash
# Manual pages are clean mdoc: those the command prints, one per command, and those in man/.
set -euo pipefail
shopt -s nullglob
pages=("$SHOAL_BUILD_DIR"/generated/man/*.1 "$SHOAL_SOURCE_DIR"/man/*.[1-8])
want=$(("$("$SHOAL_BIN" help --list | wc -l)" + 1))
if [[ ${#pages[@]} -lt $want ]]; then
    echo "${#pages[@]} manual pages, but $want are due"
    exit 1
fi
if ! command -v mandoc >/dev/null; then
    echo "skipped: mandoc is not installed (tools/install-deps test)"
    exit 77
fi
# A reference to a page that is not installed on this machine is no fault.
found=$(mandoc -T lint -W style "${pages[@]}" 2>&1 |
    grep -v -e 'referenced manual not found' -e 'operating system explicitly specified' || true)
if [[ -n $found ]]; then
    echo "$found"
    exit 1
fi
echo "${#pages[@]} pages"
