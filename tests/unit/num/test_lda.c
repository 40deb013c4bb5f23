/* Tests of src/num/lda.c and lda_score.c. That the frozen conditional is what is sampled, exactly:
 * test_lda_exact.c. */
#include "lda_tiles.h"
#include "num/alias.h"

/* A state and all it needs; records in two buffers. */
struct world {
    struct lda_text text;
    struct num_lda_cut *cut;
    struct num_lda_pass pass;
    struct num_lda_prior priors;
    const struct num_lda_ops *ops;
    struct num_lda_work *work;
    void *memory, *now, *then;
    struct num_lda_tile *tiles;
    float *inverse, *value, *keep;
    uint32_t *other;
    int64_t *c;
    int32_t *change;
    double alpha, beta;
    bool asymmetric, in_place, backwards, split;
};

struct shape {
    uint32_t documents, words, longest, range, topics;
};

static const struct shape SHAPES[] = {
    {60, 80, 40, 300, 2},         {60, 80, 40, 300, 3},      {60, 80, 40, 300, 100},
    {1, 300, 900, 100, 1000},     {300, 1, 30, 500, 1024},   {60, 80, 40, 300, 1025},
    {3, 2, 9000, 0, 37},          {3, 2, 9000, 9000, 3000},  {2, 3, 90000, 0, 500},
    {60, 5000, 40, 70000, 65536}, {60, 80, 40, 300, 65537},  {3, 2, 9000, 0, 70000},
    {20, 10, 4, 16, 70000},       {5, 90000, 8000, 0, 1000},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof SHAPES[0] };

static void set_priors(struct world *w, uint32_t topics)
{
    double *alpha = lda_take(topics, sizeof *alpha), *space = lda_take(2 * topics, sizeof *space);

    for (uint32_t k = 0; k < topics; k++) {
        w->value[k] = 0.02F + 0.3F * (float)(k % 5);
        w->priors.sum += (double)w->value[k];
        alpha[k] = (double)w->value[k];
    }
    num_alias_build(topics, alpha, w->keep, w->other, space);
    w->priors.value = w->value;
    w->priors.keep = w->keep;
    w->priors.other = w->other;
    free(alpha);
    free(space);
}

static void world_init(struct world *w, const struct shape *shape, uint32_t lanes, uint64_t seed)
{
    uint32_t stride = num_lda_stride(shape->topics), most;
    size_t size;

    *w = (struct world){.alpha = 0.1, .beta = 0.05, .in_place = true};
    w->text = any_text(shape->documents, shape->words, shape->longest, true, seed);
    assert_int_equal(
        num_lda_cut_new(&base_alloc_libc, &w->text.corpus, shape->range, &w->cut, NULL), SHOAL_OK);
    w->ops = num_lda_ops_find(lanes);
    size = num_lda_work_size(shape->topics, w->cut->strip_max, w->cut->segment_max);
    w->memory = aligned_alloc(64, size);
    assert_non_null(w->memory);
    w->work = num_lda_work_init(w->memory, shape->topics, w->cut->strip_max, w->cut->segment_max);
    w->now = lda_take(w->cut->tokens, 8);
    w->then = lda_take(w->cut->tokens, 8);
    most = w->cut->ranges[0] + w->cut->ranges[1];
    w->tiles = lda_take(most, sizeof *w->tiles);
    w->inverse = lda_take(stride, sizeof *w->inverse);
    w->value = lda_take(stride, sizeof *w->value);
    w->keep = lda_take(stride, sizeof *w->keep);
    w->other = lda_take(stride, sizeof *w->other);
    w->c = lda_take(stride, sizeof *w->c);
    w->change = lda_take(stride, sizeof *w->change);
    set_priors(w, shape->topics);
    w->pass = (struct num_lda_pass){.topics = shape->topics, .inverse = w->inverse, .seed = seed};
}

static void world_fini(struct world *w)
{
    num_lda_cut_free(w->cut);
    lda_text_fini(&w->text);
    free(w->memory);
    free(w->now);
    free(w->then);
    free(w->tiles);
    free(w->inverse);
    free(w->value);
    free(w->keep);
    free(w->other);
    free(w->c);
    free(w->change);
}

static void take_change(struct world *w)
{
    for (uint32_t k = 0; k < w->pass.topics; k++) {
        w->c[k] += w->change[k];
        w->change[k] = 0;
    }
    num_lda_inverse(w->pass.topics, w->c, w->beta * w->cut->words, w->inverse);
}

