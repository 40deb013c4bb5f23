/* cmd_new.c - `shoal new app NAME`: a folder with an application to start from.
 *
 * Its texts have @NAME@ where the name goes, and @SHOAL@ and @PKG_CONFIG@ where the Makefile says how to run them.
 * Tests build and run it: tests/cli/test_new_app.sh, tests/checks/check_install.sh. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "cli/output.h"
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

/* clang-format off */
static const char source[] =
    "/* @NAME@.c - an application for `shoal train`: the mean of numbers, by gradient descent.\n"
    " *\n"
    " * DATA: a number a line. Executors own numbers. Table 0 is one number, the estimate. In each clock\n"
    " * every executor adds its share of the step towards the mean. It is small so that it can be replaced:\n"
    " * the contract, with all that an application may do, is in shoal/train.h. */\n"
    "#include <math.h>\n"
    "#include <shoal/train.h>\n"
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "\n"
    "enum { EXECUTORS = 16 }; /* many more than threads; results depend on it, never on workers */\n"
    "\n"
    "struct options { /* --set KEY=VALUE */\n"
    "    uint64_t clocks;\n"
    "    double rate;\n"
    "};\n"
    "\n"
    "struct driver { /* plain data: it is kept in checkpoints */\n"
    "    uint64_t numbers;\n"
    "    uint64_t ended; /* tasks of this clock */\n"
    "    double error, last_error; /* sums of squares: this clock so far, the last one */\n"
    "};\n"
    "\n"
    "#define AT(member) offsetof(struct options, member)\n"
    "\n"
    "static const shoal_opt OPTS[] = {\n"
    "    {AT(clocks), SHOAL_OPT_U64, \"clocks\", 0, NULL, \"40\", \"rounds\", .min = 1, .max = 1e6},\n"
    "    {AT(rate), SHOAL_OPT_F64, \"rate\", 0, NULL, \"0.5\", \"share of the way that a round goes\",\n"
    "     .min = 0.001, .max = 1},\n"
    "};\n"
    "\n"
    "/* Calls fn with each number of the file and its place. SHOAL_E_NOTFOUND: it cannot be opened. */\n"
    "static shoal_status each_number(const char *path, void (*fn)(void *ctx, uint64_t i, float x),\n"
    "                                void *ctx, uint64_t *out_count, shoal_err *err)\n"
    "{\n"
    "    FILE *file = fopen(path, \"r\");\n"
    "    uint64_t count = 0;\n"
    "    float x;\n"
    "\n"
    "    if (file == NULL)\n"
    "        return shoal_fail(err, SHOAL_E_NOTFOUND, \"cannot open '%s'\", path);\n"
    "    for (; fscanf(file, \"%f\", &x) == 1; count++)\n"
    "        if (fn != NULL)\n"
    "            fn(ctx, count, x);\n"
    "    fclose(file);\n"
    "    *out_count = count;\n"
    "    return SHOAL_OK;\n"
    "}\n"
    "\n"
    "static void keep(void *ctx, uint64_t i, float x)\n"
    "{\n"
    "    float **block = ctx;\n"
    "\n"
    "    block[i % EXECUTORS][i / EXECUTORS] = x;\n"
    "}\n"
    "\n"
    "/* Once, before anything runs: reads the data, declares executors and tables. */\n"
    "static shoal_status plan(shoal_driver *driver, shoal_err *err)\n"
    "{\n"
    "    struct driver *d = shoal_driver_state(driver);\n"
    "    const char *path = shoal_driver_path(driver);\n"
    "    shoal_table_opts estimate = {.struct_size = sizeof estimate, .name = \"estimate\",\n"
    "                                 .rows = 1, .width = 1, .shards = 1};\n"
    "    float *block[EXECUTORS];\n"
    "    shoal_status st = shoal_driver_executors(driver, EXECUTORS, err);\n"
    "\n"
    "    if (st == SHOAL_OK)\n"
    "        st = each_number(path, NULL, NULL, &d->numbers, err);\n"
    "    if (st == SHOAL_OK && d->numbers < EXECUTORS)\n"
    "        st = shoal_fail(err, SHOAL_E_FORMAT, \"'%s' has fewer than %d numbers\", path, EXECUTORS);\n"
    "    for (uint32_t e = 0; st == SHOAL_OK && e < EXECUTORS; e++) {\n"
    "        uint64_t count = (d->numbers - e - 1) / EXECUTORS + 1;\n"
    "        block[e] = shoal_driver_block(driver, e, count * sizeof(float));\n"
    "        if (block[e] == NULL)\n"
    "            st = shoal_fail(err, SHOAL_E_NOMEM, \"no memory for the numbers\");\n"
    "    }\n"
    "    if (st == SHOAL_OK)\n"
    "        st = each_number(path, keep, block, &d->numbers, err);\n"
    "    return st == SHOAL_OK ? shoal_driver_table(driver, &estimate, err) : st;\n"
    "}\n"
    "\n"
    "/* After plan: the first tasks. */\n"
    "static shoal_status start(shoal_driver *driver, shoal_err *err)\n"
    "{\n"
    "    return shoal_driver_dispatch_all(driver, 0, 0, err);\n"
    "}\n"
    "\n"
    "/* A task, on any worker: reads its numbers and the estimate, adds to the estimate. */\n"
    "static shoal_status run(shoal_task *task, shoal_err *err)\n"
    "{\n"
    "    const struct options *o = shoal_task_options(task);\n"
    "    float now = *shoal_task_rows(task, 0), step;\n"
    "    size_t size;\n"
    "    const float *x = shoal_task_data(task, &size);\n"
    "    double sum = 0, error = 0;\n"
    "\n"
    "    (void)err;\n"
    "    for (size_t i = 0; i < size / sizeof *x; i++) {\n"
    "        sum += (double)x[i] - (double)now;\n"
    "        error += ((double)x[i] - (double)now) * ((double)x[i] - (double)now);\n"
    "    }\n"
    "    step = (float)(o->rate * sum / (double)(EXECUTORS * (size / sizeof *x)));\n"
    "    shoal_task_add(task, 0, 0, &step);\n"
    "    shoal_task_result(task, &error, sizeof error);\n"
    "    return SHOAL_OK;\n"
    "}\n"
    "\n"
    "/* A task has ended: books its result, and after the last one of a clock begins the next. */\n"
    "static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)\n"
    "{\n"
    "    const struct options *o = shoal_driver_options(driver);\n"
    "    struct driver *d = shoal_driver_state(driver);\n"
    "    double error;\n"
    "\n"
    "    memcpy(&error, done->result, sizeof error);\n"
    "    d->error += error;\n"
    "    if (++d->ended < EXECUTORS)\n"
    "        return SHOAL_OK;\n"
    "    shoal_driver_report(driver, sqrt(d->error / (double)d->numbers),\n"
    "                        (double)(done->clock + 1) / (double)o->clocks, d->numbers);\n"
    "    shoal_driver_iterations(driver, done->clock + 1);\n"
    "    int settled = done->clock > 0 && d->last_error - d->error <= 1e-6 * d->last_error;\n"
    "    d->ended = 0;\n"
    "    d->last_error = d->error;\n"
    "    d->error = 0;\n"
    "    if (done->clock + 1 < o->clocks)\n"
    "        return shoal_driver_dispatch_all(driver, 0, done->clock + 1, err);\n"
    "    /* Why it ends is shown; the limit, with a warning. NAN: no bound on the distance to the minimum. */\n"
    "    shoal_driver_stopped(driver, settled ? SHOAL_STOP_TOLERANCE : SHOAL_STOP_LIMIT, NAN);\n"
    "    shoal_driver_finish(driver);\n"
    "    return SHOAL_OK;\n"
    "}\n"
    "\n"
    "/* After the last task: what `--out` keeps. */\n"
    "static shoal_status save(shoal_driver *driver, shoal_model *model, shoal_err *err)\n"
    "{\n"
    "    const float *estimate = shoal_driver_rows_read(driver, 0);\n"
    "\n"
    "    return shoal_model_put(model, \"estimate\", estimate, sizeof *estimate, err);\n"
    "}\n"
    "\n"
    "static void add_error(void *ctx, uint64_t i, float x)\n"
    "{\n"
    "    double *sums = ctx; /* the estimate, the sum of squared errors */\n"
    "\n"
    "    (void)i;\n"
    "    sums[1] += ((double)x - sums[0]) * ((double)x - sums[0]);\n"
    "}\n"
    "\n"
    "/* A model at work: a line for `shoal predict`, a metric for `shoal eval`. */\n"
    "static shoal_status score(shoal_score *score, shoal_err *err)\n"
    "{\n"
    "    const void *part;\n"
    "    size_t size;\n"
    "    uint64_t count = 0;\n"
    "    float estimate = 0;\n"
    "    char line[32];\n"
    "    shoal_status st = shoal_model_get(shoal_score_model(score), \"estimate\", &part, &size, err);\n"
    "\n"
    "    if (st != SHOAL_OK)\n"
    "        return st;\n"
    "    if (size == sizeof estimate)\n"
    "        memcpy(&estimate, part, size);\n"
    "    if (shoal_score_wants_lines(score)) {\n"
    "        snprintf(line, sizeof line, \"%.3f\", (double)estimate);\n"
    "        return shoal_score_line(score, line, err);\n"
    "    }\n"
    "    double sums[2] = {(double)estimate, 0};\n"
    "    st = each_number(shoal_score_path(score), add_error, sums, &count, err);\n"
    "    if (st == SHOAL_OK && count > 0)\n"
    "        shoal_score_metric(score, \"rmse\", sqrt(sums[1] / (double)count));\n"
    "    return st;\n"
    "}\n"
    "\n"
    "const shoal_app *shoal_app_export(void)\n"
    "{\n"
    "    static const shoal_app app = {\n"
    "        .struct_size = sizeof app,\n"
    "        .name = \"@NAME@\",\n"
    "        .summary = \"the mean of numbers\",\n"
    "        .data = \"a number a line\",\n"
    "        .objective = \"rmse\",\n"
    "        .units = \"numbers\",\n"
    "        .staleness = 0,\n"
    "        .opts = OPTS,\n"
    "        .opt_count = sizeof OPTS / sizeof OPTS[0],\n"
    "        .options_size = sizeof(struct options),\n"
    "        .driver_size = sizeof(struct driver),\n"
    "        .plan = plan,\n"
    "        .start = start,\n"
    "        .done = done,\n"
    "        .run = run,\n"
    "        .save = save,\n"
    "        .score = score,\n"
    "    };\n"
    "    return &app;\n"
    "}\n";

