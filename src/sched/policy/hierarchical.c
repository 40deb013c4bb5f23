/* hierarchical.c - fairness between entities, then inside them.
 *
 * An entity is a job's group. A group called "org/team" sits inside "org", to any depth; names come
 * from the snapshot, and where there are none every group stands by itself under the root. Entities
 * of one parent share in proportion to their weights (1 unless `weights` says), whatever the number
 * of their jobs; inside the last one jobs share by their own weights (fair), or the oldest gets all
 * it can use first (fifo). What an entity cannot use goes to its neighbours. Jobs of a group that
 * has groups inside count as one more entity of weight 1 in it.
 *
 * Reference: Narayanan et al., Gavel, OSDI 2020, section 4.3. */
#include "base/assert.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "sched/share.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum inside { INSIDE_FAIR, INSIDE_FIFO };

enum { NEAR_SIZE = 80, NEAR_GROUPS = 10000 }; /* looked at for "did you mean" */

struct memory {
    struct sched_share_memory share;
    const char *weights;
    uint32_t inside;
};

struct entity {
    struct num_tree_node node;
    bool inner;   /* holds entities */
    uint32_t own; /* the entity of its own jobs, when it holds others too; 0: not made */
};

/* The tree while it grows. Entities are found by their whole path; "" is the root. */
struct forest {
    const struct memory *m;
    struct base_map paths; /* -> index */
    struct entity *all;
    size_t count, cap;
};

/* One "name=weight" of `text`, up to the next separator; *text moves behind it. False when it is
 * none. */
static bool next_weight(const char **text, const char **name, size_t *length, double *weight)
{
    const char *at = *text, *end = at + strcspn(at, ",+"), *equals = end;
    char *stop;

    while (equals > at && equals[-1] != '=')
        equals--;
    if (equals <= at + 1)
        return false;
    *name = at;
    *length = (size_t)(equals - 1 - at);
    *weight = strtod(equals, &stop);
    *text = *end != '\0' ? end + 1 : end;
    return stop == end && stop > equals && *weight > 0 && *weight <= 1e9 && equals[0] != ' ';
}

/* The weight given to the path's first `size` bytes before `end` (NULL: anywhere); 0: none. */
static double given_weight(const struct memory *m, const char *end, const char *path, size_t size)
{
    const char *text = m->weights, *name;
    double weight;
    size_t length;

    while (text != NULL && *text != '\0' && text != end &&
           next_weight(&text, &name, &length, &weight))
        if (length == size && memcmp(name, path, size) == 0)
            return weight;
    return 0;
}

/* Whether a job is in the entity, or in one inside it. */
static bool has_jobs(const struct sched_setting *setting, const char *name, size_t size)
{
    for (uint32_t g = 0; g < setting->group_count; g++) {
        const char *group = setting->group_name(setting->group_ctx, g);
        if (strncmp(group, name, size) == 0 && (group[size] == '\0' || group[size] == '/'))
            return true;
    }
    return false;
}

/* The group, or the first parts of one, most like `word`; "" when none is. */
static void find_near(const struct sched_setting *setting, const char *word, char near[NEAR_SIZE])
{
    char path[NEAR_SIZE];
    const char *const candidate = path;
    size_t least = SIZE_MAX;

    near[0] = '\0';
    for (uint32_t g = 0; g < setting->group_count && g < NEAR_GROUPS; g++) {
        const char *group = setting->group_name(setting->group_ctx, g), *end = group;
        do {
            end += strcspn(end + 1, "/") + 1;
            snprintf(path, sizeof path, "%.*s", (int)(end - group), group);
            size_t distance = base_edit_distance(word, path);
            if (base_nearest(word, &candidate, 1) != NULL && distance < least) {
                least = distance;
                memcpy(near, path, sizeof path);
            }
        } while (*end != '\0');
    }
}

static shoal_status no_jobs(const struct sched_setting *setting, const char *name, size_t size,
                            shoal_err *err)
{
    char word[NEAR_SIZE], near[NEAR_SIZE];

    snprintf(word, sizeof word, "%.*s", (int)size, name);
    find_near(setting, word, near);
    base_err(err, SHOAL_E_INVAL, "weights of groups: no job is in a group '%s'", word);
    if (near[0] != '\0')
        base_err_hint(err, "did you mean '%s'?", near);
    else if (setting->group_count > 0)
        base_err_hint(err, setting->group_count == 1 ? "all jobs are in '%s'" : "one is '%s'",
                      setting->group_name(setting->group_ctx, 0));
    return SHOAL_E_INVAL;
}

static shoal_status check(const void *memory, const struct sched_setting *setting, shoal_err *err)
{
    const struct memory *m = memory;
    const char *text = m->weights, *name;
    size_t length;
    double weight;

    while (text != NULL && *text != '\0') {
        const char *item = text;
        if (!next_weight(&text, &name, &length, &weight)) {
            base_err(err, SHOAL_E_INVAL, "weights of groups: expected NAME=WEIGHT, found '%.*s'",
                     (int)strcspn(item, ",+"), item);
            base_err_hint(err,
                          "weights are above 0 and at most 1e9: --set weights=research=2,web=1");
            return SHOAL_E_INVAL;
        }
        if (given_weight(m, item, name, length) > 0)
            return base_err(err, SHOAL_E_INVAL, "weights of groups: '%.*s' is there twice",
                            (int)length, name);
        if (setting->group_name != NULL && !has_jobs(setting, name, length))
            return no_jobs(setting, name, length, err);
    }
    return SHOAL_OK;
}

