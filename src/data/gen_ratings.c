/* gen_ratings.c - ratings with a planted low rank.
 *
 * The value of user u and item i is 3.5 + bias of u + bias of i + p_u . q_i + noise, all normal:
 * the biases have deviations 0.4 and 0.5, the product 0.6, and the noise is the option. It is
 * rounded to half stars from 0.5 to 5 unless told otherwise. How many ratings a user gives follows
 * a power law (the busiest about fifty times the quietest), and which items a steeper one. A user's
 * items are drawn together and are different, so no pair comes twice and nothing has to be
 * remembered but where each user starts; the output is in order of users, as published sets are.
 *
 * User u has a stream of its own, so blocks of users can be made in any order. Cost: about 30 ns a
 * rating as text at rank 8. Memory: 8 bytes a user, 4 (rank + 1) an item, and some for the busiest
 * user. Tests: tests/unit/data/test_gen.c. */
#include "data/gen.h"

#include "base/err.h"
#include "data/format.h"
#include "data/gen_draw.h"
#include "data/gen_run.h"
#include <math.h>

enum {
    LANES = 8,
    BLOCK_RATINGS = 1 << 16,
    RATING_TEXT_MAX = 48, /* "2147483647,2147483647,-123.4567\n" */
    HEADER_MAX = 32,
    UNIT = 10000, /* unrounded values are whole numbers of 1 / UNIT */
    PLACES = 4,
    NOISE_MAX = 100
};

static const double mean = 3.5, user_bias = 0.4, item_bias = 0.5, product = 0.6;
static const char header[] = "user,item,rating\n";

struct data_gen_ratings {
    const struct base_alloc *alloc;
    struct data_gen_ratings_opts opts;
    uint64_t user_key, item_key;
    struct data_zipf zipf; /* of items */
    struct data_scatter scatter;
    uint32_t lanes;   /* rank, rounded up to LANES */
    float *part;      /* (items, lanes) */
    float *bias;      /* (items) */
    uint64_t *start;  /* (users + 1) the first rating of each user */
    uint64_t busiest; /* ratings of one user */
};

struct scratch {
    struct data_rank_set set;
    float *part;               /* (lanes) of the user */
    struct num_rating *rating; /* of a user, only for text */
};

/* ---- set-up ---- */

static shoal_status check(const struct data_gen_ratings_opts *o, shoal_err *err)
{
    if (o->users < 1 || o->users > INT32_MAX || o->items < 1 || o->items > INT32_MAX)
        return base_err(err, SHOAL_E_INVAL, "users and items: expected 1 to %d each", INT32_MAX);
    if (o->ratings < 1 || o->ratings > (uint64_t)o->users * o->items)
        return base_err(err, SHOAL_E_INVAL,
                        "ratings: expected 1 to users times items, %llu, found %llu",
                        (unsigned long long)o->users * o->items, (unsigned long long)o->ratings);
    if (o->rank > DATA_GEN_RANK_MAX)
        return base_err(err, SHOAL_E_INVAL, "rank: expected at most %d", DATA_GEN_RANK_MAX);
    if (!(o->noise >= 0 && o->noise <= NOISE_MAX))
        return base_err(err, SHOAL_E_INVAL, "noise: expected 0 to %d", NOISE_MAX);
    return SHOAL_OK;
}

/* How busy user u is, against others. */
static double weigh_user(const struct data_gen_ratings *gen, const struct data_scatter *order,
                         uint32_t u)
{
    return 1 / (data_scatter_at(order, u) + 1 + gen->opts.users * 0.02);
}

/* start[u + 1] = ratings of user u: one each where there are enough, the rest by weight. What is
 * more than all items goes to the users after. */
