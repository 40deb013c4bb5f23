#!/usr/bin/env bash
# The installed tree is enough: examples build against it with pkg-config and with CMake, and run; the
# tree may be moved. What `make` builds is what is installed, and it is hardened.
set -euo pipefail
if [[ -n ${SHOAL_SANITIZE:-} ]]; then
    echo "skipped: a sanitized library cannot be linked into plain programs"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$SHOAL_BUILD_DIR" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/tree"
tree=$work/tree
lib=$(dirname "$(find "$tree" -name 'libshoal.so.0')")
for file in bin/shoal include/shoal/status.h; do
    [[ -e $tree/$file ]] || { echo "not installed: $file"; exit 1; }
done
[[ -L $lib/libshoal.so ]] || { echo "libshoal.so is not a link"; exit 1; }
"$tree/bin/shoal" --help >/dev/null
"$tree/bin/shoal" gen prices --seed 7 --days 120 -o "$work/prices.csv"
"$tree/bin/shoal" gen sparse --rows 500 --columns 50 --nonzeros 5 -o "$work/data.svm"

preset() { make -C "$SHOAL_SOURCE_DIR" -n "$1" | sed -n 's/.*tools\/build \([a-z]*\) .*/\1/p'; }
[[ -n $(preset all) && $(preset all) == "$(preset install)" ]] ||
    { echo "make install compiles anew: '$(preset all)' is built, '$(preset install)' installed"; exit 1; }
for file in "$tree/bin/shoal" "$lib/libshoal.so"; do
    for want in "-d BIND_NOW" "-lW GNU_RELRO" "-sW __stack_chk_fail" "-sW __snprintf_chk" "-sW base_assert_failed"; do
        readelf ${want% *} "$file" | grep -F -- "${want#* }" >/dev/null || { echo "$(basename "$file"): no ${want#* }"; exit 1; }
    done
done

export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
version=$(sed -n 's/^#define SHOAL_VERSION  *"\(.*\)"/\1/p' "$tree/include/shoal/version.h")
[[ $(pkg-config --modversion shoal) == "$version" ]] ||
    { echo "shoal.pc says $(pkg-config --modversion shoal), version.h says $version"; exit 1; }
arguments() { # what an example is run with
    case $1 in
        compare) echo examples/small.csv fifo,las,srtf ;;
        gen) echo "$work/ratings.csv" ;;
        study) echo examples/small.csv ;;
        advise) echo examples/runs.csv ;;
        market) echo "$work/prices.csv" ;;
        sim) echo examples/small.csv ;;
        solve) echo examples/problem.json ;;
        train) echo "$work/data.svm $work/trained.shoal" ;;
        predict) echo "$work/model.shoal $work/data.svm $work/said.txt" ;;
        eval) echo "$work/model.shoal $work/data.svm" ;;
    esac
}
programs() { # the others are applications: shared objects, below
    find examples -name '*.c' ! -name '*_app.c' | sort
}
lines_of_code() { # neither empty nor comments alone
    awk '/^ *\/\*/ { inside = 1 } { if (!inside && NF > 0) n++ } /\*\// { inside = 0 } END { print n }' "$1"
}
# Where examples run: the installed command is the one that workers of a job run.
export XDG_RUNTIME_DIR=$work HOME=$work PATH=$tree/bin:$PATH
"$tree/bin/shoal" train logreg "$work/data.svm" --out "$work/model.shoal" >"$work/train.out"
cd "$SHOAL_SOURCE_DIR"
for file in $(programs); do
    # shares.c may be longer: it writes a problem down as arrays, which is what it shows.
    [[ $(lines_of_code "$file") -le 25 || $file == examples/shares.c ]] ||
        { echo "$file: $(lines_of_code "$file") lines of code, at most 25"; exit 1; }
done
for file in $(programs); do
    name=$(basename "$file" .c)
    # shellcheck disable=SC2046
    "${CC:-cc}" -std=c17 -Wall -Wextra -Werror "$file" $(pkg-config --cflags --libs shoal) -o "$work/$name"
    # shellcheck disable=SC2046
    "$work/$name" $(arguments "$name") >"$work/$name.pkg-config.out"
done

cmake -S "$SHOAL_SOURCE_DIR/examples" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$tree" >"$work/cmake.log" ||
    { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/cmake" >>"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
for file in $(programs); do
    name=$(basename "$file" .c)
    # shellcheck disable=SC2046
    "$work/cmake/$name" $(arguments "$name") >"$work/$name.cmake.out"
    [[ -s $work/$name.cmake.out ]] || { echo "$name printed nothing"; exit 1; }
    # Whichever way it was built, it says the same.
    cmp "$work/$name.pkg-config.out" "$work/$name.cmake.out"
done
grep -q "^shoal $version$" "$work/status.cmake.out" || { echo "the library is not $version"; exit 1; }

# Applications outside the tree: the example, built both ways, and the one that `shoal new app` writes.
export XDG_RUNTIME_DIR=$work HOME=$work PATH=$tree/bin:$PATH
for i in $(seq 600); do echo "$((i % 7)).$((i % 10)),$((i % 3)).$((i % 11))"; done >"$work/points.csv"
# shellcheck disable=SC2046
"${CC:-cc}" -std=c17 -Wall -Wextra -Werror -shared -fPIC examples/kmeans_app.c -lm \
    $(pkg-config --cflags --libs shoal) -o "$work/kmeans.so"
for object in "$work/kmeans.so" "$work/cmake/kmeans.so"; do
    shoal train "$object" "$work/points.csv" --set k=3 --workers 2 --out "$work/clusters.shoal" >"$work/kmeans.out"
    grep -q "^kmeans: mean squared distance .* after 20 iterations" "$work/kmeans.out" || { cat "$work/kmeans.out"; exit 1; }
    grep -q "^converged" "$work/kmeans.out" || { cat "$work/kmeans.out"; exit 1; }
    [[ -s $work/clusters.shoal ]] || { echo "no model"; exit 1; }
    rm "$work/clusters.shoal"
done
cd "$work"
shoal new app mean >"$work/new.out"
make -C mean CC="${CC:-cc}" CFLAGS="-O2 -Wall -Wextra -Werror -Wconversion" test >"$work/mean.log" 2>&1 ||
    { cat "$work/mean.log"; exit 1; }
cd "$work/mean"
[[ $(shoal eval mean.shoal numbers.txt) == "rmse 288.6"* ]] || { echo "shoal eval is wrong"; exit 1; }
echo "examples and applications build and run against the installed tree"
