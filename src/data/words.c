/* words.c - see words.h. Most text is ASCII, so bytes are looked up in a table; the rest is decoded
 * and classed by ranges, from the frequent ones down. */
#include "data/words.h"

#include "base/err.h"
#include "data/blocks.h"
#include <stdbool.h>
#include <string.h>

enum { STOP_BLOCK = 1 << 16 };

/* What a character is for a word. */
enum kind {
    GAP,
    LETTER,
    DIGIT,
    MARK,       /* continues a word, begins none, counts as no letter */
    APOSTROPHE, /* inside a word */
    HIGH        /* a byte of a longer character */
};

static enum kind ascii_kind(unsigned char c)
{
    if ((unsigned char)((c | 0x20) - 'a') < 26)
        return LETTER;
    if ((unsigned char)(c - '0') < 10)
        return DIGIT;
    if (c == '\'')
        return APOSTROPHE;
    return c >= 0x80 ? HIGH : GAP;
}

size_t data_words_decode(const char *s, const char *end, uint32_t *out_point)
{
    const unsigned char *u = (const unsigned char *)s;
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = u[0] < 0x80 ? 1 : u[0] < 0xC2 ? 0 : u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : 4;

    if (size == 1) {
        *out_point = u[0];
        return 1;
    }
    if (size == 0 || u[0] > 0xF4 || (size_t)(end - s) < size)
        return 0;
    uint32_t point = u[0] & (0xFFu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((u[i] & 0xC0) != 0x80)
            return 0;
        point = point << 6 | (u[i] & 0x3Fu);
    }
    if (point < least[size] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
        return 0;
    *out_point = point;
    return size;
}

const char *data_words_not_name(const char *text, const char *end)
{
    uint32_t point = 0;

    while (text < end) {
        size_t size = data_words_decode(text, end, &point);
        if (size == 0 || point < 0x20 || (point >= 0x7F && point < 0xA0))
            return text;
        text += size;
    }
    return NULL;
}

static size_t encode(uint32_t point, char *to)
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = size; --i > 0; point >>= 6)
        to[i] = (char)(0x80 | (point & 0x3F));
    to[0] = (char)((0xF00u >> size & 0xF0u) | point);
    return size;
}

struct range {
    uint32_t from, to;
};

static bool within(uint32_t point, const struct range *range, size_t count)
{
    for (size_t i = 0; i < count && range[i].from <= point; i++)
        if (point <= range[i].to)
            return true;
    return false;
}

/* Below U+0900: what is a letter. */
static const struct range letters[] = {
    {0xAA, 0xAA},   {0xB5, 0xB5},   {0xBA, 0xBA},   {0xC0, 0xD6},   {0xD8, 0xF6},   {0xF8, 0x2C1},
    {0x370, 0x373}, {0x376, 0x377}, {0x37B, 0x37D}, {0x37F, 0x37F}, {0x386, 0x386}, {0x388, 0x3FF},
    {0x400, 0x481}, {0x48A, 0x52F}, {0x531, 0x556}, {0x561, 0x587}, {0x5D0, 0x5F2}, {0x620, 0x64A},
    {0x66E, 0x66F}, {0x671, 0x6D3}, {0x6EE, 0x6EF}, {0x6FA, 0x6FC}, {0x710, 0x72F}, {0x74D, 0x7A5},
    {0x7CA, 0x7EA}, {0x800, 0x815}, {0x840, 0x858}, {0x860, 0x8C7},
};
/* Below U+0900: marks upon letters. */
static const struct range marks[] = {
    {0x300, 0x36F}, {0x483, 0x487}, {0x591, 0x5BD}, {0x610, 0x61A},
    {0x64B, 0x65F}, {0x670, 0x670}, {0x6D6, 0x6DC}, {0x8D3, 0x8FF},
};
/* From U+0900 on: what is no letter. */
static const struct range symbols[] = {
    {0x964, 0x965},     {0xE3F, 0xE3F},      {0xE5A, 0xE5B},   {0x1360, 0x1368}, {0x1FBD, 0x1FBD},
    {0x1FBF, 0x1FC1},   {0x2000, 0x2BFF},    {0x2E00, 0x2FFF}, {0x3000, 0x3004}, {0x3008, 0x3020},
    {0x3030, 0x3030},   {0x3037, 0x303F},    {0x30FB, 0x30FB}, {0x3200, 0x33FF}, {0x4DC0, 0x4DFF},
    {0xE000, 0xF8FF},   {0xFD3E, 0xFD3F},    {0xFE10, 0xFE1F}, {0xFE30, 0xFE6F}, {0xFEFF, 0xFEFF},
    {0xFF00, 0xFF20},   {0xFF3B, 0xFF40},    {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1D000, 0x1D7FF},
    {0x1F000, 0x1FAFF}, {0xE0000, 0x10FFFF},
};

