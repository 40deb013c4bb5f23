/* jobs.c - see jobs.h. Tests: tests/cli/test_train.py. */
#include "cli/jobs.h"

#include "base/err.h"
#include "base/text.h"
#include "cli/output.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 512, NAMES_MAX = 1 << 20, ANSWER_MAX = 4 << 20, ASK_MS = 2000 };

/* Makes `path` and its parents. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int rc = mkdir(path, 0700);
        *slash = '/';
        if (rc != 0 && errno != EEXIST)
            return -1;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

shoal_status cli_jobs_dir(char *out, size_t size, shoal_err *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *home = getenv("HOME");
    char path[PATH_SIZE], why[128];
    struct stat found;
    int length;

    if (runtime != NULL && runtime[0] == '/')
        length = snprintf(path, sizeof path, "%s/shoal/jobs", runtime);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, sizeof path, "%s/.local/state/shoal/jobs", home);
    else
        return base_err(err, SHOAL_E_NOTFOUND, "no folder for jobs: HOME is not set");
    if (length < 0 || (size_t)length >= sizeof path || (size_t)length >= size)
        return base_err(err, SHOAL_E_LIMIT, "the path of the folder for jobs is too long");
    if (make_folders(path) != 0 || stat(path, &found) != 0)
        return base_err(err, SHOAL_E_IO, "cannot make folder '%s': %s", path,
                        cli_output_reason(errno, why, sizeof why));
    if (found.st_uid != geteuid() || (found.st_mode & 077) != 0) {
        base_err(err, SHOAL_E_DENIED, "folder '%s' holds keys and others may enter it", path);
        base_err_hint(err, "make it yours alone: chmod 700 '%s'", path);
        return SHOAL_E_DENIED;
    }
    strcpy(out, path);
    return SHOAL_OK;
}

/* ---- locks ---- */

/* The lock, or -1: another has it, or the file is missing and is not to be made. A file that was
 * removed while we waited for it is no lock any more. */
static int take_lock(const char *path, bool make)
{
    struct stat ours, named;

    for (int i = 0; i < 100; i++) {
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0600);
        if (fd < 0)
            return -1;
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            int code = errno;
            close(fd);
            errno = code;
            return -1;
        }
        if (fstat(fd, &ours) == 0 && stat(path, &named) == 0 && ours.st_ino == named.st_ino &&
            ours.st_dev == named.st_dev)
            return fd;
        close(fd);
    }
    return -1;
}

void cli_jobs_disclaim(struct cli_claim *claim)
{
    if (claim->lock < 0)
        return;
    (void)unlink(claim->listing);
    (void)unlink(claim->lock_path);
    close(claim->lock);
    claim->lock = -1;
}

shoal_status cli_jobs_claim(const struct cli_context *cx, const char *name, const char *app,
                            const char *data, struct cli_claim *out, shoal_err *err)
{
    struct cli_claim claim;
    char dir[PATH_SIZE], text[1024];
    shoal_status st = cli_jobs_dir(dir, sizeof dir, err);

    if (st != SHOAL_OK)
        return st;
    snprintf(claim.listing, sizeof claim.listing, "%s/%s.job", dir, name);
    snprintf(claim.lock_path, sizeof claim.lock_path, "%s/%s.lock", dir, name);
    claim.lock = take_lock(claim.lock_path, true);
    for (int i = 0; i < 5 && claim.lock < 0 && errno == EWOULDBLOCK; i++) {
        usleep(10000); /* somebody who looks has a lock for a moment, too */
        claim.lock = take_lock(claim.lock_path, true);
    }
    if (claim.lock < 0 && errno != EWOULDBLOCK)
        return base_err(err, SHOAL_E_IO, "cannot write '%s': %s", claim.lock_path, strerror(errno));
    if (claim.lock < 0) {
        base_err(err, SHOAL_E_EXISTS, "a job '%s' runs already", name);
        base_err_hint(err, "choose another --name; 'shoal jobs' shows what runs");
        return SHOAL_E_EXISTS;
    }
    (void)futimens(claim.lock, NULL); /* its age is the job's */
    snprintf(text, sizeof text, "name %s\napp %s\naddress -\nkey %0*d\npid %lld\ndata %.400s\n",
             name, app, 2 * WIRE_KEY_SIZE, 0, (long long)getpid(), data);
    st = env_write_whole(cx->env, claim.listing, text, strlen(text), err);
    if (st != SHOAL_OK) {
        cli_jobs_disclaim(&claim);
        return st;
    }
    *out = claim;
    return SHOAL_OK;
}

/* ---- looking ---- */

struct dated {
    struct train_listing listing;
    struct timespec since;
};

static int by_age(const void *a, const void *b)
{
    const struct dated *x = a, *y = b;

    if (x->since.tv_sec != y->since.tv_sec)
        return x->since.tv_sec < y->since.tv_sec ? 1 : -1;
    return x->since.tv_nsec < y->since.tv_nsec ? 1 : -1;
}

