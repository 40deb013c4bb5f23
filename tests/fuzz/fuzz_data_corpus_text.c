/* Fuzz target: any bytes as text with a document a line, with stop words after a NUL byte. Words are
 * UTF-8 and their own small form, and what loads must be a proper corpus that does not depend on the
 * number of pieces it was parsed in, and must survive saving. */
#include "corpus_target.h"
#include "data/words.h"

static void check_words(const char *text, const char *end)
{
    struct data_word word, again;

    for (;;) {
        const char *next = data_words_next(text, end, &word);
        if (word.size == 0) {
            shoal_assert(word.bad != NULL ? word.bad < end : next == end);
            return;
        }
        shoal_assert(next > text && next <= end && word.size <= DATA_WORD_SIZE_MAX);
        shoal_assert(word.letters > 0 && word.letters <= word.size);
        const char *s = word.text, *stop = word.text + word.size;
        for (size_t step; s < stop; s += step) {
            uint32_t point;
            step = data_words_decode(s, stop, &point);
            shoal_assert(step > 0);
        }
        data_words_next(word.text, word.text + word.size, &again);
        shoal_assert(again.size == word.size && memcmp(again.text, word.text, word.size) == 0);
        text = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    struct data_corpus_opts opts = {.format = DATA_CORPUS_TEXT, .min_length = 1};
    shoal_env *env = NULL;
    size_t text = nul != NULL ? (size_t)(nul - data) : size;

    check_words((const char *)data, (const char *)data + text);
    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "f", data, text) == SHOAL_OK);
    opts.stop_words = nul != NULL ? "w" : "none";
    if (nul != NULL)
        shoal_assert(env_sim_put(env, "w", nul + 1, size - text - 1) == SHOAL_OK);
    check_loads(env, &opts);
    opts.min_count = 2;
    check_loads(env, &opts);
    shoal_env_free(env);
    return 0;
}
