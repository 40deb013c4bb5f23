#!/usr/bin/env bash
# An application that `shoal new app` wrote builds and runs before Shoal is installed: with the command
# and the headers of the build tree that it came from, also when that is reached through a link.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/a folder"
cd "$work/a folder"
ln -s "$SHOAL_BIN" link
export XDG_RUNTIME_DIR=$work HOME=$work PKG_CONFIG_LIBDIR=$work/nothing
unset PKG_CONFIG_PATH SHOAL PKG_CONFIG
if pkg-config --exists shoal || command -v shoal >/dev/null; then
    echo "skipped: a shoal is installed, which hides what this is about"
    exit 77
fi
for command in "$SHOAL_BIN" ./link; do
    rm -rf mean
    "$command" new app mean >new.out
    make -C mean CC="${CC:-cc}" CFLAGS="-O2 -Wall -Wextra -Werror -Wconversion" test >mean.log 2>&1 ||
        { cat mean.log; exit 1; }
done
# One whose options are no rows of this version is refused, not misread.
for change in 's/AT(clocks), /4096, /' 's/SHOAL_OPT_F64/SHOAL_OPT_LIST/'; do
    cp mean/mean.c mean.c
    sed -i "$change" mean/mean.c
    if cmp -s mean.c mean/mean.c; then
        exit 1
    fi
    make -C mean mean.so -W mean.c >mean.log 2>&1 || { cat mean.log; exit 1; }
    if "$SHOAL_BIN" app show mean/mean.so 2>err; then
        exit 1
    fi
    grep -q "the options of the application in 'mean/mean.so' cannot be read" err
    cp mean.c mean/mean.c
done
# One that is installed names no folder.
mkdir bin
cp "$SHOAL_BIN" bin/shoal
rm -rf mean
bin/shoal new app mean >new.out
if grep -q "$work\|$SHOAL_SOURCE_DIR" mean/Makefile; then
    cat mean/Makefile
    exit 1
fi
echo "ok"