/* Tiles of a strip; a document strip as one tile, or as the tiles it is made of. */
static uint32_t tiles_of(struct world *w, const struct num_lda_strip *strip)
{
    void *after = w->in_place ? w->now : w->then;
    size_t size = num_lda_format(w->pass.topics).size;

    if (strip->side == NUM_LDA_WORDS || !w->split)
        return num_lda_cut_tiles(w->cut, strip, w->pass.topics, w->now, after, w->tiles);
    for (uint32_t j = 0; j < strip->tiles; j++) {
        const uint64_t *tile = w->cut->tile + (size_t)strip->index * strip->tiles + j;
        w->tiles[j] =
            (struct num_lda_tile){(char *)w->now + tile[0] * size, (char *)after + tile[0] * size,
                                  (uint32_t)(tile[1] - tile[0])};
    }
    return strip->tiles;
}

static void start(struct world *w)
{
    for (uint32_t r = 0; r < w->cut->ranges[NUM_LDA_DOCUMENTS]; r++) {
        struct num_lda_strip strip = num_lda_cut_strip(w->cut, NUM_LDA_DOCUMENTS, r);
        uint32_t count =
            num_lda_cut_tiles(w->cut, &strip, w->pass.topics, w->now, w->now, w->tiles);
        num_lda_start(&w->pass, &strip, w->tiles, count, w->change);
    }
    take_change(w);
}

static void set_side(struct world *w, enum num_lda_side side)
{
    w->pass.prior = (float)(side == NUM_LDA_WORDS ? w->beta : w->alpha);
    w->pass.priors = side == NUM_LDA_DOCUMENTS && w->asymmetric ? &w->priors : NULL;
}

static void clock_once(struct world *w, enum num_lda_side side)
{
    uint32_t ranges = w->cut->ranges[side];

    set_side(w, side);
    num_lda_work_pass(w->work, &w->pass);
    for (uint32_t r = 0; r < ranges; r++) {
        struct num_lda_strip strip =
            num_lda_cut_strip(w->cut, side, w->backwards ? ranges - 1 - r : r);
        uint32_t count = tiles_of(w, &strip);
        w->ops->sample(&w->pass, &strip, w->tiles, count, w->work, w->change);
    }
    if (!w->in_place) {
        void *then = w->then;
        w->then = w->now;
        w->now = then;
    }
    take_change(w);
    w->pass.clock++;
}

static void clocks(struct world *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        clock_once(w, i % 2 == 0 ? NUM_LDA_WORDS : NUM_LDA_DOCUMENTS);
}

static void assert_equal_worlds(const struct world *a, const struct world *b)
{
    size_t size = num_lda_format(a->pass.topics).size;

    assert_int_equal(a->cut->tokens, b->cut->tokens);
    assert_memory_equal(a->now, b->now, a->cut->tokens * size);
    assert_memory_equal(a->c, b->c, a->pass.topics * sizeof *a->c);
}

static void twins_write_equal_records(void **state)
{
    static const uint32_t lanes[] = {8, 16};

    (void)state;
    for (int s = 0; s < SHAPE_COUNT; s++)
        for (int asymmetric = 0; asymmetric < 2; asymmetric++) {
            struct world plain;
            world_init(&plain, &SHAPES[s], 1, (uint64_t)s);
            plain.asymmetric = asymmetric;
            start(&plain);
            clocks(&plain, 6);
            for (int l = 0; l < 2; l++) {
                struct world twin;
                world_init(&twin, &SHAPES[s], lanes[l], (uint64_t)s);
                twin.asymmetric = asymmetric;
                start(&twin);
                clocks(&twin, 6);
                assert_equal_worlds(&plain, &twin);
                world_fini(&twin);
            }
            world_fini(&plain);
        }
}

/* From prior sums of 2^31 on a draw is past what 32 bits hold; there are no tokens there either way. */
static void twins_agree_on_the_largest_priors(void **state)
{
    static const struct shape LARGE[] = {{60, 80, 40, 300, 5000}, {3, 2, 9000, 0, 5000}};
    static const double ALPHAS[] = {4e5, 5e5, 1e6, 1e20};

    (void)state;
    for (uint32_t i = 0; i < 2 * 4; i++) {
        struct world plain;
        world_init(&plain, &LARGE[i % 2], 1, i);
        plain.alpha = ALPHAS[i / 2];
        start(&plain);
        clocks(&plain, 4);
        for (uint32_t lanes = 8; lanes <= 16; lanes += 8) {
            struct world twin;
            world_init(&twin, &LARGE[i % 2], lanes, i);
            twin.alpha = plain.alpha;
            start(&twin);
            clocks(&twin, 4);
            assert_equal_worlds(&plain, &twin);
            world_fini(&twin);
        }
        world_fini(&plain);
    }
}

