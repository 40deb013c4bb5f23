/* lda_cut.c - a corpus cut into tiles.
 *
 * Words are numbered by falling frequency, so that segments of about equal length are neighbours and
 * frequent words have a range of their own; documents keep their order. Both are then cut into ranges
 * from the first on, each as long as the limit allows.
 *
 * The tokens of a document range, sorted by slot, are its tiles one after the other, in the order they
 * lie in memory. Position p of them belongs to a document, and its place in that document's part of
 * the order is known; a word strip is the same tiles seen from the other side, so both orders come
 * out of one sort per document range, by digits. Workspace: 16 bytes a token of the largest
 * document range, 8 bytes a word and range.
 *
 * Tests: tests/unit/num/test_lda_cut.c. */
#include "base/err.h"
#include "num/lda.h"
#include <stdlib.h>
#include <string.h>

enum {
    PAD = 16,
    AHEAD = 24,
    DIGIT = 11,
    RANGES =
        4096 /* of a side, about, where the caller leaves it to us: more make tiles of few tokens */
};

struct build {
    const struct num_corpus *corpus;
    struct num_lda_cut *cut;
    struct base_room room; /* of what follows */
    uint64_t *frequency;   /* (words), by id */
    struct ranked *ranked; /* (words) */
    uint64_t *key, *spare; /* (strip): slot << 32 | position in document order */
    uint32_t *slot_range;  /* (words) */
    uint32_t *used;        /* (words): tokens of a slot that have a place */
    uint32_t *strip_used;  /* (word ranges): the same of a strip */
};

void num_lda_cut_free(struct num_lda_cut *cut)
{
    if (cut == NULL)
        return;
    struct base_alloc alloc = cut->alloc;
    base_room_fini(&cut->room);
    base_free(&alloc, cut);
}

static uint32_t tokens_of(const struct num_corpus *corpus, uint64_t entry)
{
    return corpus->count != NULL ? corpus->count[entry] : 1;
}

static uint64_t document_tokens(const struct num_corpus *corpus, uint32_t document)
{
    uint64_t tokens = 0;

    for (uint64_t e = corpus->start[document]; e < corpus->start[document + 1]; e++)
        tokens += tokens_of(corpus, e);
    return tokens;
}

static shoal_status count_words(struct build *b, shoal_err *err)
{
    const struct num_corpus *corpus = b->corpus;

    for (uint32_t d = 0; d < corpus->documents; d++) {
        if (corpus->start[d + 1] < corpus->start[d])
            return base_err(err, SHOAL_E_INVAL, "document %u ends before it begins", d);
        for (uint64_t e = corpus->start[d]; e < corpus->start[d + 1]; e++) {
            if (corpus->word[e] >= corpus->words)
                return base_err(err, SHOAL_E_INVAL, "document %u: word %u, but there are %u", d,
                                corpus->word[e], corpus->words);
            b->frequency[corpus->word[e]] += tokens_of(corpus, e);
            b->cut->tokens += tokens_of(corpus, e);
        }
    }
    return SHOAL_OK;
}

struct ranked {
    uint64_t frequency;
    uint32_t word;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->frequency != y->frequency)
        return x->frequency > y->frequency ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

static void number_words(struct build *b)
{
    struct num_lda_cut *cut = b->cut;
    struct ranked *ranked = b->ranked;

    for (uint32_t w = 0; w < cut->words; w++)
        ranked[w] = (struct ranked){b->frequency[w], w};
    qsort(ranked, cut->words, sizeof *ranked, compare_ranked);
    for (uint32_t s = 0; s < cut->words; s++) {
        cut->slot_word[s] = ranked[s].word;
        cut->word_slot[ranked[s].word] = s;
    }
}

static uint64_t segment_tokens(const struct build *b, enum num_lda_side side, uint32_t segment)
{
    return side == NUM_LDA_WORDS ? b->frequency[b->cut->slot_word[segment]]
                                 : document_tokens(b->corpus, segment);
}

