/* Tests of src/env/header.c. */
#include "unit/sim/sim_world.h"

#include "base/rand.h"
#include "env/header.h"
#include "property.h"
#include <ctype.h>
#include <stdio.h>

enum { KNOWN = 6 };
static const char *const names[KNOWN] = {"name", "submit_s", "gpus", "model", "group", "weight"};

struct reading {
    char text[512];
    struct env_lines lines;
    struct env_field fields[ENV_FIELDS_MAX];
    size_t count;
    struct env_column columns[KNOWN];
};

/* Finds the columns, the first `required` of which must be there, in a header line. */
static shoal_status find(struct reading *rd, const char *text, size_t required, bool strict,
                         shoal_err *err)
{
    rd->lines = (struct env_lines){.what = "trace", .path = "a.csv", .line = 2};
    snprintf(rd->text, sizeof rd->text, "%s", text);
    assert_int_equal(
        env_lines_split(&rd->lines, rd->text, strlen(rd->text), ',', rd->fields, &rd->count, NULL),
        SHOAL_OK);
    for (size_t c = 0; c < KNOWN; c++)
        rd->columns[c] = (struct env_column){names[c], c < required, 77};
    struct env_header header = {&rd->lines, rd->fields, rd->count, strict};
    return env_header_find(&header, rd->columns, KNOWN, err);
}

/* A header drawn: some known columns, some others, in any order, decorated. */
struct draw {
    char text[512];
    int at[KNOWN];     /* the first field with this name, -1: none */
    bool twice, other; /* a known column is there again; one is not known */
};

static void put(struct base_rand *r, struct draw *d, const char *word, bool last)
{
    size_t used = strlen(d->text);

    for (uint64_t i = base_rand_below(r, 3); i > 0; i--)
        d->text[used++] = ' ';
    for (; *word != '\0'; word++)
        d->text[used++] = base_rand_below(r, 4) == 0 ? (char)toupper((unsigned char)*word) : *word;
    for (uint64_t i = base_rand_below(r, 3); i > 0; i--)
        d->text[used++] = ' ';
    if (!last)
        d->text[used++] = ',';
    d->text[used] = '\0';
}

static void draw_header(struct base_rand *r, struct draw *d)
{
    size_t count = 1 + base_rand_below(r, KNOWN + 2);

    *d = (struct draw){.text = ""};
    for (size_t c = 0; c < KNOWN; c++)
        d->at[c] = -1;
    for (size_t f = 0; f < count; f++) {
        size_t c = base_rand_below(r, 2 * KNOWN);
        bool other = c >= KNOWN && base_rand_below(r, 4) == 0;
        if (c >= KNOWN) /* most often the next that is not there yet */
            for (c = 0; c + 1 < KNOWN && d->at[c] >= 0;)
                c++;
        put(r, d, other ? "else" : names[c], f + 1 == count);
        d->other |= other;
        if (!other && d->at[c] >= 0)
            d->twice = true;
        else if (!other)
            d->at[c] = (int)f;
    }
}

static void columns_are_found_in_any_order_whatever_their_capitals_and_blanks(void **state)
{
    struct base_rand r;
    size_t good = 0;

    (void)state;
    base_rand_init(&r, 5, "test.header");
    for (int round = 0; round < property_count(4000); round++) {
        struct draw d;
        struct reading rd;
        size_t required = base_rand_below(&r, KNOWN + 1);
        bool strict = base_rand_below(&r, 2) == 0, bad;
        draw_header(&r, &d);
        bad = d.twice || (strict && d.other);
        for (size_t c = 0; c < required; c++)
            bad |= d.at[c] < 0;
        shoal_err err = SHOAL_ERR_INIT;
        shoal_status st = find(&rd, d.text, required, strict, &err);
        if (st != (bad ? SHOAL_E_FORMAT : SHOAL_OK))
            fail_msg("'%s', %zu required, strict %d: %s", d.text, required, strict, err.message);
        if (st != SHOAL_OK) {
            assert_int_equal(err.code, SHOAL_E_FORMAT);
            assert_non_null(strstr(err.message, "cannot read trace 'a.csv', line 2"));
            continue;
        }
        good++;
        for (size_t c = 0; c < KNOWN; c++)
            assert_int_equal(rd.columns[c].at, d.at[c]);
    }
    assert_true(good > 0);
}

static void refuses(const char *text, size_t required, const char *message, const char *hint)
{
    struct reading rd;
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(find(&rd, text, required, true, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, message);
    assert_string_equal(err.hint, hint);
    assert_int_equal(find(&rd, text, required, true, NULL), SHOAL_E_FORMAT);
}

static void a_bad_header_is_told_with_its_place_and_what_to_write(void **state)
{
    (void)state;
    refuses("name,submit_s, Gpu ,model", 3,
            "cannot read trace 'a.csv', line 2, column 3: unknown column 'Gpu'",
            "did you mean 'gpus'? known are name, submit_s, gpus, model, group, weight");
    refuses("name,length", 1,
            "cannot read trace 'a.csv', line 2, column 2: unknown column 'length'",
            "known are name, submit_s, gpus, model, group, weight");
    refuses("name,,gpus", 1,
            "cannot read trace 'a.csv', line 2, column 2: expected the name of a column, "
            "found nothing",
            "known are name, submit_s, gpus, model, group, weight");
    refuses("name,gpus,NAME", 1,
            "cannot read trace 'a.csv', line 2, column 3: column 'name' is there twice", "");
    refuses("name,gpus", 3,
            "cannot read trace 'a.csv', line 2: expected a header with a column 'submit_s'",
            "a header must have name, submit_s, gpus");
}

/* However many columns and however long their names: whole names, and never past the buffer. */
static void a_list_too_long_for_a_hint_ends_with_dots(void **state)
{
    struct env_lines lines = {.what = "trace", .path = "a.csv", .line = 1};
    struct env_column columns[ENV_FIELDS_MAX];
    char long_names[ENV_FIELDS_MAX][220], text[] = "zzz";
    size_t cut = 0;

    (void)state;
    for (size_t length = 2; length < 200; length++) {
        for (size_t c = 0; c < ENV_FIELDS_MAX; c++) {
            memset(long_names[c], 'a', length);
            snprintf(long_names[c] + length, 8, "%zu", c);
            columns[c] = (struct env_column){long_names[c], false, -1};
        }
        struct env_field field = {text, 3, 1};
        struct env_header header = {&lines, &field, 1, true};
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(env_header_find(&header, columns, ENV_FIELDS_MAX, &err), SHOAL_E_FORMAT);
        size_t size = strlen(err.hint);
        assert_true(size < 170);
        assert_non_null(strstr(err.hint, "known are "));
        cut += strcmp(err.hint + size - 5, ", ...") == 0;
    }
    assert_true(cut > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_found_in_any_order_whatever_their_capitals_and_blanks),
        cmocka_unit_test(a_bad_header_is_told_with_its_place_and_what_to_write),
        cmocka_unit_test(a_list_too_long_for_a_hint_ends_with_dots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