static enum kind point_kind(uint32_t point)
{
    if (point == 0x2019)
        return APOSTROPHE;
    if (point == 0x387 || point == 0x3F6)
        return GAP;
    if (point >= 0x900)
        return within(point, symbols, sizeof symbols / sizeof *symbols) ? GAP : LETTER;
    if (within(point, letters, sizeof letters / sizeof *letters))
        return LETTER;
    return within(point, marks, sizeof marks / sizeof *marks) ? MARK : GAP;
}

/* Pairs of capital and small letter that follow one another; the capitals are even, or odd. */
static uint32_t lower_pairs(uint32_t p)
{
    static const struct range even[] = {
        {0x100, 0x12F}, {0x132, 0x137},   {0x14A, 0x177},  {0x1DE, 0x1EF}, {0x1F8, 0x21F},
        {0x222, 0x233}, {0x370, 0x373},   {0x3D8, 0x3EF},  {0x460, 0x481}, {0x48A, 0x4BF},
        {0x4D0, 0x52F}, {0x1E00, 0x1E95}, {0x1EA0, 0x1EFF}};
    static const struct range odd[] = {
        {0x139, 0x148}, {0x179, 0x17E}, {0x1CD, 0x1DC}, {0x4C1, 0x4CE}};

    if (p % 2 == 0)
        return p + within(p, even, sizeof even / sizeof *even);
    return p + within(p, odd, sizeof odd / sizeof *odd);
}

static uint32_t lower(uint32_t p)
{
    if (p < 0xC0)
        return p;
    if (p <= 0xDE)
        return p + (p != 0xD7 ? 32 : 0);
    if (p == 0x130)
        return 'i';
    if (p == 0x178)
        return 0xFF;
    if (p == 0x17F)
        return 's';
    if (p == 0x386)
        return 0x3AC;
    if (p >= 0x388 && p <= 0x38A)
        return p + 37;
    if (p == 0x38C)
        return 0x3CC;
    if (p == 0x38E || p == 0x38F)
        return p + 63;
    if (p >= 0x391 && p <= 0x3AB && p != 0x3A2)
        return p + 32;
    if (p == 0x3C2)
        return 0x3C3; /* final sigma */
    if (p >= 0x400 && p <= 0x40F)
        return p + 80;
    if (p >= 0x410 && p <= 0x42F)
        return p + 32;
    if (p == 0x4C0)
        return 0x4CF;
    if (p >= 0x531 && p <= 0x556)
        return p + 48;
    return lower_pairs(p);
}

/* The character at `s` as a word has it: its kind, its bytes at `to` (four at most) and how many of
 * them; returns where the next begins, NULL when it is not UTF-8. */
static const char *take(const char *s, const char *end, enum kind *kind, char *to, size_t *size)
{
    unsigned char c = (unsigned char)*s;
    uint32_t point = 0;

    *kind = ascii_kind(c);
    if (*kind != HIGH) {
        *to = (char)(*kind == LETTER ? c | 0x20 : c);
        *size = 1;
        return s + 1;
    }
    size_t used = data_words_decode(s, end, &point);
    if (used == 0)
        return NULL;
    *kind = point_kind(point);
    *size = encode(*kind == APOSTROPHE ? '\'' : *kind == GAP ? ' ' : lower(point), to);
    return s + used;
}

/* What is known of a word while it is read. */
struct reading {
    size_t size, size_whole; /* with and without an apostrophe that nothing follows yet */
    uint32_t count;
    bool letter;
};

/* One more character; false when the word ended before it. The text may be longer than what is
 * kept. */
static bool extend(struct reading *r, enum kind kind, const char *bytes, size_t size,
                   struct data_word *out)
{
    bool open = r->size > r->size_whole; /* an apostrophe waits */

    if (kind == GAP || (kind == APOSTROPHE && open) || (r->size == 0 && kind >= MARK))
        return false;
    if (r->size <= DATA_WORD_SIZE_MAX)
        memcpy(out->text + r->size, bytes, size);
    r->size += size;
    if (kind == APOSTROPHE)
        return true;
    r->size_whole = r->size;
    r->count += kind != MARK;
    r->letter |= kind == LETTER;
    return true;
}

/* The plain letters and digits that most words are made of; both have the bit that makes capitals
 * small. */
static const char *take_plain(const char *s, const char *end, struct reading *r,
                              struct data_word *out)
{
    char *to = out->text;
    const char *stop = end - s > DATA_WORD_SIZE_MAX ? s + DATA_WORD_SIZE_MAX : end;
    bool letter = false;

    for (; s < stop; s++) {
        unsigned char small = (unsigned char)(*s | 0x20);
        bool is_letter = (unsigned char)(small - 'a') < 26;
        if (!is_letter && (unsigned char)(*s - '0') >= 10)
            break;
        *to++ = (char)small;
        letter |= is_letter;
    }
    r->size = r->size_whole = (size_t)(to - out->text);
    r->count = (uint32_t)r->size;
    r->letter = letter;
    return s;
}