/* False: not a job any more. What a dead process left is removed. */
static bool load(const struct cli_context *cx, const char *dir, const char *file, struct dated *out)
{
    struct cli_claim claim;
    struct stat found;
    size_t length = strlen(file);

    if (length <= 4 || length > 70 || strcmp(file + length - 4, ".job") != 0)
        return false;
    snprintf(claim.listing, sizeof claim.listing, "%s/%s", dir, file);
    snprintf(claim.lock_path, sizeof claim.lock_path, "%s/%.*s.lock", dir, (int)length - 4, file);
    claim.lock = take_lock(claim.lock_path, true);
    if (claim.lock >= 0) {
        cli_jobs_disclaim(&claim);
        return false;
    }
    if (train_listing_load(cx->env, claim.listing, &out->listing, NULL) != SHOAL_OK ||
        stat(claim.lock_path, &found) != 0)
        return false;
    out->since = found.st_mtim;
    return true;
}

shoal_status cli_jobs_all(const struct cli_context *cx, struct train_listing **out,
                          size_t *out_count, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(cx->env);
    char dir[PATH_SIZE];
    struct dated *jobs = NULL;
    struct train_listing *list = NULL;
    size_t count = 0, capacity = 0;
    struct base_buf names;
    shoal_status st = cli_jobs_dir(dir, sizeof dir, err);

    base_buf_init(&names, alloc, NAMES_MAX);
    if (st == SHOAL_OK)
        st = env_list(cx->env, dir, &names, err);
    for (size_t at = 0; st == SHOAL_OK && at < names.size; at += strlen(names.data + at) + 1) {
        void *grown = jobs;
        if (base_reserve(alloc, &grown, &capacity, count + 1, sizeof *jobs) != 0) {
            st = base_err_nomem(err, "listing jobs");
            break;
        }
        jobs = grown;
        count += load(cx, dir, names.data + at, &jobs[count]);
    }
    if (st == SHOAL_OK) {
        list = base_calloc(alloc, count + 1, sizeof *list);
        st = list != NULL ? SHOAL_OK : base_err_nomem(err, "listing jobs");
    }
    if (st == SHOAL_OK) {
        if (count > 1)
            qsort(jobs, count, sizeof *jobs, by_age);
        for (size_t i = 0; i < count; i++)
            list[i] = jobs[i].listing;
        *out = list;
        *out_count = count;
    }
    base_free(alloc, jobs);
    base_buf_fini(&names);
    return st;
}

/* How well a word means a job: 3 its name or 'last', 2 its process, 1 the beginning of its name. */
static int means(const char *word, const struct train_listing *jobs, size_t index)
{
    uint64_t pid;

    if (strcmp(word, jobs[index].name) == 0)
        return 3;
    if (index == 0 && strcmp(word, "last") == 0)
        return 3;
    if (base_parse_u64(word, strlen(word), &pid) && pid == (uint64_t)jobs[index].pid)
        return 2;
    return word[0] != '\0' && strncmp(word, jobs[index].name, strlen(word)) == 0;
}

/* The one that the word means best. *out_count: how many it means equally well. */
static size_t select_job(const char *word, const struct train_listing *jobs, size_t count,
                         size_t *out_count)
{
    int best = 1;
    size_t found = 0;

    *out_count = 0;
    for (size_t i = 0; i < count; i++) {
        int how = means(word, jobs, i);
        if (how < best)
            continue;
        *out_count = how > best || *out_count == 0 ? 1 : *out_count + 1;
        if (*out_count == 1)
            found = i;
        best = how;
    }
    return found;
}

static shoal_status no_such_job(const struct cli_context *cx, const char *word,
                                const struct train_listing *jobs, size_t count, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(cx->env);
    const char **names = base_calloc(alloc, count + 1, sizeof *names);
    const char *near;

    for (size_t i = 0; names != NULL && i < count; i++)
        names[i] = jobs[i].name;
    near = names != NULL ? base_nearest(word, names, count) : NULL;
    if (count == 0) {
        base_err(err, SHOAL_E_NOTFOUND, "no job '%s': none runs here", word);
        base_err_hint(err, "start one: shoal train APP DATA");
    } else {
        base_err(err, SHOAL_E_NOTFOUND, "no job '%s' runs here", word);
        if (near != NULL)
            base_err_hint(err, "did you mean '%s'?", near);
        else
            base_err_hint(err, "'shoal jobs' shows what runs");
    }
    base_free(alloc, names);
    return SHOAL_E_NOTFOUND;
}

shoal_status cli_jobs_find(const struct cli_context *cx, const char *word,
                           struct train_listing *out, shoal_err *err)
{
    struct train_listing *jobs;
    size_t count, meant;
    shoal_status st = cli_jobs_all(cx, &jobs, &count, err);

    if (st != SHOAL_OK)
        return st;
    size_t found = select_job(word, jobs, count, &meant);
    if (meant == 1) {
        *out = jobs[found];
    } else if (meant > 1) {
        st = base_err(err, SHOAL_E_INVAL, "%zu jobs begin with '%s', among them '%s'", meant, word,
                      jobs[found].name);
        base_err_hint(err, "write more of the name; 'shoal jobs' shows them");
    } else {
        st = no_such_job(cx, word, jobs, count, err);
    }
    base_free(env_alloc(cx->env), jobs);
    return st;
}

