/* json.c - see json.h. One byte is looked at at a time; blocks are fetched as they run out. */
#include "market/json.h"

#include <string.h>

enum state {
    VALUE,       /* a value */
    VALUE_CLOSE, /* a value or ']' */
    KEY,         /* a key */
    KEY_CLOSE,   /* a key or '}' */
    AFTER        /* ',' or the end of what is open */
};

void market_json_init(struct market_json *json, struct env_lines *lines)
{
    *json = (struct market_json){.lines = lines, .state = VALUE};
    lines->line++;
}

/* ---- bytes ---- */

/* The next byte, not taken; -1: the end. */
static shoal_status peek(struct market_json *json, int *out, shoal_err *err)
{
    if (json->at == json->end) {
        const char *bytes;
        size_t size;
        shoal_status st = env_lines_block(json->lines, &bytes, &size, err);
        if (st == SHOAL_END) {
            *out = -1;
            return SHOAL_OK;
        }
        if (st != SHOAL_OK)
            return st;
        json->at = bytes;
        json->end = bytes + size;
    }
    *out = (unsigned char)*json->at;
    return SHOAL_OK;
}

static shoal_status unexpected(struct market_json *json, const char *expected, int found,
                               shoal_err *err)
{
    if (found < 0)
        return env_lines_bad(json->lines, 0, err, "expected %s, found the end of the file",
                             expected);
    if (found < 0x20 || found >= 0x7f)
        return env_lines_bad(json->lines, 0, err, "expected %s, found byte 0x%02x", expected,
                             (unsigned)found);
    return env_lines_bad(json->lines, 0, err, "expected %s, found '%c'", expected, found);
}

/* The next byte that is no white space, taken. */
static shoal_status take_sign(struct market_json *json, int *out, shoal_err *err)
{
    for (;;) {
        shoal_status st = peek(json, out, err);
        if (st != SHOAL_OK || *out < 0)
            return st;
        json->at++;
        if (*out == '\n')
            json->lines->line++;
        else if (*out != ' ' && *out != '\r' && *out != '\t')
            return SHOAL_OK;
    }
}

static void put(struct market_json *json, char c)
{
    if (json->size < MARKET_JSON_TEXT_MAX)
        json->text[json->size++] = c;
    else
        json->cut = true;
}

/* ---- strings ---- */

static void put_utf8(struct market_json *json, uint32_t code)
{
    if (code < 0x80) {
        put(json, (char)code);
    } else if (code < 0x800) {
        put(json, (char)(0xc0 | code >> 6));
        put(json, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        put(json, (char)(0xe0 | code >> 12));
        put(json, (char)(0x80 | (code >> 6 & 0x3f)));
        put(json, (char)(0x80 | (code & 0x3f)));
    } else {
        put(json, (char)(0xf0 | code >> 18));
        put(json, (char)(0x80 | (code >> 12 & 0x3f)));
        put(json, (char)(0x80 | (code >> 6 & 0x3f)));
        put(json, (char)(0x80 | (code & 0x3f)));
    }
}

static shoal_status take(struct market_json *json, int *out, shoal_err *err)
{
    shoal_status st = peek(json, out, err);

    if (st == SHOAL_OK && *out >= 0)
        json->at++;
    return st;
}

static shoal_status take_hex(struct market_json *json, uint32_t *out, shoal_err *err)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int c;
        shoal_status st = take(json, &c, err);
        if (st != SHOAL_OK)
            return st;
        if (c >= '0' && c <= '9')
            *out = *out << 4 | (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            *out = *out << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return unexpected(json, "four hexadecimal digits after \\u", c, err);
    }
    return SHOAL_OK;
}

