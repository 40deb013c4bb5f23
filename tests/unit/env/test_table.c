/* Tests of src/env/table.c. */
#include "env_world.h"
#include "gzip_text.h"
#include "torture.h"

#include "base/rand.h"
#include "env/table.h"
#include "property.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>

enum { NAME, GPUS, SHARE, NOTE, COLUMNS, ROWS_MAX = 20, TEXT_MAX = 24 };
static const struct env_column columns[COLUMNS] = {[NAME] = {"name", true},
                                                   [GPUS] = {"gpus", true},
                                                   [SHARE] = {"share", true},
                                                   [NOTE] = {"note", false}};

struct row {
    char name[TEXT_MAX], note[TEXT_MAX];
    uint64_t gpus;
    double share;
};

struct rows {
    struct row row[ROWS_MAX];
    size_t count;
    char ignored[ENV_IGNORED_MAX];
};

static void copy(struct env_cell cell, char out[TEXT_MAX])
{
    snprintf(out, TEXT_MAX, "%.*s", (int)cell.length, cell.text);
}

static shoal_status read_rows(shoal_env *env, const char *path, struct rows *out, shoal_err *err)
{
    struct env_table t;

    *out = (struct rows){0};
    if (env_table_open(env, "list", path, &t, err) == SHOAL_OK) {
        env_table_header(&t, "#shoal-list", columns, COLUMNS, false);
        while (env_table_next(&t)) {
            struct row row;
            copy(env_table_cell(&t, NAME), row.name);
            copy(env_table_cell(&t, NOTE), row.note);
            row.gpus = env_table_whole(&t, env_table_cell(&t, GPUS), 0, 1000000, "GPUs");
            row.share = env_table_number(&t, env_table_cell(&t, SHARE), 0, 1, "a share");
            if (t.status == SHOAL_OK && out->count < ROWS_MAX)
                out->row[out->count++] = row;
        }
        env_table_note(&t, out->ignored);
    }
    return env_table_close(&t);
}

/* --- any way of writing the same table ------------------------------------------------------- */

struct style {
    size_t order[COLUMNS + 3]; /* COLUMNS and more: a column that nobody knows */
    size_t count;
    bool magic, mark, crlf, quoted, comments, packed, loose, no_end;
};

static void put_cell(struct base_rand *r, const struct style *s, const char *text,
                     struct base_buf *out)
{
    bool quote = strpbrk(text, ",\"#") != NULL || (s->quoted && base_rand_below(r, 2) == 0);

    if (quote)
        base_buf_puts(out, "\"");
    for (; *text != '\0'; text++)
        base_buf_printf(out, quote && *text == '"' ? "\"%c" : "%c", *text);
    if (quote)
        base_buf_puts(out, "\"");
}

static void put_name(struct base_rand *r, const char *name, char out[64])
{
    size_t used = (size_t)snprintf(out, 64, "%s%s%s", base_rand_below(r, 3) == 0 ? " " : "", name,
                                   base_rand_below(r, 3) == 0 ? "  " : "");
    for (size_t i = 0; i < used; i++)
        if (base_rand_below(r, 3) == 0)
            out[i] = (char)toupper((unsigned char)out[i]);
}

static void value_text(struct base_rand *r, const struct style *s, const struct row *row,
                       size_t column, char out[64])
{
    const char *loose = s->loose && base_rand_below(r, 2) == 0 ? " " : "";

    switch (column) {
    case NAME: snprintf(out, 64, "%s", row->name); break;
    case NOTE: snprintf(out, 64, "%s", row->note); break;
    case GPUS:
        snprintf(out, 64, "%s%llu%s", loose, (unsigned long long)row->gpus,
                 s->loose && base_rand_below(r, 2) == 0 ? ".0" : "");
        break;
    case SHARE: snprintf(out, 64, "%.17g%s", row->share, loose); break;
    default: snprintf(out, 64, "%s", base_rand_below(r, 2) == 0 ? "x,\"y" : ""); break;
    }
}

static void write_rows(struct base_rand *r, const struct style *s, const struct rows *rows,
                       struct base_buf *out)
{
    char text[64];
    const char *end = s->crlf ? "\r\n" : "\n";

