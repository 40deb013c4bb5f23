/* cmd_doctor.c - `shoal doctor`: what this machine offers and what is wrong with it, in words with
 * a remedy.
 *
 * Facts are gathered first (small fixed strings), problems second from the facts, then both are
 * made a result. Reading /proc and /sys happens here and nowhere else. Tests: tests/cli/test_doctor.py.
 */
#include "cli/cli.h"

#include "base/text.h"
#include "cli/config.h"
#include "cli/term.h"
#include "page/make.h"
#include "shoal/version.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FACTS_MAX = 24, PROBLEMS_MAX = 12, OPEN_FILES_MIN = 1024 };

static const uint64_t memory_min_bytes = UINT64_C(1) << 30;

struct fact {
    const char *key;   /* for --json */
    const char *label; /* for people */
    char text[300];
    bool number; /* text is a JSON number */
};

struct problem {
    char what[300], remedy[300];
};

struct checkup {
    struct fact facts[FACTS_MAX];
    size_t fact_count;
    struct problem problems[PROBLEMS_MAX];
    size_t problem_count;
};

static void add_fact(struct checkup *checkup, const char *key, const char *label, bool number,
                     const char *format, ...) SHOAL_PRINTF(5, 6);
static void add_problem(struct checkup *checkup, const char *what, const char *format, ...)
    SHOAL_PRINTF(3, 4);

static void add_fact(struct checkup *checkup, const char *key, const char *label, bool number,
                     const char *format, ...)
{
    struct fact *fact;
    va_list args;

    if (checkup->fact_count == FACTS_MAX)
        return;
    fact = &checkup->facts[checkup->fact_count++];
    *fact = (struct fact){.key = key, .label = label, .number = number};
    va_start(args, format);
    vsnprintf(fact->text, sizeof fact->text, format, args);
    va_end(args);
}

static void add_problem(struct checkup *checkup, const char *what, const char *format, ...)
{
    struct problem *problem;
    va_list args;

    if (checkup->problem_count == PROBLEMS_MAX)
        return;
    problem = &checkup->problems[checkup->problem_count++];
    snprintf(problem->what, sizeof problem->what, "%s", what);
    va_start(args, format);
    vsnprintf(problem->remedy, sizeof problem->remedy, format, args);
    va_end(args);
}

/* The first line of a small file; false when it cannot be read. */
static bool read_line(const char *path, char *buf, size_t size)
{
    FILE *file = fopen(path, "re");
    bool ok = file != NULL && fgets(buf, (int)size, file) != NULL;

    if (file != NULL)
        fclose(file);
    if (ok)
        buf[strcspn(buf, "\n")] = '\0';
    return ok;
}

