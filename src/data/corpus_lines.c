/* corpus_lines.c - the inner loops of UCI bags of words, LDA-C and plain text: a piece of text, whole lines, into
 * documents, words and counts. Documents whose words do not ascend are sorted here, so that this,
 * too, is done side by side. Tests: tests/unit/data/test_corpus.c, test_corpus_words.c. */
#include "base/err.h"

#include "data/corpus_parts.h"
#include "data/format.h"
#include "data/words.h"
#include "env/table.h"
#include <inttypes.h>
#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

/* Where a line ends: its newline, with or without a carriage return before. */
static bool at_end(const char *s)
{
    return *s == '\n' || (*s == '\r' && s[1] == '\n');
}

/* A whole number, as many digits as there are; too large is UINT64_MAX. NULL: no digit. */
static const char *take_u64(const char *s, uint64_t *out)
{
    const char *first = s;
    uint64_t n = 0;

    while (data_number_digit(*s))
        n = n * 10 + (uint64_t)(*s++ - '0');
    if (s - first > 18) {
        n = 0;
        for (const char *d = first; d < s; d++) {
            uint64_t digit = (uint64_t)(*d - '0');
            n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
        }
    }
    *out = n;
    return s > first ? s : NULL;
}

void data_corpus_part_mistake(struct corpus_part *part, enum corpus_bad bad, const char *at,
                              const char *line)
{
    part->bad = bad;
    part->bad_at = at;
    part->bad_line = line;
}

static uint64_t word_limit(const struct corpus_part *part)
{
    return part->reader->words_fixed ? part->reader->words : DATA_CORPUS_WORDS_MAX;
}

static void see_word(struct corpus_part *part, uint32_t word)
{
    if (word >= part->words_seen)
        part->words_seen = word + 1;
}

/* Ends a document that began at entry `from`: sorted, each word once. */
static bool end_document(struct corpus_part *part, size_t from, bool ascending)
{
    size_t entries = part->entries - from;

    if (!ascending) {
        size_t left = data_corpus_merge_pairs(part->word + from, part->count + from, entries);
        if (left == SIZE_MAX)
            return false;
        part->sorted++;
        part->repeated += entries - left;
        part->entries = from + left;
        entries = left;
    }
    part->length[part->documents++] = (uint32_t)entries;
    return true;
}

/* ---- UCI and MatrixMarket ---- */

enum { UCI_LINE_MIN = 6 }; /* bytes of an entry: "1 1 1" and an end */

struct triple {
    uint64_t document, word, count;
    const char *word_at, *count_at;
};

/* A count, which MatrixMarket may write as 2.0. NULL: no number. */
static const char *take_count(const struct corpus_part *part, const char *s, uint64_t *out)
{
    double value = 0;
    const char *end;

    if (part->reader->format != DATA_CORPUS_MM)
        return take_u64(s, out);
    end = data_number_parse(s, &value);
    bool whole = end != NULL && value >= 0 && value <= UINT32_MAX;
    *out = whole ? (uint64_t)value : UINT64_MAX;
    if (whole && (double)*out != value)
        *out = UINT64_MAX;
    return end;
}

/* "DOCUMENT WORD COUNT", from 1; returns where the line ends, or NULL after telling the mistake. */
static const char *take_triple(struct corpus_part *part, const char *line, struct triple *t)
{
    const char *at = skip_blanks(line), *s = take_u64(at, &t->document);

    if (s != NULL && (*s == ' ' || *s == '\t')) {
        t->word_at = skip_blanks(s);
        s = take_u64(t->word_at, &t->word);
    } else {
        s = NULL;
    }
    if (s != NULL && (*s == ' ' || *s == '\t')) {
        t->count_at = skip_blanks(s);
        s = take_count(part, t->count_at, &t->count);
    } else {
        s = NULL;
    }
    s = s != NULL ? skip_blanks(s) : NULL;
    if (s == NULL || !at_end(s))
        data_corpus_part_mistake(part, CORPUS_BAD_NUMBERS, at, line);
    else if (t->document == 0 || t->document > part->reader->documents)
        data_corpus_part_mistake(part, CORPUS_BAD_DOCUMENT, at, line);
    else if (t->word == 0 || t->word > word_limit(part))
        data_corpus_part_mistake(part, CORPUS_BAD_WORD, t->word_at, line);
    else if (t->count > UINT32_MAX || (t->count == 0 && part->reader->format == DATA_CORPUS_UCI))
        data_corpus_part_mistake(part, CORPUS_BAD_COUNT, t->count_at, line);
    return part->bad == CORPUS_GOOD ? s + (*s == '\r') + 1 : NULL;
}