    base_buf_puts(out, s->mark ? "\xef\xbb\xbf" : "");
    if (s->magic)
        base_buf_printf(out, "#shoal-list v1%s", end);
    for (size_t i = 0; i <= rows->count; i++) {
        if (s->comments && base_rand_below(r, 2) == 0)
            base_buf_printf(out, "# \"not, a row%s%s", end, base_rand_below(r, 2) == 0 ? end : "");
        for (size_t f = 0; f < s->count; f++) {
            if (f > 0)
                base_buf_puts(out, ",");
            if (i > 0)
                value_text(r, s, &rows->row[i - 1], s->order[f], text);
            else if (s->order[f] < COLUMNS)
                put_name(r, columns[s->order[f]].name, text);
            else
                snprintf(text, sizeof text, "extra %zu", s->order[f]);
            put_cell(r, s, text, out);
        }
        if (!s->no_end || i < rows->count)
            base_buf_puts(out, end);
    }
}

static void draw_style(struct base_rand *r, struct style *s)
{
    *s = (struct style){.count = COLUMNS + (size_t)base_rand_below(r, 4)};
    bool *flags[] = {&s->magic,    &s->mark,   &s->crlf,  &s->quoted,
                     &s->comments, &s->packed, &s->loose, &s->no_end};
    for (size_t i = 0; i < BASE_COUNT(flags); i++)
        *flags[i] = base_rand_below(r, 2) == 0;
    for (size_t i = 0; i < s->count; i++)
        s->order[i] = i;
    for (size_t i = s->count; i > 1; i--) {
        size_t j = (size_t)base_rand_below(r, i), swap = s->order[i - 1];
        s->order[i - 1] = s->order[j];
        s->order[j] = swap;
    }
}

static void draw_rows(struct base_rand *r, struct rows *rows)
{
    *rows = (struct rows){.count = (size_t)base_rand_below(r, ROWS_MAX + 1)};
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->row[i];
        for (char *c = row->name; c < row->name + base_rand_below(r, TEXT_MAX - 1); c++)
            *c = "ab,\"'# |\xc3"[base_rand_below(r, 9)];
        for (char *c = row->note; c < row->note + base_rand_below(r, 4); c++)
            *c = "xyz\""[base_rand_below(r, 4)];
        row->gpus = base_rand_below(r, 1000000);
        row->share = (double)base_rand_below(r, 1000) / 1000;
    }
}

static void a_table_reads_the_same_however_it_is_written(void **state)
{
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 5, "test.table");
    for (int round = 0; round < property_count(2000); round++) {
        struct rows rows, read;
        struct style style;
        struct base_buf text, packed;
        shoal_err err = SHOAL_ERR_INIT;
        shoal_env *env = world_new();
        base_buf_init(&text, &base_alloc_libc, 1 << 20);
        base_buf_init(&packed, &base_alloc_libc, 1 << 20);
        draw_rows(&r, &rows);
        draw_style(&r, &style);
        write_rows(&r, &style, &rows, &text);
        gzip_text(text.data, text.size, &packed);
        const struct base_buf *stored = style.packed ? &packed : &text;
        assert_int_equal(env_sim_put(env, "f", stored->data, stored->size), SHOAL_OK);
        if (read_rows(env, "f", &read, &err) != SHOAL_OK)
            fail_msg("%s in:\n%s", err.message, text.data);
        assert_int_equal(read.count, rows.count);
        for (size_t i = 0; i < rows.count; i++) {
            const struct row *a = &rows.row[i], *b = &read.row[i];
            assert_string_equal(a->name, b->name);
            assert_string_equal(a->note, b->note);
            assert_int_equal(a->gpus, b->gpus);
            assert_true(a->share == b->share);
        }
        for (size_t f = 0; f < style.count; f++) { /* and says what it did not know */
            char name[16];
            snprintf(name, sizeof name, "'extra %zu'", style.order[f]);
            assert_int_equal(strstr(read.ignored, name) != NULL, style.order[f] >= COLUMNS);
        }
        base_buf_fini(&text);
        base_buf_fini(&packed);
        shoal_env_free(env);
    }
}

/* --- what is refused ------------------------------------------------------------------------- */

static void refuses(const char *text, const char *message, const char *hint)
{
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;
    struct rows rows;

    world_put(env, "a.csv", text);
    assert_int_equal(read_rows(env, "a.csv", &rows, &err), SHOAL_E_FORMAT);
    assert_int_equal(err.code, SHOAL_E_FORMAT);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in '%s'", message, err.message);
    assert_non_null(strstr(err.hint, hint));
    assert_int_equal(read_rows(env, "a.csv", &rows, NULL), SHOAL_E_FORMAT);
    shoal_env_free(env);
}

#define HEAD "name,gpus,share\n"

