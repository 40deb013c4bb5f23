/* lda_plan.c - a corpus becomes executors' data and tables of `lda`; lda.h has the layout.
 *
 * Ranges of documents and of words go to executors by their tokens, in order. One allocation per
 * executor holds all its strips. While planning, memory holds the corpus, its cut, and what is made
 * of it. Tests: tests/unit/app/test_lda.c, tests/cli/transcripts/lda_bad_input.txt. */
#include "app/lda.h"

#include "app/parts.h"
#include "base/err.h"
#include "env/spill.h"
#include <inttypes.h>
#include <string.h>

enum {
    TASK_TOKENS = 1 << 16, /* fewer are not worth a task of their own */
    RANGE_MIN = 1 << 12,
    ORDER_PAD = 16 /* places after an order that may be read */
};

struct planning {
    shoal_driver *driver;
    const struct lda_options *o;
    const struct base_alloc *alloc;
    struct data_corpus corpus, held;
    shoal_model *from; /* NULL: topics begin at random */
    struct num_lda_model from_model;
    struct data_ids from_names;
    struct num_lda_cut *cut;
    uint32_t topics, executors, bins, pair_bins;
    uint32_t *group[2]; /* (executors + 1), by side: first range of each */
    uint32_t *base;     /* (document ranges, executors): where a range's tokens begin in a shard */
    uint64_t *first;    /* (executors * executors + 1): of the shards */
};

/* A task also goes through all topics, some times over. */
uint32_t lda_executors(const struct lda_options *options, uint32_t topics, uint64_t tokens)
{
    uint64_t count = tokens / (topics > TASK_TOKENS ? topics : TASK_TOKENS);

    if (options->executors > 0)
        return (uint32_t)options->executors;
    return (uint32_t)(count < 1 ? 1 : count > LDA_EXECUTORS_MAX ? LDA_EXECUTORS_MAX : count);
}

/* ---- who gets what ---- */

/* Of a document range in word ranges [from, to): its tiles lie next to each other. */
static uint64_t tokens_in(const struct planning *p, uint32_t document, uint32_t from, uint32_t to)
{
    const uint64_t *tile = p->cut->tile + (uint64_t)document * p->cut->ranges[NUM_LDA_WORDS];

    return tile[to] - tile[from];
}

/* A task adds up what it changes in 32 bits, and its places in shards are 32 bits, too. */
static shoal_status check_share(uint64_t tokens, shoal_err *err)
{
    if (tokens <= INT32_MAX)
        return SHOAL_OK;
    base_err(err, SHOAL_E_LIMIT, "an executor would have %" PRIu64 " tokens, and can have %d",
             tokens, INT32_MAX);
    base_err_hint(err, "more executors, up to %d", LDA_EXECUTORS_MAX);
    return SHOAL_E_LIMIT;
}

static shoal_status make_groups(struct planning *p, shoal_err *err)
{
    const struct num_lda_cut *cut = p->cut;

    for (int side = 0; side < 2; side++) {
        uint32_t range = 0, *group = base_calloc(p->alloc, p->executors + 1, sizeof *group);
        if (group == NULL)
            return base_err_nomem(err, "planning");
        p->group[side] = group;
        for (uint32_t e = 0; e <= p->executors; e++) {
            uint64_t until = cut->tokens / p->executors * e;
            while (range < cut->ranges[side] && (cut->at[side][range] < until || e == p->executors))
                range++;
            group[e] = range;
        }
        for (uint32_t e = 0; e < p->executors; e++) {
            const uint64_t *at = cut->at[side];
            shoal_status st = check_share(at[group[e + 1]] - at[group[e]], err);
            if (st != SHOAL_OK)
                return st;
        }
    }
    return SHOAL_OK;
}

