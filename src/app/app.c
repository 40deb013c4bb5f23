/* app.c - the table of applications, and those in shared objects. */
#include "app/app.h"

#include "app/table.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "env/system.h"
#include "page/make.h"
#include "shoal/list.h"
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define APP_DECLARE(name) extern const shoal_app app_##name;
APP_TABLE(APP_DECLARE)
#undef APP_DECLARE

#define APP_ROW(name) &app_##name,
static const shoal_app *const APPS[] = {APP_TABLE(APP_ROW) NULL};
#undef APP_ROW

const shoal_app *app_at(size_t index)
{
    return index < sizeof APPS / sizeof APPS[0] ? APPS[index] : NULL;
}

const shoal_app *app_find(const char *name)
{
    for (size_t i = 0; APPS[i] != NULL; i++)
        if (strcmp(APPS[i]->name, name) == 0)
            return APPS[i];
    return NULL;
}

/* ---- shared objects ---- */

enum { LOADED_MAX = 8 };

/* It becomes a part of file names. */
static bool good_name(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length <= 40 && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
               length;
}

/* One that was built with an earlier header has fewer hooks: it is copied, and the others are not there.
 * False: too small, newer than this, or more of them than anybody loads. */
static bool known(const shoal_app **app)
{
    static shoal_app grown[LOADED_MAX];
    static size_t count;
    size_t size = (*app)->struct_size;

    if (size == sizeof(shoal_app))
        return true;
    if (size < offsetof(shoal_app, tell) || size > sizeof(shoal_app) || count == LOADED_MAX)
        return false;
    memcpy(&grown[count], *app, size);
    *app = &grown[count++];
    return true;
}

/* Rows that another version of the header laid out, or a mistake, are not to be read. */
static bool good_options(const shoal_app *app)
{
    for (size_t i = 0; i < app->opt_count; i++)
        if (app->opts[i].offset >= app->options_size || app->opts[i].type >= SHOAL_OPT_LIST)
            return false;
    return true;
}

static const shoal_app *load(const char *path, shoal_err *err)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    shoal_app_export_fn *get = NULL;
    const shoal_app *app = NULL;

    if (object == NULL) {
        const char *why = dlerror();
        size_t length = strlen(path);
        if (strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0)
            why += length + 2;
        base_err(err, SHOAL_E_NOTFOUND, "cannot load application '%s': %s", path, why);
        return NULL;
    }
    *(void **)&get = dlsym(object, SHOAL_APP_EXPORT);
    if (get != NULL)
        app = get();
    if (app != NULL && !known(&app)) {
        base_err(err, SHOAL_E_FORMAT, "'%s' was built for another version of Shoal", path);
        base_err_hint(err, "build it again with this one's shoal/train.h");
        return NULL;
    }
    if (app == NULL || app->name == NULL || app->summary == NULL || app->objective == NULL ||
        app->units == NULL || app->plan == NULL || app->start == NULL || app->done == NULL ||
        app->run == NULL) {
        base_err(err, SHOAL_E_FORMAT, "'%s' is not an application", path);
        base_err_hint(err, "it must export %s; 'shoal new app NAME' writes one to start from",
                      SHOAL_APP_EXPORT);
        return NULL;
    }
    if (!good_options(app)) {
        base_err(err, SHOAL_E_FORMAT, "the options of the application in '%s' cannot be read",
                 path);
        base_err_hint(err, "build it again with this version's shoal/opt.h; lists are not for "
                           "applications");
        return NULL;
    }
    if (!good_name(app->name)) {
        base_err(err, SHOAL_E_FORMAT, "the application in '%s' has a bad name", path);
        base_err_hint(err, "names are up to 40 letters, digits, '-', '_' and '.'");
        return NULL;
    }
    return app;
}

const shoal_app *app_open(const char *word, shoal_err *err)
{
    const shoal_app *app = app_find(word);
    const char *names[64];
    size_t count = 0;

    if (app != NULL)
        return app;
    if (strchr(word, '/') != NULL)
        return load(word, err);
    while (count < BASE_COUNT(names) && app_at(count) != NULL) {
        names[count] = app_at(count)->name;
        count++;
    }
    const char *nearest = base_nearest(word, names, count);
    base_err(err, SHOAL_E_NOTFOUND, "unknown application '%s'", word);
    if (nearest != NULL)
        base_err_hint(err, "did you mean '%s'?", nearest);
    else if (!isnan(env_file_bytes(word)))
        base_err_hint(err, "a file is written with a slash: './%s'", word);
    else
        base_err_hint(err, "'shoal app list' shows all");
    return NULL;
}