static void a_bad_header_is_told_with_its_place_and_what_to_write(void **state)
{
    (void)state;
    refuses("name,GPU,share\n",
            "cannot read list 'a.csv', line 1: expected a header with a column 'gpus'",
            "is its 'GPU' meant? a header must have name, gpus, share");
    refuses("\n\nname,x\n", "line 3: expected a header with a column 'gpus'",
            "a header must have name, gpus, share");
    refuses("name,gpus,share, Gpus\n", "line 1, column 4: column 'gpus' is there twice", "");
    refuses("#shoal-list v2\n" HEAD, "line 1: expected '#shoal-list v1', found '#shoal-list v2'",
            "");
    refuses("name,\"gpus\n", "column 2: expected a closing quote in the same line", "");
}

static void a_bad_row_is_told_with_its_place(void **state)
{
    (void)state;
    refuses(HEAD "a,1\n", "line 2: expected 3 fields, found 2", "");
    refuses(HEAD "a,1,0\n\"b\"c,1,0\n",
            "line 3, column 1: expected a comma after the closing quote", "");
    refuses(HEAD "a\x1b[31m,1,0\n", "column 1: expected text, found a control character", "");
    refuses(HEAD "a,1.5,0\n",
            "column 2: expected GPUs, a whole number from 0 to 1000000, found '1.5'", "");
    refuses(HEAD "a,-1,0\n", "column 2: expected GPUs", "");
    refuses(HEAD "a,1e7,0\n", "column 2: expected GPUs", "");
    refuses(HEAD "a,,0\n",
            "column 2: expected GPUs, a whole number from 0 to 1000000, found nothing", "");
    refuses(HEAD "a,1,1.01\n", "column 3: expected a share from 0 to 1, found '1.01'", "");
    refuses(HEAD "a,1,nan\n", "column 3: expected a share from 0 to 1", "");
    refuses(HEAD "a,1,0x1\n", "column 3: expected a share from 0 to 1", "");
    refuses(HEAD "a,x,y\nb,1\n", "line 2, column 2: expected GPUs", ""); /* the first */
}

static void columns_nobody_knows_are_noted_by_name_with_the_one_that_may_be_meant(void **state)
{
    shoal_env *env = world_new();
    struct rows rows;
    char note[ENV_IGNORED_MAX] = "";
    char many[20000] = "name,gpus,share";

    (void)state;
    world_put(env, "a.csv", "name,gpus,notes,share,\n");
    assert_int_equal(read_rows(env, "a.csv", &rows, NULL), SHOAL_OK);
    assert_string_equal(rows.ignored, "'notes', '' of 'a.csv' (did you mean 'note'?)");
    for (size_t i = 0; i < 1000; i++)
        snprintf(many + strlen(many), 16, ",column %zu", i);
    world_put(env, "b.csv", many);
    assert_int_equal(read_rows(env, "b.csv", &rows, NULL), SHOAL_OK);
    assert_non_null(strstr(rows.ignored, "'column 0', 'column 1',"));
    assert_non_null(strstr(rows.ignored, " more of 'b.csv'"));
    struct env_table first = {.ignored = "'x' of 'a'"}, none = {0};
    env_table_note(&none, note);
    assert_string_equal(note, "");
    for (int i = 0; i < 5; i++)
        env_table_note(&first, note);
    assert_string_equal(note, "'x' of 'a', and of other files");
    shoal_env_free(env);
}

/* --- rows and values ------------------------------------------------------------------------- */

static void cut(const char *text, char separator, bool trim, const char *expected)
{
    struct env_table t = {.in = {.alloc = &base_alloc_libc, .what = "list", .path = "f"},
                          .separator = separator,
                          .trim = trim};
    char copy_of[512], out[512];
    size_t used = 0;

    strcpy(copy_of, text);
    assert_int_equal(env_table_cut(&t, copy_of, strlen(text)), expected != NULL);
    out[0] = '\0';
    for (size_t i = 0; expected != NULL && i < t.count; i++) {
        assert_int_equal(t.cells[i].column, i + 1);
        used += (size_t)snprintf(out + used, sizeof out - used, "%.*s;", (int)t.cells[i].length,
                                 t.cells[i].text);
    }
    if (expected != NULL)
        assert_string_equal(out, expected);
    base_free(&base_alloc_libc, t.cells);
}

