/* result.h - results describe themselves: JSON, CSV, tables and pages are drawn from their fields.
 *
 * A result holds records of one kind, described by a schema: rows that name each field, its unit and what it
 * means. A field may be a record or a list of records itself. Nothing else is known about a result by those
 * who draw it, so a new metric is one row and the line that computes it. The last member of a row is given by
 * name, as in opt.h:
 *
 *     struct run { const char *policy; double avg_jct_s; };
 *     #define AT(member) offsetof(struct run, member)
 *     static const shoal_field FIELDS[] = {
 *         {AT(policy), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "policy", "POLICY", .help = "its name"},
 *         {AT(avg_jct_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, -1, 1, "avg_jct_s", "AVG JCT",
 *          .help = "mean time from submission to the end"},
 *     };
 *
 * Results are read-only and belong to whoever is said to own them; any thread may read one. */
#ifndef SHOAL_RESULT_H
#define SHOAL_RESULT_H

#include "shoal/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum shoal_field_type {
    SHOAL_FIELD_F64,     /* double; NAN: not known */
    SHOAL_FIELD_F32,     /* float; NAN: not known */
    SHOAL_FIELD_U64,     /* uint64_t */
    SHOAL_FIELD_U32,     /* uint32_t */
    SHOAL_FIELD_BOOL,    /* bool */
    SHOAL_FIELD_TEXT,    /* const char *; NULL: not known */
    SHOAL_FIELD_CHOICE,  /* uint32_t, which of `choices`; beyond them: not known */
    SHOAL_FIELD_NUMBERS, /* shoal_numbers: a JSON array; in tables a column for each */
    SHOAL_FIELD_MAP,     /* shoal_numbers with names: a JSON object; in tables a column for each */
    SHOAL_FIELD_TEXTS,   /* shoal_texts: a JSON array */
    SHOAL_FIELD_RECORD,  /* const void *, a record of schema `of`: a JSON object; NULL: not known */
    SHOAL_FIELD_RECORDS, /* shoal_records of schema `of`: a JSON array, a table */
    SHOAL_FIELD_KEYED, /* the same as a JSON object: the first field of each, a text, is its key */
    SHOAL_FIELD_JSON   /* const char *, JSON as it is; NULL: not known */
} shoal_field_type;

/* What a number is of, which says how people read it. JSON and CSV have plain numbers. */
typedef enum shoal_unit {
    SHOAL_UNIT_NONE,    /* 0.87, 4.1, 1,240 */
    SHOAL_UNIT_COUNT,   /* 12,345 */
    SHOAL_UNIT_VALUE,   /* six significant digits: values that are compared */
    SHOAL_UNIT_SECONDS, /* 2h05m */
    SHOAL_UNIT_HOURS,   /* seconds, shown in hours: 1,240 */
    SHOAL_UNIT_MS,      /* 3.1 ms, 16.6 us */
    SHOAL_UNIT_DATE,    /* seconds since 1970: 2025-01-27 00:00, and ISO 8601 in JSON */
    SHOAL_UNIT_SHARE,   /* 0.54 is 54 % */
    SHOAL_UNIT_USD,     /* $9.41, $1,240 */
    SHOAL_UNIT_BYTES,   /* 1.2 GB */
    SHOAL_UNIT_TIMES,   /* 1.80x */
    SHOAL_UNIT_PERCENT  /* 0.543 is 54.3 %: shares that differ by little */
} shoal_unit;

enum {
    SHOAL_FIELD_OPTIONAL = 1, /* not in JSON where it is not known; otherwise it is null there */
    SHOAL_FIELD_SPARSE = 2,   /* no column where no record knows it */
    SHOAL_FIELD_CUT = 4,      /* its column may be cut where a terminal is narrow */
    SHOAL_FIELD_WRAP = 8,     /* the last column, which may be wrapped */
    SHOAL_FIELD_PAGE = 16,    /* a list or column that pages show, and terminals do not */
    SHOAL_FIELD_CSV = 32      /* the list that CSV has, whichever is shown */
};

typedef struct shoal_numbers {
    const double *values;
    size_t count;
    const char *const *names; /* one each, for objects and columns; NULL: none */
} shoal_numbers;

typedef struct shoal_texts {
    const char *const *items;
    size_t count;
} shoal_texts;

/* Records one behind the other, or made one at a time. */
typedef struct shoal_records {
    const void *first;
    size_t stride, count;
    void (*fill)(const void *ctx, size_t index, void *record); /* NULL: they lie at `first` */
    const void *ctx;
    size_t hidden; /* so many of the last are in JSON and CSV, and in no table of a terminal */
} shoal_records;

struct shoal_schema;

typedef struct shoal_field {
    size_t offset; /* in the record */
    shoal_field_type type;
    shoal_unit unit;
    int better; /* -1: less is, 1: more is, 0: neither */
    unsigned
        show; /* in tables 0: not, 1: always; 2 and more: left out where narrow, the highest first */
    const char *name;  /* in JSON and CSV: "avg_jct_s"; NULL: only for people */
    const char *title; /* of its column or table: "AVG JCT"; NULL: in none */
    const char *help;  /* what it is, without a full stop */
    unsigned flags;
    const char *const *choices;    /* of SHOAL_FIELD_CHOICE, NULL-terminated */
    const struct shoal_schema *of; /* of records */
    size_t
        unsure; /* offset of a bool of the record: the number may be luck, which a ~ says; 0: none */
} shoal_field;