const char *data_words_next(const char *s, const char *end, struct data_word *out)
{
    out->size = out->letters = 0;
    out->bad = NULL;
    while (s < end) {
        struct reading r = {0};
        s = take_plain(s, end, &r, out);
        while (s < end) {
            enum kind kind = GAP;
            char bytes[4];
            size_t size = 0;
            const char *next = take(s, end, &kind, bytes, &size);
            if (next == NULL) {
                out->bad = s;
                return s;
            }
            s = next;
            if (!extend(&r, kind, bytes, size, out))
                break;
        }
        if (r.letter && r.size_whole <= DATA_WORD_SIZE_MAX) {
            out->size = (uint32_t)r.size_whole;
            out->letters = r.count;
            return s;
        }
    }
    return s;
}

/* ---- words to leave out ---- */

/* Common words of English that say nothing about a subject. */
static const char english[] =
    "a about above across after again against all almost alone along already also although always "
    "am among an and another any anybody anyone anything anywhere are aren't around as at away "
    "back "
    "be became because become becomes been before behind being below between both but by came can "
    "can't cannot come could couldn't did didn't do does doesn't doing don't done down during each "
    "either else enough even ever every everybody everyone everything everywhere few for from "
    "further get gets getting give given gives go goes going gone got had hadn't has hasn't have "
    "haven't having he he'd he'll he's hence her here here's hers herself him himself his how "
    "however i i'd i'll i'm i've if in indeed instead into is isn't it it'd it'll it's its itself "
    "just keep kept last least less let let's like likely made make makes making many may maybe me "
    "mean means might mine more most mostly much must mustn't my myself near nearly need needs "
    "neither never next no nobody none nor not nothing now nowhere of off often oh ok on once one "
    "ones only onto or other others otherwise ought our ours ourselves out over own per perhaps "
    "put quite rather really said same saw say says see seem seemed seems seen several shall "
    "shan't she she'd she'll she's should shouldn't since so some somebody someone something "
    "sometimes somewhere still such take taken takes than that that's the their theirs them "
    "themselves then there there's therefore these they they'd they'll they're they've thing "
    "things "
    "this those though through thus to together too took toward towards under until up upon us use "
    "used uses using very via was wasn't way we we'd we'll we're we've well went were weren't what "
    "what's whatever when whenever where whereas wherever whether which while who who's whoever "
    "whole whom whose why will with within without won't would wouldn't yes yet you you'd you'll "
    "you're you've your yours yourself yourselves";

static shoal_status add_all(const char *s, const char *end, struct data_ids *ids, const char **bad)
{
    struct data_word word;
    uint32_t index = 0;

    for (;;) {
        s = data_words_next(s, end, &word);
        *bad = word.bad;
        if (word.bad != NULL || word.size == 0)
            return word.bad != NULL ? SHOAL_E_FORMAT : SHOAL_OK;
        shoal_status st = data_ids_add(ids, word.text, word.size, &index);
        if (st != SHOAL_OK)
            return st;
    }
}

static shoal_status add_line(struct data_blocks *blocks, const char *line, const char *end,
                             struct data_ids *ids, shoal_err *err)
{
    const char *bad = NULL;
    shoal_status st = add_all(line, end, ids, &bad);

    if (st == SHOAL_E_FORMAT)
        return data_blocks_bad(blocks, blocks->line + 1, (uint64_t)(bad - line) + 1, err,
                               "expected UTF-8, found the byte 0x%02x", (unsigned char)*bad);
    return st == SHOAL_OK ? st : base_err_nomem(err, "reading stop words");
}

static shoal_status add_file(shoal_env *env, const char *path, struct data_ids *ids, shoal_err *err)
{
    struct data_blocks blocks;
    const char *text = NULL;
    size_t size = 0;

    shoal_status st = data_blocks_open(env, "stop words", path, STOP_BLOCK, NULL, &blocks, err);
    if (st != SHOAL_OK)
        return st;
    while ((st = data_blocks_next(&blocks, &text, &size, err)) == SHOAL_OK) {
        for (const char *end = text + size; st == SHOAL_OK && text < end; blocks.line++) {
            const char *stop = memchr(text, '\n', (size_t)(end - text));
            st = add_line(&blocks, text, stop, ids, err);
            text = stop + 1;
        }
        if (st != SHOAL_OK)
            break;
    }
    data_blocks_close(&blocks);
    return st == SHOAL_END ? SHOAL_OK : st;
}

shoal_status data_words_stop(shoal_env *env, const char *which, struct data_ids *ids,
                             shoal_err *err)
{
    const char *bad = NULL;

    if (strcmp(which, "none") == 0)
        return SHOAL_OK;
    if (strcmp(which, "english") != 0)
        return add_file(env, which, ids, err);
    return add_all(english, english + sizeof english - 1, ids, &bad) == SHOAL_OK
               ? SHOAL_OK
               : base_err_nomem(err, "reading stop words");
}