void data_corpus_parse_triples(struct corpus_part *part)
{
    const char *line = part->text, *before = line;
    size_t from = 0;
    bool ascending = true;
    struct triple t = {0};

    while (line < part->end) {
        if (at_end(skip_blanks(line))) {
            line = skip_blanks(line);
            line += (*line == '\r') + 1;
            part->lines++;
            continue;
        }
        const char *next = take_triple(part, line, &t);
        if (next == NULL)
            return;
        if (t.count == 0) {
            part->zeros++;
            part->lines++;
            line = next;
            continue;
        }
        if (part->entries == 0) {
            part->first_line = line;
            part->first_lines = part->lines;
            part->id[0] = t.document - 1;
        } else if (t.document - 1 != part->id[part->documents]) {
            if (t.document - 1 < part->id[part->documents]) {
                data_corpus_part_mistake(part, CORPUS_BAD_ORDER, skip_blanks(line), line);
                return;
            }
            if (!end_document(part, from, ascending))
                break;
            part->id[part->documents] = t.document - 1;
            from = part->entries;
            ascending = true;
        }
        uint32_t word = (uint32_t)(t.word - 1);
        ascending &= part->entries == from || part->word[part->entries - 1] < word;
        part->word[part->entries] = word;
        part->count[part->entries++] = (uint32_t)t.count;
        part->tokens += t.count;
        before = line;
        line = next;
        part->lines++;
    }
    if (line >= part->end && (part->entries == 0 || end_document(part, from, ascending)))
        return;
    part->lines -= part->lines > 0; /* the last line of the document */
    data_corpus_part_mistake(part, CORPUS_BAD_SUM, skip_blanks(before), before);
}

/* One number alone on a line; returns the next line, or NULL. Blank lines before it are skipped and
 * counted. With `more` other numbers follow on the line. */
static const char *take_header(const char *s, const char *end, bool more, uint64_t *out,
                               uint64_t *lines)
{
    while (s < end && at_end(skip_blanks(s))) {
        s = skip_blanks(s);
        s += (*s == '\r') + 1;
        ++*lines;
    }
    if (s >= end)
        return NULL;
    s = take_u64(skip_blanks(s), out);
    if (s != NULL && more)
        return *s == ' ' || *s == '\t' ? s : NULL;
    s = s != NULL ? skip_blanks(s) : NULL;
    if (s == NULL || !at_end(s))
        return NULL;
    ++*lines;
    return s + (*s == '\r') + 1;
}

bool data_corpus_looks_uci(const char *text, size_t size)
{
    const char *s = text, *end = text + size;
    uint64_t n = 0, lines = 0;

    for (int i = 0; i < 3 && s != NULL; i++)
        s = take_header(s, end, false, &n, &lines);
    return s != NULL;
}

bool data_corpus_too_many(uint64_t count, uint64_t entries)
{
    return count > DATA_CORPUS_UNUSED_MAX &&
           (count - DATA_CORPUS_UNUSED_MAX) / DATA_CORPUS_PER_ENTRY > entries;
}

/* Numbers that the entries of the file do not bear out would cost memory and hours. */
static shoal_status check_header(const struct data_corpus_reader *reader, const uint64_t n[3],
                                 const uint64_t line[3], shoal_err *err)
{
    uint64_t entries = n[2], size = 0;

    if (env_size(reader->blocks.file, &size, NULL) == SHOAL_OK && size / UCI_LINE_MIN < entries)
        entries = size / UCI_LINE_MIN;
    if (!data_corpus_too_many(n[0], entries) && !data_corpus_too_many(n[1], entries))
        return SHOAL_OK;
    bool documents = data_corpus_too_many(n[0], entries);
    base_err(err, SHOAL_E_LIMIT,
             "cannot read corpus '%s': its header has %" PRIu64 " %s, and there are %s%" PRIu64
             " entries; expected at most %" PRIu64 " and %d an entry",
             reader->path, n[!documents], documents ? "documents" : "words",
             entries < n[2] ? "at most " : "", entries, DATA_CORPUS_UNUSED_MAX,
             DATA_CORPUS_PER_ENTRY);
    base_err_where(err, "%s, line %" PRIu64, reader->path, line[!documents]);
    return SHOAL_E_LIMIT;
}