/* After "\u". */
static shoal_status take_code(struct market_json *json, shoal_err *err)
{
    uint32_t code, low;
    int c = 0;
    shoal_status st = take_hex(json, &code, err);

    if (st != SHOAL_OK)
        return st;
    if (code >= 0xd800 && code < 0xdc00) {
        if ((st = take(json, &c, err)) != SHOAL_OK)
            return st;
        if (c != '\\' || (st = take(json, &c, err)) != SHOAL_OK || c != 'u')
            return st != SHOAL_OK ? st : unexpected(json, "the other half of a character", c, err);
        st = take_hex(json, &low, err);
        if (st != SHOAL_OK)
            return st;
        if (low < 0xdc00 || low > 0xdfff)
            return unexpected(json, "the other half of a character", c, err);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code == 0 || (code >= 0xdc00 && code < 0xe000)) {
        return env_lines_bad(json->lines, 0, err, "expected a character, found \\u%04x",
                             (unsigned)code);
    }
    put_utf8(json, code);
    return SHOAL_OK;
}

static shoal_status take_escape(struct market_json *json, shoal_err *err)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c;
    shoal_status st = take(json, &c, err);

    if (st != SHOAL_OK)
        return st;
    if (c == 'u')
        return take_code(json, err);
    const char *hit = c > 0 ? strchr(from, c) : NULL;
    if (hit == NULL)
        return unexpected(json, "an escape such as \\n", c, err);
    put(json, to[hit - from]);
    return SHOAL_OK;
}

/* After the opening quote. */
static shoal_status take_string(struct market_json *json, shoal_err *err)
{
    json->size = 0;
    json->cut = false;
    for (;;) {
        int c;
        shoal_status st = take(json, &c, err);
        if (st != SHOAL_OK)
            return st;
        if (c == '"')
            break;
        if (c < 0x20)
            return unexpected(json, "a closing quote", c, err);
        if (c != '\\')
            put(json, (char)c);
        else if ((st = take_escape(json, err)) != SHOAL_OK)
            return st;
    }
    json->text[json->size] = '\0';
    return SHOAL_OK;
}

/* ---- numbers and words ---- */

/* Everything up to the next sign of JSON or blank, beginning with `first`. */
static shoal_status take_plain(struct market_json *json, int first, shoal_err *err)
{
    int c = first;

    json->size = 0;
    json->cut = false;
    do {
        put(json, (char)c);
        shoal_status st = peek(json, &c, err);
        if (st != SHOAL_OK)
            return st;
        if (c <= ' ' || c >= 0x7f || strchr("{}[]:,\"", c) != NULL)
            break;
        json->at++;
    } while (true);
    json->text[json->size] = '\0';
    return SHOAL_OK;
}

static size_t digits(const char *s)
{
    size_t count = 0;

    while (s[count] >= '0' && s[count] <= '9')
        count++;
    return count;
}

static bool is_number(const char *s)
{
    s += *s == '-';
    size_t whole = digits(s);
    if (whole == 0 || (whole > 1 && s[0] == '0'))
        return false;
    s += whole;
    if (*s == '.') {
        size_t part = digits(s + 1);
        if (part == 0)
            return false;
        s += 1 + part;
    }
    if (*s == 'e' || *s == 'E') {
        s += 1 + (s[1] == '+' || s[1] == '-');
        size_t power = digits(s);
        if (power == 0)
            return false;
        s += power;
    }
    return *s == '\0';
}

/* Of one that was cut, with more digits than any number needs, no more than this is checked. */
static bool is_digits(const char *s)
{
    return s[strspn(s, "-+.eE0123456789")] == '\0';
}

static bool is_word(const char *s)
{
    return strcmp(s, "true") == 0 || strcmp(s, "false") == 0 || strcmp(s, "null") == 0;
}

static shoal_status plain_value(struct market_json *json, int first, enum market_json_token *out,
                                shoal_err *err)
{
    char shown[ENV_SHOWN_MAX];
    shoal_status st = take_plain(json, first, err);

    if (st != SHOAL_OK)
        return st;
    if (is_word(json->text))
        *out = MARKET_JSON_WORD;
    else if (json->cut ? is_digits(json->text) : is_number(json->text))
        *out = MARKET_JSON_NUMBER;
    else
        return env_lines_bad(json->lines, 0, err, "expected a value, found '%s'",
                             env_lines_show(json->text, json->size, shown));
    json->state = AFTER;
    return SHOAL_OK;
}