/* Where the tokens of each document range lie in the shards of its row. */
static shoal_status lay_out(struct planning *p, shoal_err *err)
{
    uint32_t n = p->executors, ranges = p->cut->ranges[NUM_LDA_DOCUMENTS];
    const uint32_t *rows = p->group[NUM_LDA_DOCUMENTS], *columns = p->group[NUM_LDA_WORDS];

    p->base = base_calloc(p->alloc, (size_t)ranges * n + 1, sizeof *p->base);
    p->first = base_calloc(p->alloc, (size_t)n * n + 1, sizeof *p->first);
    if (p->base == NULL || p->first == NULL)
        return base_err_nomem(err, "planning");
    for (uint32_t row = 0; row < n; row++) {
        for (uint32_t column = 0; column < n; column++) {
            uint64_t tokens = 0;
            for (uint32_t i = rows[row]; i < rows[row + 1]; i++) {
                p->base[(size_t)i * n + column] = (uint32_t)tokens;
                tokens += tokens_in(p, i, columns[column], columns[column + 1]);
            }
            uint64_t *first = &p->first[(size_t)row * n + column];
            first[1] = first[0] + tokens;
        }
    }
    return SHOAL_OK;
}

/* ---- executors ---- */

static size_t aligned(size_t size)
{
    return (size + 63) / 64 * 64;
}

/* A range of a side, and the executor whose it is. */
struct share {
    enum num_lda_side side;
    uint32_t executor, range;
};

/* The pieces of a strip that have tokens; out may be NULL. Returns how many. */
static uint32_t find_pieces(const struct planning *p, const struct share *share,
                            struct lda_piece *out)
{
    uint32_t n = p->executors, range = share->range, column = share->executor, count = 0;
    const uint32_t *rows = p->group[NUM_LDA_DOCUMENTS], *columns = p->group[NUM_LDA_WORDS];

    for (uint32_t e = 0; e < n; e++) {
        if (share->side == NUM_LDA_DOCUMENTS) {
            uint64_t tokens = tokens_in(p, range, columns[e], columns[e + 1]);
            if (tokens > 0 && out != NULL)
                out[count] =
                    (struct lda_piece){e, p->base[(size_t)range * n + e], (uint32_t)tokens};
            count += tokens > 0;
            continue;
        }
        for (uint32_t i = rows[e]; i < rows[e + 1]; i++) {
            uint64_t tokens = tokens_in(p, i, range, range + 1);
            if (tokens > 0 && out != NULL) {
                uint64_t before = tokens_in(p, i, columns[column], range);
                uint32_t at = p->base[(size_t)i * n + column] + (uint32_t)before;
                out[count] = (struct lda_piece){e, at, (uint32_t)tokens};
            }
            count += tokens > 0;
        }
    }
    return count;
}

/* Sizes and places of a strip's parts after `at`; returns where they end. */
static size_t place_strip(const struct planning *p, const struct share *share, size_t at,
                          struct lda_strip *out)
{
    struct num_lda_strip strip = num_lda_cut_strip(p->cut, share->side, share->range);
    bool ordered = strip.order16 != NULL || strip.order32 != NULL;
    size_t one = p->cut->wide ? sizeof(uint32_t) : sizeof(uint16_t);

    *out = (struct lda_strip){.index = strip.index,
                              .tokens = strip.tokens,
                              .first = strip.first,
                              .segments = strip.segments,
                              .pieces = find_pieces(p, share, NULL),
                              .start_at = at};
    at += aligned((strip.segments + (size_t)1) * sizeof(uint32_t));
    out->piece_at = at;
    at += aligned(out->pieces * sizeof(struct lda_piece));
    out->order_at = ordered ? at : 0;
    return ordered ? at + aligned((strip.tokens + (size_t)ORDER_PAD) * one) : at;
}

static void fill_strip(const struct planning *p, const struct share *share,
                       const struct lda_strip *s, char *block)
{
    struct num_lda_strip strip = num_lda_cut_strip(p->cut, share->side, share->range);
    size_t one = p->cut->wide ? sizeof(uint32_t) : sizeof(uint16_t);
    const void *order = p->cut->wide ? (const void *)strip.order32 : strip.order16;

    memcpy(block + s->start_at, strip.start, (s->segments + (size_t)1) * sizeof(uint32_t));
    find_pieces(p, share, (struct lda_piece *)(void *)(block + s->piece_at));
    if (s->order_at != 0)
        memcpy(block + s->order_at, order, s->tokens * one);
}

