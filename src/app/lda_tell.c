/* lda_tell.c - topics in words, for the end of a job: the largest, each with its most frequent words.
 * Tests: tests/cli/test_train_lda.py. */
#include "app/lda.h"

#include "base/err.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOLD = 12, WORDS = 8, LINE = 100 };

struct topic {
    int64_t tokens;
    uint32_t index;
};

static int larger_first(const void *a, const void *b)
{
    const struct topic *x = a, *y = b;

    if (x->tokens != y->tokens)
        return x->tokens > y->tokens ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

const char **lda_names(const struct base_alloc *alloc, const struct lda_kept *kept)
{
    const char *at = lda_kept_names(kept), *end = at + kept->names_size;
    const char **name =
        kept->names_size > 0 ? base_calloc(alloc, kept->words + (size_t)1, sizeof *name) : NULL;

    for (uint32_t w = 0; name != NULL && w < kept->words; w++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        name[w] = at;
        at = line != NULL ? line + 1 : end;
    }
    return name;
}

static void put_word(struct base_buf *line, const char *const *name, uint32_t word)
{
    if (name == NULL)
        base_buf_printf(line, " %u", word + 1);
    else
        base_buf_printf(line, " %.*s", (int)strcspn(name[word], "\n"), name[word]);
}

static void tell_topic(shoal_driver *driver, const struct topic *topic, uint64_t tokens,
                       const char *const *name, const uint32_t *word, struct base_buf *line)
{
    base_buf_clear(line);
    base_buf_printf(line, "topic %-5u %4.1f %% ", topic->index + 1,
                    100 * (double)topic->tokens / (double)tokens);
    for (uint32_t i = 0; i < WORDS && word[i] != (uint32_t)NUM_LDA_NONE && line->size < LINE; i++)
        put_word(line, name, word[i]);
    base_buf_puts(line, "");
    if (base_buf_status(line) == SHOAL_OK)
        shoal_driver_say(driver, line->data);
}

static void tell(shoal_driver *driver, const struct num_lda_model *model, struct topic *topic,
                 uint32_t *word, uint32_t *count)
{
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    const struct lda_kept *kept = (const void *)shoal_driver_rows_read(driver, LDA_KEPT);
    const char **name = lda_names(alloc, kept);
    struct base_buf line;

    base_buf_init(&line, alloc, 1 << 16);
    num_lda_top_words(model, WORDS, word, count);
    for (uint32_t k = 0; k < model->topics; k++)
        topic[k] = (struct topic){model->total[k], k};
    qsort(topic, model->topics, sizeof *topic, larger_first);
    for (uint32_t i = 0; i < TOLD && i < model->topics && topic[i].tokens > 0; i++)
        tell_topic(driver, &topic[i], kept->tokens, name, word + (size_t)topic[i].index * WORDS,
                   &line);
    base_buf_fini(&line);
    base_free(alloc, (void *)name);
}

/* Text that may be meant as something else. */
static void tell_doubt(shoal_driver *driver)
{
    const struct lda_driver *d = shoal_driver_state(driver);
    char text[128];

    if (d->resembles == DATA_CORPUS_AUTO)
        return;
    const char *name = data_corpus_format_names[d->resembles];
    snprintf(text, sizeof text, "read as text; if it is %s, --set format=%s tells its mistake",
             name, name);
    shoal_driver_say(driver, text);
}

/* What options that were left open came to. */
static void tell_settings(shoal_driver *driver)
{
    const struct lda_options *o = shoal_driver_options(driver);
    const struct lda_driver *d = shoal_driver_state(driver);
    char text[32];

    snprintf(text, sizeof text, "%u", d->topics);
    if (o->topics == 0)
        shoal_driver_setting(driver, "topics", text);
    snprintf(text, sizeof text, "%.6g at first", lda_alpha(o, d->topics));
    if (o->optimise == 0)
        text[strcspn(text, " ")] = '\0';
    if (o->alpha <= 0)
        shoal_driver_setting(driver, "alpha", text);
    snprintf(text, sizeof text, "%u", d->executors);
    if (o->executors == 0)
        shoal_driver_setting(driver, "executors", text);
    if (o->evaluate == 0)
        shoal_driver_setting(driver, "evaluate", "only the last");
    if (o->optimise == 0)
        shoal_driver_setting(driver, "optimise", "never");
    if (o->holdout <= 0)
        shoal_driver_setting(driver, "holdout", "none");
}

shoal_status lda_tell(shoal_driver *driver, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    struct num_lda_model model = {0};
    shoal_status st = lda_model_now(driver, &model, err);

    if (st != SHOAL_OK)
        return st;
    tell_doubt(driver);
    tell_settings(driver);
    struct topic *topic = base_calloc(alloc, model.topics, sizeof *topic);
    uint32_t *word = base_calloc(alloc, model.topics, 2 * WORDS * sizeof *word);
    if (topic != NULL && word != NULL)
        tell(driver, &model, topic, word, word + (size_t)model.topics * WORDS);
    else
        st = base_err_nomem(err, "telling topics");
    base_free(alloc, topic);
    base_free(alloc, word);
    return st;
}
