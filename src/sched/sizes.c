/* sizes.c - goodput by size, kept from decision to decision (see sizes.h). */
#include "sched/sizes.h"

#include "base/assert.h"
#include <math.h>
#include <string.h>

enum {
    SIZES_MAX = 2048, /* of one family */
    NODES_EACH = 8,   /* up to so many every number of nodes is a size, then in steps of a part */
    SLOTS = 1024      /* of the table of families, a power of two */
};
static const double GRID_STEP = 0.5, GRID_END = 16; /* of ln r, from -END to END */

/* Goodputs of a family at one point of the grid, and their derivatives. */
struct column {
    struct column *next;
    int at;
    uint64_t used;   /* by which decision */
    float *slope;    /* behind goodput */
    float goodput[]; /* (sizes) */
};

/* What fair.h says of jobs of a family with one batch and gang. */
struct fair {
    struct fair *next;
    uint32_t batch, gpus;
    uint64_t used;
    struct sched_sizes_fair said;
    float speed[]; /* (sizes) */
};

/* All that goodput depends on but the noise; compared as bytes, so all of it is set. */
struct key {
    const struct sched_fitted *fitted;
    uint32_t gpus_max, batch_initial, batch_max, local_min, kinds, level;
    struct sched_adapt_kind kind[SCHED_KINDS_MAX];
};

struct family {
    struct family *next; /* of its slot */
    uint64_t hash, used;
    struct key key;
    uint32_t seen, count;
    struct column *columns;
    struct fair *fairs;
    struct sched_size size[];
};

/* What is known of a job, and of which version. */
struct row {
    uint32_t id;
    float mix; /* from the one point of the grid to the other */
    uint64_t version;
    struct family *family;
    struct column *low, *high;
    struct fair *fair; /* NULL: not asked for yet */
    uint64_t fair_at;  /* the decision that asked last */
};

struct sched_sizes {
    const struct base_alloc *alloc;
    const struct sched_cluster *cluster;
    double explore;
    uint64_t decision, worked;
    struct family *slots[SLOTS];
    struct row *rows, *old; /* by increasing id: of this decision, of the last */
    size_t row_count, row_cap, old_count, old_cap, old_at;
    struct sched_size found[SIZES_MAX];
};

/* ---- families ---- */

static void fill_key(const struct sched_sizes *s, const struct sched_job *job, struct key *key)
{
    const struct sched_adapt *a = job->adapt;

    memset(key, 0, sizeof *key);
    key->fitted = a->fitted;
    key->level = a->level;
    key->gpus_max = a->gpus_max;
    key->batch_initial = a->batch_initial;
    key->batch_max = a->batch_max;
    key->local_min = a->local_min;
    key->kinds = job->kinds;
    for (uint32_t k = 0; k < s->cluster->kind_count; k++) { /* by member: padding stays 0 */
        key->kind[k].local_max = a->kind[k].local_max;
        key->kind[k].gpus_seen = a->kind[k].gpus_seen;
        key->kind[k].gpus_max = a->kind[k].gpus_max;
        key->kind[k].speed = a->kind[k].speed;
    }
}

