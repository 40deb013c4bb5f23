/* svm_parse.c - the inner loop of reading LIBSVM text.
 *
 * The text ends with a newline and holds no NUL, and the arrays have room for the most that so many
 * bytes can hold, so the loop checks neither bounds nor room: every scan stops at a byte that is
 * not its own. Cost: about two branches that guess wrong per entry; 250 to 500 MB/s on one core of
 * 2020. Tests: tests/unit/data/test_svm.c, which compares with a slow parser. */
#include "data/svm_parse.h"

#include "data/format.h"
#include <float.h>
#include <math.h>
#include <string.h>

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline bool is_end(char c)
{
    return is_space(c) || c == '\n' || c == '#';
}

static inline const char *skip_spaces(const char *s)
{
    while (is_space(*s))
        s++;
    return s;
}

/* The value at `s`; NULL with part->bad set. One digit, the usual case, is decided at once. */
static inline const char *parse_value(struct data_svm_part *part, const char *s, float *out)
{
    if (data_number_digit(*s) && is_end(s[1])) {
        *out = (float)(*s - '0');
        return s + 1;
    }
    double value = 0;
    const char *end = data_number_parse(s, &value);
    if (end == NULL || !is_end(*end)) {
        part->bad = DATA_SVM_VALUE;
        part->bad_at = s;
        return NULL;
    }
    *out = (float)value;
    if (fabsf(*out) > FLT_MAX) {
        part->bad = DATA_SVM_VALUE_LARGE;
        part->bad_at = s;
        return NULL;
    }
    return end;
}

/* The digits of an index; SIZE_MAX stands for all that are too large. */
static inline const char *parse_index(const char *s, uint64_t *out)
{
    uint64_t index = 0;
    const char *first = s;

    while (data_number_digit(*s))
        index = index * 10 + (uint64_t)(*s++ - '0');
    if (s - first > 10) { /* may be leading zeros */
        index = 0;
        for (const char *d = first; d < s; d++)
            index = index > DATA_SVM_INDEX_MAX ? index : index * 10 + (uint64_t)(*d - '0');
    }
    *out = index;
    return s;
}

static const char *fail(struct data_svm_part *part, enum data_svm_bad bad, const char *at)
{
    part->bad = bad;
    part->bad_at = at;
    return NULL;
}

/* "qid:7" of ranking data says nothing to a linear model. Other words are a mistake. */
static const char *skip_qid(struct data_svm_part *part, const char *s)
{
    const char *end = s + 4;

    if (strncmp(s, "qid:", 4) != 0)
        return fail(part, DATA_SVM_PAIR, s);
    while (data_number_digit(*end))
        end++;
    if (end == s + 4 || !is_end(*end))
        return fail(part, DATA_SVM_PAIR, s);
    part->qids++;
    return end;
}

/* ---- rows whose indices do not ascend ---- */

static void swap(struct data_svm_part *part, size_t a, size_t b)
{
    uint32_t index = part->index[a];
    float value = part->value[a];

    part->index[a] = part->index[b];
    part->value[a] = part->value[b];
    part->index[b] = index;
    part->value[b] = value;
}

static void sift(struct data_svm_part *part, size_t from, size_t root, size_t count)
{
    const uint32_t *index = part->index + from;

    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && index[child + 1] > index[child])
            child++;
        if (index[child] <= index[root])
            return;
        swap(part, from + root, from + child);
    }
}

/* Heap sort: in place, and no row is slow. */
static void sort_row(struct data_svm_part *part, size_t from, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(part, from, i, count);
    for (size_t left = count; left > 1; left--) {
        swap(part, from, from + left - 1);
        sift(part, from, 0, left - 1);
    }
}

/* Where in the line the index stands for the second time. */
static const char *find_second(const struct data_svm_part *part, const char *line, uint32_t wanted)
{
    const char *s = skip_spaces(line);
    int seen = 0;

    for (;;) {
        while (!is_end(*s))
            s++;
        s = skip_spaces(s);
        uint64_t index = 0;
        if (*s == '\n' || *s == '#')
            return line;
        const char *end = parse_index(s, &index);
        if (*end == ':' && end > s && index - part->base == wanted && ++seen == 2)
            return s;
    }
}

static bool sort_and_check(struct data_svm_part *part, const char *line, size_t from)
{
    sort_row(part, from, part->entries - from);
    for (size_t i = from + 1; i < part->entries; i++)
        if (part->index[i] == part->index[i - 1]) {
            fail(part, DATA_SVM_INDEX_TWICE, find_second(part, line, part->index[i]));
            return false;
        }
    part->sorted++;
    return true;
}

/* ---- lines ---- */

/* All pairs of a line from `s`, just behind the label. Returns where the line or its comment ends,
 * or NULL with part->bad set. */
static const char *parse_pairs(struct data_svm_part *part, const char *line, const char *s)
{
    size_t from = part->entries, at = from;
    uint64_t next = 0; /* the least index that ascends */
    bool ascends = true, ones = true;

    for (;;) {
        uint64_t index;
        s = skip_spaces(s);
        if (!data_number_digit(*s)) {
            if (*s == '\n' || *s == '#')
                break;
            s = skip_qid(part, s);
            if (s == NULL)
                return NULL;
            continue;
        }
        const char *token = s;
        s = parse_index(s, &index);
        if (*s != ':')
            return fail(part, DATA_SVM_PAIR, token);
        if (index >= (uint64_t)DATA_SVM_INDEX_MAX + part->base)
            return fail(part, DATA_SVM_INDEX, token);
        if (index < part->base)
            return fail(part, DATA_SVM_INDEX_ZERO, token);
        s = parse_value(part, s + 1, &part->value[at]);
        if (s == NULL)
            return NULL;
        index -= part->base;
        ascends &= index >= next;
        next = index + 1;
        part->index[at] = (uint32_t)index;
        if (index >= part->columns) {
            part->left_out++;
            continue;
        }
        part->zero_seen |= index == 0;
        ones &= part->value[at] == 1.0f;
        if (next > part->columns_seen)
            part->columns_seen = (uint32_t)next;
        at++;
    }
    part->entries = at;
    part->ones &= ones;
    if (!ascends && !sort_and_check(part, line, from))
        return NULL;
    part->length[part->rows] = (uint32_t)(part->entries - from);
    return s;
}

static const char *parse_label(struct data_svm_part *part, const char *s)
{
    double label = 0;
    const char *end = data_number_parse(s, &label);

    if (end != NULL && *end == ',')
        return fail(part, DATA_SVM_LABELS, s);
    if (end == NULL || !is_end(*end))
        return fail(part, DATA_SVM_LABEL, s);
    part->label[part->rows] = label;
    return end;
}

void data_svm_parse(struct data_svm_part *part)
{
    const char *s = part->text;

    part->rows = part->entries = 0;
    part->lines = part->sorted = part->left_out = part->qids = 0;
    part->columns_seen = 0;
    part->zero_seen = false;
    part->ones = true;
    part->bad = DATA_SVM_GOOD;
    while (s < part->end) {
        const char *line = s;
        s = skip_spaces(s);
        if (*s != '\n' && *s != '#') {
            s = parse_label(part, s);
            if (s != NULL)
                s = parse_pairs(part, line, s);
            if (s == NULL) {
                part->bad_line = line;
                return;
            }
            part->rows++;
        }
        if (*s != '\n')
            s = memchr(s, '\n', (size_t)(part->end - s));
        s++;
        part->lines++;
    }
}
