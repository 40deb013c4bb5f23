/* Any bytes as a table: refused with words, or rows of one width whose values are in range. What is
 * compressed reads as what it holds, and a table written from its own cells reads the same again. */
#include "../gzip_text.h"

#include "env/table.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NAME, COUNT, COLUMNS, SIZE_MAX_BYTES = 1 << 24 };

/* Reads it all; the cells go into `out`, in quotes. */
static shoal_status read_table(shoal_env *env, const char *path, bool header, struct base_buf *out,
                               uint64_t *out_hash)
{
    static const struct env_column columns[COLUMNS] = {
        [NAME] = {"name", true}, [COUNT] = {"count", false}};
    shoal_err err = SHOAL_ERR_INIT;
    struct env_table t;
    uint64_t line = 0;

    if (env_table_open(env, "table", path, &t, &err) == SHOAL_OK) {
        if (header)
            env_table_header(&t, "#shoal-table", columns, COLUMNS, false);
        size_t width = t.width;
        while (env_table_next(&t)) {
            shoal_assert(t.count > 0 && (width == 0 || t.count == width) && t.in.line > line);
            line = t.in.line;
            for (size_t i = 0; i < t.count; i++) {
                base_buf_puts(out, i > 0 ? ",\"" : "\"");
                for (size_t k = 0; k < t.cells[i].length; k++) {
                    base_buf_append(out, t.cells[i].text + k, 1);
                    if (t.cells[i].text[k] == '"')
                        base_buf_puts(out, "\"");
                }
                base_buf_puts(out, "\"");
            }
            base_buf_puts(out, "\n");
            struct env_cell cell = header ? env_table_cell(&t, COUNT) : env_cell_of("");
            uint64_t whole = cell.length > 0 ? env_table_whole(&t, cell, 1, 9, "a count") : 1;
            shoal_assert(t.status != SHOAL_OK || (whole >= 1 && whole <= 9));
        }
        shoal_assert(strlen(t.ignored) < ENV_IGNORED_MAX && (header || t.ignored[0] == '\0'));
        *out_hash = t.in.hash;
    }
    shoal_status st = env_table_close(&t);
    shoal_assert(st == SHOAL_OK ? err.code == SHOAL_OK : err.code == st && err.message[0] != '\0');
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct base_buf cells, again, packed;
    shoal_env *env = NULL;
    uint64_t hash = 0, other = 0;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    base_buf_init(&cells, &base_alloc_libc, SIZE_MAX_BYTES);
    base_buf_init(&again, &base_alloc_libc, SIZE_MAX_BYTES);
    base_buf_init(&packed, &base_alloc_libc, SIZE_MAX_BYTES);
    gzip_text(data, size, &packed);
    shoal_assert(env_sim_put(env, "f", data, size) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "f.gz", packed.data, packed.size) == SHOAL_OK);
    for (int header = 0; header < 2; header++) {
        base_buf_clear(&cells);
        base_buf_clear(&again);
        shoal_status st = read_table(env, "f", header == 1, &cells, &hash);
        if (size < 2 || data[0] != 0x1f ||
            data[1] != 0x8b) { /* packed twice is not unpacked twice */
            shoal_assert(read_table(env, "f.gz", header == 1, &again, &other) == st);
            shoal_assert(hash == other && again.size == cells.size);
        }
        if (st != SHOAL_OK || header == 1 || cells.status != SHOAL_OK || cells.size == 0)
            continue;
        shoal_assert(env_sim_put(env, "g", cells.data, cells.size) == SHOAL_OK);
        base_buf_clear(&again);
        shoal_assert(read_table(env, "g", false, &again, &other) == SHOAL_OK);
        shoal_assert(again.size == cells.size && memcmp(again.data, cells.data, cells.size) == 0);
    }
    base_buf_fini(&cells);
    base_buf_fini(&again);
    base_buf_fini(&packed);
    shoal_env_free(env);
    return 0;
}