/* ---- nesting ---- */

static bool in_object(const struct market_json *json)
{
    return json->depth > 0 && (json->objects >> (json->depth - 1) & 1) != 0;
}

static shoal_status open_level(struct market_json *json, bool object, enum market_json_token *out,
                               shoal_err *err)
{
    if (json->depth == MARKET_JSON_DEPTH_MAX)
        return env_lines_bad(json->lines, 0, err, "expected at most %d levels of nesting",
                             MARKET_JSON_DEPTH_MAX);
    json->objects &= ~(UINT64_C(1) << json->depth);
    json->objects |= (uint64_t)object << json->depth;
    json->depth++;
    json->state = object ? KEY_CLOSE : VALUE_CLOSE;
    *out = object ? MARKET_JSON_OBJECT : MARKET_JSON_ARRAY;
    return SHOAL_OK;
}

static void close_level(struct market_json *json, enum market_json_token *out)
{
    *out = in_object(json) ? MARKET_JSON_OBJECT_END : MARKET_JSON_ARRAY_END;
    json->depth--;
    json->state = AFTER;
}

static shoal_status begin_value(struct market_json *json, int c, enum market_json_token *out,
                                shoal_err *err)
{
    if (c == '{' || c == '[')
        return open_level(json, c == '{', out, err);
    if (c == '"') {
        *out = MARKET_JSON_STRING;
        json->state = AFTER;
        return take_string(json, err);
    }
    if (c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))
        return plain_value(json, c, out, err);
    return unexpected(json, "a value", c, err);
}

static shoal_status take_key(struct market_json *json, int c, enum market_json_token *out,
                             shoal_err *err)
{
    if (c != '"')
        return unexpected(json, "a name in quotes", c, err);
    shoal_status st = take_string(json, err);
    if (st == SHOAL_OK)
        st = take_sign(json, &c, err);
    if (st != SHOAL_OK)
        return st;
    if (c != ':')
        return unexpected(json, "':' after a name", c, err);
    *out = MARKET_JSON_KEY;
    json->state = VALUE;
    return SHOAL_OK;
}

shoal_status market_json_next(struct market_json *json, enum market_json_token *out_token,
                              shoal_err *err)
{
    int c;
    shoal_status st = take_sign(json, &c, err);

    if (st != SHOAL_OK)
        return st;
    if (json->depth == 0) { /* values of the stream stand behind each other */
        if (c < 0)
            return json->state == AFTER ? SHOAL_END : unexpected(json, "JSON", c, err);
        return begin_value(json, c, out_token, err);
    }
    if (json->state == AFTER) {
        if (c == (in_object(json) ? '}' : ']')) {
            close_level(json, out_token);
            return SHOAL_OK;
        }
        if (c != ',')
            return unexpected(json, in_object(json) ? "',' or '}'" : "',' or ']'", c, err);
        json->state = in_object(json) ? KEY : VALUE;
        st = take_sign(json, &c, err);
        if (st != SHOAL_OK)
            return st;
    } else if ((json->state == KEY_CLOSE && c == '}') || (json->state == VALUE_CLOSE && c == ']')) {
        close_level(json, out_token);
        return SHOAL_OK;
    }
    if (json->state == KEY || json->state == KEY_CLOSE)
        return take_key(json, c, out_token, err);
    return begin_value(json, c, out_token, err);
}

shoal_status market_json_skip(struct market_json *json, enum market_json_token token,
                              shoal_err *err)
{
    uint32_t outside = json->depth;

    if (token != MARKET_JSON_OBJECT && token != MARKET_JSON_ARRAY)
        return SHOAL_OK;
    outside--;
    while (json->depth > outside) {
        shoal_status st = market_json_next(json, &token, err);
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}