static void share_out(struct data_gen_ratings *gen)
{
    uint32_t users = gen->opts.users;
    uint64_t each = gen->opts.ratings >= users ? 1 : 0, carry = 0;
    double rest = (double)(gen->opts.ratings - each * users), total = 0, sum = 0;
    struct data_scatter order;

    data_scatter_init(&order, users, data_draw_key(gen->opts.seed, "gen.ratings.order"));
    for (uint32_t u = 0; u < users; u++)
        total += weigh_user(gen, &order, u);
    for (uint32_t u = 0; u < users; u++) {
        uint64_t before = (uint64_t)(rest * (sum / total));
        sum += weigh_user(gen, &order, u);
        uint64_t count = (uint64_t)(rest * (sum / total)) - before + each + carry;
        gen->start[u + 1] = count < gen->opts.items ? count : gen->opts.items;
        carry = count - gen->start[u + 1];
    }
    for (uint32_t u = 0; u < users && carry > 0; u++) {
        uint64_t more = gen->opts.items - gen->start[u + 1];
        more = more < carry ? more : carry;
        gen->start[u + 1] += more;
        carry -= more;
    }
    for (uint32_t u = 0; u < users; u++) {
        if (gen->start[u + 1] > gen->busiest)
            gen->busiest = gen->start[u + 1];
        gen->start[u + 1] += gen->start[u];
    }
}

static void draw_items(struct data_gen_ratings *gen)
{
    uint64_t key = data_draw_key(gen->opts.seed, "gen.ratings.item");

    for (uint32_t i = 0; i < gen->opts.items; i++) {
        struct data_draw draw = data_draw_of(key, i);
        gen->bias[i] = (float)(item_bias * data_draw_normal(&draw));
        for (uint32_t k = 0; k < gen->lanes; k++)
            gen->part[(size_t)i * gen->lanes + k] =
                k < gen->opts.rank ? (float)data_draw_rough_normal(data_draw_u64(&draw)) : 0;
    }
}

shoal_status data_gen_ratings_new(const struct base_alloc *alloc,
                                  const struct data_gen_ratings_opts *opts,
                                  struct data_gen_ratings **out, shoal_err *err)
{
    shoal_status st = check(opts, err);
    if (st != SHOAL_OK)
        return st;
    struct data_gen_ratings *gen = base_calloc(alloc, 1, sizeof *gen);
    if (gen == NULL)
        return base_err_nomem(err, "making ratings");
    gen->alloc = alloc;
    gen->opts = *opts;
    gen->lanes = (opts->rank + LANES - 1) / LANES * LANES;
    gen->user_key = data_draw_key(opts->seed, "gen.ratings.user");
    gen->item_key = data_draw_key(opts->seed, "gen.ratings.choice");
    data_zipf_init(&gen->zipf, opts->items, 1 + opts->items * 0.004);
    data_scatter_init(&gen->scatter, opts->items, data_draw_key(opts->seed, "gen.ratings.scatter"));
    gen->start = base_calloc(alloc, (size_t)opts->users + 1, sizeof *gen->start);
    gen->bias = base_malloc(alloc, opts->items * sizeof *gen->bias);
    gen->part = base_malloc(alloc, ((size_t)opts->items * gen->lanes + 1) * sizeof *gen->part);
    if (gen->start == NULL || gen->bias == NULL || gen->part == NULL) {
        data_gen_ratings_free(gen);
        return base_err_nomem(err, "making ratings");
    }
    share_out(gen);
    draw_items(gen);
    *out = gen;
    return SHOAL_OK;
}

void data_gen_ratings_free(struct data_gen_ratings *gen)
{
    if (gen == NULL)
        return;
    base_free(gen->alloc, gen->start);
    base_free(gen->alloc, gen->bias);
    base_free(gen->alloc, gen->part);
    base_free(gen->alloc, gen);
}

static void scratch_free(void *p, const struct base_alloc *alloc)
{
    struct scratch *s = p;

    base_free(alloc, s->set.slot);
    base_free(alloc, s->part);
    base_free(alloc, s->rating);
    base_free(alloc, s);
}