static shoal_status make_block(const struct planning *p, uint32_t executor, shoal_err *err)
{
    struct lda_data head = {.seed = shoal_driver_seed(p->driver),
                            .topics = p->topics,
                            .executors = p->executors,
                            .strip_max = p->cut->strip_max,
                            .segment_max = p->cut->segment_max,
                            .wide = p->cut->wide,
                            .bins = p->bins,
                            .pair_bins = p->pair_bins};
    uint32_t strips = 0, s = 0;
    size_t size = aligned(sizeof head);

    for (int side = 0; side < 2; side++) {
        head.strips[side] = p->group[side][executor + 1] - p->group[side][executor];
        head.strips_at[side] = size + strips * sizeof(struct lda_strip);
        strips += head.strips[side];
    }
    size += aligned(strips * sizeof(struct lda_strip));
    struct lda_strip *strip = base_calloc(p->alloc, strips + 1, sizeof *strip);
    if (strip == NULL)
        return base_err_nomem(err, "planning");
    for (int side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < head.strips[side]; i++, s++) {
            struct share share = {(enum num_lda_side)side, executor, p->group[side][executor] + i};
            size = place_strip(p, &share, size, &strip[s]);
            if (strip[s].pieces > head.pieces_max)
                head.pieces_max = strip[s].pieces;
        }
    }
    char *block = shoal_driver_block(p->driver, executor, size);
    if (block != NULL) {
        memcpy(block, &head, sizeof head);
        memcpy(block + head.strips_at[0], strip, strips * sizeof *strip);
        for (s = 0; s < strips; s++) {
            struct share share = {s < head.strips[0] ? NUM_LDA_WORDS : NUM_LDA_DOCUMENTS, executor,
                                  strip[s].index};
            fill_strip(p, &share, &strip[s], block);
        }
    }
    base_free(p->alloc, strip);
    return block != NULL ? SHOAL_OK : base_err_nomem(err, "making executors");
}

/* ---- tables ---- */

static shoal_status make_records(const struct planning *p, shoal_err *err)
{
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;

    table.name = "record";
    table.rows = p->cut->tokens;
    table.width = num_lda_format(p->topics).size / (uint32_t)sizeof(float);
    table.shards = p->executors * p->executors;
    table.shard_first = p->first;
    table.held = true;
    return shoal_driver_table(p->driver, &table, err);
}

static size_t names_size(const struct data_corpus *corpus)
{
    char buf[DATA_ID_BUF];
    size_t size = 0, sum = 0;

    for (uint32_t w = 0; corpus->names.count > 0 && w < corpus->x.words; w++) {
        data_corpus_name(&corpus->names, w, buf, &size);
        sum += size + 1;
    }
    return sum;
}

static char *put(char *to, const void *from, size_t size)
{
    if (size > 0)
        memcpy(to, from, size);
    return to + size;
}

static shoal_status keep(const struct planning *p, shoal_err *err)
{
    const struct num_corpus *held = &p->held.x;
    struct lda_kept kept = {.documents = p->corpus.x.documents,
                            .tokens = p->cut->tokens,
                            .names_size = names_size(&p->corpus),
                            .held_documents = held->documents,
                            .held_entries = p->held.entries,
                            .words = p->corpus.x.words};
    size_t entries = kept.held_entries * sizeof(uint32_t), words = kept.words * sizeof(uint32_t);
    size_t starts = (kept.held_documents + 1) * sizeof(uint64_t);
    size_t size = sizeof kept + starts + 2 * entries + words + kept.names_size;
    shoal_status st = app_parts_table(p->driver, "kept", (size + 3) / sizeof(float), 1, err);
    char buf[DATA_ID_BUF];

    if (st != SHOAL_OK)
        return st;
    char *at = put((char *)shoal_driver_rows(p->driver, LDA_KEPT), &kept, sizeof kept);
    at = put(at, held->start != NULL ? held->start : &(uint64_t){0}, starts);
    at = put(at, held->word, entries);
    at = put(at, held->count, entries);
    at = put(at, p->cut->slot_word, words);
    for (uint32_t w = 0; kept.names_size > 0 && w < kept.words; w++) {
        const char *name = data_corpus_name(&p->corpus.names, w, buf, &size);
        at = put(at, name, size);
        *at++ = '\n';
    }
    return SHOAL_OK;
}

