/* lda_from.c - topics that begin as in a model, of `lda`.
 *
 * A token's first topic is drawn from what its word has in the model, and a topic at random with the
 * weight that the prior of words has; words that the model has not seen begin at random. So topics
 * keep their numbers and, as far as the documents are alike, their words. Tests:
 * tests/unit/app/test_lda.c. */
#include "app/lda.h"

#include "base/err.h"
#include "base/rand.h"
#include <inttypes.h>
#include <string.h>

struct seeding {
    shoal_driver *driver;
    const struct base_alloc *alloc;
    const struct lda_options *o;
    const struct data_corpus *corpus;
    const uint32_t *slot_word;
    struct num_lda_model model;
    const struct data_ids *names;
    struct base_rand rand;
    uint32_t executors;
    void **place;         /* (strip_max): where the records of a strip's tokens are */
    uint64_t *cumulative; /* (topics) */
    int64_t *count;       /* (topics) */
};

/* The word's number in the model; UINT32_MAX: it has none. */
static uint32_t find_word(const struct seeding *s, uint32_t word)
{
    char buf[DATA_ID_BUF];
    size_t size;

    if (s->names->count == 0) {
        uint32_t number = data_corpus_number(&s->corpus->names, word);
        return number <= s->model.words ? number - 1 : UINT32_MAX;
    }
    const char *name = data_corpus_name(&s->corpus->names, word, buf, &size);
    uint32_t found = data_ids_find(s->names, name, size);
    return found != DATA_ID_NONE ? found : UINT32_MAX;
}

static uint32_t draw_topic(struct seeding *s, uint64_t first, uint32_t entries, uint64_t tokens)
{
    double even = (double)s->model.topics * s->model.beta;

    if (base_rand_unit(&s->rand) * ((double)tokens + even) >= (double)tokens)
        return (uint32_t)base_rand_below(&s->rand, s->model.topics);
    uint64_t at = base_rand_below(&s->rand, tokens);
    uint32_t low = 0, high = entries;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (s->cumulative[middle - 1] <= at)
            low = middle;
        else
            high = middle;
    }
    return s->model.topic[first + low];
}

static void seed_word(struct seeding *s, const struct num_lda_strip *strip, uint32_t segment)
{
    uint32_t word = find_word(s, s->slot_word[strip->first + segment]), entries = 0;
    uint64_t first = 0, tokens = 0;

    if (word != UINT32_MAX) {
        first = s->model.start[word];
        entries = (uint32_t)(s->model.start[word + 1] - first);
    }
    for (uint32_t i = 0; i < entries; i++)
        s->cumulative[i] = tokens += s->model.count[first + i];
    for (uint32_t i = strip->start[segment]; i < strip->start[segment + 1]; i++) {
        uint32_t z = draw_topic(s, first, entries, tokens);
        uint32_t parts[NUM_LDA_STEPS_MAX + 1] = {z, z, z};
        num_lda_put(s->model.topics, s->place[num_lda_place(strip, i)], 0, parts);
        s->count[z]++;
    }
}

static void seed_strip(struct seeding *s, const struct lda_data *data, uint32_t executor,
                       uint32_t index)
{
    struct num_lda_strip strip = lda_strip_of(data, NUM_LDA_WORDS, index);
    size_t size = num_lda_format(s->model.topics).size;
    uint32_t pieces, n = 0;
    const struct lda_piece *piece = lda_pieces_of(data, NUM_LDA_WORDS, index, &pieces);

    for (uint32_t p = 0; p < pieces; p++) {
        char *records = (char *)shoal_driver_shard(
            s->driver, LDA_RECORD, piece[p].hold * s->executors + executor, NULL, NULL);
        for (uint32_t t = 0; t < piece[p].tokens; t++)
            s->place[n++] = records + (piece[p].at + (size_t)t) * size;
    }
    for (uint32_t i = 0; i < strip.segments; i++)
        seed_word(s, &strip, i);
}

static void seed_all(struct seeding *s, double beta_sum)
{
    float *count = shoal_driver_rows(s->driver, LDA_COUNT);
    size_t size;

    for (uint32_t e = 0; e < s->executors; e++) {
        const struct lda_data *data = shoal_driver_block_read(s->driver, e, &size);
        for (uint32_t i = 0; i < data->strips[NUM_LDA_WORDS]; i++)
            seed_strip(s, data, e, i);
    }
    for (uint32_t k = 0; k < s->model.topics; k++)
        lda_count_put(count + 2 * (size_t)k, s->count[k]);
    num_lda_inverse(s->model.topics, s->count, beta_sum, shoal_driver_rows(s->driver, LDA_INVERSE));
}

static shoal_status seed(struct seeding *s, shoal_err *err)
{
    size_t size;
    const struct lda_data *data = shoal_driver_block_read(s->driver, 0, &size);

    s->executors = data->executors;
    s->place = base_calloc(s->alloc, data->strip_max + (size_t)1, sizeof *s->place);
    s->cumulative = base_calloc(s->alloc, s->model.topics, sizeof *s->cumulative);
    s->count = base_calloc(s->alloc, s->model.topics, sizeof *s->count);
    if (s->place == NULL || s->cumulative == NULL || s->count == NULL)
        return base_err_nomem(err, "beginning from a model");
    seed_all(s, s->o->beta * s->corpus->x.words);
    return SHOAL_OK;
}

shoal_status lda_from(shoal_driver *driver, const struct num_lda_model *model,
                      const struct data_ids *names, const struct data_corpus *corpus,
                      const uint32_t *slot_word, shoal_err *err)
{
    struct seeding s = {.driver = driver,
                        .alloc = env_alloc(shoal_driver_env(driver)),
                        .o = shoal_driver_options(driver),
                        .corpus = corpus,
                        .slot_word = slot_word,
                        .model = *model,
                        .names = names};

    if (data_corpus_numbered(names) != data_corpus_numbered(&corpus->names))
        return base_err(err, SHOAL_E_INVAL, "words have names in %s, and are numbers in %s",
                        data_corpus_numbered(names) ? shoal_driver_path(driver) : s.o->from,
                        data_corpus_numbered(names) ? s.o->from : shoal_driver_path(driver));
    base_rand_init(&s.rand, shoal_driver_seed(driver), "topics of a model");
    shoal_status st = seed(&s, err);
    base_free(s.alloc, s.place);
    base_free(s.alloc, s.cumulative);
    base_free(s.alloc, s.count);
    return st;
}

shoal_status lda_from_open(shoal_driver *driver, shoal_model **out_model, struct num_lda_model *out,
                           struct data_ids *names, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    shoal_model *model = NULL;
    shoal_status st = shoal_model_open(shoal_driver_env(driver), o->from, &model, err);

    if (st == SHOAL_OK && strcmp(shoal_model_app(model), "lda") != 0)
        st = base_err(err, SHOAL_E_INVAL, "'%s' is a model of '%s', not of lda", o->from,
                      shoal_model_app(model));
    if (st == SHOAL_OK)
        st = lda_model_load(model, out, names, err);
    if (st == SHOAL_OK && o->topics > 0 && out->topics != o->topics) {
        base_err(err, SHOAL_E_INVAL, "model '%s' has %u topics, not %" PRIu64, o->from, out->topics,
                 o->topics);
        base_err_hint(err, "leave topics away, or --set topics=%u", out->topics);
        st = SHOAL_E_INVAL;
    }
    if (st == SHOAL_OK)
        *out_model = model;
    else
        shoal_model_free(model);
    return st;
}