static double likelihood(struct world *w)
{
    double sum = num_lda_likelihood_topics(w->pass.topics, w->c, w->beta * w->cut->words);

    for (int side = 0; side < 2; side++) {
        set_side(w, (enum num_lda_side)side);
        for (uint32_t r = 0; r < w->cut->ranges[side]; r++) {
            struct num_lda_strip strip = num_lda_cut_strip(w->cut, (enum num_lda_side)side, r);
            uint32_t count = tiles_of(w, &strip);
            sum += num_lda_likelihood(&w->pass, &strip, w->tiles, count, w->work);
        }
    }
    return sum;
}

/* Counts are those of what records with any bits are read as. */
static void garbage(struct world *w, uint64_t seed)
{
    size_t size = w->cut->tokens * num_lda_format(w->pass.topics).size;
    struct base_rand rand;

    base_rand_init(&rand, seed, "garbage");
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)w->now)[i] = (uint8_t)base_rand_below(&rand, 256);
    for (uint64_t t = 0; t < w->cut->tokens; t++) {
        for (uint32_t m = 1; m <= num_lda_format(w->pass.topics).steps; m++)
            assert_true(num_lda_part(w->pass.topics, w->now, t, m) < w->pass.topics);
        w->change[num_lda_part(w->pass.topics, w->now, t, 0)]++;
    }
    take_change(w);
}

static void records_of_any_bits_do_no_harm(void **state)
{
    static const uint32_t TOPICS[] = {5, 1000, 1025, 70000};

    (void)state;
    for (uint32_t i = 0; i < 4 * 2; i++) {
        struct shape shape = i % 2 == 0 ? (struct shape){60, 80, 40, 300, TOPICS[i / 2]}
                                        : (struct shape){3, 2, 9000, 0, TOPICS[i / 2]};
        struct world plain;
        world_init(&plain, &shape, 1, i);
        garbage(&plain, i);
        (void)likelihood(&plain);
        clocks(&plain, 3);
        for (uint32_t lanes = 8; lanes <= 16; lanes += 8) {
            struct world twin;
            world_init(&twin, &shape, lanes, i);
            garbage(&twin, i);
            clocks(&twin, 3);
            assert_equal_worlds(&plain, &twin);
            world_fini(&twin);
        }
        for (uint32_t k = 0; k < plain.pass.topics; k++)
            assert_true(plain.c[k] >= 0);
        world_fini(&plain);
    }
}

static void order_of_tasks_and_buffers_do_not_matter(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPE_COUNT; s++) {
        struct world a, b;
        world_init(&a, &SHAPES[s], 16, 9);
        world_init(&b, &SHAPES[s], 16, 9);
        b.backwards = true;
        b.in_place = false;
        b.split = true;
        start(&a);
        start(&b);
        clocks(&a, 4);
        clocks(&b, 4);
        assert_equal_worlds(&a, &b);
        world_fini(&a);
        world_fini(&b);
    }
}

static void a_task_run_again_writes_the_same(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, &SHAPES[2], 16, 3);
    start(&w);
    clocks(&w, 3);
    w.in_place = false;
    set_side(&w, NUM_LDA_DOCUMENTS);
    num_lda_work_pass(w.work, &w.pass);
    struct num_lda_strip strip = num_lda_cut_strip(w.cut, NUM_LDA_DOCUMENTS, 1);
    uint32_t count = tiles_of(&w, &strip);
    size_t bytes = strip.tokens * sizeof(uint32_t);
    uint32_t *first = lda_take(strip.tokens, sizeof *first);
    w.ops->sample(&w.pass, &strip, w.tiles, count, w.work, w.change);
    memcpy(first, w.tiles[0].after, bytes);
    memset(w.tiles[0].after, 0x5a, bytes);
    w.ops->sample(&w.pass, &strip, w.tiles, count, w.work, w.change);
    assert_memory_equal(first, w.tiles[0].after, bytes);
    w.pass.clock++; /* other clocks and seeds draw other numbers */
    w.ops->sample(&w.pass, &strip, w.tiles, count, w.work, w.change);
    assert_memory_not_equal(first, w.tiles[0].after, bytes);
    w.pass.clock--;
    w.pass.seed++;
    w.ops->sample(&w.pass, &strip, w.tiles, count, w.work, w.change);
    assert_memory_not_equal(first, w.tiles[0].after, bytes);
    free(first);
    world_fini(&w);
}

