/* lda.c - the sampler of topic models; lda.h says what it samples.
 *
 * Delayed-count Metropolis-Hastings as in WarpLDA (Chen, Li, Zhu, Chen 2016): counts stand still while a
 * word or document is gone through, so tokens do not wait for each other and lanes of a vector are
 * tokens. What costs time then is loads at random places, and the text is laid out to have few:
 *
 * - A strip is small enough for the second-level cache. Its tokens are gathered segment by segment
 *   through the order, sampled in buffers of the first level, and scattered back. The copies in and
 *   out are whole tiles, so memory is only gone through forwards.
 * - A topic is one load: the count of the segment (twelve bits) lies in the same word as
 *   1 / (c_k + beta_sum), a float rounded to twelve bits, which moves a weight by 0.024 % at most.
 *   Segments of more than COUNT_MAX tokens have the finished weight in its place, made for all
 *   topics at once. Counts are taken back by walking over the segment, never by clearing K words, so a
 *   document touches no more lines of a large table than it has tokens and proposals.
 * - Ratios are compared as u * f(s) < f(t), without a division. c_k is changed by the tokens that moved.
 *
 * Records of up to 1024 topics and of more than 65,536 have room for two proposals. Twice the steps cost
 * 1.3 times the time a pass and save two passes of five (20 Newsgroups, 1000 topics, to the likelihood
 * of 60 iterations of one step: 38).
 *
 * Random numbers are a hash of (key of the task, position of the token in its strip): the same whatever
 * the lanes. Per thread: about 20 bytes a topic, the records of one strip and 4 bytes a token of
 * the longest segment. */
#include "num/lda.h"

#include "base/assert.h"
#include <math.h>
#include <string.h>

enum { COUNT_MAX = 0xfff, CHUNK = 4096, PAD = 16 /* lanes past the end of a buffer */ };

struct num_lda_work {
    uint32_t topics, stride, strip_max, segment_max;
    const float *inverse; /* whose values `packed` holds */
    uint32_t *packed;     /* (stride): inverse, and in its low bits a count, 0 between segments */
    uint32_t *count[2];   /* (stride): 0 between segments; in turn, so that an add need not wait */
    float *weight;        /* (stride) */
    uint32_t *z, *proposal[NUM_LDA_STEPS_MAX], *from, *to; /* one chunk and some lanes */
    uint32_t *next;                                        /* (segment_max) and some lanes */
    void *records;                                         /* (strip_max) */
};

static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

struct key {
    uint32_t add, mix;
};

struct job {
    const struct num_lda_pass *pass;
    const struct num_lda_strip *strip;
    struct num_lda_work *work;
    const struct num_lda_tile *tiles;
    uint32_t tile_count;
    void *records; /* of the strip: the only tile's own, or work->records */
    int32_t *change;
    double prior_sum;
    float topics_unit; /* topics / 2^24 */
    struct key accept[NUM_LDA_STEPS_MAX], propose[NUM_LDA_STEPS_MAX];
};

/* ---- records ---- */

struct num_lda_format num_lda_format(uint32_t topics)
{
    if (topics <= 1U << 10)
        return (struct num_lda_format){4, 10, 2};
    if (topics <= 1U << 16)
        return (struct num_lda_format){4, 16, 1};
    return (struct num_lda_format){8, 21, 2};
}

uint32_t num_lda_part(uint32_t topics, const void *records, uint64_t at, uint32_t part)
{
    struct num_lda_format format = num_lda_format(topics);
    uint64_t record =
        format.size == 4 ? ((const uint32_t *)records)[at] : ((const uint64_t *)records)[at];

    uint32_t topic = (uint32_t)(record >> (part * format.bits)) & ((1U << format.bits) - 1);
    return topic < topics ? topic : topics - 1;
}

void num_lda_put(uint32_t topics, void *records, uint64_t at, const uint32_t *parts)
{
    struct num_lda_format format = num_lda_format(topics);
    uint64_t record = 0;

    for (uint32_t m = 0; m <= format.steps; m++)
        record |= (uint64_t)parts[m] << (m * format.bits);
    if (format.size == 4)
        ((uint32_t *)records)[at] = (uint32_t)record;
    else
        ((uint64_t *)records)[at] = record;
}

/* ---- work memory ---- */

static size_t padded(size_t count, size_t size)
{
    return (count * size + 63) / 64 * 64;
}

static void *lay(uint8_t **at, size_t count, size_t size)
{
    void *p = *at;

    *at += padded(count, size);
    return p;
}

size_t num_lda_work_size(uint32_t topics, uint32_t strip_max, uint32_t segment_max)
{
    return padded(1, sizeof(struct num_lda_work)) + 4 * padded(num_lda_stride(topics), 4) +
           5 * padded(CHUNK + PAD, 4) + padded((size_t)segment_max + PAD, 4) +
           padded((size_t)strip_max, num_lda_format(topics).size);
}