static const char makefile[] =
    "# The command itself holds the functions of shoal/train.h, so nothing is linked but the C library.\n"
    "SHOAL ?= @SHOAL@\n"
    "PKG_CONFIG ?= @PKG_CONFIG@\n"
    "CFLAGS ?= -O2 -Wall -Wextra\n"
    "\n"
    "@NAME@.so: @NAME@.c\n"
    "\t$(CC) -std=c17 $(CFLAGS) $$($(PKG_CONFIG) --cflags shoal) -fPIC -shared $< -o $@ -lm\n"
    "\n"
    "test: @NAME@.so\n"
    "\tseq 1000 > numbers.txt\n"
    "\t$(SHOAL) train ./@NAME@.so numbers.txt --workers 2 --out @NAME@.shoal\n"
    "\ttest \"$$($(SHOAL) predict @NAME@.shoal numbers.txt)\" = 500.500\n"
    "\n"
    "clean:\n"
    "\trm -f @NAME@.so @NAME@.shoal numbers.txt\n"
    "\n"
    ".PHONY: test clean\n";

static const char readme[] =
    "# @NAME@: an application for `shoal train`\n"
    "\n"
    "    make test                                                  builds it, trains, predicts\n"
    "    shoal train ./@NAME@.so numbers.txt --out @NAME@.shoal\n"
    "    shoal predict @NAME@.shoal numbers.txt\n"
    "\n"
    "`@NAME@.c` is a whole application. `plan` reads the data and cuts it into executors, `run` is a task on one of them, `done`\n"
    "hears of each task's end and dispatches more, `save` and `score` are the model. Workers may come, go and die while it runs:\n"
    "each task counts once. `shoal scale last 4` changes their number, `shoal top` shows them. The contract is in\n"
    "`shoal/train.h`.\n";
/* clang-format on */

static const struct file FILES[] = {
    {"@NAME@.c", source},
    {"Makefile", makefile},
    {"README.md", readme},
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

static int run_app(struct cli_context *cx, const void *values, const char *const *args,
                   size_t arg_count)
{
    const char *name = args[0];
    char shoal[2 * PATH_MAX], pkg_config[2 * PATH_MAX];
    const struct mark marks[MARKS] = {
        {"@NAME@", name}, {"@SHOAL@", shoal}, {"@PKG_CONFIG@", pkg_config}};
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st;

    (void)values, (void)arg_count;
    if (!good_name(name))
        return cli_usage(cx, "a name is up to %d letters, digits, '-' and '_', found '%.60s'",
                         NAME_MAX_LENGTH, name);
    find_tools(shoal, pkg_config);
    st = make_folder(name, &err);
    for (size_t i = 0; i < BASE_COUNT(FILES) && st == SHOAL_OK; i++)
        st = write_file(cx, name, &FILES[i], marks, &err);
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    st = make_result(name, &result, &err);
    return cli_finish(cx, st, result, NULL, NULL, 0, &err);
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
    .run = run_app,
};