/* Ranges of a side, and the starts of its segments. */
static shoal_status cut_side(struct build *b, enum num_lda_side side, uint32_t limit,
                             shoal_err *err)
{
    struct num_lda_cut *cut = b->cut;
    uint32_t segments = side == NUM_LDA_WORDS ? cut->words : cut->documents, ranges = 0;
    size_t most = (size_t)segments + 1;
    uint64_t held = 0;
    uint32_t *first = BASE_ROOM_ZERO(&cut->room, cut->first[side], most);
    uint64_t *at = BASE_ROOM_ZERO(&cut->room, cut->at[side], most);
    uint32_t *start = BASE_ROOM_ZERO(&cut->room, cut->start[side], 2 * most);

    if (base_room_status(&cut->room) != SHOAL_OK)
        return base_err_nomem(err, "cutting a corpus");
    for (uint32_t s = 0; s < segments; s++) {
        uint64_t n = segment_tokens(b, side, s);
        if (ranges == 0 || (n > 0 && held > 0 && held + n > limit)) {
            if (ranges > 0)
                at[ranges] = at[ranges - 1] + held;
            first[ranges++] = s;
            held = 0;
        }
        held += n;
        if (held > INT32_MAX)
            return base_err(err, SHOAL_E_LIMIT, "a %s has too many tokens",
                            side == NUM_LDA_WORDS ? "word" : "document");
        start[(size_t)s + ranges] = (uint32_t)held; /* start[first + range] is 0 */
        cut->segment_max = n > cut->segment_max ? (uint32_t)n : cut->segment_max;
        cut->strip_max = held > cut->strip_max ? (uint32_t)held : cut->strip_max;
    }
    first[ranges] = segments;
    if (ranges > 0)
        at[ranges] = at[ranges - 1] + held;
    cut->ranges[side] = ranges;
    return SHOAL_OK;
}

/* By slot; equal ones keep their order. */
static void sort_keys(struct build *b, uint32_t count)
{
    for (uint32_t shift = 0; shift < 32 && b->cut->words >> shift != 0; shift += DIGIT) {
        uint32_t at[(1 << DIGIT) + 1] = {0};
        for (uint32_t i = 0; i < count; i++)
            at[(b->key[i] >> (32 + shift) & ((1 << DIGIT) - 1)) + 1]++;
        for (uint32_t d = 0; d < 1 << DIGIT; d++)
            at[d + 1] += at[d];
        for (uint32_t i = 0; i < count; i++)
            b->spare[at[b->key[i] >> (32 + shift) & ((1 << DIGIT) - 1)]++] = b->key[i];
        uint64_t *sorted = b->spare;
        b->spare = b->key;
        b->key = sorted;
    }
}

static uint32_t list_tokens(struct build *b, uint32_t range)
{
    const struct num_corpus *corpus = b->corpus;
    const uint32_t *first = b->cut->first[NUM_LDA_DOCUMENTS];
    uint32_t count = 0;

    for (uint64_t e = corpus->start[first[range]]; e < corpus->start[first[range + 1]]; e++)
        for (uint32_t n = tokens_of(corpus, e); n > 0; n--, count++)
            b->key[count] = (uint64_t)b->cut->word_slot[corpus->word[e]] << 32 | count;
    return count;
}

static void put_order(struct num_lda_cut *cut, enum num_lda_side side, uint64_t at, uint32_t place)
{
    if (cut->wide)
        ((uint32_t *)cut->order[side])[at] = place;
    else
        ((uint16_t *)cut->order[side])[at] = (uint16_t)place;
}

/* Tiles of one document range, and its tokens' places in both orders. */
static void cut_range(struct build *b, uint32_t range)
{
    struct num_lda_cut *cut = b->cut;
    uint32_t words = cut->ranges[NUM_LDA_WORDS], count = list_tokens(b, range), tile = 0;
    uint64_t *start = cut->tile + (size_t)range * words;
    uint64_t at = cut->at[NUM_LDA_DOCUMENTS][range];

    sort_keys(b, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)(b->key[i] >> 32), j = b->slot_range[slot];
        while (tile <= j)
            start[tile++] = at + i;
        put_order(cut, NUM_LDA_DOCUMENTS, at + (uint32_t)b->key[i], i);
        uint64_t segment = cut->start[NUM_LDA_WORDS][(size_t)slot + j];
        put_order(cut, NUM_LDA_WORDS, cut->at[NUM_LDA_WORDS][j] + segment + b->used[slot]++,
                  b->strip_used[j]++);
    }
    while (tile <= words)
        start[tile++] = at + count;
}

static shoal_status cut_tokens(struct build *b, shoal_err *err)
{
    struct num_lda_cut *cut = b->cut;
    struct base_room *room = &cut->room;
    size_t tiles = (size_t)cut->ranges[0] * cut->ranges[1], words = (size_t)cut->words + 1;
    size_t place = cut->wide ? sizeof(uint32_t) : sizeof(uint16_t);

    BASE_ROOM_ZERO(room, cut->tile, tiles + 1);
    for (int side = 0; side < 2; side++)
        cut->order[side] = base_room_zero(room, NULL, cut->tokens + PAD, place);
    BASE_ROOM(&b->room, b->key, (size_t)cut->strip_max + 1);
    BASE_ROOM(&b->room, b->spare, (size_t)cut->strip_max + 1);
    BASE_ROOM(&b->room, b->slot_range, words);
    BASE_ROOM_ZERO(&b->room, b->used, words);
    BASE_ROOM_ZERO(&b->room, b->strip_used, words);
    if (base_room_status(room) != SHOAL_OK || base_room_status(&b->room) != SHOAL_OK)
        return base_err_nomem(err, "cutting a corpus");

    for (uint32_t j = 0; j < cut->ranges[NUM_LDA_WORDS]; j++)
        for (uint32_t s = cut->first[NUM_LDA_WORDS][j]; s < cut->first[NUM_LDA_WORDS][j + 1]; s++)
            b->slot_range[s] = j;
    for (uint32_t i = 0; i < cut->ranges[NUM_LDA_DOCUMENTS]; i++)
        cut_range(b, i);
    return SHOAL_OK;
}

