/* cmd_new.c - `shoal new app NAME`: a folder with an application to start from.
 *
 * Its texts, src/cli/templates, have @NAME@ where the name goes, and @SHOAL@ and @PKG_CONFIG@ where the Makefile says how to run them.
 * Tests build and run it: tests/cli/test_new_app.sh, tests/checks/check_install.sh. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "cli/report.h"
#include "cli/templates.h"
#include "page/make.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 16, NAME_MAX_LENGTH = 40 };

struct file {
    const char *name; /* marks are replaced, here too */
    const char *text;
};

struct mark {
    const char *mark, *value;
};
enum { MARKS = 3 };

static const struct file FILES[] = {
    {"@NAME@.c", cli_template_app},
    {"Makefile", cli_template_makefile},
    {"README.md", cli_template_readme},
};

/* It becomes file names and a word in a Makefile. */
static bool good_name(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length <= NAME_MAX_LENGTH && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
               length;
}

static void put_filled(struct base_buf *out, const char *text, const struct mark marks[MARKS])
{
    while (*text != '\0') {
        size_t i = 0;
        while (i < MARKS && strncmp(text, marks[i].mark, strlen(marks[i].mark)) != 0)
            i++;
        if (i < MARKS)
            base_buf_puts(out, marks[i].value);
        else
            base_buf_append(out, text, 1);
        text += i < MARKS ? strlen(marks[i].mark) : 1;
    }
}

/* Before it is installed, the command and pkg-config are found by the folder that this command is in:
 * its build puts a file for pkg-config there. Both have room for 2 * PATH_MAX. */
static void find_tools(char *shoal, char *pkg_config)
{
    char folder[PATH_MAX], file[PATH_MAX + 32];
    ssize_t size = readlink("/proc/self/exe", folder, sizeof folder - 1);

    snprintf(shoal, 2 * PATH_MAX, "shoal");
    snprintf(pkg_config, 2 * PATH_MAX, "pkg-config");
    while (size > 0 && folder[size - 1] != '/')
        size--;
    if (size <= 1)
        return;
    folder[size - 1] = '\0';
    snprintf(file, sizeof file, "%s/shoal-uninstalled.pc", folder);
    if (access(file, R_OK) != 0)
        return;
    snprintf(shoal, 2 * PATH_MAX, "'%s/shoal'", folder);
    snprintf(pkg_config, 2 * PATH_MAX, "PKG_CONFIG_PATH='%s' pkg-config", folder);
}

static shoal_status write_file(const struct cli_context *cx, const char *name,
                               const struct file *file, const struct mark marks[MARKS],
                               shoal_err *err)
{
    struct base_buf path, text;
    shoal_status st;

    base_buf_init(&path, env_alloc(cx->env), TEXT_MAX);
    base_buf_init(&text, env_alloc(cx->env), TEXT_MAX);
    base_buf_printf(&path, "%s/", name);
    put_filled(&path, file->name, marks);
    put_filled(&text, file->text, marks);
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

struct record {
    const char *folder;
    shoal_texts files;
};

static const shoal_field fields[] = {
    {offsetof(struct record, folder), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "folder",
     .help = "the folder that was made"},
    {offsetof(struct record, files), SHOAL_FIELD_TEXTS, SHOAL_UNIT_NONE, 0, 0, "files",
     .help = "what is in it"},
};
static const shoal_schema schema = {"new app", NULL, "An application to start from.", fields, 2};

static shoal_status make_result(const char *name, const shoal_result **out_result, shoal_err *err)
{
    struct page_made *made = page_made_new(&base_alloc_libc);
    struct record *record = page_made_alloc(made, 1, sizeof *record);
    const char **files = page_made_alloc(made, BASE_COUNT(FILES), sizeof *files);

    if (record != NULL && files != NULL) {
        files[0] = page_made_text(made, "%s.c", name);
        for (size_t i = 1; i < BASE_COUNT(FILES); i++)
            files[i] = FILES[i].name;
        *record = (struct record){page_made_text(made, "%s", name), {files, BASE_COUNT(FILES)}};
        made->result.schema = &schema;
        made->result.records =
            (shoal_records){.first = record, .stride = sizeof *record, .count = 1};
    }
    page_made_say(made, "wrote %s/%s.c, Makefile and README.md    next: cd %s && make test\n", name,
                  name, name);
    return page_made_finish(made, out_result, err);
}

static shoal_status make_app(struct cli_call *call, shoal_err *err)
{
    const char *name = call->args[0];
    char shoal[2 * PATH_MAX], pkg_config[2 * PATH_MAX];
    const struct mark marks[MARKS] = {
        {"@NAME@", name}, {"@SHOAL@", shoal}, {"@PKG_CONFIG@", pkg_config}};

    if (!good_name(name))
        return base_err(err, SHOAL_E_INVAL,
                        "a name is up to %d letters, digits, '-' and '_', found '%.60s'",
                        NAME_MAX_LENGTH, name);
    find_tools(shoal, pkg_config);
    shoal_status st = make_folder(name, err);
    for (size_t i = 0; i < BASE_COUNT(FILES) && st == SHOAL_OK; i++)
        st = write_file(call->cx, name, &FILES[i], marks, err);
    return st == SHOAL_OK ? make_result(name, call->result, err) : st;
}

const struct cli_command cli_cmd_new_app = {
    .name = "new app",
    .usage = "[options] NAME",
    .summary = "Write an application to start from: source, Makefile, README.",
    .description = "Makes the folder NAME with a whole application for 'shoal train' in about 180 "
                   "lines of C, outside Shoal's own tree. 'make test' in it builds it against the "
                   "headers of this shoal, which need not be installed, trains it on two workers "
                   "and uses the model.",
    .example = "new app mean",
    .arg_min = 1,
    .arg_max = 1,
    .json = true,
    .make = make_app,
};