static uint64_t hash_of(const struct sched_sizes *s, const struct key *key)
{
    size_t words = (offsetof(struct key, kind) + s->cluster->kind_count * sizeof *key->kind) / 4;
    uint64_t h = 14695981039346656037u;
    uint32_t word;

    for (size_t i = 0; i < words; i++) {
        memcpy(&word, (const char *)key + 4 * i, sizeof word);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

static struct shoal_goodput_choice choice_at(const struct sched_sizes *s, const struct key *key,
                                             double noise, const struct sched_size *size)
{
    struct sched_adapt a = {.gpus_max = key->gpus_max,
                            .batch_initial = key->batch_initial,
                            .batch_max = key->batch_max,
                            .local_min = key->local_min,
                            .grad_sqr = 1,
                            .grad_var = noise,
                            .kind = key->kind,
                            .fitted = key->fitted,
                            .level = key->level};

    return sched_adapt_choose(&a, s->cluster->kind_count, size->kind, size->nodes, size->gpus);
}

static struct sched_size size_of(const struct sched_sizes *s, uint32_t kind, uint32_t gpus)
{
    uint32_t each = s->cluster->kinds[kind].node_gpus_max, nodes = (gpus + each - 1) / each;

    return (struct sched_size){gpus, (uint16_t)kind,
                               (uint16_t)(nodes < UINT16_MAX ? nodes : UINT16_MAX)};
}

/* Sizes of a kind with up to `most` GPUs on which it runs, or just the first of them; how many. */
static uint32_t find_sizes(struct sched_sizes *s, const struct key *key, uint32_t kind,
                           uint32_t most, bool just_first, uint32_t count)
{
    const struct sched_kind *k = &s->cluster->kinds[kind];

    most = most < key->gpus_max ? most : key->gpus_max;
    most = most < k->gpus ? most : k->gpus;
    for (uint32_t g = 1; g <= most && count < SIZES_MAX;
         g = sched_size_next(g, k->node_gpus_max, NODES_EACH)) {
        struct sched_size size = size_of(s, kind, g);
        double goodput = choice_at(s, key, 1, &size).goodput;
        s->worked++;
        if (!(goodput > 0) || !isfinite(goodput))
            continue;
        s->found[count++] = size;
        if (just_first)
            break;
    }
    return count;
}

static struct family *family_new(struct sched_sizes *s, const struct key *key, uint64_t hash)
{
    struct sched_adapt known = {.kind = key->kind};
    uint32_t seen = sched_adapt_seen(&known, s->cluster->kind_count), count = 0;
    double reach = fmax(s->explore * seen, 1);
    uint32_t most = reach < UINT32_MAX ? (uint32_t)reach : UINT32_MAX;
    struct family *f;

    for (int all = 0; all < 2 && count == 0;
         all++) /* where it runs on none so small: the smallest */
        for (uint32_t k = 0; k < s->cluster->kind_count; k++)
            if ((key->kinds >> k & 1) != 0)
                count = find_sizes(s, key, k, all ? UINT32_MAX : most, all != 0, count);
    f = base_malloc(s->alloc, sizeof *f + count * sizeof *f->size);
    if (f == NULL)
        return NULL;
    *f = (struct family){.hash = hash, .key = *key, .seen = seen, .count = count};
    memcpy(f->size, s->found, count * sizeof *f->size);
    f->next = s->slots[hash % SLOTS];
    s->slots[hash % SLOTS] = f;
    return f;
}

static struct family *family_of(struct sched_sizes *s, const struct sched_job *job)
{
    struct key key;

    fill_key(s, job, &key);
    uint64_t hash = hash_of(s, &key);
    for (struct family *f = s->slots[hash % SLOTS]; f != NULL; f = f->next)
        if (f->hash == hash && memcmp((const char *)&f->key, (const char *)&key, sizeof key) == 0)
            return f;
    return family_new(s, &key, hash);
}

static void fill_cell(struct sched_sizes *s, const struct family *f, struct column *c, uint32_t i,
                      const struct sched_size *size)
{
    double noise = exp(c->at * GRID_STEP - GRID_END);
    struct shoal_goodput_choice best = choice_at(s, &f->key, noise, size);

    c->goodput[i] = (float)best.goodput;
    c->slope[i] = (float)(best.goodput * (best.gain - 1) / (noise + 1) * GRID_STEP);
    s->worked++;
}

static struct column *column_of(struct sched_sizes *s, struct family *f, int at)
{
    struct column *c = f->columns;

    while (c != NULL && c->at != at)
        c = c->next;
    if (c != NULL)
        return c;
    c = base_malloc(s->alloc, sizeof *c + 2 * f->count * sizeof *c->goodput);
    if (c == NULL)
        return NULL;
    *c = (struct column){.at = at, .next = f->columns, .slope = c->goodput + f->count};
    for (uint32_t i = 0; i < f->count; i++)
        fill_cell(s, f, c, i, &f->size[i]);
    f->columns = c;
    return c;
}

/* ---- jobs ---- */

/* Where its noise lies on the grid, in steps; what is no number, or not positive, is as in
 * shoal_goodput_gain. */
static double grid_place(const struct sched_adapt *a)
{
    double q = isfinite(a->grad_sqr) && a->grad_sqr > 0 ? a->grad_sqr : 0;
    double v = isfinite(a->grad_var) && a->grad_var > 0 ? a->grad_var : 0;
    double most = 2 * GRID_END / GRID_STEP;

    if (v <= 0)
        return 0;
    double place = q > 0 ? (log(v) - log(q) + GRID_END) / GRID_STEP : most;
    return fmin(fmax(place, 0), most);
}

static shoal_status fill_row(struct sched_sizes *s, const struct sched_job *job, struct row *row)
{
    struct family *f = family_of(s, job);

    if (f == NULL)
        return SHOAL_E_NOMEM;
    double place = f->seen > 0 ? grid_place(job->adapt) : 0, at = floor(place);
    *row = (struct row){
        .id = job->id, .version = job->adapt->version, .family = f, .mix = (float)(place - at)};
    row->low = row->high = column_of(s, f, (int)at);
    if (row->low != NULL && row->mix > 0)
        row->high = column_of(s, f, (int)at + 1);
    return row->low == NULL || row->high == NULL ? SHOAL_E_NOMEM : SHOAL_OK;
}

static struct sched_sizes_view view_of(const struct row *row)
{
    float t = row->mix, u = 1 - t;

    return (struct sched_sizes_view){
        .size = row->family->size,
        .count = row->family->count,
        .seen = row->family->seen,
        .low = row->low->goodput,
        .low_slope = row->low->slope,
        .high = row->high->goodput,
        .high_slope = row->high->slope,
        .part = {u * u * (1 + 2 * t), u * u * t, t * t * (3 - 2 * t), -t * t * u}};
}

shoal_status sched_sizes_of(struct sched_sizes *s, const struct sched_job *job,
                            struct sched_sizes_view *out)
{
    shoal_assert(s->row_count == 0 || s->rows[s->row_count - 1].id < job->id);
    if (base_reserve(s->alloc, (void **)&s->rows, &s->row_cap, s->row_count + 1, sizeof *s->rows) !=
        0)
        return SHOAL_E_NOMEM;
    while (s->old_at < s->old_count && s->old[s->old_at].id < job->id)
        s->old_at++;
    struct row *row = &s->rows[s->row_count];
    const struct row *before = s->old_at < s->old_count ? &s->old[s->old_at] : NULL;
    if (before != NULL && before->id == job->id && before->version == job->adapt->version) {
        *row = *before;
        if (row->fair_at + 1 != s->decision)
            row->fair = NULL; /* it may have been dropped */
    } else {
        shoal_status st = fill_row(s, job, row);
        if (st != SHOAL_OK)
            return st;
    }
    s->row_count++;
    row->family->used = row->low->used = row->high->used = s->decision;
    *out = view_of(row);
    return SHOAL_OK;
}

static struct fair *fair_of(struct sched_sizes *s, const struct sched_snapshot *snap,
                            const struct sched_job *job, const struct row *row)
{
    struct family *f = row->family;
    struct fair *fair = f->fairs;

    while (fair != NULL && (fair->batch != job->batch || fair->gpus != job->gpus))
        fair = fair->next;
    if (fair != NULL)
        return fair;
    fair = base_malloc(s->alloc, sizeof *fair + f->count * sizeof *fair->speed);
    if (fair == NULL)
        return NULL;
    *fair = (struct fair){.next = f->fairs,
                          .batch = job->batch,
                          .gpus = job->gpus,
                          .said = {sched_fair_alone(snap, job), fair->speed}};
    for (uint32_t i = 0; i < f->count; i++)
        fair->speed[i] = (float)sched_fair_speed(snap, job, f->size[i].kind, f->size[i].gpus);
    f->fairs = fair;
    return fair;
}

const struct sched_sizes_fair *sched_sizes_fair(struct sched_sizes *s,
                                                const struct sched_snapshot *snap,
                                                const struct sched_job *job)
{
    struct row *row = &s->rows[s->row_count - 1];

    shoal_assert(s->row_count > 0 && row->id == job->id);
    if (row->fair == NULL)
        row->fair = fair_of(s, snap, job, row);
    if (row->fair == NULL)
        return NULL;
    row->fair->used = row->fair_at = s->decision;
    return &row->fair->said;
}

/* ---- life ---- */

shoal_status sched_sizes_new(const struct base_alloc *alloc, const struct sched_cluster *cluster,
                             double explore, struct sched_sizes **out)
{
    struct sched_sizes *s = base_calloc(alloc, 1, sizeof *s);

    if (s == NULL)
        return SHOAL_E_NOMEM;
    s->alloc = alloc;
    s->cluster = cluster;
    s->explore = explore;
    *out = s;
    return SHOAL_OK;
}

/* Drops columns that no decision after `since` used. */
static void trim_columns(struct sched_sizes *s, struct family *f, uint64_t since)
{
    for (struct column **at = &f->columns; *at != NULL;) {
        struct column *c = *at;
        if (c->used > since) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        base_free(s->alloc, c);
    }
}

static void trim_fairs(struct sched_sizes *s, struct family *f, uint64_t since)
{
    for (struct fair **at = &f->fairs; *at != NULL;) {
        struct fair *fair = *at;
        if (fair->used > since) {
            at = &fair->next;
            continue;
        }
        *at = fair->next;
        base_free(s->alloc, fair);
    }
}

static void trim(struct sched_sizes *s, uint64_t since)
{
    for (size_t slot = 0; slot < SLOTS; slot++)
        for (struct family **at = &s->slots[slot]; *at != NULL;) {
            struct family *f = *at;
            trim_columns(s, f, since);
            trim_fairs(s, f, since);
            if (f->used > since) {
                at = &f->next;
                continue;
            }
            *at = f->next;
            base_free(s->alloc, f);
        }
}

void sched_sizes_free(struct sched_sizes *s)
{
    if (s == NULL)
        return;
    trim(s, UINT64_MAX);
    base_free(s->alloc, s->rows);
    base_free(s->alloc, s->old);
    base_free(s->alloc, s);
}

void sched_sizes_begin(struct sched_sizes *s)
{
    struct row *rows = s->rows;
    size_t cap = s->row_cap;

    s->decision++;
    s->rows = s->old;
    s->row_cap = s->old_cap;
    s->old = rows;
    s->old_cap = cap;
    s->old_count = s->row_count;
    s->row_count = s->old_at = 0;
}

void sched_sizes_end(struct sched_sizes *s)
{
    s->old_count = 0;
    trim(s, s->decision - 1);
}

uint64_t sched_sizes_worked(const struct sched_sizes *s)
{
    return s->worked;
}