static void *scratch_for(const struct data_gen_ratings *gen, const struct base_alloc *alloc,
                         bool text)
{
    struct scratch *s = base_calloc(alloc, 1, sizeof *s);
    uint64_t half = gen->opts.items / 2 + 1;

    if (s == NULL)
        return NULL;
    bool good = data_rank_set_init(&s->set, alloc,
                                   (uint32_t)(gen->busiest < half ? gen->busiest : half)) == 0;
    s->part = base_calloc(alloc, (size_t)gen->lanes + 1, sizeof *s->part);
    if (text)
        s->rating = base_malloc(alloc, (size_t)gen->busiest * sizeof *s->rating);
    if (good && s->part != NULL && (!text || s->rating != NULL))
        return s;
    scratch_free(s, alloc);
    return NULL;
}

/* ---- ratings ---- */

/* Sums in lanes, in a fixed order: the compiler may use vectors and the result is the same. */
static float dot(const float *a, const float *b, uint32_t lanes)
{
    float sum[LANES] = {0};

    for (; lanes > 0; lanes -= LANES, a += LANES, b += LANES)
        for (uint32_t k = 0; k < LANES; k++)
            sum[k] += a[k] * b[k];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

static float to_value(const struct data_gen_ratings *gen, double exact)
{
    double scaled = exact * (gen->opts.unrounded ? UNIT : 2);
    double units = (double)(int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);

    if (gen->opts.unrounded)
        return (float)(units / UNIT);
    return (float)((units < 1 ? 1 : units > 10 ? 10 : units) / 2);
}

/* Different items for a user. Who rates most of them goes through all (selection sampling). */
static void draw_items_of(const struct data_gen_ratings *gen, struct scratch *s, uint32_t u,
                          uint32_t count, struct num_rating *out)
{
    struct data_draw draw = data_draw_of(gen->item_key, u);
    uint32_t items = gen->opts.items, at = 0;

    if (count > items / 2) {
        for (uint32_t i = 0; at < count; i++)
            if (data_draw_below(&draw, items - i) < count - at)
                out[at++].item = i;
        return;
    }
    data_rank_set_clear(&s->set);
    for (; at < count; at++) {
        uint64_t bits = 0;
        uint32_t rank = data_rank_set_draw(&s->set, &gen->zipf, &draw, &bits);
        out[at].item = data_scatter_at(&gen->scatter, rank);
    }
}

/* All ratings of user u. Items first, then values: what the processor guesses wrong in the first
 * loop does not hold up the second. */
static void make_user(const struct data_gen_ratings *gen, struct scratch *s, uint32_t u,
                      struct num_rating *out)
{
    struct data_draw draw = data_draw_of(gen->user_key, u);
    uint32_t count = (uint32_t)(gen->start[u + 1] - gen->start[u]), lanes = gen->lanes;
    double base = mean + user_bias * data_draw_normal(&draw), noise = gen->opts.noise;
    double scale = gen->opts.rank > 0 ? product / sqrt((double)gen->opts.rank) : 0;

    for (uint32_t k = 0; k < gen->opts.rank; k++)
        s->part[k] = (float)(scale * data_draw_rough_normal(data_draw_u64(&draw)));
    draw_items_of(gen, s, u, count, out);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t item = out[i].item;
        double fit =
            (double)gen->bias[item] + (double)dot(s->part, gen->part + (size_t)item * lanes, lanes);
        out[i].user = u;
        out[i].value = to_value(gen, base + fit + noise * data_draw_normal(&draw));
    }
}