static void counts_of_topics_are_those_of_records(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPE_COUNT; s++) {
        struct world w;
        uint32_t steps = num_lda_format(SHAPES[s].topics).steps;
        world_init(&w, &SHAPES[s], 16, 4);
        int64_t *c = lda_take(w.pass.topics, sizeof *c);
        start(&w);
        clocks(&w, 5);
        for (uint64_t t = 0; t < w.cut->tokens; t++) {
            for (uint32_t m = 0; m <= steps; m++)
                assert_true(num_lda_part(w.pass.topics, w.now, t, m) < w.pass.topics);
            c[num_lda_part(w.pass.topics, w.now, t, 0)]++;
        }
        assert_memory_equal(c, w.c, w.pass.topics * sizeof *c);
        free(c);
        world_fini(&w);
    }
}

/* ---- probabilities ---- */

enum { FEW = 12 /* topics that records of these tests hold */ };

/* Sums of what was seen minus what was expected, and of its variance. */
struct tally {
    double sum, variance;
};

static void tally_add(struct tally *t, bool seen, double p)
{
    t->sum += (seen ? 1 : 0) - p;
    t->variance += p * (1 - p);
}

static void assert_fair(const struct tally *t)
{
    assert_true(fabs(t->sum) <
                6 * sqrt(t->variance + 1)); /* 1: of rare events there is one or none */
}

static void few_topics(struct world *w, uint64_t seed)
{
    struct base_rand rand;

    base_rand_init(&rand, seed, "few_topics");
    for (uint64_t t = 0; t < w->cut->tokens; t++) {
        uint32_t parts[NUM_LDA_STEPS_MAX + 1];
        for (uint32_t m = 0; m <= NUM_LDA_STEPS_MAX; m++) {
            double u = base_rand_unit(&rand);
            parts[m] = (uint32_t)(u * u * FEW);
        }
        num_lda_put(w->pass.topics, w->now, t, parts);
        w->change[parts[0]]++;
    }
    take_change(w);
}

/* (documents or words, FEW) */
static double *count_few(const struct world *w, const void *records, const uint32_t *owner,
                         uint32_t owners_count)
{
    double *c = lda_take((size_t)owners_count * FEW, sizeof *c);

    for (uint64_t t = 0; t < w->cut->tokens; t++) {
        uint32_t k = num_lda_part(w->pass.topics, records, t, 0);
        if (k < FEW)
            c[(size_t)owner[t] * FEW + k]++;
    }
    return c;
}

/* Probability that a token goes to its last proposal, and that it stays where it is. */
static void probable(const struct world *w, const double *c, uint64_t token, double *out_last,
                     double *out_stay)
{
    uint32_t steps = num_lda_format(w->pass.topics).steps, part[NUM_LDA_STEPS_MAX + 1] = {0};
    double f[NUM_LDA_STEPS_MAX + 1] = {1, 1, 1};

    for (uint32_t m = 0; m <= steps; m++) {
        part[m] = num_lda_part(w->pass.topics, w->now, token, m);
        double prior =
            w->pass.priors != NULL ? (double)w->pass.priors->value[part[m]] : (double)w->pass.prior;
        f[m] = (c[part[m]] - (part[m] == part[0]) + prior) * (double)w->inverse[part[m]];
    }
    double go = fmin(1, f[1] / f[0]);
    if (steps == 1) {
        *out_last = part[1] == part[0] ? 1 : go;
        *out_stay = part[1] == part[0] ? 1 : 1 - go;
        return;
    }
    double from_0 = fmin(1, f[2] / f[0]), from_1 = fmin(1, f[2] / f[1]);
    double p[] = {(1 - go) * (1 - from_0), go * (1 - from_1), (1 - go) * from_0 + go * from_1};
    *out_last = *out_stay = 0;
    for (uint32_t m = 0; m < 3; m++) {
        *out_last += part[m] == part[2] ? p[m] : 0;
        *out_stay += part[m] == part[0] ? p[m] : 0;
    }
}

