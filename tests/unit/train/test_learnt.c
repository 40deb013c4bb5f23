/* test_learnt.c - what an application says: it is kept whole after the application's memory is gone, only in its hooks,
 * and what makes no sense is refused. */
#include "torture.h"

#include "base/err.h"
#include "train/master_parts.h"
#include <string.h>

struct row {
    const char *name;
    double value;
    shoal_texts words;
    shoal_numbers counts;
};

#define AT(member) offsetof(struct row, member)
static const shoal_field FIELDS[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "name", "NAME", .help = ""},
    {AT(value), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "value", "VALUE", .help = ""},
    {AT(words), SHOAL_FIELD_TEXTS, SHOAL_UNIT_NONE, 0, 0, "words", .help = ""},
    {AT(counts), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_COUNT, 0, 0, "counts", .help = ""},
};
#undef AT
static const shoal_schema ROWS = {"rows", "Rows", "A row", FIELDS, 4};
static const shoal_field NESTED_FIELDS[] = {
    {0, SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "rows", "ROWS", .help = "", .of = &ROWS},
};
static const shoal_schema NESTED = {"nested", "Nested", "A list", NESTED_FIELDS, 1};

/* All that is given is on the stack, and overwritten behind it. */
static shoal_status give(struct train_learnt *l, shoal_err *err)
{
    char name[] = "one", word[] = "two", lane[] = "three", text[] = "four", title[] = "Five";
    const char *words[] = {word}, *lanes[] = {lane}, *texts[] = {text, text};
    double count[] = {7}, heights[] = {1.5};
    float x[] = {1, 2}, y[] = {3, 4};
    struct row row = {name, 5, {words, 1}, {count, 1, NULL}};
    shoal_records records = {.first = &row, .stride = sizeof row, .count = 1};
    shoal_series series = {.name = name, .x = x, .y = y, .count = 2, .texts = texts};
    shoal_rect rect = {.to = 1, .high = 1, .text = text};
    shoal_mark mark = {6, text};
    shoal_picture picture = {.type = SHOAL_PICTURE_LANES,
                             .name = "five",
                             .title = title,
                             .series = &series,
                             .series_count = 1,
                             .labels = {lanes, 1},
                             .rects = &rect,
                             .rect_count = 1,
                             .marks = &mark,
                             .mark_count = 1,
                             .heights = heights};
    shoal_status st = train_learnt_list(l, &ROWS, &records, err);

    if (st == SHOAL_OK)
        st = train_learnt_picture(l, &picture, err);
    name[0] = word[0] = lane[0] = text[0] = title[0] = '?';
    x[0] = y[0] = (float)(count[0] = heights[0] = 99);
    return st;
}

static bool is_whole(const struct train_learnt *l)
{
    const struct row *row = l->list[0].records.first;
    const shoal_picture *p = &l->made->pictures[0];

    return strcmp(row->name, "one") == 0 && strcmp(row->words.items[0], "two") == 0 &&
           row->counts.values[0] == 7 && strcmp(p->title, "Five") == 0 &&
           strcmp(p->series[0].name, "one") == 0 && p->series[0].x[0] == 1 &&
           p->series[0].y[0] == 3 && strcmp(p->series[0].texts[1], "four") == 0 &&
           strcmp(p->labels.items[0], "three") == 0 && strcmp(p->rects[0].text, "four") == 0 &&
           strcmp(p->marks[0].text, "four") == 0 && p->heights[0] == 1.5 &&
           strcmp(p->after, "rows") == 0;
}

static shoal_status keep(const struct base_alloc *alloc, void *ctx)
{
    struct train_learnt l;

    (void)ctx;
    train_learnt_init(&l, alloc, true);
    for (int i = 0; i < 40; i++)
        train_learnt_say(&l, "a line");
    train_learnt_set(&l, "rate", "0.1");
    train_learnt_set(&l, "rate", "0.2"); /* the last one counts */
    shoal_status st = give(&l, NULL);
    if (st == SHOAL_OK && l.made->status != SHOAL_OK)
        st = l.made->status;
    if (st == SHOAL_OK && (!is_whole(&l) || l.said_count != 40 ||
                           strcmp(train_learnt_setting(&l, "rate"), "0.2") != 0))
        st = SHOAL_E_INTERNAL;
    train_learnt_fini(&l);
    return st;
}

