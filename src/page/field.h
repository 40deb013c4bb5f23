/* field.h - rows of fields (shoal/result.h) for the records of one struct, which ROW names meanwhile: the type of a
 * field is that of its member, and its name in JSON and CSV is the member's where none is given.
 *
 *     #define ROW struct run
 *     static const shoal_field run_fields[] = {
 *         FIELD(policy, "POLICY", NONE, 0, 1, "its name"),
 *         FIELD_NAMED(m.avg_jct_s, "avg_jct_s", "AVG JCT", SECONDS, -1, 1, "mean time to the end"),
 *         COLUMN(done, "DONE", NONE, 0, 1, "jobs that were done, of all", SPARSE),
 *         DATA(seed, NONE, 0, "of everything drawn", OPTIONAL),
 *         LIST(jobs, "jobs", "Jobs", 1, job_schema, "what came of each"),
 *     };
 *     #undef ROW
 *     SCHEMA(run, "run", "Runs", "One run");
 *
 * Units are without SHOAL_UNIT_. After the help come the members of shoal_field that few rows have, by name. */
#ifndef PAGE_FIELD_H
#define PAGE_FIELD_H

#include "base/assert.h"
#include "shoal/result.h"

#define FIELD_OF(type_, member, name_, title_, unit_, better_, show_, ...)            \
    {                                                                                 \
        .offset = offsetof(ROW, member), .type = (type_), .unit = SHOAL_UNIT_##unit_, \
        .better = (better_), .show = (show_), .name = (name_), .title = (title_),     \
        .help = __VA_ARGS__                                                           \
    }

#define FIELD_TYPE(member) \
    _Generic(((const ROW *)0)->member,      \
        double: SHOAL_FIELD_F64,            \
        float: SHOAL_FIELD_F32,             \
        uint64_t: SHOAL_FIELD_U64,          \
        uint32_t: SHOAL_FIELD_U32,          \
        bool: SHOAL_FIELD_BOOL,             \
        const char *: SHOAL_FIELD_TEXT,     \
        shoal_numbers: SHOAL_FIELD_NUMBERS, \
        shoal_texts: SHOAL_FIELD_TEXTS,     \
        shoal_records: SHOAL_FIELD_RECORDS)

#define FIELD_NAMED(member, name_, title_, unit_, better_, show_, ...) \
    FIELD_OF(FIELD_TYPE(member), member, name_, title_, unit_, better_, show_, __VA_ARGS__)
#define FIELD(member, title_, unit_, better_, show_, ...) \
    FIELD_NAMED(member, #member, title_, unit_, better_, show_, __VA_ARGS__)
/* For people alone. */
#define COLUMN(member, title_, unit_, better_, show_, ...) \
    FIELD_NAMED(member, NULL, title_, unit_, better_, show_, __VA_ARGS__)
/* In JSON and CSV alone; DATA_AS is of a type that the member does not say, such as MAP or CHOICE. */
#define DATA(member, unit_, better_, ...) DATA_NAMED(member, #member, unit_, better_, __VA_ARGS__)
#define DATA_NAMED(member, name_, unit_, better_, ...) \
    FIELD_NAMED(member, name_, NULL, unit_, better_, 0, __VA_ARGS__)
#define DATA_AS(type_, member, name_, unit_, better_, ...) \
    FIELD_OF(SHOAL_FIELD_##type_, member, name_, NULL, unit_, better_, 0, __VA_ARGS__)

/* Records of a schema: a list, and one alone, which no table has. */
#define LIST(member, name_, title_, show_, schema_, ...) \
    FIELD_NAMED(member, name_, title_, NONE, 0, show_, __VA_ARGS__, .of = &(schema_))
#define RECORD(member, name_, schema_, ...) \
    DATA_AS(RECORD, member, name_, NONE, 0, __VA_ARGS__, .of = &(schema_))

/* The flags, where a row has one. */
#define OPTIONAL .flags = SHOAL_FIELD_OPTIONAL
#define SPARSE   .flags = SHOAL_FIELD_SPARSE
#define PAGED    .flags = SHOAL_FIELD_PAGE
#define CUT      .flags = SHOAL_FIELD_CUT
#define WRAPPED  .flags = SHOAL_FIELD_WRAP

/* Of the rows of an array: WHAT_schema of WHAT_fields, static; or the value alone. */
#define SCHEMA(what, name_, title_, help_) \
    static const shoal_schema what##_schema = SCHEMA_OF(name_, title_, help_, what##_fields)
#define SCHEMA_OF(name_, title_, help_, rows)                                  \
    {                                                                          \
        .name = (name_), .title = (title_), .help = (help_), .fields = (rows), \
        .field_count = BASE_COUNT(rows)                                        \
    }

#endif
