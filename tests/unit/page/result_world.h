/* result_world.h - a result with a field of every type, and what becomes of one: text, a page, a screen. */
#ifndef UNIT_PAGE_RESULT_WORLD_H
#define UNIT_PAGE_RESULT_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "page/make.h"
#include "page/show.h"
#include <math.h>
#include <string.h>

struct stay {
    const char *place;
    double usd;
};

struct run {
    const char *name;
    double jct_s, at_s;
    float rho;
    uint64_t seed;
    uint32_t moves, end;
    bool late;
    shoal_numbers shares, waits;
    shoal_texts lost;
    shoal_records stays;
    shoal_records by_place;
    const struct stay *first;
    const char *raw;
};

#define AT(member) offsetof(struct stay, member)
static const shoal_field STAY_FIELDS[] = {
    {AT(place), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "place", "PLACE", .help = "where"},
    {AT(usd), SHOAL_FIELD_F64, SHOAL_UNIT_USD, -1, 1, "usd", "COST", .help = "what it cost"},
};
#undef AT
static const shoal_schema STAYS = {"stay", "STAYS", "one stay", STAY_FIELDS, 2};

static const char *const ENDS[] = {"done", "moved", NULL};

#define AT(member) offsetof(struct run, member)
static const shoal_field FIELDS[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "name", "NAME", .help = "its name"},
    {AT(jct_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, "jct_s", "JCT", .help = "mean time"},
    {AT(at_s), SHOAL_FIELD_F64, SHOAL_UNIT_DATE, 0, 3, "at", "AT", .help = "when it ended"},
    {AT(rho), SHOAL_FIELD_F32, SHOAL_UNIT_NONE, -1, 2, "rho", "RHO", .help = "against a share"},
    {AT(seed), SHOAL_FIELD_U64, SHOAL_UNIT_NONE, 0, 0, "seed", NULL, .help = "of everything drawn"},
    {AT(moves), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, -1, 1, "moves", "MOVES",
     .help = "how often it moved"},
    {AT(end), SHOAL_FIELD_CHOICE, SHOAL_UNIT_NONE, 0, 1, "end", "END", .help = "why it ended",
     .choices = ENDS},
    {AT(late), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 1, "late", "LATE", .help = "not in time"},
    {AT(shares), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_SHARE, 0, 1, "shares", NULL, .help = "by kind"},
    {AT(waits), SHOAL_FIELD_MAP, SHOAL_UNIT_SECONDS, 0, 0, "waits", NULL, .help = "by reason"},
    {AT(lost), SHOAL_FIELD_TEXTS, SHOAL_UNIT_NONE, 0, 0, "lost", NULL, .help = "names"},
    {AT(stays), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "stays", "where it was",
     .help = "stays", .of = &STAYS},
    {AT(by_place), SHOAL_FIELD_KEYED, SHOAL_UNIT_NONE, 0, 0, "by_place", NULL,
     .help = "stays by place", .of = &STAYS},
    {AT(first), SHOAL_FIELD_RECORD, SHOAL_UNIT_NONE, 0, 0, "first", NULL, .help = "the first stay",
     .of = &STAYS},
    {AT(raw), SHOAL_FIELD_JSON, SHOAL_UNIT_NONE, 0, 0, "raw", NULL, .help = "as it is",
     .flags = SHOAL_FIELD_OPTIONAL},
};
static const shoal_schema RUNS = {"run", "RUNS", "one run", FIELDS,
                                  sizeof FIELDS / sizeof FIELDS[0]};

static const double SHARES[] = {0.25, 0.75}, WAITS[] = {60, (double)NAN};
static const char *const KINDS[] = {"V100", "K80"}, *const REASONS[] = {"gang", "price"},
                         *const LOST[] = {"a\"b", "c"};
static const struct stay PLACES[] = {{"zone, one", 9.41}, {"two", 1240}};

static inline struct run sample(const char *name)
{
    return (struct run){
        .name = name,
        .jct_s = 7500,
        .at_s = 1737936000,
        .rho = 0.5F,
        .seed = INT64_MAX,
        .moves = 12345,
        .end = 1,
        .late = true,
        .shares = {SHARES, 2, KINDS},
        .waits = {WAITS, 2, REASONS},
        .lost = {LOST, 2},
        .stays = {PLACES, sizeof PLACES[0], 2, NULL, NULL, 0},
        .by_place = {PLACES, sizeof PLACES[0], 2, NULL, NULL, 0},
        .first = &PLACES[0],
    };
}

static inline bool put(void *ctx, const char *text, size_t size)
{
    base_buf_append(ctx, text, size);
    return true;
}

typedef shoal_status write_fn(const shoal_result *, shoal_put_fn, void *, shoal_err *);

static inline const char *written(write_fn *write, const shoal_result *result, struct base_buf *out)
{
    base_buf_init(out, &base_alloc_libc, 1 << 24);
    assert_int_equal(write(result, put, out, NULL), SHOAL_OK);
    return out->data;
}

static inline shoal_status page_of(const shoal_result *result, shoal_put_fn put_page, void *ctx,
                                   shoal_err *err)
{
    return shoal_result_page(result, "shoal test", put_page, ctx, err);
}

static inline shoal_result of(const struct run *runs, size_t count)
{
    return (shoal_result){.struct_size = sizeof(shoal_result),
                          .schema = &RUNS,
                          .records = {.first = runs, .stride = sizeof *runs, .count = count}};
}

static inline void fill_run(const void *ctx, size_t index, void *record)
{
    struct run *run = record;

    *run = sample(ctx);
    run->moves = (uint32_t)index;
}

/* What a terminal of this width shows; 0: a pipe. */
static inline char *shown(const shoal_result *result, unsigned width, struct base_buf *out)
{
    struct page_screen screen = {
        .alloc = &base_alloc_libc, .put = put, .ctx = out, .width = width, .terminal = width > 0};

    base_buf_init(out, &base_alloc_libc, 1 << 24);
    assert_int_equal(page_show(&screen, result), SHOAL_OK);
    return out->data;
}

#endif
