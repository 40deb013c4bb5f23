/* load.c - market_prices_load: finds the files, chooses a reader for each and settles what they
 * said. */
#include "base/err.h"
#include "base/text.h"
#include "env/folder.h"
#include "market/reader.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct market_reader *const readers[MARKET_FORMAT_COUNT] = {
    NULL,
#define MARKET_READER_POINTER(id, name) &market_reader_##name,
    MARKET_READER_MAP(MARKET_READER_POINTER)
#undef MARKET_READER_POINTER
};

struct loading {
    shoal_env *env;
    const struct market_load_opts *opts;
    struct market_draft draft;
    struct market_read rd;
    const struct market_reader *reader; /* of the files so far, NULL: none yet */
    bool mixed;
    uint64_t hash;
    size_t files;
};

static shoal_status unknown_format(const struct market_read *rd, const char *head, size_t size,
                                   shoal_err *err)
{
    char shown[ENV_SHOWN_MAX], list[180] = "";

    if (size == 0)
        return base_err(err, SHOAL_E_FORMAT, "cannot read prices '%s': the file is empty",
                        rd->path);
    base_err(err, SHOAL_E_FORMAT,
             "cannot read prices '%s': expected a history in a known format, found '%s'", rd->path,
             env_lines_show(head, market_first_line(head, size).length, shown));
    for (size_t i = 1; i < MARKET_FORMAT_COUNT; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s (%s)", i > 1 ? ", " : "", readers[i]->name,
                 readers[i]->looks);
    }
    base_err_hint(err, "formats: %s", list);
    return SHOAL_E_FORMAT;
}

static bool looks_like(const struct market_reader *reader, const char *head, size_t size)
{
    return (reader->header != NULL && env_table_has(head, size, reader->header)) ||
           (reader->detect != NULL && reader->detect(head, size));
}

/* The reader of the open file; NULL where a file of a folder is none of ours. */
static shoal_status choose(struct loading *ld, bool inside, const struct market_reader **out_reader,
                           shoal_err *err)
{
    struct env_lines *in = &ld->rd.table.in;
    const char *head;
    size_t size;
    enum market_format format = ld->opts != NULL ? ld->opts->format : MARKET_FORMAT_AUTO;
    const struct market_reader *reader = NULL;
    shoal_status st = env_lines_head(in, &head, &size, err);

    if (st != SHOAL_OK)
        return st;
    for (size_t i = 1; i < MARKET_FORMAT_COUNT && reader == NULL && in->packed == NULL; i++)
        if ((format == MARKET_FORMAT_AUTO || format == i) && looks_like(readers[i], head, size))
            reader = readers[i];
    if (reader == NULL && !inside) {
        reader = readers[format];
        if (in->packed != NULL) /* its first line says what it is */
            reader = readers[MARKET_FORMAT_SHOAL];
    }
    if (reader == NULL && !inside)
        return unknown_format(&ld->rd, head, size, err);
    *out_reader = reader;
    return SHOAL_OK;
}

static uint64_t mix_hash(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * 0x9e3779b97f4a7c15u;
}

static shoal_status load_file(void *ctx, const char *path, bool inside, shoal_err *err)
{
    struct loading *ld = ctx;
    struct env_table *t = &ld->rd.table;
    const struct market_reader *reader = NULL;

    if (env_table_open(ld->env, "prices", path, t, err) != SHOAL_OK)
        return t->status;
    ld->rd.path = path;
    t->status = choose(ld, inside, &reader, err);
    if (t->status == SHOAL_OK && reader != NULL) {
        market_draft_file(&ld->draft, reader->newest_first);
        reader->read(&ld->rd);
        market_draft_file_end(&ld->draft);
        ld->mixed |= ld->reader != NULL && ld->reader != reader;
        ld->reader = reader;
        ld->hash = mix_hash(ld->hash, t->in.hash);
        ld->files++;
    }
    ld->draft.odd.skipped += t->status == SHOAL_OK && reader == NULL;
    env_table_note(t, ld->draft.odd.ignored);
    return env_table_close(t);
}