/* Tokens of both sizes of segment, both sides, all formats. */
static const struct shape FAIR[] = {{300, 40, 60, 500, 50},    {300, 40, 60, 500, 2000},
                                    {300, 40, 60, 500, 70000}, {4, 2, 9000, 0, 50},
                                    {4, 2, 9000, 0, 2000},     {4, 2, 9000, 0, 70000}};
enum { FAIR_COUNT = sizeof FAIR / sizeof FAIR[0] };

static void assert_moves(struct world *w, enum num_lda_side side)
{
    uint32_t *owner = owners(w->cut, side), topics = w->pass.topics;
    double *c =
        count_few(w, w->now, owner, side == NUM_LDA_WORDS ? w->cut->words : w->cut->documents);
    uint32_t steps = num_lda_format(topics).steps;
    struct tally last = {0}, stay = {0};
    float *inverse = lda_take(num_lda_stride(topics), sizeof *inverse);

    memcpy(inverse, w->inverse, num_lda_stride(topics) * sizeof *inverse);
    clock_once(w, side); /* two buffers: `then` is what was before */
    struct world was = *w;
    was.now = w->then;
    was.inverse = inverse;
    for (uint64_t t = 0; t < w->cut->tokens; t++) {
        double p_last, p_stay;
        uint32_t z = num_lda_part(topics, w->now, t, 0);
        probable(&was, c + (size_t)owner[t] * FEW, t, &p_last, &p_stay);
        tally_add(&last, z == num_lda_part(topics, was.now, t, steps), p_last);
        tally_add(&stay, z == num_lda_part(topics, was.now, t, 0), p_stay);
        if (p_stay < 1e-9)
            assert_int_not_equal(z, num_lda_part(topics, was.now, t, 0));
    }
    assert_fair(&last);
    assert_fair(&stay);
    free(inverse);
    free(owner);
    free(c);
}

static void tokens_move_as_often_as_weights_say(void **state)
{
    (void)state;
    for (int s = 0; s < FAIR_COUNT; s++)
        for (int side = 0; side < 2; side++)
            for (int asymmetric = 0; asymmetric <= side; asymmetric++) {
                struct world w;
                world_init(&w, &FAIR[s], 16, 20 + (uint64_t)s);
                w.in_place = false;
                w.asymmetric = asymmetric;
                few_topics(&w, (uint64_t)s);
                assert_moves(&w, (enum num_lda_side)side);
                world_fini(&w);
            }
}

/* Proposals after a clock, summed over tokens: topic by topic, and those of no token. */
static void assert_proposals(struct world *w, enum num_lda_side side)
{
    uint32_t *owner = owners(w->cut, side), topics = w->pass.topics;
    uint32_t count = side == NUM_LDA_WORDS ? w->cut->words : w->cut->documents;
    struct tally tally[FEW + 1] = {{0, 0}};
    double *n = lda_take(count, sizeof *n), few = 0;

    clock_once(w, side);
    double *c = count_few(w, w->now, owner, count);
    double sum =
        w->pass.priors != NULL ? w->pass.priors->sum : (double)w->pass.prior * w->pass.topics;
    for (uint64_t t = 0; t < w->cut->tokens; t++)
        n[owner[t]]++;
    for (uint32_t k = 0; k < FEW; k++)
        few += w->pass.priors != NULL ? (double)w->value[k] : (double)w->pass.prior;
    for (uint64_t t = 0; t < w->cut->tokens; t++)
        for (uint32_t m = 1; m <= num_lda_format(topics).steps; m++) {
            uint32_t proposed = num_lda_part(topics, w->now, t, m);
            double all = n[owner[t]] + sum;
            for (uint32_t k = 0; k < FEW; k++) {
                double prior = w->pass.priors != NULL ? (double)w->value[k] : (double)w->pass.prior;
                tally_add(&tally[k], proposed == k, (c[(size_t)owner[t] * FEW + k] + prior) / all);
            }
            tally_add(&tally[FEW], proposed >= FEW, (sum - few) / all);
        }
    for (uint32_t k = 0; k <= FEW; k++)
        assert_fair(&tally[k]);
    free(n);
    free(c);
    free(owner);
}

