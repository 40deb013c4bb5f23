/* ratings.c - ratings with a planted low rank.
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
 * user. Tests: tests/unit/gen/test_rows.c. */
#include "gen/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/format.h"
#include "gen/draw.h"
#include "num/mf.h"
#include <math.h>

enum {
    LANES = 8,
    BLOCK_RATINGS = 1 << 16,
    RATING_TEXT_MAX = 48, /* "2147483647,2147483647,-123.4567\n" */
    HEADER_MAX = 32,
    UNIT = 10000, /* unrounded values are whole numbers of 1 / UNIT */
    PLACES = 4,
    NOISE_MAX = 100,
    RANK_MAX = 1024
};

static const double mean = 3.5, user_bias = 0.4, item_bias = 0.5, product = 0.6;
static const char header[] = "user,item,rating\n";

struct gen_ratings {
    const struct base_alloc *alloc;
    shoal_gen_ratings_opts opts;
    uint32_t users, items, rank; /* of the options, as they are used */
    uint64_t user_key, item_key;
    struct gen_zipf zipf; /* of items */
    struct gen_scatter scatter;
    uint32_t lanes;   /* rank, rounded up to LANES */
    float *part;      /* (items, lanes) */
    float *bias;      /* (items) */
    uint64_t *start;  /* (users + 1) the first rating of each user */
    uint64_t busiest; /* ratings of one user */
};

struct scratch {
    struct gen_rank_set set;
    float *part;               /* (lanes) of the user */
    struct num_rating *rating; /* of a user */
};

/* ---- set-up ---- */

static shoal_status check(const shoal_gen_ratings_opts *o, shoal_err *err)
{
    if (o->users < 1 || o->users > INT32_MAX || o->items < 1 || o->items > INT32_MAX)
        return base_err(err, SHOAL_E_INVAL, "users and items: expected 1 to %d each", INT32_MAX);
    if (o->ratings < 1 || o->ratings > o->users * o->items)
        return base_err(err, SHOAL_E_INVAL,
                        "ratings: expected 1 to users times items, %llu, found %llu",
                        (unsigned long long)(o->users * o->items), (unsigned long long)o->ratings);
    if (o->rank > RANK_MAX)
        return base_err(err, SHOAL_E_INVAL, "rank: expected at most %d", RANK_MAX);
    if (!(o->noise >= 0 && o->noise <= NOISE_MAX))
        return base_err(err, SHOAL_E_INVAL, "noise: expected 0 to %d", NOISE_MAX);
    return SHOAL_OK;
}

/* How busy user u is, against others. */
static double weigh_user(const struct gen_ratings *gen, const struct gen_scatter *order, uint32_t u)
{
    return 1 / (gen_scatter_at(order, u) + 1 + gen->users * 0.02);
}

/* start[u + 1] = ratings of user u: one each where there are enough, the rest by weight. What is
 * more than all items goes to the users after. */