shoal_status data_corpus_triples_header(struct data_corpus_reader *reader, uint64_t lines,
                                        shoal_err *err)
{
    static const char *const expected[3] = {"the number of documents", "the number of words",
                                            "the number of entries"};
    bool one_line = reader->format == DATA_CORPUS_MM;
    uint64_t n[3] = {0}, line[3] = {0};
    const uint64_t most[3] = {DATA_CORPUS_DOCUMENTS_MAX, DATA_CORPUS_WORDS_MAX, UINT64_MAX - 1};
    const char *s = reader->text, *end = reader->text + reader->text_size;

    for (int i = 0; i < 3; i++) {
        const char *next = take_header(s, end, one_line && i < 2, &n[i], &lines);
        line[i] = lines + (one_line && i < 2);
        if (next == NULL)
            return env_blocks_bad(&reader->blocks, lines + 1, 0, err, "expected %s%s", expected[i],
                                  one_line ? "" : " alone");
        if (n[i] > most[i] || (i < 2 && n[i] == 0))
            return env_blocks_bad(&reader->blocks, line[i], 0, err,
                                  "expected %s, 1 to %" PRIu64 ", found %" PRIu64, expected[i],
                                  most[i], n[i]);
        s = next;
    }
    shoal_status st = check_header(reader, n, line, err);
    if (st != SHOAL_OK)
        return st;
    reader->documents = n[0];
    reader->words = (uint32_t)n[1];
    reader->words_fixed = true;
    reader->header_entries = n[2];
    reader->header_lines = lines;
    reader->blocks.line = lines;
    reader->text = s;
    reader->text_size = (size_t)(end - s);
    return SHOAL_OK;
}

/* ---- LDA-C ---- */

/* "WORD:COUNT" at s; returns what follows, or NULL after telling the mistake. */
static const char *take_pair(struct corpus_part *part, const char *at, const char *line)
{
    uint64_t word = 0, count = 0;
    const char *s = take_u64(at, &word);
    const char *count_at = s != NULL && *s == ':' ? s + 1 : NULL;

    s = count_at != NULL ? take_u64(count_at, &count) : NULL;
    if (s == NULL || !(*s == ' ' || *s == '\t' || at_end(s)))
        data_corpus_part_mistake(part, CORPUS_BAD_PAIR, at, line);
    else if (word >= word_limit(part))
        data_corpus_part_mistake(part, CORPUS_BAD_WORD, at, line);
    else if (count == 0 || count > UINT32_MAX)
        data_corpus_part_mistake(part, CORPUS_BAD_COUNT, count_at, line);
    if (part->bad != CORPUS_GOOD)
        return NULL;
    part->word[part->entries] = (uint32_t)word;
    part->count[part->entries++] = (uint32_t)count;
    part->tokens += count;
    see_word(part, (uint32_t)word);
    return s;
}

/* "N WORD:COUNT ..."; returns the end of the line, or NULL after telling the mistake. */
static const char *take_bag(struct corpus_part *part, const char *line)
{
    const char *at = skip_blanks(line);
    uint64_t pairs = 0;
    const char *s = take_u64(at, &pairs);
    size_t from = part->entries;
    bool ascending = true;

    if (s == NULL || !(*s == ' ' || *s == '\t' || at_end(s))) {
        data_corpus_part_mistake(part, CORPUS_BAD_PAIRS, at, line);
        return NULL;
    }
    for (s = skip_blanks(s); !at_end(s); s = skip_blanks(s)) {
        s = take_pair(part, s, line);
        if (s == NULL)
            return NULL;
        size_t last = part->entries - 1;
        ascending &= last == from || part->word[last - 1] < part->word[last];
    }
    if (part->entries - from != pairs)
        data_corpus_part_mistake(part, CORPUS_BAD_PAIRS, at, line);
    else if (!end_document(part, from, ascending))
        data_corpus_part_mistake(part, CORPUS_BAD_SUM, at, line);
    return part->bad == CORPUS_GOOD ? s : NULL;
}

void data_corpus_parse_ldac(struct corpus_part *part)
{
    for (const char *line = part->text; line < part->end; part->lines++) {
        const char *s = skip_blanks(line);
        if (!at_end(s))
            s = take_bag(part, line);
        if (s == NULL)
            return;
        line = s + (*s == '\r') + 1;
    }
}

/* The first line that is not blank, from its first character on; NULL: there is none. */
static const char *first_line(const char *s, const char *end)
{
    for (s = skip_blanks(s); s < end && at_end(s); s = skip_blanks(s))
        s += (*s == '\r') + 1;
    return s < end ? s : NULL;
}

