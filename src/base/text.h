/* text.h - strict parsing and formatting of the few things people type: numbers, durations, sizes,
 * names.
 *
 * Every parser takes a whole string (no trailing characters, no leading space), returns false on
 * anything else and leaves the output untouched then. NaN, infinities, hexadecimal and locale forms
 * are refused. Any thread. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool base_parse_f64(const char *s, size_t length, double *out);
bool base_parse_u64(const char *s, size_t length, uint64_t *out);
bool base_parse_bool(const char *s, bool *out);           /* true false yes no on off 1 0 */
bool base_parse_duration(const char *s, double *out_s);   /* 90s 5m 2h30m 3d, or plain seconds */
bool base_parse_size(const char *s, uint64_t *out_bytes); /* 512M 4G 1024 (powers of 1024) */
/* 2024-01-13, 2024-01-13 04:46[:14[.5]] (or with 'T'), then nothing, Z, +01:00 or +0100, as seconds
 * since 1970 UTC. */
bool base_parse_utc(const char *s, size_t length, double *out_s);

/* "1m30s", "2h05m", "3d4h", "0.4s"; at most two units. Returns buf. */
const char *base_format_duration(double seconds, char *buf, size_t size);
/* 12,345,678 with separators. Returns buf. */
const char *base_format_count(uint64_t n, char *buf, size_t size);
/* 1.2 GB. Returns buf. */
const char *base_format_bytes(double bytes, char *buf, size_t size);

/* What the first bytes of a file say it is when it is not plain text ("a file compressed with gzip",
 * "UTF-16 text"), and the command that makes text of it. NULL: nothing of the kind. Six bytes are
 * enough. */
const char *base_packed(const char *bytes, size_t size, const char **out_unpack);

/* Whether a byte of it is a control character: below a blank, or DEL. */
bool base_has_control(const char *s, size_t length);

/* Edit distance with transpositions, for "did you mean". */
size_t base_edit_distance(const char *a, const char *b);
/* The closest of `count` names when it is close enough to be worth offering, else NULL. */
const char *base_nearest(const char *word, const char *const *names, size_t count);

#endif