static double weight_of(const struct memory *m, const char *path, size_t size)
{
    double weight = given_weight(m, NULL, path, size);

    return weight > 0 ? weight : 1;
}

static shoal_status add(struct forest *f, uint32_t parent, double weight, uint32_t *out)
{
    if (base_reserve(f->paths.alloc, (void **)&f->all, &f->cap, f->count + 1, sizeof *f->all) != 0)
        return SHOAL_E_NOMEM;
    f->all[f->count] = (struct entity){.node = {.parent = parent, .weight = weight}};
    if (parent != NUM_TREE_NONE)
        f->all[parent].inner = true;
    *out = (uint32_t)f->count++;
    return SHOAL_OK;
}

/* The entity of the path's first `size` bytes, made with its parents when it is new. */
static shoal_status find(struct forest *f, const char *path, size_t size, uint32_t *out)
{
    const struct base_map_entry *known = base_map_find(&f->paths, path, size);
    uint32_t parent = NUM_TREE_NONE;
    size_t up = size;
    shoal_status st = SHOAL_OK;

    if (known != NULL) {
        *out = (uint32_t)known->value;
        return SHOAL_OK;
    }
    while (up > 0 && path[up - 1] != '/')
        up--;
    if (size > 0)
        st = find(f, path, up > 0 ? up - 1 : 0, &parent);
    if (st == SHOAL_OK)
        st = add(f, parent, size > 0 ? weight_of(f->m, path, size) : 1, out);
    return st == SHOAL_OK ? base_map_add(&f->paths, path, size, *out, NULL) : st;
}

/* The path of a job's group; `number` (16) is room for one without a name. */
static const char *path_of(const struct sched_snapshot *snap, const struct sched_job *j,
                           char number[16])
{
    const char *name =
        snap->group_name != NULL ? snap->group_name(snap->group_ctx, j->group) : NULL;

    if (name != NULL)
        return name;
    snprintf(number, 16, "%u", j->group);
    return number;
}

static shoal_status grow(struct forest *f, const struct sched_snapshot *snap, uint32_t *entity)
{
    shoal_status st = find(f, "", 0, &entity[0]);
    char number[16];

    for (size_t i = 0; st == SHOAL_OK && i < snap->job_count; i++) {
        const char *path = path_of(snap, snap->jobs[i], number);
        st = find(f, path, strlen(path), &entity[i]);
    }
    for (size_t i = 0; st == SHOAL_OK && i < snap->job_count; i++) {
        uint32_t at = entity[i], own = f->all[at].own;
        if (!f->all[at].inner)
            continue;
        if (own == 0)
            st = add(f, at, 1, &own);
        f->all[at].own = entity[i] = own;
    }
    return st;
}

static shoal_status fill(const void *memory, const struct sched_snapshot *snap,
                         struct base_arena *arena, struct sched_objective_input *in)
{
    struct forest f = {.m = memory};
    uint32_t *entity = base_arena_alloc(arena, snap->job_count * sizeof *entity + 1);
    struct num_tree_node *nodes = NULL;

    if (entity == NULL)
        return SHOAL_E_NOMEM;
    base_map_init(&f.paths, snap->alloc);
    shoal_status st = grow(&f, snap, entity);
    if (st == SHOAL_OK) {
        nodes = base_arena_alloc(arena, f.count * sizeof *nodes);
        st = nodes != NULL ? SHOAL_OK : SHOAL_E_NOMEM;
    }
    for (size_t i = 0; st == SHOAL_OK && i < f.count; i++) {
        nodes[i] = f.all[i].node;
        nodes[i].fifo = f.m->inside == INSIDE_FIFO && !f.all[i].inner;
    }
    in->tree = (struct num_tree){.nodes = nodes,
                                 .node_count = (uint32_t)f.count,
                                 .job_node = entity,
                                 .job_weight = in->weight};
    base_free(snap->alloc, f.all);
    base_map_fini(&f.paths);
    return st;
}

static const struct sched_share_goal goal = {
    .objective = SCHED_OBJECTIVE_HIERARCHICAL,
    .waiting = SCHED_WHY_FAIR_SHARE,
    .fill = fill,
};

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    return sched_share_decide(memory, &goal, snap, plan);
}

static const char *const inside_names[] = {"fair", "fifo", NULL};

#define AT(member) offsetof(struct memory, member)

static const shoal_opt opts[] = {
    SCHED_SHARE_ROWS,
    {AT(weights), SHOAL_OPT_STR, "weights", 0, "LIST",
     .help = "weights of groups, as research=2,web=1; 1 for those not named"},
    {AT(inside), SHOAL_OPT_CHOICE, "inside", 0, "ORDER", "fair",
     "jobs of one group: fair, or fifo (the oldest takes what it can use)",
     .choices = inside_names},
};

const struct sched_policy sched_policy_hierarchical = {
    .name = "hierarchical",
    .summary = "fair between groups by weight, then inside each; groups may nest",
    .optimises = "Fairness between organisations: each gets its weight of the cluster however many "
                 "jobs it has, and what one does not use goes to the others.",
    .paper = "Narayanan et al., Gavel, OSDI 2020",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = true,
    .work_conserving = true,
    .starvation_free = true,
    .check = check,
    .decide = decide,
    .fini = sched_share_fini,
};