/* ---- listings (shoal/list.h) ---- */

struct record {
    const char *name, *summary, *data, *objective, *units;
    double staleness; /* NAN: planned by options and data */
    bool predicts;
    shoal_records options;
};

#define AT(member) offsetof(struct record, member)

static const shoal_field fields[] = {
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "name", "NAME", .help = "its name"},
    {AT(objective), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "objective", "OBJECTIVE",
     .help = "what it makes small"},
    {AT(summary), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "summary", "SUMMARY",
     .help = "what it is", .flags = SHOAL_FIELD_WRAP},
    {AT(data), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "data", .help = "what it is trained on"},
    {AT(units), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "units",
     .help = "what work is counted in"},
    {AT(staleness), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 0, 0, "staleness",
     .help = "clocks that workers may be apart; null: by options and data"},
    {AT(predicts), SHOAL_FIELD_BOOL, SHOAL_UNIT_NONE, 0, 0, "predicts",
     .help = "its models predict"},
    {AT(options), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "options",
     "options (--set KEY=VALUE)", .help = "its options", .of = &page_option_schema},
};
#undef AT
enum { LISTED = 7 }; /* of them, in a list of applications */

static const shoal_schema listed_schema = {"app", NULL, "An application.", fields, LISTED};
static const shoal_schema shown_schema = {"app", NULL, "An application.", fields,
                                          BASE_COUNT(fields)};
static const shoal_field list_fields[] = {
    {0, SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "apps", .help = "all applications",
     .of = &listed_schema},
};
static const shoal_schema list_schema = {"apps", NULL, "The applications.", list_fields, 1};

static struct record record_of(const shoal_app *app)
{
    return (struct record){.name = app->name,
                           .summary = app->summary,
                           .data = app->data,
                           .objective = app->objective,
                           .units = app->units,
                           .staleness = app->staleness == SHOAL_STALENESS_PLANNED ? (double)NAN
                                                                                  : app->staleness,
                           .predicts = app->score != NULL};
}

shoal_status shoal_app_list(const shoal_result **out_result, shoal_err *err)
{
    enum { COUNT = BASE_COUNT(APPS) - 1 };
    struct page_made *made = page_made_new(&base_alloc_libc);
    shoal_records *list = page_made_alloc(made, 1, sizeof *list);
    struct record *records = page_made_alloc(made, COUNT, sizeof *records);

    if (list != NULL && records != NULL) {
        for (size_t i = 0; i < COUNT; i++)
            records[i] = record_of(APPS[i]);
        *list = (shoal_records){.first = records, .stride = sizeof *records, .count = COUNT};
        made->result.schema = &list_schema;
        made->result.records = (shoal_records){.first = list, .stride = sizeof *list, .count = 1};
    }
    return page_made_finish(made, out_result, err);
}

shoal_status shoal_app_show(const char *word, const shoal_result **out_result, shoal_err *err)
{
    char staleness[32] = "by options and data";
    const shoal_app *app = app_open(word, err);

    if (app == NULL)
        return err != NULL && err->code != SHOAL_OK ? err->code : SHOAL_E_NOTFOUND;
    struct page_made *made = page_made_new(&base_alloc_libc);
    struct record *record = page_made_alloc(made, 1, sizeof *record);
    if (record != NULL) {
        *record = record_of(app);
        record->options = page_made_options(made, app->opts, app->opt_count, false);
        made->result.schema = &shown_schema;
        made->result.records =
            (shoal_records){.first = record, .stride = sizeof *record, .count = 1};
    }
    if (app->staleness != SHOAL_STALENESS_PLANNED)
        (void)snprintf(staleness, sizeof staleness, "%u", app->staleness);
    page_made_head(made, "%s: %s\n\ndata: %s\nobjective: %s   staleness: %s   predicts: %s\n",
                   app->name, app->summary, app->data != NULL ? app->data : "", app->objective,
                   staleness, app->score != NULL ? "yes" : "no");
    return page_made_finish(made, out_result, err);
}