typedef struct shoal_schema {
    const char *name;  /* "sim" */
    const char *title; /* of a table of such records; NULL: they are not shown as one */
    const char *help;  /* what one record is */
    const shoal_field *fields;
    size_t field_count;
} shoal_schema;

typedef enum shoal_note_level {
    SHOAL_NOTE_WARNING,
    SHOAL_NOTE_INFO,
    SHOAL_NOTE_HINT /* for people alone: what fields say already, and what to do next */
} shoal_note_level;

/* Something to know beside the figures: what was left out, what was assumed, what to do next. */
typedef struct shoal_note {
    shoal_note_level level;
    const char *text;
} shoal_note;

/* A picture of numbers too many for a table. Its type says how series are drawn. */
typedef enum shoal_picture_type {
    SHOAL_PICTURE_LINES, /* a line for each series, with a band from low to high where it has them */
    SHOAL_PICTURE_STEPS, /* the same where y holds until the next x */
    SHOAL_PICTURE_BARS,  /* a bar for each label, cut into parts: part s is y[label] of series s */
    SHOAL_PICTURE_DOTS,  /* a dot for each point */
    SHOAL_PICTURE_LANES  /* rectangles on lanes, one above the other: who held what, and when */
} shoal_picture_type;

typedef struct shoal_axis {
    const char *title;
    shoal_unit unit;
    bool log;
    double low, high; /* its ends, beyond which nothing is drawn; both 0: those of the data */
    double from;      /* what 0 on it is: dates have too many digits for a float. 0 for all else */
    bool down;        /* of x: it falls from left to right; points are given as it rises */
} shoal_axis;

enum { SHOAL_COLOURS = 7, SHOAL_GREY = 6 };

typedef struct shoal_series {
    const char *name;
    const float *x, *y;      /* NAN in y breaks the line; x NULL: 0, 1, 2, ... */
    const float *low, *high; /* NULL: no band */
    size_t count;
    uint32_t colour;          /* below SHOAL_COLOURS; SHOAL_GREY for what is one of many */
    bool dots;                /* a dot for each point, or where its text changes, on a line */
    bool wide;                /* drawn wide and pale, beneath the lines that follow */
    bool apart;               /* of lines: points that no line joins */
    const char *const *texts; /* what each point is; NULL: nothing */
} shoal_series;

typedef struct shoal_rect {
    float from, to;  /* along x */
    float low, high; /* within the lane, 0 to 1 */
    uint32_t lane, colour;
    const char *text; /* what it is; NULL: many small things together */
} shoal_rect;

typedef struct shoal_mark {
    double x;
    const char *text;
} shoal_mark;

typedef struct shoal_picture {
    shoal_picture_type type;
    const char *name, *title,
        *note; /* "queue", "Jobs waiting", what is seen there; note may be NULL */
    shoal_axis x, y;
    const shoal_series *series; /* of lanes: without points, the names of colours */
    size_t series_count;
    shoal_texts labels; /* of bars or lanes; what follows a line break is said smaller */
    const shoal_rect *rects;
    size_t rect_count;
    const shoal_mark *marks; /* vertical lines */
    size_t mark_count;
    const double *heights; /* of lanes, against each other; NULL: the same */
    /* The name of the list it stands behind; NULL: before further lists; "": before all. */
    const char *after;
} shoal_picture;

typedef struct shoal_result {
    size_t struct_size;
    const char *title;   /* of its page: "323 jobs on 64 GPUs" */
    const char *heading; /* what was asked, lines; NULL: nothing */
    const char *verdict; /* the answer in sentences, lines; NULL: none */
    const char *lines;   /* behind it on a terminal, where pages have lists; NULL: none */
    const shoal_schema *schema;
    shoal_records records; /* JSON has one object for each, on a line of its own */
    const shoal_note *notes;
    size_t note_count;
    const shoal_picture *pictures; /* of its page */
    size_t picture_count;
} shoal_result;

/* A number (0 or 1 for true and false), or a text, of record `index` by the name it has in JSON; NAN, or NULL,
 * where there is none. The text lives as long as the result. */
SHOAL_API double shoal_result_number(const shoal_result *result, size_t index, const char *name);
SHOAL_API const char *shoal_result_text(const shoal_result *result, size_t index, const char *name);

/* Frees a result that a function gave away; NULL is allowed. */
SHOAL_API void shoal_result_free(const shoal_result *result);

/* Receives text in order, in pieces; false stops the writing. */
typedef bool (*shoal_put_fn)(void *ctx, const char *text, size_t size);

/* One JSON object a record and line, "v":1 first. SHOAL_E_IO when `put` stopped it. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_result_json(const shoal_result *result,
                                                        shoal_put_fn put, void *ctx,
                                                        shoal_err *err);

/* The main table with a line of names: the records, or where those are not shown as a table the list that says
 * so, or the first that is. Lists inside are left out. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_result_csv(const shoal_result *result, shoal_put_fn put,
                                                       void *ctx, shoal_err *err);

/* A page of the result, one HTML file that asks for nothing from anywhere; `command` repeats the run (NULL: not
 * said). It shows the title, the heading, the verdict, notes that warn, the main table (as in CSV), pictures and
 * further lists, and what else has a title. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_result_page(const shoal_result *result,
                                                        const char *command, shoal_put_fn put,
                                                        void *ctx, shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
