/* cluster.c - reads and writes cluster specifications. */
#include "sched/cluster.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

/* List price of one GPU-hour where a kind is rented by name: on-demand, us-east-1 or us-central1,
 * 2026-08, from nodes of four or eight GPUs (K80: 2025-03, when it was withdrawn; P100: the
 * accelerator alone). Other kinds have no price until the spec gives one with usd=. */
static const struct {
    const char *kind;
    double usd_gpu_h;
} list_prices[] = {
    {"k80", 0.90},   {"p100", 1.46}, {"v100", 3.06},  {"t4", 0.978},
    {"a10g", 2.036}, {"l4", 1.669},  {"a100", 2.745}, {"h100", 6.88},
};

static double list_price(const char *kind)
{
    for (size_t i = 0; i < BASE_COUNT(list_prices); i++)
        if (strcasecmp(list_prices[i].kind, kind) == 0)
            return list_prices[i].usd_gpu_h;
    return -1;
}

const char *sched_cluster_listed(size_t index)
{
    return index < BASE_COUNT(list_prices) ? list_prices[index].kind : NULL;
}

/* One group while it is read. */
struct group {
    uint64_t nodes, gpus;
    char kind[SCHED_KIND_NAME_MAX];
    double usd; /* negative: not given */
    const char *rack;
    size_t rack_size;
};

static shoal_status bad_group(const char *text, size_t size, const char *why, shoal_err *err)
{
    base_err(err, SHOAL_E_FORMAT, "cannot read cluster group '%.*s': %s",
             (int)(size < 80 ? size : 80), text, why);
    base_err_hint(err, "write nodes x GPUs : kind, such as 6x4:t4,2x8:a100");
    return SHOAL_E_FORMAT;
}

static bool kind_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static shoal_status parse_attribute(const char *s, size_t size, const char *text, size_t text_size,
                                    struct group *g, shoal_err *err)
{
    if (size > 4 && memcmp(s, "usd=", 4) == 0) {
        if (!base_parse_f64(s + 4, size - 4, &g->usd) || g->usd < 0 || g->usd > 1e6)
            return bad_group(text, text_size, "usd= takes a price per GPU-hour", err);
    } else if (size > 5 && memcmp(s, "rack=", 5) == 0) {
        g->rack = s + 5;
        g->rack_size = size - 5;
    } else {
        return bad_group(text, text_size, "expected usd=PRICE or rack=NAME after the kind", err);
    }
    return SHOAL_OK;
}

static shoal_status parse_group(const char *text, size_t size, struct group *g, shoal_err *err)
{
    const char *colon = memchr(text, ':', size);
    const char *x = memchr(text, 'x', colon != NULL ? (size_t)(colon - text) : size);

    *g = (struct group){.usd = -1};
    if (colon == NULL || x == NULL)
        return bad_group(text, size, "expected NODESxGPUS:KIND", err);
    if (!base_parse_u64(text, (size_t)(x - text), &g->nodes) || g->nodes == 0 ||
        g->nodes > SCHED_NODES_MAX)
        return bad_group(text, size, "expected 1 to 1000000 nodes before the x", err);
    if (!base_parse_u64(x + 1, (size_t)(colon - x - 1), &g->gpus) || g->gpus == 0 ||
        g->gpus > SCHED_NODE_GPUS_MAX)
        return bad_group(text, size, "expected 1 to 64 GPUs per node after the x", err);

    const char *end = text + size;
    const char *p = colon + 1;
    size_t length = 0;
    while (p + length < end && kind_char(p[length]))
        length++;
    if (length == 0 || length >= sizeof g->kind)
        return bad_group(text, size, "expected the name of a GPU kind after the colon", err);
    memcpy(g->kind, p, length);
    p += length;
    while (p < end) {
        if (*p != ':')
            return bad_group(text, size, "a kind is letters, digits, '-', '_' or '.'", err);
        const char *next = memchr(p + 1, ':', (size_t)(end - p - 1));
        const char *stop = next != NULL ? next : end;
        shoal_status st = parse_attribute(p + 1, (size_t)(stop - p - 1), text, size, g, err);
        if (st != SHOAL_OK)
            return st;
        p = stop;
    }
    return SHOAL_OK;
}

enum { RACKS_MAX = 4096 };

struct racks { /* names seen; rack 0 is for groups without one */
    const char *name[RACKS_MAX];
    size_t size[RACKS_MAX];
    uint32_t count;
};

static shoal_status rack_index(struct racks *racks, const struct group *g, uint32_t *out,
                               shoal_err *err)
{
    *out = 0;
    if (g->rack == NULL)
        return SHOAL_OK;
    for (uint32_t i = 1; i < racks->count; i++)
        if (racks->size[i] == g->rack_size && memcmp(racks->name[i], g->rack, g->rack_size) == 0) {
            *out = i;
            return SHOAL_OK;
        }
    if (racks->count == RACKS_MAX)
        return base_err(err, SHOAL_E_LIMIT, "cannot read cluster: more than %d racks", RACKS_MAX);
    racks->name[racks->count] = g->rack;
    racks->size[racks->count] = g->rack_size;
    *out = racks->count++;
    return SHOAL_OK;
}