static shoal_status make_tables(const struct planning *p, shoal_err *err)
{
    uint64_t topics = p->topics;
    shoal_status st = make_records(p, err);

    if (st == SHOAL_OK)
        st = app_parts_table(p->driver, "count", topics, 2, err);
    if (st == SHOAL_OK)
        st = app_parts_table(p->driver, "inverse", num_lda_stride(p->topics), 1, err);
    if (st == SHOAL_OK)
        st = keep(p, err);
    if (st != SHOAL_OK || p->o->optimise == 0)
        return st;
    return lda_prior_init(
        p->driver,
        &(struct lda_data){.topics = p->topics, .bins = p->bins, .pair_bins = p->pair_bins}, err);
}

/* ---- all of it ---- */

/* A line of a file may count a billion tokens: what they take is known before any is asked for. */
static shoal_status check_memory(const struct planning *p, shoal_err *err)
{
    shoal_env *env = shoal_driver_env(p->driver);
    uint64_t each = p->topics > 65536 ? 20 : 12, left = env_memory_left(env, false);

    if (env_spill_room(env) > 0 || p->corpus.tokens <= left / each)
        return SHOAL_OK;
    return base_err(err, SHOAL_E_NOMEM,
                    "'%s' does not fit in memory: %" PRIu64 " tokens take %.1f GB or more, %.1f "
                    "GB are left",
                    shoal_driver_path(p->driver), p->corpus.tokens,
                    (double)p->corpus.tokens * (double)each * 1e-9, (double)left * 1e-9);
}

static shoal_status cut(struct planning *p, shoal_err *err)
{
    const struct num_corpus *x = &p->corpus.x;
    uint64_t range = p->corpus.tokens / p->executors + 1;

    if (p->corpus.tokens == 0)
        return base_err(err, SHOAL_E_FORMAT, "corpus '%s' has no words",
                        shoal_driver_path(p->driver));
    shoal_status st = check_share(p->corpus.tokens / p->executors, err);
    if (st == SHOAL_OK)
        st = check_memory(p, err);
    if (st != SHOAL_OK)
        return st;
    /* From a cache's worth on the cut decides: ranges of a very large corpus are longer, so that it
     * has no more than some million tiles. */
    range = range < RANGE_MIN ? RANGE_MIN : range >= NUM_LDA_RANGE ? 0 : range;
    return num_lda_cut_new(p->alloc, x, (uint32_t)range, &p->cut, err);
}

/* Tokens of the longest document or most frequent word. */
static uint32_t longest(const struct num_lda_cut *cut, enum num_lda_side side)
{
    uint32_t most = 0;

    for (uint32_t r = 0; r < cut->ranges[side]; r++) {
        struct num_lda_strip strip = num_lda_cut_strip(cut, side, r);
        for (uint32_t s = 0; s < strip.segments; s++)
            if (strip.start[s + 1] - strip.start[s] > most)
                most = strip.start[s + 1] - strip.start[s];
    }
    return most;
}