static shoal_status no_prices(const struct loading *ld, const char *path, shoal_err *err)
{
    if (ld->files == 0)
        return base_err(err, SHOAL_E_FORMAT,
                        "cannot read prices '%s': none of its %llu files is a price history", path,
                        (unsigned long long)ld->draft.odd.skipped);
    return base_err(err, SHOAL_E_FORMAT, "cannot read prices '%s': nothing in it is ever offered",
                    path);
}

static shoal_status prices_new(const struct base_alloc *alloc, struct market_prices **out)
{
    struct market_prices *prices = base_calloc(alloc, 1, sizeof *prices);

    if (prices == NULL)
        return SHOAL_E_NOMEM;
    prices->alloc = alloc;
    base_map_init(&prices->clouds.map, alloc);
    base_map_init(&prices->regions.map, alloc);
    base_map_init(&prices->zones.map, alloc);
    base_map_init(&prices->kinds.map, alloc);
    base_map_init(&prices->accelerators.map, alloc);
    *out = prices;
    return SHOAL_OK;
}

static shoal_status finish(struct loading *ld, const char *first, struct market_prices *prices,
                           shoal_err *err)
{
    if (market_draft_settle(&ld->draft, prices) != SHOAL_OK)
        return base_err_nomem(err, "loading prices");
    if (prices->offer_count == 0)
        return no_prices(ld, first, err);
    prices->odd = ld->draft.odd;
    prices->input_hash = ld->hash;
    prices->format = ld->mixed ? "mixed" : ld->reader->name;
    prices->file_count = ld->files;
    return SHOAL_OK;
}

static shoal_status check_call(const char *const *paths, size_t path_count,
                               const struct market_load_opts *opts, shoal_err *err)
{
    size_t inputs = 0;

    if (path_count == 0)
        return base_err(err, SHOAL_E_INVAL, "cannot read prices: no file given");
    if (opts != NULL && opts->format >= MARKET_FORMAT_COUNT)
        return base_err(err, SHOAL_E_INVAL, "cannot read prices: no such format");
    for (size_t i = 0; i < path_count; i++)
        inputs += strcmp(paths[i], "-") == 0;
    if (inputs > 1)
        return base_err(err, SHOAL_E_INVAL,
                        "cannot read prices: standard input ('-') is given more than once");
    for (size_t i = 0; opts != NULL && i < opts->rate_count; i++)
        if (!(opts->rates[i].usd > 0 && opts->rates[i].usd <= 1e6))
            return base_err(err, SHOAL_E_INVAL,
                            "cannot use the rate of '%.7s': expected US dollars above 0 and at "
                            "most 1,000,000",
                            opts->rates[i].currency);
    return SHOAL_OK;
}

shoal_status market_prices_load(shoal_env *env, const char *const *paths, size_t path_count,
                                const struct market_load_opts *opts,
                                struct market_prices **out_prices, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct market_prices *prices = NULL;
    struct loading *ld = NULL;
    shoal_status st = check_call(paths, path_count, opts, err);

    if (st != SHOAL_OK)
        return st;
    ld = base_calloc(alloc, 1, sizeof *ld);
    if (ld == NULL || prices_new(alloc, &prices) != SHOAL_OK) {
        base_free(alloc, ld);
        return base_err_nomem(err, "loading prices");
    }
    ld->env = env;
    ld->opts = opts;
    market_draft_init(&ld->draft, alloc);
    ld->rd.draft = &ld->draft;
    ld->rd.opts = opts;
    ld->rd.stop = opts != NULL ? opts->stop : NULL;
    for (size_t i = 0; st == SHOAL_OK && i < path_count; i++)
        st = env_folder_each(env, paths[i], load_file, ld, err);
    if (st == SHOAL_OK)
        st = finish(ld, paths[0], prices, err);
    market_draft_fini(&ld->draft);
    base_free(alloc, ld);
    if (st == SHOAL_OK)
        *out_prices = prices;
    else
        market_prices_free(prices);
    return st;
}