static void cells_are_cut_at_commas_outside_quotes(void **state)
{
    (void)state;
    cut("a,b,,c", ',', false, "a;b;;c;");
    cut("\"a,b\",\"say \"\"hi\"\"\",\"\"", ',', false, "a,b;say \"hi\";;");
    cut("a,", ',', false, "a;;");
    cut("", ',', false, ";");
    cut("x \"y\",z", ',', false, "x \"y\";z;");
    cut("\"a\tb\"\tc,d", '\t', false, "\"a;b\";c,d;"); /* tabs know no quotes */
    cut(" a , \"b, \" ,c ", ',', true, "a;b, ;c;");
    cut(" a , b", ',', false, " a ; b;");
    cut("\"a", ',', false, NULL);
    cut("\"a\"b,c", ',', false, NULL);
    cut("a,b\tc", ',', false, NULL);
}

static void tables_may_be_wide_and_lines_long(void **state)
{
    enum { WIDE = 20000 };
    struct base_buf text;
    shoal_env *env = world_new();
    struct rows rows;

    (void)state;
    base_buf_init(&text, &base_alloc_libc, 1 << 24);
    base_buf_puts(&text, "name,gpus,share");
    for (size_t i = 0; i < WIDE; i++)
        base_buf_printf(&text, ",c%zu", i);
    base_buf_puts(&text, "\na,1,0.5");
    for (size_t i = 0; i < WIDE; i++)
        base_buf_printf(&text, ",a value that makes lines long %zu", i);
    assert_int_equal(env_sim_put(env, "f", text.data, text.size), SHOAL_OK);
    assert_int_equal(read_rows(env, "f", &rows, NULL), SHOAL_OK);
    assert_int_equal(rows.count, 1);
    base_buf_clear(&text);
    for (size_t i = 0; i < ENV_CELLS_MAX; i++)
        base_buf_puts(&text, ",");
    assert_int_equal(env_sim_put(env, "f", text.data, text.size), SHOAL_OK);
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(read_rows(env, "f", &rows, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "expected at most 65536 fields"));
    base_buf_fini(&text);
    shoal_env_free(env);
}

static void whole_numbers_may_be_written_with_a_point_and_blanks(void **state)
{
    static const struct {
        const char *text;
        double value; /* NAN: refused */
    } cases[] = {{"1", 1},     {"1.0", 1},    {" 8 ", 8},   {"1e3", 1000},      {"08", 8},
                 {"0.0", 0},   {"-0.0", 0},   {"1.5", NAN}, {"-1", NAN},        {"", NAN},
                 {"1 2", NAN}, {"1e30", NAN}, {"inf", NAN}, {"4294967296", NAN}};

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(cases); i++) {
        struct env_table t = {.in = {.what = "list", .path = "f"}};
        uint64_t value = env_table_whole(&t, env_cell_of(cases[i].text), 0, UINT32_MAX, "GPUs");
        assert_int_equal(t.status, isnan(cases[i].value) ? SHOAL_E_FORMAT : SHOAL_OK);
        assert_true(isnan(cases[i].value) || (double)value == cases[i].value);
    }
}

static void a_header_is_recognised_by_some_of_its_columns(void **state)
{
    static const char head[] = "\"Name\" , gpus,share\r\nzone,1,2\n";

    (void)state;
    assert_true(env_table_has(head, sizeof head - 1, "name"));
    assert_true(env_table_has(head, sizeof head - 1, "share,name"));
    assert_false(env_table_has(head, sizeof head - 1, "name,zone"));
    assert_false(env_table_has(head, sizeof head - 1, "nam"));
    assert_false(env_table_has("", 0, "name"));
}

static shoal_status torture(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *own = env->alloc;
    struct rows rows;

    env->alloc = alloc;
    shoal_status st = read_rows(env, "f", &rows, NULL);
    env->alloc = own;
    return st == SHOAL_OK && rows.count != 1 ? SHOAL_E_INTERNAL : st;
}

static void every_failed_allocation_ends_in_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "f", HEAD "a,1,0.5\n");
    torture_run(torture, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_reads_the_same_however_it_is_written),
        cmocka_unit_test(a_bad_header_is_told_with_its_place_and_what_to_write),
        cmocka_unit_test(a_bad_row_is_told_with_its_place),
        cmocka_unit_test(columns_nobody_knows_are_noted_by_name_with_the_one_that_may_be_meant),
        cmocka_unit_test(cells_are_cut_at_commas_outside_quotes),
        cmocka_unit_test(tables_may_be_wide_and_lines_long),
        cmocka_unit_test(whole_numbers_may_be_written_with_a_point_and_blanks),
        cmocka_unit_test(a_header_is_recognised_by_some_of_its_columns),
        cmocka_unit_test(every_failed_allocation_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