struct num_lda_work *num_lda_work_init(void *memory, uint32_t topics, uint32_t strip_max,
                                       uint32_t segment_max)
{
    uint8_t *at = memory;
    struct num_lda_work *w = lay(&at, 1, sizeof *w);
    size_t stride = num_lda_stride(topics);

    memset(memory, 0, num_lda_work_size(topics, strip_max, segment_max));
    *w = (struct num_lda_work){.topics = topics,
                               .stride = (uint32_t)stride,
                               .strip_max = strip_max,
                               .segment_max = segment_max};
    w->packed = lay(&at, stride, 4);
    w->count[0] = lay(&at, stride, 4);
    w->count[1] = lay(&at, stride, 4);
    w->weight = lay(&at, stride, 4);
    w->z = lay(&at, CHUNK + PAD, 4);
    for (uint32_t m = 0; m < NUM_LDA_STEPS_MAX; m++)
        w->proposal[m] = lay(&at, CHUNK + PAD, 4);
    w->from = lay(&at, CHUNK + PAD, 4);
    w->to = lay(&at, CHUNK + PAD, 4);
    w->next = lay(&at, (size_t)segment_max + PAD, 4);
    w->records = lay(&at, strip_max, num_lda_format(topics).size);
    return w;
}

struct num_lda_work *num_lda_work_again(void *memory, uint32_t topics, uint32_t strip_max,
                                        uint32_t segment_max)
{
    struct num_lda_work *w = memory;
    bool same = w->stride == num_lda_stride(topics) && w->topics == topics &&
                w->strip_max == strip_max && w->segment_max == segment_max;

    return same ? w : num_lda_work_init(memory, topics, strip_max, segment_max);
}

void num_lda_inverse(uint32_t topics, const int64_t *c, double beta_sum, float *out_inverse)
{
    for (uint32_t k = 0; k < num_lda_stride(topics); k++) {
        float inverse = k < topics ? (float)(1 / ((double)c[k] + beta_sum)) : 0;
        uint32_t bits;
        memcpy(&bits, &inverse, sizeof bits);
        bits = (bits + (COUNT_MAX + 1) / 2) & ~(uint32_t)COUNT_MAX;
        memcpy(&out_inverse[k], &bits, sizeof bits);
    }
}

void num_lda_work_pass(struct num_lda_work *work, const struct num_lda_pass *pass)
{
    work->inverse = pass->inverse;
    memcpy(work->packed, pass->inverse, work->stride * sizeof *work->packed);
}

/* ---- a task ---- */

static struct key key_of(uint64_t task, uint64_t use)
{
    uint64_t x = mixed(task + use);

    return (struct key){(uint32_t)x, (uint32_t)(x >> 32)};
}

static struct job job_at(const struct num_lda_pass *pass, const struct num_lda_strip *strip,
                         const struct num_lda_tile *tiles, uint32_t tile_count,
                         struct num_lda_work *work, int32_t *change)
{
    struct job job = {pass, strip, work, tiles, tile_count, .change = change};
    uint64_t task = mixed(mixed(mixed(pass->seed) ^ pass->clock) ^
                          ((uint64_t)strip->index << 1 | (strip->side == NUM_LDA_WORDS)));

    shoal_assert(work->inverse == pass->inverse);
    job.records = tile_count == 1 ? tiles[0].after : work->records;
    job.prior_sum = pass->priors != NULL ? pass->priors->sum : (double)pass->prior * pass->topics;
    job.topics_unit = (float)pass->topics * 0x1p-24F;
    for (uint32_t m = 0; m < NUM_LDA_STEPS_MAX; m++) {
        job.accept[m] = key_of(task, m);
        job.propose[m] = key_of(task, NUM_LDA_STEPS_MAX + m);
    }
    return job;
}

/* Tiles of a strip lie far apart, and a processor does not guess where the next one is: they are
 * asked for early, some tiles ahead where they are read, and where they will be written while the
 * strip is sampled: those lines are in no cache, and a pass that asks for them then waits for none. */
enum { AHEAD = 6, AHEAD_BYTES = 1024, LINE = 64 };

static void fetch_tiles(const struct job *job)
{
    const struct num_lda_tile *tiles = job->tiles;
    size_t size = num_lda_format(job->pass->topics).size;
    uint8_t *to = job->records;

    for (uint32_t i = 0; i < job->tile_count; i++) {
        size_t bytes = tiles[i].tokens * size;
        if (i + AHEAD < job->tile_count) {
            const uint8_t *soon = tiles[i + AHEAD].before;
            for (size_t b = 0; b < tiles[i + AHEAD].tokens * size && b < AHEAD_BYTES; b += LINE)
                __builtin_prefetch(soon + b);
        }
        if (to != tiles[i].before)
            memcpy(to, tiles[i].before, bytes);
        to += bytes;
    }
}

/* A place in the tiles to be written. */
struct place {
    uint32_t tile;
    size_t byte;
};

/* Asks for the lines of so many tokens more. */
static inline void ask_ahead(const struct job *job, struct place *at, uint32_t tokens, size_t size)
{
    for (size_t asked = 0; asked < tokens * size && at->tile < job->tile_count;) {
        const struct num_lda_tile *tile = &job->tiles[at->tile];
        size_t left = tile->tokens * size - at->byte, step = left < LINE ? left : LINE;
        __builtin_prefetch((const uint8_t *)tile->after + at->byte, 1);
        at->byte += step;
        asked += step;
        if (step == left)
            *at = (struct place){at->tile + 1, 0};
    }
}

