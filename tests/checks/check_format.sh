#!/usr/bin/env bash
# All C of the tree is as clang-format would write it; `make format` mends a failure.
set -euo pipefail
if ! command -v clang-format >/dev/null; then
    echo "skipped: clang-format is not installed (tools/install-deps test)"
    exit 77
fi
# Other versions break lines elsewhere; the settings are written for this one.
version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
if [[ $version != 14 ]]; then
    echo "skipped: clang-format is version $version, the format is defined by version 14"
    exit 77
fi
cd "$SHOAL_SOURCE_DIR"
if ! tools/format --check; then
    echo "the files above are not in the project's format: make format"
    exit 1
fi