/* The first line that is not blank is a number and as many pairs, one at least. */
bool data_corpus_looks_ldac(const char *text, size_t size)
{
    const char *s = first_line(text, text + size);
    uint64_t pairs = 0, seen = 0, n = 0;

    if (s == NULL)
        return false;
    s = take_u64(s, &pairs);
    while (s != NULL && (*s == ' ' || *s == '\t')) {
        s = skip_blanks(s);
        if (at_end(s))
            break;
        s = take_u64(s, &n);
        s = s != NULL && *s == ':' ? take_u64(s + 1, &n) : NULL;
        seen++;
    }
    return s != NULL && at_end(s) && seen == pairs && seen > 0;
}

/* "NUMBER NUMBER:NUMBER ..." */
static bool begins_with_pairs(const char *s)
{
    uint64_t n = 0;

    s = take_u64(s, &n);
    s = s != NULL && (*s == ' ' || *s == '\t') ? take_u64(skip_blanks(s), &n) : NULL;
    return s != NULL && *s == ':' && data_number_digit(s[1]);
}

enum data_corpus_format data_corpus_looks_like(const char *text, size_t size)
{
    const char *s = first_line(text, text + size);
    bool digit = false, pair = false;

    if (s == NULL)
        return DATA_CORPUS_AUTO;
    if (begins_with_pairs(s))
        return DATA_CORPUS_LDAC;
    for (; *s != '\n'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c >= 0x80 || (unsigned char)((c | 0x20) - 'a') < 26)
            return DATA_CORPUS_AUTO;
        pair |= digit && c == ':';
        digit |= data_number_digit(*s);
    }
    return !digit ? DATA_CORPUS_AUTO : pair ? DATA_CORPUS_LDAC : DATA_CORPUS_UCI;
}

/* ---- MatrixMarket ----
 *
 * MatrixMarket as a corpus (gensim's MmCorpus): rows are documents, columns words, values
 * counts. After its header the entries are read as those of a UCI bag of words (corpus_lines.c).
 *
 *     %%MatrixMarket matrix coordinate real general
 *     % comments
 *     DOCUMENTS WORDS ENTRIES
 *     DOCUMENT WORD COUNT        (from 1, documents in order; "2" or "2.0"; 0 is no entry)
 *
 * It also recognises tables that would otherwise be read as text, so that the caller can refuse them.
 * */

static const char MAGIC[] = "%%MatrixMarket";

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The line that begins at s, without its end. */
static size_t line_size(const char *s)
{
    size_t size = strcspn(s, "\n");

    return size > 0 && s[size - 1] == '\r' ? size - 1 : size;
}

static const char *next_line(const char *s)
{
    return strchr(s, '\n') + 1;
}

bool data_corpus_looks_mm(const char *text, size_t size)
{
    return size > sizeof MAGIC - 1 && strncasecmp(text, MAGIC, sizeof MAGIC - 1) == 0;
}

/* Whether the line goes on with this word, in any case; *s moves past it. */
static bool take_word(const char **s, const char *end, const char *word)
{
    size_t size = strlen(word);
    const char *at = *s;

    while (at < end && is_blank(*at))
        at++;
    if ((size_t)(end - at) < size || strncasecmp(at, word, size) != 0 ||
        (at + size < end && !is_blank(at[size])))
        return false;
    *s = at + size;
    return true;
}

static bool magic_good(const char *s)
{
    const char *end = s + line_size(s);
    bool good = take_word(&s, end, MAGIC) && take_word(&s, end, "matrix") &&
                take_word(&s, end, "coordinate") &&
                (take_word(&s, end, "real") || take_word(&s, end, "integer")) &&
                take_word(&s, end, "general");

    return good && s + strspn(s, " \t") == end;
}

shoal_status data_corpus_mm_header(struct data_corpus_reader *reader, shoal_err *err)
{
    const char *s = reader->text, *end = s + reader->text_size;
    char shown[ENV_SHOWN_MAX];
    uint64_t line = 1;

    if (!magic_good(s)) {
        env_blocks_bad(&reader->blocks, 1, 0, err,
                       "expected '%s matrix coordinate real general' or integer, found '%s'", MAGIC,
                       env_lines_show(s, line_size(s), shown));
        base_err_hint(err, "a corpus has an entry for each document and word, and its count");
        return SHOAL_E_FORMAT;
    }
    for (s = next_line(s); s < end && (*s == '%' || line_size(s) == strspn(s, " \t")); line++)
        s = next_line(s);
    reader->text_size = (size_t)(end - s);
    reader->text = s;
    return data_corpus_triples_header(reader, line, err);
}