bool cli_jobs_loading(const struct train_listing *job)
{
    return strcmp(job->address, "-") == 0;
}

/* ---- asking ---- */

/* What a job said when it refused. */
static void take_error(const struct train_listing *job, const json_t *error, shoal_err *err)
{
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *hint = json_string_value(json_object_get(error, "hint"));
    shoal_status status = SHOAL_E_INTERNAL;

    for (int i = SHOAL_E_INTERNAL; i < 0 && code != NULL; i++)
        if (strcmp(shoal_status_name((shoal_status)i), code) == 0)
            status = (shoal_status)i;
    base_err(err, status, "job '%s': %s", job->name, message != NULL ? message : "it refuses");
    if (hint != NULL && hint[0] != 0)
        base_err_hint(err, "%s", hint);
}

json_t *cli_jobs_ask(shoal_env *env, const struct train_listing *job, const char *line,
                     struct base_buf *text, shoal_err *err)
{
    json_t *answer;
    const json_t *error;

    base_buf_clear(text);
    if (cli_jobs_loading(job)) {
        base_err(err, SHOAL_E_IO, "job '%s' still reads its data", job->name);
        base_err_hint(err, "ask again in a moment");
        return NULL;
    }
    if (train_listing_ask(env, job, line, ASK_MS, text, err) != SHOAL_OK)
        return NULL;
    answer = json_loadb(text->data, text->size, 0, NULL);
    if (answer == NULL) {
        base_err(err, SHOAL_E_FORMAT, "job '%s' gave an answer that makes no sense", job->name);
        base_err_hint(err, "it may be of another version of Shoal");
        return NULL;
    }
    error = json_object_get(answer, "error");
    if (error != NULL) {
        take_error(job, error, err);
        json_decref(answer);
        return NULL;
    }
    return answer;
}

struct round {
    shoal_env *env;
    const struct train_listing *jobs;
    struct cli_job_answer *answers;
};

static void ask_one(void *ctx, size_t index)
{
    struct round *round = ctx;
    struct cli_job_answer *answer = &round->answers[index];

    answer->status =
        cli_jobs_ask(round->env, &round->jobs[index], "status", &answer->text, &answer->err);
}

/* Those that are silent cost their time once, not one after the other. */
shoal_status cli_jobs_ask_all(const struct cli_context *cx, const struct train_listing *jobs,
                              size_t count, struct cli_job_answer **out, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(cx->env);
    struct cli_job_answer *answers = base_calloc(alloc, count + 1, sizeof *answers);
    struct round round = {cx->env, jobs, answers};
    shoal_status st;

    if (answers == NULL)
        return base_err_nomem(err, "asking jobs");
    for (size_t i = 0; i < count; i++)
        base_buf_init(&answers[i].text, alloc, ANSWER_MAX);
    st = env_parallel(cx->env, count, count < 64 ? (uint32_t)count + 1 : 64, ask_one, &round, err);
    if (st != SHOAL_OK) {
        cli_jobs_answers_free(cx, answers, count);
        return st;
    }
    *out = answers;
    return SHOAL_OK;
}

void cli_jobs_answers_free(const struct cli_context *cx, struct cli_job_answer *answers,
                           size_t count)
{
    for (size_t i = 0; answers != NULL && i < count; i++) {
        base_buf_fini(&answers[i].text);
        json_decref(answers[i].status);
    }
    base_free(env_alloc(cx->env), answers);
}

const char *cli_jobs_state(const struct train_listing *job, const struct cli_job_answer *answer)
{
    return answer->status != NULL ? "running" : cli_jobs_loading(job) ? "loading" : "silent";
}

void cli_jobs_json(struct base_buf *out, const struct train_listing *jobs,
                   const struct cli_job_answer *answers, size_t count)
{
    base_buf_puts(out, "{\"v\":1,\"jobs\":[");
    for (size_t i = 0; i < count; i++) {
        base_buf_printf(out, "%s{\"pid\":%" PRId64 ",\"name\":", i > 0 ? "," : "", jobs[i].pid);
        base_buf_json_string(out, jobs[i].name);
        base_buf_puts(out, ",\"app\":");
        base_buf_json_string(out, jobs[i].app);
        base_buf_puts(out, ",\"data\":");
        base_buf_json_string(out, jobs[i].data);
        base_buf_printf(out,
                        ",\"state\":\"%s\",\"address\":", cli_jobs_state(&jobs[i], &answers[i]));
        if (cli_jobs_loading(&jobs[i]))
            base_buf_puts(out, "null");
        else
            base_buf_json_string(out, jobs[i].address);
        base_buf_puts(out, ",\"status\":");
        if (answers[i].status != NULL)
            base_buf_append(out, answers[i].text.data, answers[i].text.size);
        else
            base_buf_puts(out, "null");
        base_buf_puts(out, "}");
    }
    base_buf_puts(out, "]}\n");
}

double cli_jobs_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
