/* json.h - JSON piece by piece, in constant memory: files of prices and availability may be large,
 * and of each entry only a few fields matter.
 *
 * A pull reader over open input (env/table.h): each call gives the next token of a stream of JSON
 * values; the grammar is checked as it goes, so tokens always nest. Texts are cut at
 * MARKET_JSON_TEXT_MAX bytes and marked as cut: what the caller skips may be of any size.
 * Everything that jansson accepts is accepted, down to MARKET_JSON_DEPTH_MAX levels; of numbers
 * that are cut the grammar is not checked. lines->line counts along, for messages. Owner thread
 * only. Tests: tests/unit/market/test_json.c. */
#ifndef MARKET_JSON_H
#define MARKET_JSON_H

#include "env/table.h"

enum { MARKET_JSON_TEXT_MAX = 255, MARKET_JSON_DEPTH_MAX = 60 };

enum market_json_token {
    MARKET_JSON_OBJECT,
    MARKET_JSON_OBJECT_END,
    MARKET_JSON_ARRAY,
    MARKET_JSON_ARRAY_END,
    MARKET_JSON_KEY,
    MARKET_JSON_STRING,
    MARKET_JSON_NUMBER, /* text as written */
    MARKET_JSON_WORD    /* true, false, null */
};

struct market_json {
    struct env_lines *lines;
    const char *at, *end; /* unread bytes of the current block */
    /* Of the last key, string, number or word; NUL-terminated. */
    char text[MARKET_JSON_TEXT_MAX + 1];
    size_t size;      /* of it */
    bool cut;         /* the text was longer */
    uint64_t objects; /* a bit for each open level: is it an object? */
    uint32_t depth;
    uint8_t state; /* what may come next */
};

void market_json_init(struct market_json *json, struct env_lines *lines);
/* SHOAL_END after the last value of the input. */
SHOAL_MUST_USE shoal_status market_json_next(struct market_json *json,
                                             enum market_json_token *out_token, shoal_err *err);
/* Leaves the value that `token` began. */
SHOAL_MUST_USE shoal_status market_json_skip(struct market_json *json, enum market_json_token token,
                                             shoal_err *err);

#endif