/* The first user who starts at or after rating `place`. */
static uint32_t user_from(const struct data_gen_ratings *gen, uint64_t place)
{
    uint32_t low = 0, high = gen->opts.users;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (gen->start[mid] < place)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Block b has the users who start within its BLOCK_RATINGS ratings; the last has all that are
 * left. */
static void block_users(const struct data_gen_ratings *gen, uint64_t block, uint32_t *first,
                        uint32_t *last)
{
    *first = user_from(gen, block * BLOCK_RATINGS);
    *last = user_from(gen, (block + 1) * BLOCK_RATINGS);
}

static uint64_t block_count(const struct data_gen_ratings *gen)
{
    return gen->opts.ratings / BLOCK_RATINGS + 1;
}

/* ---- in memory ---- */

struct filling {
    const struct data_gen_ratings *gen;
    struct num_rating *rating;
};

static void *fill_scratch(const void *ctx, const struct base_alloc *alloc)
{
    const struct filling *f = ctx;

    return scratch_for(f->gen, alloc, false);
}

static void make_fill(const void *ctx, void *scratch, uint64_t block, char *text,
                      struct data_gen_made *made)
{
    const struct filling *f = ctx;
    uint32_t first, last;

    (void)text;
    block_users(f->gen, block, &first, &last);
    for (uint32_t u = first; u < last; u++)
        make_user(f->gen, scratch, u, f->rating + f->gen->start[u]);
    made->units = made->entries = f->gen->start[last] - f->gen->start[first];
}

shoal_status data_gen_ratings_fill(shoal_env *env, const struct data_gen_ratings *gen,
                                   const struct data_gen_run *run, struct num_rating *out,
                                   shoal_err *err)
{
    struct filling f = {gen, out};
    struct data_gen_plan plan = {.ctx = &f,
                                 .blocks = block_count(gen),
                                 .scratch_new = fill_scratch,
                                 .scratch_free = scratch_free,
                                 .make = make_fill};

    return data_gen_make(env, &plan, run, NULL, NULL, err);
}

/* ---- as text ---- */

static void *text_scratch(const void *ctx, const struct base_alloc *alloc)
{
    return scratch_for(ctx, alloc, true);
}

static char *put_stars(char *to, float value)
{
    unsigned halves = (unsigned)(value * 2);

    *to++ = (char)('0' + halves / 2);
    if (halves % 2 == 0)
        return to;
    *to++ = '.';
    *to++ = '5';
    return to;
}

static char *put_value(char *to, float value)
{
    double units = (double)value * UNIT;

    if (units < 0) {
        *to++ = '-';
        units = -units;
    }
    return data_format_fixed(to, (uint64_t)(units + 0.5), PLACES);
}

static char *put_user(const struct data_gen_ratings *gen, const struct num_rating *rating,
                      uint64_t count, uint32_t u, char *to)
{
    char name[16] = {0};
    char *end = data_format_u64(name, (uint64_t)u + 1);

    *end++ = ',';
    for (uint64_t i = 0; i < count; i++) {
        memcpy(to, name, sizeof name); /* a fixed size is one instruction */
        to = data_format_u64(to + (end - name), (uint64_t)rating[i].item + 1);
        *to++ = ',';
        to = gen->opts.unrounded ? put_value(to, rating[i].value) : put_stars(to, rating[i].value);
        *to++ = '\n';
    }
    return to;
}

static void make_text(const void *ctx, void *scratch, uint64_t block, char *text,
                      struct data_gen_made *made)
{
    const struct data_gen_ratings *gen = ctx;
    struct scratch *s = scratch;
    uint32_t first, last;
    char *to = text;

    if (block == 0) {
        memcpy(to, header, sizeof header - 1);
        to += sizeof header - 1;
    }
    block_users(gen, block, &first, &last);
    for (uint32_t u = first; u < last; u++) {
        make_user(gen, s, u, s->rating);
        to = put_user(gen, s->rating, gen->start[u + 1] - gen->start[u], u, to);
    }
    made->units = made->entries = gen->start[last] - gen->start[first];
    made->size = (size_t)(to - text);
}

shoal_status data_gen_ratings_write(shoal_env *env, const struct data_gen_ratings *gen,
                                    const struct data_gen_run *run, const struct data_sink *sink,
                                    shoal_err *err)
{
    struct data_gen_plan plan = {
        .ctx = gen,
        .blocks = block_count(gen),
        .text_max = HEADER_MAX + (size_t)(BLOCK_RATINGS + gen->busiest) * RATING_TEXT_MAX,
        .scratch_new = text_scratch,
        .scratch_free = scratch_free,
        .make = make_text,
    };

    return data_gen_make(env, &plan, run, sink, NULL, err);
}