static void what_is_given_is_kept_whole_or_not_at_all(void **state)
{
    (void)state;
    torture_run(keep, NULL);
}

static void what_makes_no_sense_is_refused(void **state)
{
    struct train_learnt l;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_records none = {.first = NULL, .stride = sizeof(struct row), .count = 0};
    shoal_rect rect = {.lane = 3};
    shoal_picture odd = {.name = "no spaces", .title = "Odd"}, lanes = {.type = SHOAL_PICTURE_LANES,
                                                                        .name = "lanes",
                                                                        .title = "Lanes",
                                                                        .rects = &rect,
                                                                        .rect_count = 1};

    (void)state;
    train_learnt_init(&l, &base_alloc_libc, true);
    assert_int_equal(give(&l, &err), SHOAL_OK);
    assert_int_equal(give(&l, &err), SHOAL_E_INVAL);
    assert_string_equal(err.message, "two lists are called 'rows'");
    assert_int_equal(train_learnt_list(&l, &NESTED, &none, &err), SHOAL_E_INVAL);
    assert_int_equal(train_learnt_picture(&l, &odd, &err), SHOAL_E_INVAL);
    assert_int_equal(train_learnt_picture(&l, &lanes, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "no lane 3"));
    lanes.rect_count = 0;
    for (int i = 1; i < TRAIN_PICTURES_MAX; i++) {
        char name[] = "picture-a";
        name[8] = (char)('a' + i);
        lanes.name = name;
        assert_int_equal(train_learnt_picture(&l, &lanes, &err), SHOAL_OK);
    }
    lanes.name = "one-more";
    assert_int_equal(train_learnt_picture(&l, &lanes, &err), SHOAL_E_LIMIT);
    train_learnt_fini(&l);
}

static shoal_status tells(shoal_driver *driver, shoal_err *err)
{
    shoal_records none = {.first = NULL, .stride = sizeof(struct row), .count = 0};

    shoal_driver_say(driver, "a line");
    shoal_driver_setting(driver, "rate", "0.3");
    assert_int_equal(shoal_driver_records(driver, &ROWS, &none, err), SHOAL_E_INVAL);
    return SHOAL_OK;
}

static shoal_status shows(shoal_driver *driver, shoal_err *err)
{
    shoal_records none = {.first = NULL, .stride = sizeof(struct row), .count = 0};
    shoal_picture picture = {.name = "one", .title = "One"};

    assert_int_equal(shoal_driver_records(driver, &ROWS, &none, err), SHOAL_OK);
    assert_int_equal(shoal_driver_picture(driver, &picture, err), SHOAL_OK);
    return base_err(err, SHOAL_E_IO, "no more");
}

static void hooks_say_and_show_and_a_failure_is_told(void **state)
{
    static const shoal_app app = {.struct_size = sizeof app, .tell = tells, .show = shows};
    static struct train_master master = {.opts.app = &app};
    struct train_learnt l;

    (void)state;
    for (int shown = 0; shown < 2; shown++) {
        train_learnt_init(&l, &base_alloc_libc, shown == 1);
        train_master_learn(&master, &l);
        assert_int_equal(l.list_count, shown);
        assert_int_equal(l.said_count, 1 + shown);
        assert_string_equal(l.said[0], "a line");
        assert_string_equal(train_learnt_setting(&l, "rate"), "0.3");
        if (shown == 1)
            assert_string_equal(l.said[1], "what was learnt cannot be shown: no more");
        train_learnt_fini(&l);
    }
    shoal_driver_say(&master.driver, "it is over"); /* to nobody */
}

static void an_application_without_hooks_says_nothing(void **state)
{
    static const shoal_app app = {.struct_size = sizeof app};
    static struct train_master master = {.opts.app = &app};
    struct train_learnt l;

    (void)state;
    train_learnt_init(&l, &base_alloc_libc, true);
    train_master_learn(&master, &l);
    assert_int_equal(l.said_count + l.list_count, 0);
    train_learnt_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_is_kept_whole_or_not_at_all),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(hooks_say_and_show_and_a_failure_is_told),
        cmocka_unit_test(an_application_without_hooks_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