static void return_tiles(const struct job *job)
{
    const struct num_lda_tile *tiles = job->tiles;
    size_t size = num_lda_format(job->pass->topics).size;
    const uint8_t *from = job->records;

    for (uint32_t i = 0; i < job->tile_count; i++) {
        if (from != tiles[i].after)
            memcpy(tiles[i].after, from, tiles[i].tokens * size);
        from += tiles[i].tokens * size;
    }
}

static inline void tell_moved(const struct job *job, uint32_t moved)
{
    const uint32_t *from = job->work->from, *to = job->work->to;
    int32_t *change = job->change;

    for (uint32_t i = 0; i < moved; i++) {
        change[from[i]]--;
        change[to[i]]++;
    }
}

/* Of the tokens taken apart. */
static inline void count_topics(const struct num_lda_work *w, uint32_t tokens)
{
    uint32_t *even = w->count[0], *odd = w->count[1];
    const uint32_t *z = w->z;

    for (uint32_t i = 0; i + 1 < tokens; i += 2) {
        even[z[i]]++;
        odd[z[i + 1]]++;
    }
    if (tokens % 2 != 0)
        even[z[tokens - 1]]++;
}

static inline float float_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

#define LANES_TEXT  "num/lda_body.inc"
#define LANES_BYTES 4
#include "num/lanes.inc"

const struct num_lda_ops *num_lda_ops_find(uint32_t lanes_max)
{
    return LANES_FIND(&ops, lanes_max);
}

/* ---- first topics, and the likelihood of a state ----
 *
 * ln p(words, topics) is a sum over segments of ln Gamma(p_k + c_k) - ln Gamma(p_k), and a rising
 * factorial is a product: the token that raises a count from c to c + 1 brings ln(p_k + c). So tokens
 * are gone through once, and a table of logarithms does for all but the longest segments. */

enum { LOGS = 1024 };

static double log_rise(const struct num_lda_pass *pass, const double *logs, uint32_t topic,
                       uint32_t count)
{
    if (pass->priors != NULL)
        return log((double)pass->priors->value[topic] + count);
    return count < LOGS ? logs[count] : log((double)pass->prior + count);
}

double num_lda_likelihood(const struct num_lda_pass *pass, const struct num_lda_strip *strip,
                          const struct num_lda_tile *tiles, uint32_t tile_count,
                          struct num_lda_work *work)
{
    size_t size = num_lda_format(pass->topics).size;
    double prior_sum =
        pass->priors != NULL ? pass->priors->sum : (double)pass->prior * pass->topics;
    double logs[LOGS], sum = 0;
    uint32_t *count = work->count[0];
    uint8_t *to = work->records;

    for (uint32_t c = 0; c < LOGS; c++)
        logs[c] = log((double)pass->prior + c);
    for (uint32_t i = 0; i < tile_count; i++, to += tiles[i - 1].tokens * size)
        memcpy(to, tiles[i].before, tiles[i].tokens * size);
    for (uint32_t s = 0; s < strip->segments; s++) {
        uint32_t n = strip->start[s + 1] - strip->start[s];
        for (uint32_t i = 0; i < n; i++) {
            uint32_t place = num_lda_place(strip, strip->start[s] + i);
            uint32_t k = num_lda_part(pass->topics, work->records, place, 0);
            work->next[i] = k;
            sum += log_rise(pass, logs, k, count[k]++);
        }
        for (uint32_t i = 0; i < n; i++)
            count[work->next[i]] = 0;
        if (strip->side == NUM_LDA_DOCUMENTS && n > 0)
            sum += lgamma(prior_sum) - lgamma(prior_sum + n);
    }
    return sum;
}

/* Of (seed, strip, position in the strip): all parts of a record evenly from all topics. */
void num_lda_start(const struct num_lda_pass *pass, const struct num_lda_strip *strip,
                   const struct num_lda_tile *tiles, uint32_t tile_count, int32_t *change)
{
    uint32_t steps = num_lda_format(pass->topics).steps, position = 0;
    uint64_t task = mixed(mixed(pass->seed) ^ strip->index);

    for (uint32_t i = 0; i < tile_count; i++)
        for (uint32_t t = 0; t < tiles[i].tokens; t++, position++) {
            uint32_t parts[NUM_LDA_STEPS_MAX + 1];
            for (uint32_t m = 0; m <= steps; m++) {
                uint64_t x = mixed(task + position * (steps + 1ULL) + m);
                parts[m] = (uint32_t)((x >> 32) * pass->topics >> 32);
            }
            num_lda_put(pass->topics, tiles[i].after, t, parts);
            change[parts[0]]++;
        }
}

double num_lda_likelihood_topics(uint32_t topics, const int64_t *c, double beta_sum)
{
    double sum = 0;

    for (uint32_t k = 0; k < topics; k++)
        sum += lgamma(beta_sum) - lgamma(beta_sum + (double)c[k]);
    return sum;
}