static shoal_status cut_all(struct build *b, uint32_t limit, shoal_err *err)
{
    struct num_lda_cut *cut = b->cut;
    size_t words = (size_t)cut->words + 1;

    BASE_ROOM_ZERO(&b->room, b->frequency, words);
    BASE_ROOM(&b->room, b->ranked, words);
    BASE_ROOM_ZERO(&cut->room, cut->word_slot, words);
    BASE_ROOM_ZERO(&cut->room, cut->slot_word, words);
    if (base_room_status(&cut->room) != SHOAL_OK || base_room_status(&b->room) != SHOAL_OK)
        return base_err_nomem(err, "cutting a corpus");
    shoal_status st = count_words(b, err);
    if (limit == 0)
        for (limit = NUM_LDA_RANGE; cut->tokens / limit > RANGES && limit < 1U << 30;)
            limit *= 2;
    cut->wide = limit > NUM_LDA_RANGE;
    if (st != SHOAL_OK)
        return st;
    number_words(b);
    st = cut_side(b, NUM_LDA_WORDS, limit, err);
    if (st == SHOAL_OK)
        st = cut_side(b, NUM_LDA_DOCUMENTS, limit, err);
    return st == SHOAL_OK ? cut_tokens(b, err) : st;
}

shoal_status num_lda_cut_new(const struct base_alloc *alloc, const struct num_corpus *corpus,
                             uint32_t range, struct num_lda_cut **out_cut, shoal_err *err)
{
    if (corpus->documents > UINT32_MAX)
        return base_err(err, SHOAL_E_LIMIT, "a corpus of more than %u documents", UINT32_MAX);
    struct num_lda_cut *cut = base_calloc(alloc, 1, sizeof *cut);
    struct build b = {.corpus = corpus, .cut = cut, .room = {.alloc = alloc}};

    if (cut == NULL)
        return base_err_nomem(err, "cutting a corpus");
    cut->alloc = *alloc;
    cut->room.alloc = &cut->alloc;
    cut->documents = (uint32_t)corpus->documents;
    cut->words = corpus->words;
    shoal_status st = cut_all(&b, range, err);
    if (st == SHOAL_OK)
        *out_cut = cut;
    else
        num_lda_cut_free(cut);
    base_room_fini(&b.room);
    return st;
}

struct num_lda_strip num_lda_cut_strip(const struct num_lda_cut *cut, enum num_lda_side side,
                                       uint32_t index)
{
    const uint32_t *first = cut->first[side] + index;
    const uint64_t *at = cut->at[side] + index;
    struct num_lda_strip strip = {
        .side = side,
        .index = index,
        .tokens = (uint32_t)(at[1] - at[0]),
        .tiles = cut->ranges[side == NUM_LDA_WORDS ? NUM_LDA_DOCUMENTS : NUM_LDA_WORDS],
        .first = first[0],
        .segments = first[1] - first[0],
        .start = cut->start[side] + (size_t)first[0] + index,
    };

    /* A longer strip is one segment, whose tokens may come in any order. */
    if (cut->wide)
        strip.order32 = (const uint32_t *)cut->order[side] + at[0];
    else if (strip.tokens <= NUM_LDA_RANGE)
        strip.order16 = (const uint16_t *)cut->order[side] + at[0];
    return strip;
}

uint32_t num_lda_cut_tiles(const struct num_lda_cut *cut, const struct num_lda_strip *strip,
                           uint32_t topics, const void *before, void *after,
                           struct num_lda_tile *out_tiles)
{
    size_t size = num_lda_format(topics).size, words = cut->ranges[NUM_LDA_WORDS];
    uint32_t count = strip->side == NUM_LDA_WORDS ? strip->tiles : 1;

    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) /* starts of a column are pages apart */
            __builtin_prefetch(cut->tile + (i + AHEAD) * words + strip->index);
        const uint64_t *tile = strip->side == NUM_LDA_WORDS ? cut->tile + i * words + strip->index
                                                            : cut->tile + strip->index * words;
        out_tiles[i] = (struct num_lda_tile){
            (const uint8_t *)before + tile[0] * size, (uint8_t *)after + tile[0] * size,
            strip->side == NUM_LDA_WORDS ? (uint32_t)(tile[1] - tile[0]) : strip->tokens};
    }
    return count;
}