/* ---- tables ---- */

enum { SAMPLE_LINES = 10 };

/* "LABEL INDEX:VALUE ...": one pair at least, and nothing else. */
static bool is_labelled(const char *s)
{
    const char *end = s + line_size(s);
    double number = 0;
    size_t pairs = 0;

    s = data_number_parse(s, &number);
    while (s != NULL && s < end && is_blank(*s)) {
        s += strspn(s, " \t");
        if (s == end)
            break;
        if (!data_number_digit(*s))
            return false;
        s += strspn(s, "0123456789");
        s = *s == ':' ? data_number_parse(s + 1, &number) : NULL;
        pairs++;
    }
    return s == end && pairs > 0;
}

/* The end of the field that begins at s, which may be "quoted, ""like"" this"; NULL: something
 * follows its quotes. *out_number tells whether it is a number. */
static const char *field_end(const char *s, const char *end, char separator, bool *out_number)
{
    const char *from = s, *stop = NULL;
    double number = 0;

    if (separator == '\t' || s == end || *s != '"') {
        stop = memchr(s, separator, (size_t)(end - s));
        stop = stop != NULL ? stop : end;
        *out_number = s < stop && data_number_parse(s, &number) == stop;
        return stop;
    }
    for (s = ++from; s < end && (*s != '"' || (s + 1 < end && s[1] == '"')); s++)
        s += *s == '"';
    *out_number = from < s && data_number_parse(from, &number) == s;
    return s < end && (s + 1 == end || s[1] == separator) ? s + 1 : NULL;
}

/* Number of fields of a line, or 0 if it cannot be of a table; *out_numbers of them are numbers. Names
 * of columns have no blank after the separator, as prose has; a row may have one. */
static size_t count_fields(const char *s, char separator, bool names, size_t *out_numbers)
{
    const char *end = s + line_size(s);
    size_t fields = 0;
    bool number = false;

    *out_numbers = 0;
    for (;; s++) {
        if (s < end && *s == ' ' && !names)
            s++;
        s = s < end && is_blank(*s) && *s != separator ? NULL
                                                       : field_end(s, end, separator, &number);
        if (s == NULL)
            return 0;
        *out_numbers += number;
        fields++;
        if (s == end)
            return fields;
    }
}

/* Lines of as many fields each: names, then lines with a number in each; or such lines from the first, of
 * three fields or more (two may be a number and a text); or three lines or more without a blank. */
static bool is_table(const char *s, const char *end, char separator)
{
    size_t numbers = 0, lines = 0, fields = count_fields(s, separator, true, &numbers);
    bool named = numbers == 0, numbered = true, blank = memchr(s, ' ', line_size(s)) != NULL;

    if (fields < 2)
        return false;
    for (s = next_line(s); s < end && lines < SAMPLE_LINES; s = next_line(s)) {
        if (line_size(s) == 0)
            continue;
        if (count_fields(s, separator, false, &numbers) != fields)
            return false;
        numbered = numbered && numbers > 0;
        blank = blank || memchr(s, ' ', line_size(s)) != NULL;
        lines++;
    }
    return lines > 0 && ((numbered && (named || fields > 2 || !blank)) || (!blank && lines > 1));
}

const char *data_corpus_looks_table(const char *text, size_t size)
{
    const char *end = text + size, *s = text;
    size_t lines = 0;

    while (s < end && (line_size(s) == 0 || *s == '#'))
        s = next_line(s);
    if (s == end)
        return NULL;
    if (is_table(s, end, ',') || is_table(s, end, ';') || is_table(s, end, '\t'))
        return "a table, with as many fields in each line";
    for (; s < end && lines < SAMPLE_LINES && (line_size(s) == 0 || is_labelled(s)); lines++)
        s = next_line(s);
    return s == end || lines == SAMPLE_LINES ? "rows of LIBSVM text: a label, then INDEX:VALUE"
                                             : NULL;
}

/* ---- plain text, a document a line: words to numbers ----
 *
 * Threads look words up in the vocabulary as it stood before the block and write down those it does
 * not have; the owner then gives these numbers in the order of the text, so that numbers do not
 * depend on threads or blocks. Stop words are the first names of the vocabulary: one look-up tells
 * them from the others. At last each document's words are sorted and counted, side by side again. */

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