static void proposals_come_from_tokens_and_prior(void **state)
{
    (void)state;
    for (int s = 0; s < FAIR_COUNT; s++)
        for (int side = 0; side < 2; side++)
            for (int asymmetric = 0; asymmetric <= side; asymmetric++) {
                struct world w;
                world_init(&w, &FAIR[s], 16, 40 + (uint64_t)s);
                w.asymmetric = asymmetric;
                w.alpha = 200.0 / FAIR[s].topics;
                w.beta = 100.0 / FAIR[s].topics;
                few_topics(&w, (uint64_t)s);
                assert_proposals(&w, (enum num_lda_side)side);
                world_fini(&w);
            }
}

/* ---- likelihood ---- */

/* Topics in the order of the corpus: any token of the same document and word will do. */
static void exact_topics(const struct world *w, uint32_t *z)
{
    uint32_t *document = owners(w->cut, NUM_LDA_DOCUMENTS), *word = owners(w->cut, NUM_LDA_WORDS);
    bool *used = lda_take(w->cut->tokens, sizeof *used);
    const struct lda_text *text = &w->text;
    uint32_t n = 0;

    for (uint32_t d = 0; d < text->corpus.documents; d++)
        for (uint64_t e = text->start[d]; e < text->start[d + 1]; e++)
            for (uint32_t i = 0; i < text->count[e]; i++) {
                uint32_t t = 0;
                while (used[t] || document[t] != d || word[t] != text->word[e])
                    t++;
                used[t] = true;
                z[n++] = num_lda_part(w->pass.topics, w->now, t, 0);
            }
    free(document);
    free(word);
    free(used);
}

static void likelihood_is_that_of_the_reference(void **state)
{
    (void)state;
    for (int asymmetric = 0; asymmetric < 2; asymmetric++)
        for (int s = 0; s < 4; s++) {
            struct world w;
            struct num_lda_exact *exact;
            world_init(&w, &SHAPES[s], 16, 60);
            w.asymmetric = asymmetric;
            w.alpha = 0.1F; /* what a float holds of it */
            w.beta = 0.05F;
            start(&w);
            clocks(&w, 3);
            uint32_t *z = lda_take(w.cut->tokens, sizeof *z), topics = w.pass.topics;
            double *alpha = lda_take(topics, sizeof *alpha);
            for (uint32_t k = 0; k < topics; k++)
                alpha[k] = asymmetric ? (double)w.value[k] : w.alpha;
            assert_int_equal(num_lda_exact_new(&base_alloc_libc, &w.text.corpus, topics, alpha,
                                               w.beta, &exact, NULL),
                             SHOAL_OK);
            exact_topics(&w, z);
            num_lda_exact_set(exact, z);
            double want = num_lda_exact_joint(exact), got = likelihood(&w);
            assert_true(fabs(got - want) < 1e-9 * fabs(want)); /* rounding of some 1000 terms */
            num_lda_exact_free(exact);
            free(z);
            free(alpha);
            world_fini(&w);
        }
}

static void likelihood_rises(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, &(struct shape){300, 400, 80, 0, 20}, 16, 70);
    lda_text_fini(&w.text);
    num_lda_cut_free(w.cut);
    w.text = lda_planted(300, 40, 400, 10, 1);
    assert_int_equal(num_lda_cut_new(&base_alloc_libc, &w.text.corpus, 0, &w.cut, NULL), SHOAL_OK);
    free(w.memory);
    w.memory = aligned_alloc(64, num_lda_work_size(20, w.cut->strip_max, w.cut->segment_max));
    assert_non_null(w.memory);
    w.work = num_lda_work_init(w.memory, 20, w.cut->strip_max, w.cut->segment_max);
    free(w.now);
    w.now = lda_take(w.cut->tokens, 8);
    start(&w);
    double first = likelihood(&w) / w.text.tokens;
    clocks(&w, 100);
    double last = likelihood(&w) / w.text.tokens;
    assert_true(last > first + 1.5);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_write_equal_records),
        cmocka_unit_test(twins_agree_on_the_largest_priors),
        cmocka_unit_test(records_of_any_bits_do_no_harm),
        cmocka_unit_test(order_of_tasks_and_buffers_do_not_matter),
        cmocka_unit_test(a_task_run_again_writes_the_same),
        cmocka_unit_test(counts_of_topics_are_those_of_records),
        cmocka_unit_test(tokens_move_as_often_as_weights_say),
        cmocka_unit_test(proposals_come_from_tokens_and_prior),
        cmocka_unit_test(likelihood_is_that_of_the_reference),
        cmocka_unit_test(likelihood_rises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