static void share_out(struct gen_ratings *gen)
{
    uint32_t users = gen->users;
    uint64_t each = gen->opts.ratings >= users ? 1 : 0, carry = 0;
    double rest = (double)(gen->opts.ratings - each * users), total = 0, sum = 0;
    struct gen_scatter order;

    gen_scatter_init(&order, users, gen_draw_key(gen->opts.seed, "gen.ratings.order"));
    for (uint32_t u = 0; u < users; u++)
        total += weigh_user(gen, &order, u);
    for (uint32_t u = 0; u < users; u++) {
        uint64_t before = (uint64_t)(rest * (sum / total));
        sum += weigh_user(gen, &order, u);
        uint64_t count = (uint64_t)(rest * (sum / total)) - before + each + carry;
        gen->start[u + 1] = count < gen->items ? count : gen->items;
        carry = count - gen->start[u + 1];
    }
    for (uint32_t u = 0; u < users && carry > 0; u++) {
        uint64_t more = gen->items - gen->start[u + 1];
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

static void draw_items(struct gen_ratings *gen)
{
    uint64_t key = gen_draw_key(gen->opts.seed, "gen.ratings.item");

    for (uint32_t i = 0; i < gen->items; i++) {
        struct gen_draw draw = gen_draw_of(key, i);
        gen->bias[i] = (float)(item_bias * gen_draw_normal(&draw));
        for (uint32_t k = 0; k < gen->lanes; k++)
            gen->part[(size_t)i * gen->lanes + k] =
                k < gen->rank ? (float)gen_draw_rough_normal(gen_draw_u64(&draw)) : 0;
    }
}

static void free_gen(struct gen_ratings *gen)
{
    base_free(gen->alloc, gen->start);
    base_free(gen->alloc, gen->bias);
    base_free(gen->alloc, gen->part);
}

/* Fails with `gen` to be freed. */
static shoal_status init_gen(struct gen_ratings *gen, const struct base_alloc *alloc,
                             const shoal_gen_ratings_opts *opts, shoal_err *err)
{
    shoal_status st = check(opts, err);

    *gen = (struct gen_ratings){.alloc = alloc, .opts = *opts};
    if (st != SHOAL_OK)
        return st;
    gen->users = (uint32_t)opts->users;
    gen->items = (uint32_t)opts->items;
    gen->rank = (uint32_t)opts->rank;
    gen->lanes = (gen->rank + LANES - 1) / LANES * LANES;
    gen->user_key = gen_draw_key(opts->seed, "gen.ratings.user");
    gen->item_key = gen_draw_key(opts->seed, "gen.ratings.choice");
    gen_zipf_init(&gen->zipf, gen->items, 1 + gen->items * 0.004);
    gen_scatter_init(&gen->scatter, gen->items, gen_draw_key(opts->seed, "gen.ratings.scatter"));
    gen->start = base_calloc(alloc, (size_t)gen->users + 1, sizeof *gen->start);
    gen->bias = base_malloc(alloc, gen->items * sizeof *gen->bias);
    gen->part = base_malloc(alloc, ((size_t)gen->items * gen->lanes + 1) * sizeof *gen->part);
    if (gen->start == NULL || gen->bias == NULL || gen->part == NULL)
        return base_err_nomem(err, "making ratings");
    share_out(gen);
    draw_items(gen);
    return SHOAL_OK;
}

static void scratch_free(void *p, const struct base_alloc *alloc)
{
    struct scratch *s = p;

    base_free(alloc, s->set.slot);
    base_free(alloc, s->part);
    base_free(alloc, s->rating);
    base_free(alloc, s);
}

static void *scratch_new(const void *ctx, const struct base_alloc *alloc)
{
    const struct gen_ratings *gen = ctx;
    struct scratch *s = base_calloc(alloc, 1, sizeof *s);
    uint64_t half = gen->items / 2 + 1;

    if (s == NULL)
        return NULL;
    bool good = gen_rank_set_init(&s->set, alloc,
                                  (uint32_t)(gen->busiest < half ? gen->busiest : half)) == 0;
    s->part = base_calloc(alloc, (size_t)gen->lanes + 1, sizeof *s->part);
    s->rating = base_malloc(alloc, (size_t)gen->busiest * sizeof *s->rating);
    if (good && s->part != NULL && s->rating != NULL)
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

static float to_value(const struct gen_ratings *gen, double exact)
{
    double scaled = exact * (gen->opts.unrounded ? UNIT : 2);
    double units = (double)(int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);

    if (gen->opts.unrounded)
        return (float)(units / UNIT);
    return (float)((units < 1 ? 1 : units > 10 ? 10 : units) / 2);
}

/* Different items for a user. Who rates most of them goes through all (selection sampling). */
static void draw_items_of(const struct gen_ratings *gen, struct scratch *s, uint32_t u,
                          uint32_t count, struct num_rating *out)
{
    struct gen_draw draw = gen_draw_of(gen->item_key, u);
    uint32_t items = gen->items, at = 0;

    if (count > items / 2) {
        for (uint32_t i = 0; at < count; i++)
            if (gen_draw_below(&draw, items - i) < count - at)
                out[at++].item = i;
        return;
    }
    gen_rank_set_clear(&s->set);
    for (; at < count; at++) {
        uint64_t bits = 0;
        uint32_t rank = gen_rank_set_draw(&s->set, &gen->zipf, &draw, &bits);
        out[at].item = gen_scatter_at(&gen->scatter, rank);
    }
}

/* All ratings of user u. Items first, then values: what the processor guesses wrong in the first
 * loop does not hold up the second. */
static void make_user(const struct gen_ratings *gen, struct scratch *s, uint32_t u,
                      struct num_rating *out)
{
    struct gen_draw draw = gen_draw_of(gen->user_key, u);
    uint32_t count = (uint32_t)(gen->start[u + 1] - gen->start[u]), lanes = gen->lanes;
    double base = mean + user_bias * gen_draw_normal(&draw), noise = gen->opts.noise;
    double scale = gen->rank > 0 ? product / sqrt((double)gen->rank) : 0;

    for (uint32_t k = 0; k < gen->rank; k++)
        s->part[k] = (float)(scale * gen_draw_rough_normal(gen_draw_u64(&draw)));
    draw_items_of(gen, s, u, count, out);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t item = out[i].item;
        double fit =
            (double)gen->bias[item] + (double)dot(s->part, gen->part + (size_t)item * lanes, lanes);
        out[i].user = u;
        out[i].value = to_value(gen, base + fit + noise * gen_draw_normal(&draw));
    }
}

/* The first user who starts at or after rating `place`. */
static uint32_t user_from(const struct gen_ratings *gen, uint64_t place)
{
    uint32_t low = 0, high = gen->users;

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
static void block_users(const struct gen_ratings *gen, uint64_t block, uint32_t *first,
                        uint32_t *last)
{
    *first = user_from(gen, block * BLOCK_RATINGS);
    *last = user_from(gen, (block + 1) * BLOCK_RATINGS);
}

/* ---- as text ---- */

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

static char *put_user(const struct gen_ratings *gen, const struct num_rating *rating,
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
                      struct gen_block *made)
{
    const struct gen_ratings *gen = ctx;
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

/* ---- the call ---- */

#define AT(member) offsetof(shoal_gen_ratings_opts, member)

static const shoal_opt rows[] = {
    {AT(users), SHOAL_OPT_U64, "users", 'u', "U", "1000", "users", .min = 1, .max = INT32_MAX},
    {AT(items), SHOAL_OPT_U64, "items", 'i', "I", "500", "items", .min = 1, .max = INT32_MAX},
    {AT(ratings), SHOAL_OPT_U64, "ratings", 'n', "N", NULL,
     "ratings in all, at most users times items [20000, or all]", .min = 1, .max = 281474976710656},
    {AT(rank), SHOAL_OPT_U64, "rank", 0, "R", "8", "rank of the planted matrix, besides biases",
     .max = RANK_MAX},
    {AT(noise), SHOAL_OPT_F64, "noise", 0, "X", "0.75",
     "standard deviation of what nothing explains", .max = NOISE_MAX},
    {AT(unrounded), SHOAL_OPT_FLAG, "unrounded",
     .help = "values to four places, not half stars from 0.5 to 5"},
    GEN_ROW_SEED,
    GEN_ROW_THREADS,
    GEN_ROW_OUTPUT,
};
#undef AT

BASE_OPT_PUBLIC(gen_ratings, rows)

static shoal_status make(struct gen_call *call, const struct gen_ratings *gen, shoal_watch *watch,
                         shoal_err *err)
{
    struct gen_plan plan = {
        .gen = gen,
        .blocks = gen->opts.ratings / BLOCK_RATINGS + 1,
        .text_max = HEADER_MAX + (size_t)(BLOCK_RATINGS + gen->busiest) * RATING_TEXT_MAX,
        .scratch_new = scratch_new,
        .scratch_free = scratch_free,
        .make = make_text,
    };
    uint64_t ratings = 0;

    call->threads = (uint32_t)gen->opts.threads;
    shoal_status st = gen_open(call, watch, "ratings", gen->opts.ratings, err);
    if (st == SHOAL_OK)
        st = gen_blocks(call, &plan, &ratings, err);
    call->made.users = gen->users;
    call->made.items = gen->items;
    call->made.ratings = (double)ratings;
    return gen_end(call, st, err);
}

shoal_status shoal_gen_ratings(shoal_env *env, const shoal_gen_ratings_opts *given,
                               shoal_watch *watch, const shoal_result **out_result, shoal_err *err)
{
    shoal_gen_ratings_opts opts;
    struct gen_ratings gen;
    struct gen_call call;

    shoal_status st = gen_take(rows, BASE_COUNT(rows), &opts, sizeof opts, given, out_result, err);
    if (st != SHOAL_OK)
        return st;
    opts.ratings = gen_usual(opts.ratings, 20000, opts.users * opts.items);
    st = init_gen(&gen, env_alloc(env), &opts, err);
    if (st == SHOAL_OK)
        st = gen_begin(&call, env, "ratings", &opts.to, err);
    if (st == SHOAL_OK)
        st = make(&call, &gen, watch, err);
    free_gen(&gen);
    if (st != SHOAL_OK)
        return st;
    struct page_made *made = gen_made(&call);
    gen_say(&call, made, "%s of %s by %s", gen_count(made, call.made.ratings, "rating"),
            gen_count(made, call.made.items, "item"), gen_count(made, call.made.users, "user"));
    return gen_finish(&call, made, "train mf", "", out_result, err);
}