/* How many topics, and whether priors suit the sampler, which has them as floats. */
static shoal_status check_model(struct planning *p, shoal_err *err)
{
    const struct lda_options *o = p->o;
    shoal_status st = SHOAL_OK;

    if (o->from != NULL)
        st = lda_from_open(p->driver, &p->from, &p->from_model, &p->from_names, err);
    if (st != SHOAL_OK)
        return st;
    p->topics = o->topics > 0     ? (uint32_t)o->topics
                : p->from != NULL ? p->from_model.topics
                                  : (uint32_t)LDA_TOPICS;
    if (o->alpha > 0 && o->alpha < NUM_LDA_ALPHA_MIN)
        return base_err(err, SHOAL_E_INVAL,
                        "bad value for 'alpha': expected 0 or %g to 1000000, found %g",
                        NUM_LDA_ALPHA_MIN, o->alpha);
    if (o->optimise > 0 && p->topics > LDA_OPTIMISED_MAX)
        return base_err(err, SHOAL_E_LIMIT,
                        "priors are optimised for up to %d topics, not %" PRIu32, LDA_OPTIMISED_MAX,
                        p->topics);
    return SHOAL_OK;
}

shoal_status lda_load(shoal_driver *driver, struct data_corpus *corpus, struct data_corpus *held,
                      shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    struct data_corpus_opts opts = {.format = o->format,
                                    .vocab = o->vocab,
                                    .stop_words = o->stop_words,
                                    .min_count = o->min_count,
                                    .max_share = o->max_share,
                                    .min_length = (uint32_t)o->min_length,
                                    .compact = true};
    shoal_status st =
        data_corpus_load(shoal_driver_env(driver), shoal_driver_path(driver), &opts, corpus, err);

    if (st == SHOAL_OK && o->holdout > 0)
        st = lda_held_take(o, shoal_driver_seed(driver), corpus, held, err);
    return st;
}

static shoal_status plan(struct planning *p, shoal_err *err)
{
    struct lda_driver *d = shoal_driver_state(p->driver);
    shoal_status st = check_model(p, err);

    if (st == SHOAL_OK)
        st = lda_load(p->driver, &p->corpus, &p->held, err);
    if (st != SHOAL_OK)
        return st;
    p->executors = lda_executors(p->o, p->topics, p->corpus.tokens);
    st = cut(p, err);
    if (st == SHOAL_OK) {
        p->bins = num_lda_bins(longest(p->cut, NUM_LDA_DOCUMENTS));
        p->pair_bins = num_lda_bins(longest(p->cut, NUM_LDA_WORDS));
        st = make_groups(p, err);
    }
    if (st == SHOAL_OK)
        st = lay_out(p, err);
    if (st == SHOAL_OK)
        st = shoal_driver_executors(p->driver, p->executors, err);
    for (uint32_t e = 0; e < p->executors && st == SHOAL_OK; e++)
        st = make_block(p, e, err);
    if (st == SHOAL_OK)
        st = make_tables(p, err);
    if (st == SHOAL_OK && p->from != NULL)
        st =
            lda_from(p->driver, &p->from_model, &p->from_names, &p->corpus, p->cut->slot_word, err);
    *d = (struct lda_driver){.topics = p->topics,
                             .executors = p->executors,
                             .fn = p->from != NULL ? LDA_WORDS : LDA_START,
                             .bins = p->bins,
                             .pair_bins = p->pair_bins,
                             .resembles = p->corpus.resembles,
                             .tokens = p->corpus.tokens,
                             .words = p->corpus.x.words};
    return st;
}

shoal_status lda_plan(shoal_driver *driver, shoal_err *err)
{
    struct planning p = {.driver = driver,
                         .o = shoal_driver_options(driver),
                         .alloc = env_alloc(shoal_driver_env(driver))};

    if (shoal_driver_staleness(driver) > 0)
        return base_err(err, SHOAL_E_INVAL, "lda is bulk synchronous: it has no staleness");
    data_ids_init(&p.from_names, p.alloc);
    shoal_status st = plan(&p, err);
    data_ids_fini(&p.from_names);
    shoal_model_free(p.from);
    base_free(p.alloc, p.group[0]);
    base_free(p.alloc, p.group[1]);
    base_free(p.alloc, p.base);
    base_free(p.alloc, p.first);
    num_lda_cut_free(p.cut);
    data_corpus_fini(&p.corpus);
    data_corpus_fini(&p.held);
    return st;
}