static shoal_status add_group(struct sched_cluster *c, size_t *node_cap, struct racks *racks,
                              const struct group *g, shoal_err *err)
{
    uint32_t rack;
    shoal_status st = rack_index(racks, g, &rack, err);
    if (st != SHOAL_OK)
        return st;

    int k = sched_cluster_kind(c, g->kind);
    if (k < 0) {
        if (c->kind_count == SCHED_KINDS_MAX)
            return base_err(err, SHOAL_E_LIMIT, "cannot read cluster: more than %d GPU kinds",
                            SCHED_KINDS_MAX);
        k = (int)c->kind_count++;
        memcpy(c->kinds[k].name, g->kind, sizeof c->kinds[k].name);
        c->kinds[k].usd_gpu_h = list_price(g->kind);
    }
    struct sched_kind *kind = &c->kinds[k];
    if (g->usd >= 0 && kind->priced && kind->usd_gpu_h != g->usd) {
        base_err(err, SHOAL_E_FORMAT, "cannot read cluster: kind '%s' has two prices, %g and %g",
                 kind->name, kind->usd_gpu_h, g->usd);
        base_err_hint(
            err, "a price is for all GPUs of a kind; give the dearer nodes a kind of their own");
        return SHOAL_E_FORMAT;
    }
    if (g->usd >= 0) {
        kind->usd_gpu_h = g->usd;
        kind->priced = true;
    }
    if (c->node_count + g->nodes > SCHED_NODES_MAX)
        return base_err(err, SHOAL_E_LIMIT, "cannot read cluster: more than %d nodes",
                        SCHED_NODES_MAX);
    if (base_reserve(c->alloc, (void **)&c->nodes, node_cap, c->node_count + (size_t)g->nodes,
                     sizeof *c->nodes) != 0)
        return base_err_nomem(err, "reading the cluster");

    for (uint64_t i = 0; i < g->nodes; i++)
        c->nodes[c->node_count++] =
            (struct sched_node){.kind = (uint16_t)k, .gpus = (uint16_t)g->gpus, .rack = rack};
    kind->nodes += (uint32_t)g->nodes;
    kind->gpus += (uint32_t)(g->nodes * g->gpus);
    c->gpus += (uint32_t)(g->nodes * g->gpus);
    if (g->gpus > kind->node_gpus_max)
        kind->node_gpus_max = (uint32_t)g->gpus;
    if (c->rack_count < rack + 1)
        c->rack_count = rack + 1;
    return SHOAL_OK;
}

static bool separator(char ch)
{
    return ch == ',' || ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r';
}

shoal_status sched_cluster_parse(const struct base_alloc *alloc, const char *text,
                                 struct sched_cluster *out, shoal_err *err)
{
    struct sched_cluster c = {.alloc = alloc};
    size_t node_cap = 0;
    shoal_status st = SHOAL_OK;
    struct racks *racks = base_calloc(alloc, 1, sizeof *racks);

    if (racks == NULL)
        return base_err_nomem(err, "reading the cluster");
    racks->count = 1;
    for (const char *p = text; *p != '\0' && st == SHOAL_OK;) {
        if (separator(*p)) {
            p++;
        } else if (*p == '#') {
            while (*p != '\0' && *p != '\n')
                p++;
        } else {
            struct group g;
            size_t size = 0;
            while (p[size] != '\0' && p[size] != '#' && !separator(p[size]))
                size++;
            st = parse_group(p, size, &g, err);
            if (st == SHOAL_OK)
                st = add_group(&c, &node_cap, racks, &g, err);
            p += size;
        }
    }
    base_free(alloc, racks);
    if (st == SHOAL_OK && c.node_count == 0) {
        st = base_err(err, SHOAL_E_FORMAT, "the cluster has no nodes");
        base_err_hint(err, "write nodes x GPUs : kind, such as 6x4:t4,2x8:a100");
    }
    if (st != SHOAL_OK) {
        base_free(alloc, c.nodes);
        return st;
    }
    *out = c;
    return SHOAL_OK;
}

void sched_cluster_fini(struct sched_cluster *cluster)
{
    if (cluster->alloc != NULL)
        base_free(cluster->alloc, cluster->nodes);
    *cluster = (struct sched_cluster){0};
}

int sched_cluster_kind(const struct sched_cluster *cluster, const char *name)
{
    for (uint32_t k = 0; k < cluster->kind_count; k++)
        if (strcasecmp(cluster->kinds[k].name, name) == 0)
            return (int)k;
    return -1;
}

void sched_cluster_format(const struct sched_cluster *cluster, struct base_buf *out)
{
    for (uint32_t i = 0; i < cluster->node_count;) {
        const struct sched_node *n = &cluster->nodes[i];
        uint32_t same = 1;
        while (i + same < cluster->node_count && cluster->nodes[i + same].kind == n->kind &&
               cluster->nodes[i + same].gpus == n->gpus)
            same++;
        base_buf_printf(out, "%s%ux%u:%s", i == 0 ? "" : ",", same, n->gpus,
                        cluster->kinds[n->kind].name);
        i += same;
    }
}
