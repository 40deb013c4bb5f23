/* corpus_text.c - plain text, a document a line: words to numbers.
 *
 * Threads look words up in the vocabulary as it stood before the block and write down those it does
 * not have; the owner then gives these numbers in the order of the text, so that numbers do not
 * depend on threads or blocks. Stop words are the first names of the vocabulary: one look-up tells
 * them from the others. At last each document's words are sorted and counted, side by side again.
 * Tests: tests/unit/data/test_corpus_words.c. */
#include "data/corpus_parts.h"
#include "data/words.h"
#include <string.h>

static void note_fresh(struct corpus_part *part, const struct data_word *word)
{
    char *to = part->fresh + part->fresh_size;

    to[0] = (char)word->size;
    memcpy(to + 1, word->text, word->size);
    part->fresh_size += word->size + 1;
}

static void put_word(struct corpus_part *part, const struct data_word *word)
{
    const struct data_corpus_reader *reader = part->reader;
    uint32_t index = data_ids_find(&reader->names, word->text, word->size);

    if (index == DATA_ID_NONE) {
        if (reader->words_fixed) {
            part->left_out++;
            return;
        }
        note_fresh(part, word);
    } else if (index < reader->stop_count) {
        part->left_out++;
        return;
    } else {
        index -= reader->stop_count;
    }
    part->word[part->entries++] = index;
}

void data_corpus_parse_text(struct corpus_part *part)
{
    struct data_word word;

    for (const char *line = part->text; line < part->end; part->lines++) {
        const char *end = memchr(line, '\n', (size_t)(part->end - line));
        size_t from = part->entries;
        for (const char *s = line;;) {
            s = data_words_next(s, end, &word);
            if (word.bad != NULL) {
                data_corpus_part_mistake(part, CORPUS_BAD_UTF8, word.bad, line);
                return;
            }
            if (word.size == 0)
                break;
            if (word.letters >= part->reader->opts.min_length)
                put_word(part, &word);
        }
        part->length[part->documents++] = (uint32_t)(part->entries - from);
        line = end + 1;
    }
}

void data_corpus_fold_text(struct corpus_part *part)
{
    size_t from = 0, to = 0;

    part->tokens = part->entries;
    for (size_t d = 0; d < part->documents; d++) {
        size_t tokens = part->length[d];
        size_t entries =
            data_corpus_merge_words(part->word + from, part->count + from, tokens, part->spare);
        memmove(part->word + to, part->word + from, entries * sizeof *part->word);
        memmove(part->count + to, part->count + from, entries * sizeof *part->count);
        part->length[d] = (uint32_t)entries;
        from += tokens;
        to += entries;
    }
    part->entries = to;
}