/* The text after "KEY :" in a file of such lines (/proc/cpuinfo, /proc/meminfo). */
static bool read_field(const char *path, const char *key, char *buf, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[4096];
    bool found = false;

    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (colon == NULL || strncmp(line, key, strlen(key)) != 0)
            continue;
        colon++;
        colon += strspn(colon, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(buf, size, "%s", colon);
        found = true;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

static void check_program(struct checkup *checkup)
{
    struct utsname uts;

    add_fact(checkup, "version", "shoal", false, "%s", shoal_version());
#if defined(__clang__)
    add_fact(checkup, "compiler", "built with", false, "clang %d.%d.%d", __clang_major__,
             __clang_minor__, __clang_patchlevel__);
#else
    add_fact(checkup, "compiler", "built with", false, "gcc %s", __VERSION__);
#endif
    add_fact(checkup, "jansson", "jansson", false, "%s", jansson_version_str());
    if (uname(&uts) == 0)
        add_fact(checkup, "system", "system", false, "%s %s %s", uts.sysname, uts.release,
                 uts.machine);
}

static void check_cpu(struct checkup *checkup, shoal_env *env)
{
    char model[200] = "unknown", features[100] = "";

    read_field("/proc/cpuinfo", "model name", model, sizeof model);
    add_fact(checkup, "cpu", "processor", false, "%s", model);
#if defined(__x86_64__)
    __builtin_cpu_init();
    snprintf(
        features, sizeof features, "%s%s%s%s", __builtin_cpu_supports("sse4.2") ? "sse4.2 " : "",
        __builtin_cpu_supports("avx2") ? "avx2 " : "", __builtin_cpu_supports("fma") ? "fma " : "",
        __builtin_cpu_supports("avx512f") ? "avx512f " : "");
    if (!__builtin_cpu_supports("avx2"))
        add_problem(checkup, "the processor has no AVX2",
                    "numeric kernels run their slower plain form here");
#endif
    if (features[0] != '\0')
        features[strlen(features) - 1] = '\0';
    add_fact(checkup, "cpu_features", "features", false, "%s",
             features[0] == '\0' ? "none" : features);
    add_fact(checkup, "cores", "cores allowed", true, "%" PRIu32, env_cpu_count(env));
    add_fact(checkup, "cores_online", "cores online", true, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
}

/* The tightest memory limit of this process's cgroup and those above it, version 2; 0 when there is
 * none. */
static uint64_t cgroup_limit(void)
{
    char line[1024], path[1200], text[64];
    uint64_t limit = 0, value;

    if (!read_line("/proc/self/cgroup", line, sizeof line) || strncmp(line, "0::", 3) != 0)
        return 0;
    for (;;) {
        char *slash;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max",
                 strcmp(line + 3, "/") == 0 ? "" : line + 3);
        if (read_line(path, text, sizeof text) && base_parse_u64(text, strlen(text), &value) &&
            (limit == 0 || value < limit))
            limit = value;
        slash = strrchr(line + 3, '/');
        if (slash == NULL)
            return limit;
        *slash = '\0';
    }
}

static void add_bytes(struct checkup *checkup, const char *key, const char *label, uint64_t bytes)
{
    add_fact(checkup, key, label, true, "%" PRIu64, bytes);
}

static void check_memory(struct checkup *checkup)
{
    char text[200], mode[200] = "unknown";
    uint64_t available = 0, limit = cgroup_limit();
    long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
    char *open_bracket;

    if (pages > 0 && page_size > 0)
        add_bytes(checkup, "memory_bytes", "memory", (uint64_t)pages * (uint64_t)page_size);
    if (read_field("/proc/meminfo", "MemAvailable", text, sizeof text))
        available = strtoull(text, NULL, 10) * 1024;
    if (available > 0)
        add_bytes(checkup, "memory_available_bytes", "memory available", available);
    if (limit > 0)
        add_bytes(checkup, "memory_limit_bytes", "memory limit (cgroup)", limit);
    if ((available > 0 && available < memory_min_bytes) || (limit > 0 && limit < memory_min_bytes))
        add_problem(checkup, "less than 1 GiB of memory can be used",
                    "large traces may not fit; free some, or raise the limit of the cgroup");
    if (read_line("/sys/kernel/mm/transparent_hugepage/enabled", mode, sizeof mode) &&
        (open_bracket = strchr(mode, '[')) != NULL) {
        memmove(mode, open_bracket + 1, strlen(open_bracket));
        mode[strcspn(mode, "]")] = '\0';
    }
    add_fact(checkup, "huge_pages", "huge pages", false, "%s", mode);
    if (strcmp(mode, "never") == 0)
        add_problem(checkup, "transparent huge pages are off",
                    "large tables run slower; as root: echo madvise > "
                    "/sys/kernel/mm/transparent_hugepage/enabled");
}

static void check_limits(struct checkup *checkup)
{
    struct rlimit files;
    const char *folder = getenv("TMPDIR");

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        if (files.rlim_cur == RLIM_INFINITY)
            add_fact(checkup, "open_files", "open files", false, "unlimited");
        else
            add_fact(checkup, "open_files", "open files", true, "%" PRIu64,
                     (uint64_t)files.rlim_cur);
        if (files.rlim_cur < OPEN_FILES_MIN)
            add_problem(checkup, "fewer than 1024 files may be open at once",
                        "raise it for this shell: ulimit -n 4096 (the hard limit is %" PRIu64 ")",
                        (uint64_t)files.rlim_max);
    }
    if (folder == NULL || *folder == '\0')
        folder = "/tmp";
    add_fact(checkup, "temporary_folder", "temporary folder", false, "%s", folder);
    if (access(folder, W_OK | X_OK) != 0) {
        char what[200];
        snprintf(what, sizeof what, "the temporary folder '%.120s' cannot be written", folder);
        add_problem(checkup, what, "set TMPDIR to a folder that can");
    }
}

static void check_terminal(struct checkup *checkup, const struct cli_context *cx)
{
    const char *term = getenv("TERM");

    if (term == NULL || *term == '\0')
        term = "not set";
    if (cx->screen.terminal)
        add_fact(checkup, "terminal", "terminal", false, "%s, %u columns, colour %s", term,
                 cx->screen.width, cx->screen.color ? "on" : "off");
    else
        add_fact(checkup, "terminal", "terminal", false, "none (output is piped), colour %s",
                 cx->screen.color ? "on" : "off");
    add_fact(checkup, "locale", "locale", false, "%s", cli_term_locale());
    if (!cli_term_utf8())
        add_problem(checkup, "the locale is not UTF-8, so output is plain ASCII",
                    "set one, for example: export LANG=C.UTF-8");
}

static shoal_status check_config(struct checkup *checkup, shoal_env *env)
{
    struct cli_config config;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = cli_config_load(&config, env, &err);
    char what[300];

    if (config.path[0] == '\0')
        add_fact(checkup, "config", "configuration", false,
                 "none: neither XDG_CONFIG_HOME nor HOME is set");
    else
        add_fact(checkup, "config", "configuration", false, "%.270s%s", config.path,
                 config.found ? "" : " (not there)");
    if (st != SHOAL_OK) {
        snprintf(what, sizeof what, "the configuration file is wrong: %.200s", err.message);
        add_problem(checkup, what, "mend %s", err.where[0] == '\0' ? config.path : err.where);
    }
    cli_config_fini(&config);
    return st == SHOAL_E_NOMEM ? st : SHOAL_OK;
}

struct told { /* a problem as a record */
    const char *what, *hint;
};

static const shoal_field problem_fields[] = {
    {offsetof(struct told, what), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "what",
     .help = "what is wrong"},
    {offsetof(struct told, hint), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "hint",
     .help = "what to do about it"},
};
static const shoal_schema problem_schema = {"problem", NULL, "Something wrong.", problem_fields, 2};

/* Byte counts are read more easily in GiB. */
static void head_fact(struct page_made *made, const struct fact *fact)
{
    size_t length = strlen(fact->key);

    if (length > 6 && strcmp(fact->key + length - 6, "_bytes") == 0)
        page_made_head(made, "%-22s %.1f GiB\n", fact->label,
                       strtod(fact->text, NULL) / 1073741824.0);
    else
        page_made_head(made, "%-22s %s\n", fact->label, fact->text);
}

static shoal_records problems_of(struct page_made *made, const struct checkup *checkup)
{
    struct told *told = page_made_alloc(made, checkup->problem_count, sizeof *told);

    if (checkup->problem_count == 0)
        page_made_say(made, "nothing is wrong on this machine\n");
    for (size_t i = 0; i < checkup->problem_count && told != NULL; i++) {
        const struct problem *problem = &checkup->problems[i];
        told[i] = (struct told){page_made_text(made, "%s", problem->what),
                                page_made_text(made, "%s", problem->remedy)};
        page_made_say(made, "%s\n    %s\n", problem->what, problem->remedy);
    }
    return (shoal_records){
        .first = told, .stride = sizeof *told, .count = told != NULL ? checkup->problem_count : 0};
}

/* Facts are fields, in the order they were found: who has no limit has no field of it. */
static shoal_status make_result(const struct checkup *checkup, const shoal_result **out_result,
                                shoal_err *err)
{
    size_t facts = checkup->fact_count;
    struct page_made *made = page_made_new(&base_alloc_libc);
    struct shoal_schema *schema = page_made_alloc(made, 1, sizeof *schema);
    shoal_field *fields = page_made_alloc(made, facts + 1, sizeof *fields);
    const char **record = page_made_alloc(made, 1, facts * sizeof *record + sizeof(shoal_records));

    if (schema == NULL || fields == NULL || record == NULL)
        return page_made_finish(made, out_result, err);
    for (size_t i = 0; i < facts; i++) {
        const struct fact *fact = &checkup->facts[i];
        fields[i] =
            (shoal_field){i * sizeof *record, fact->number ? SHOAL_FIELD_JSON : SHOAL_FIELD_TEXT,
                          .name = fact->key, .help = fact->label};
        record[i] = page_made_text(made, "%s", fact->text);
        head_fact(made, fact);
    }
    fields[facts] = (shoal_field){facts * sizeof *record, SHOAL_FIELD_RECORDS, .name = "problems",
                                  .help = "what is wrong", .of = &problem_schema};
    *(shoal_records *)(void *)&record[facts] = problems_of(made, checkup);
    *schema = (shoal_schema){"doctor", NULL, "What this machine offers.", fields, facts + 1};
    made->result.schema = schema;
    made->result.records = (shoal_records){.first = record, .count = 1};
    return page_made_finish(made, out_result, err);
}

static shoal_status make(struct cli_call *call, shoal_err *err)
{
    struct checkup checkup = {.fact_count = 0};

    check_program(&checkup);
    check_cpu(&checkup, call->cx->env);
    check_memory(&checkup);
    check_limits(&checkup);
    check_terminal(&checkup, call->cx);
    shoal_status st = check_config(&checkup, call->cx->env);
    return st == SHOAL_OK ? make_result(&checkup, call->result, err) : st;
}

const struct cli_command cli_cmd_doctor = {
    .name = "doctor",
    .usage = "[options]",
    .summary = "Show what this machine offers and what is wrong with it (the exit status is 0 "
               "either way).",
    .description =
        "What is wrong is said in words, each with what to do about it; with --json it is the list "
        "'problems'. Sizes are in bytes there.",
    .example = "doctor --json",
    .json = true,
    .no_config = true,
    .make = make,
};
