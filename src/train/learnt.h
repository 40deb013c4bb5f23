/* learnt.h - what an application says at the end of its job: lines, what options came to, and, where they are wanted,
 * lists and pictures. The result of the job is made from it (result.h).
 *
 * Everything is copied into `made`, but for schemas, which are the application's for good. Owner thread only.
 * Tests: tests/unit/train/test_learnt.c. */
#ifndef TRAIN_LEARNT_H
#define TRAIN_LEARNT_H

#include "page/make.h"
#include "shoal/train.h"

enum { TRAIN_LISTS_MAX = 16, TRAIN_PICTURES_MAX = 16 };

struct train_learnt {
    struct page_made *made; /* NULL: memory is short, and train_result_make will say so */
    bool shown;             /* lists and pictures are wanted */
    const char **said;
    size_t said_count, said_cap;
    struct train_setting {
        const char *key, *value;
    } * settings;
    size_t setting_count, setting_cap;
    struct train_list {
        const shoal_schema *schema;
        shoal_records records;
    } list[TRAIN_LISTS_MAX];
    size_t list_count;
};

void train_learnt_init(struct train_learnt *learnt, const struct base_alloc *alloc, bool shown);
void train_learnt_fini(struct train_learnt *learnt);

void train_learnt_say(struct train_learnt *learnt, const char *line);
void train_learnt_set(struct train_learnt *learnt, const char *key, const char *value);
/* What was chosen for an option; NULL: nothing was. */
const char *train_learnt_setting(const struct train_learnt *learnt, const char *key);
/* As shoal_driver_records and shoal_driver_picture have it. */
SHOAL_MUST_USE shoal_status train_learnt_list(struct train_learnt *learnt,
                                              const shoal_schema *schema,
                                              const shoal_records *records, shoal_err *err);
SHOAL_MUST_USE shoal_status train_learnt_picture(struct train_learnt *learnt,
                                                 const shoal_picture *picture, shoal_err *err);

#endif
