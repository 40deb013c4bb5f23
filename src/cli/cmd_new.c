/* cmd_new.c - `shoal new app NAME`: a folder with an application to start from. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "cli/new_app.h"
#include "cli/output.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT_MAX = 1 << 16, NAME_MAX_LENGTH = 40 };

struct file {
    const char *name; /* @NAME@ is replaced, here too */
    const char *text;
};

static const struct file FILES[] = {
    {"@NAME@.c", cli_new_app_source},
    {"Makefile", cli_new_app_makefile},
    {"README.md", cli_new_app_readme},
};

/* It becomes file names and a word in a Makefile. */
static bool good_name(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length <= NAME_MAX_LENGTH && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
               length;
}

static void put_named(struct base_buf *out, const char *text, const char *name)
{
    static const char MARK[] = "@NAME@";
    const char *mark;

    while ((mark = strstr(text, MARK)) != NULL) {
        base_buf_append(out, text, (size_t)(mark - text));
        base_buf_puts(out, name);
        text = mark + strlen(MARK);
    }
    base_buf_puts(out, text);
}

static shoal_status write_file(const struct cli_context *cx, const char *name,
                               const struct file *file, shoal_err *err)
{
    struct base_buf path, text;
    shoal_status st;

    base_buf_init(&path, env_alloc(cx->env), TEXT_MAX);
    base_buf_init(&text, env_alloc(cx->env), TEXT_MAX);
    base_buf_printf(&path, "%s/", name);
    put_named(&path, file->name, name);
    put_named(&text, file->text, name);
    if (base_buf_status(&path) != SHOAL_OK || base_buf_status(&text) != SHOAL_OK)
        st = base_err_nomem(err, "writing an application");
    else
        st = env_write_whole(cx->env, path.data, text.data, text.size, err);
    base_buf_fini(&path);
    base_buf_fini(&text);
    return st;
}

static shoal_status make_folder(const char *name, shoal_err *err)
{
    char why[128];

    if (mkdir(name, 0777) == 0)
        return SHOAL_OK;
    if (errno != EEXIST)
        return base_err(err, SHOAL_E_IO, "cannot make folder '%s': %s", name,
                        cli_output_reason(errno, why, sizeof why));
    base_err(err, SHOAL_E_EXISTS, "'%s' exists already", name);
    base_err_hint(err, "choose another name, or remove it first");
    return SHOAL_E_EXISTS;
}

static int run_app(struct cli_context *cx, const void *values, const char *const *args,
                   size_t arg_count)
{
    const char *name = args[0];
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st;

    (void)values, (void)arg_count;
    if (!good_name(name))
        return cli_usage(cx, "a name is up to %d letters, digits, '-' and '_', found '%.60s'",
                         NAME_MAX_LENGTH, name);
    st = make_folder(name, &err);
    for (size_t i = 0; i < BASE_COUNT(FILES) && st == SHOAL_OK; i++)
        st = write_file(cx, name, &FILES[i], &err);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    if (cx->json)
        fprintf(cx->out,
                "{\"v\":1,\"folder\":\"%s\",\"files\":[\"%s.c\",\"Makefile\",\"README.md\"]}\n",
                name, name);
    else
        fprintf(cx->out, "wrote %s/%s.c, Makefile and README.md    next: cd %s && make test\n",
                name, name, name);
    return 0;
}

const struct cli_command cli_cmd_new_app = {
    .name = "new app",
    .usage = "[options] NAME",
    .summary = "Write an application to start from: source, Makefile, README.",
    .description = "Makes the folder NAME with a whole application for 'shoal train' in about 180 "
                   "lines of C, outside Shoal's own tree. 'make test' in it builds it against the "
                   "installed headers, trains it on two workers and uses the model.",
    .example = "new app mean",
    .arg_min = 1,
    .arg_max = 1,
    .json = true,
    .run = run_app,
};
