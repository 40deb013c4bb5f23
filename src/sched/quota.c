/* quota.c - GPUs that groups of jobs have a right to (see quota.h). */
#include "sched/quota.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

enum { GPUS_MAX = 1000000000 };
enum { NEAR_SIZE = 80, NEAR_GROUPS = 10000 }; /* looked at for "did you mean" */

struct item {
    const char *name;
    size_t length;
    uint32_t gpus;
};

/* One "name=gpus" of `text`, up to the next separator; *text moves behind it. False when it is
 * none. A name may hold a '='. */
static bool next_item(const char **text, struct item *out)
{
    const char *at = *text, *end = at + strcspn(at, ",+"), *number = end;
    uint64_t gpus;

    while (number > at && number[-1] != '=')
        number--;
    if (number <= at + 1 || !base_parse_u64(number, (size_t)(end - number), &gpus) ||
        gpus > GPUS_MAX)
        return false;
    *out = (struct item){.name = at, .length = (size_t)(number - 1 - at), .gpus = (uint32_t)gpus};
    *text = *end != '\0' ? end + 1 : end;
    return true;
}

/* What the text says of a name, before `end` (NULL: anywhere). False: nothing. */
static bool look_up(const char *text, const char *end, const char *name, size_t length,
                    uint32_t *out_gpus)
{
    struct item item;

    while (text != NULL && *text != '\0' && text != end && next_item(&text, &item))
        if (item.length == length && memcmp(item.name, name, length) == 0) {
            *out_gpus = item.gpus;
            return true;
        }
    return false;
}

static bool is_group(const struct sched_setting *setting, const struct item *item)
{
    for (uint32_t g = 0; g < setting->group_count; g++) {
        const char *group = setting->group_name(setting->group_ctx, g);
        if (strlen(group) == item->length && memcmp(group, item->name, item->length) == 0)
            return true;
    }
    return false;
}

static shoal_status no_group(const struct sched_setting *setting, const struct item *item,
                             shoal_err *err)
{
    char word[NEAR_SIZE];
    const char *near = NULL;
    size_t least = SIZE_MAX;

    snprintf(word, sizeof word, "%.*s", (int)(item->length < NEAR_SIZE ? item->length : NEAR_SIZE),
             item->name);
    for (uint32_t g = 0; g < setting->group_count && g < NEAR_GROUPS; g++) {
        const char *group = setting->group_name(setting->group_ctx, g);
        size_t distance = base_edit_distance(word, group);
        if (base_nearest(word, &group, 1) != NULL && distance < least) {
            least = distance;
            near = group;
        }
    }
    base_err(err, SHOAL_E_INVAL, "quotas of groups: no job is in a group '%s'", word);
    if (near != NULL)
        base_err_hint(err, "did you mean '%s'?", near);
    else if (setting->group_count > 0)
        base_err_hint(err, setting->group_count == 1 ? "all jobs are in '%s'" : "one is '%s'",
                      setting->group_name(setting->group_ctx, 0));
    return SHOAL_E_INVAL;
}

shoal_status sched_quota_check(const char *text, const struct sched_setting *setting,
                               shoal_err *err)
{
    const char *at = text;
    struct item item;
    uint32_t gpus;

    while (at != NULL && *at != '\0') {
        const char *begin = at;
        if (!next_item(&at, &item)) {
            base_err(err, SHOAL_E_INVAL, "quotas of groups: expected NAME=GPUS, found '%.*s'",
                     (int)strcspn(begin, ",+"), begin);
            base_err_hint(err, "GPUs are whole numbers: --set quota=research=64+web=16");
            return SHOAL_E_INVAL;
        }
        if (look_up(text, begin, item.name, item.length, &gpus))
            return base_err(err, SHOAL_E_INVAL, "quotas of groups: '%.*s' is there twice",
                            (int)item.length, item.name);
        if (setting->group_name != NULL && !is_group(setting, &item))
            return no_group(setting, &item, err);
    }
    return SHOAL_OK;
}

/* The quota of a group by its name, or by its number where it has none. */
static uint32_t quota_of(const char *text, const struct sched_snapshot *snap, uint32_t group)
{
    const char *name = snap->group_name != NULL ? snap->group_name(snap->group_ctx, group) : NULL;
    char number[16];
    uint32_t gpus = 0;

    if (name == NULL) {
        snprintf(number, sizeof number, "%u", group);
        name = number;
    }
    return look_up(text, NULL, name, strlen(name), &gpus) ? gpus : 0;
}

void sched_quota_begin(struct sched_quota *quota, const char *text,
                       const struct sched_snapshot *snap)
{
    quota->alloc = snap->alloc;
    quota->none = text == NULL || *text == '\0';
    for (size_t g = 0; g < quota->count; g++)
        quota->rows[g].held = quota->rows[g].covered = 0;
}

shoal_status sched_quota_meet(struct sched_quota *quota, const char *text,
                              const struct sched_snapshot *snap, uint32_t group)
{
    if (quota->none || group < quota->count)
        return SHOAL_OK;
    if (base_reserve(quota->alloc, (void **)&quota->rows, &quota->cap, (size_t)group + 1,
                     sizeof *quota->rows) != 0)
        return SHOAL_E_NOMEM;
    for (; quota->count <= group; quota->count++)
        quota->rows[quota->count] =
            (struct sched_quota_row){.gpus = quota_of(text, snap, (uint32_t)quota->count)};
    return SHOAL_OK;
}

void sched_quota_fini(struct sched_quota *quota)
{
    base_free(quota->alloc, quota->rows);
    *quota = (struct sched_quota){0};
}

void sched_quota_hold(struct sched_quota *quota, uint32_t group, uint32_t gpus)
{
    if (!quota->none)
        quota->rows[group].held += gpus;
}

void sched_quota_release(struct sched_quota *quota, uint32_t group, uint32_t gpus)
{
    if (quota->none)
        return;
    shoal_assert(quota->rows[group].held >= gpus);
    quota->rows[group].held -= gpus;
}

bool sched_quota_covers(struct sched_quota *quota, uint32_t group, uint32_t gpus)
{
    if (quota->none)
        return true;
    struct sched_quota_row *row = &quota->rows[group];
    if (gpus > row->gpus - row->covered)
        return false;
    row->covered += gpus;
    return true;
}
