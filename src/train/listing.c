/* listing.c - see listing.h. */
#include "train/listing.h"

#include "base/err.h"
#include "base/text.h"
#include "env/system.h"
#include "train/protocol.h"
#include "wire/peer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 512, NAMES_MAX = 1 << 20, ANSWER_MAX = 4 << 20, ASK_MS = 2000 };

/* ---- one listing ---- */

/* The rest of the line that begins with `word`, cut to fit. False: there is none. */
static bool line_of(const char *text, const char *word, char *out, size_t size)
{
    size_t length = strlen(word);

    while (text != NULL && *text != 0) {
        if (strncmp(text, word, length) == 0 && text[length] == ' ') {
            const char *value = text + length + 1;
            snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
            return true;
        }
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return false;
}

shoal_status train_listing_load(shoal_env *env, const char *path, struct train_listing *out,
                                shoal_err *err)
{
    struct train_listing listing = {.pid = 0};
    char key[2 * WIRE_KEY_SIZE + 1] = "", pid[32] = "";
    struct base_buf text;
    shoal_status st;
    long long number;

    base_buf_init(&text, env_alloc(env), 1 << 16);
    st = env_read_whole(env, path, &text, err);
    if (st != SHOAL_OK)
        goto out;
    if (!line_of(text.data, "name", listing.name, sizeof listing.name) ||
        !line_of(text.data, "app", listing.app, sizeof listing.app) ||
        !line_of(text.data, "address", listing.address, sizeof listing.address) ||
        !line_of(text.data, "key", key, sizeof key) ||
        !line_of(text.data, "pid", pid, sizeof pid) ||
        !line_of(text.data, "data", listing.data, sizeof listing.data) ||
        sscanf(pid, "%lld", &number) != 1 ||
        wire_key_parse(key, strlen(key), &listing.key, NULL) != SHOAL_OK) {
        st = base_err(err, SHOAL_E_FORMAT, "'%s' does not tell of a job", path);
        goto out;
    }
    listing.pid = number;
    *out = listing;
out:
    base_buf_fini(&text);
    return st;
}

struct question {
    struct env_loop *loop;
    struct wire_peer *peer;
    const char *line;
    struct base_buf *out;
    struct env_timer deadline;
    bool answered;
    shoal_err err;
};

static void question_ready(void *ctx, struct wire_peer *peer)
{
    struct question *q = ctx;

    if (wire_peer_send(peer, TRAIN_ASK, q->line, strlen(q->line)) != SHOAL_OK)
        env_loop_stop(q->loop);
}

static void question_message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                             size_t size)
{
    struct question *q = ctx;

    (void)peer;
    if (kind == TRAIN_ANSWER && !q->answered) {
        base_buf_append(q->out, bytes, size);
        q->answered = true;
    }
    env_loop_stop(q->loop);
}

static void question_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct question *q = ctx;

    (void)peer;
    q->peer = NULL;
    q->err = *why;
    env_loop_stop(q->loop);
}

static void question_late(void *ctx)
{
    struct question *q = ctx;

    env_loop_stop(q->loop);
}

shoal_status train_listing_ask(shoal_env *env, const struct train_listing *job, const char *line,
                               uint64_t timeout_ms, struct base_buf *out, shoal_err *err)
{
    static const struct wire_peer_ops OPS = {question_ready, question_message, question_closed};
    struct wire_opts wire = WIRE_OPTS_INIT;
    struct question q = {.line = line, .out = out};
    shoal_status st = env_loop_new(env, NULL, &q.loop, err);

    if (st == SHOAL_OK)
        st = env_timer_start(q.loop, &q.deadline, timeout_ms * 1000000, question_late, &q);
    if (st == SHOAL_OK)
        st = wire_peer_connect(q.loop, job->address, &job->key, &wire, &OPS, &q, &q.peer, err);
    if (st == SHOAL_OK)
        st = env_loop_run(q.loop, err);
    if (st == SHOAL_OK && !q.answered)
        st = base_err(err, SHOAL_E_IO, "job '%s' (process %lld) does not answer%s%s", job->name,
                      (long long)job->pid, q.err.message[0] != 0 ? ": " : "", q.err.message);
    env_timer_stop(&q.deadline);
    wire_peer_close(q.peer);
    env_loop_free(q.loop);
    return st;
}

/* ---- a name that is ours ---- */

static void claim_files(struct train_claim *claim, const char *dir, const char *name, int length)
{
    snprintf(claim->listing, sizeof claim->listing, "%s/%.*s.job", dir, length, name);
    snprintf(claim->lock_path, sizeof claim->lock_path, "%s/%.*s.lock", dir, length, name);
}

void train_claim_drop(struct train_claim *claim)
{
    env_lock_drop(claim->lock, claim->lock_path, claim->listing);
    claim->lock = -1;
}

shoal_status train_claim_take(shoal_env *env, const char *name, const char *app, const char *data,
                              int64_t pid, struct train_claim *out, shoal_err *err)
{
    struct train_claim claim;
    char dir[PATH_SIZE], text[1024];
    shoal_err why = SHOAL_ERR_INIT;
    shoal_status st = env_run_folder("jobs", dir, sizeof dir, err);

    if (st != SHOAL_OK)
        return st;
    claim_files(&claim, dir, name, (int)strlen(name));
    claim.lock = env_lock_take(claim.lock_path, true, &why);
    if (claim.lock < 0 && why.code == SHOAL_E_EXISTS) {
        base_err(err, SHOAL_E_EXISTS, "a job '%s' runs already", name);
        base_err_hint(err, "choose another --name; 'shoal jobs' shows what runs");
        return SHOAL_E_EXISTS;
    }
    if (claim.lock < 0)
        return base_err(err, SHOAL_E_IO, "%s", why.message);
    env_lock_stamp(claim.lock); /* its age is the job's */
    snprintf(text, sizeof text, "name %s\napp %s\naddress -\nkey %0*d\npid %lld\ndata %.400s\n",
             name, app, 2 * WIRE_KEY_SIZE, 0, (long long)pid, data);
    st = env_write_run_file(env, claim.listing, text, strlen(text), err);
    if (st != SHOAL_OK) {
        train_claim_drop(&claim);
        return st;
    }
    *out = claim;
    return SHOAL_OK;
}

/* ---- looking ---- */

struct dated {
    struct train_listing listing;
    double since_s;
};

static int by_age(const void *a, const void *b)
{
    const struct dated *x = a, *y = b;

    return (x->since_s < y->since_s) - (x->since_s > y->since_s);
}

/* False: not a job any more. What a dead process left is removed. */
static bool load(shoal_env *env, const char *dir, const char *file, struct dated *out)
{
    struct train_claim claim;
    size_t length = strlen(file);

    if (length <= 4 || length > 70 || strcmp(file + length - 4, ".job") != 0)
        return false;
    claim_files(&claim, dir, file, (int)length - 4);
    claim.lock = env_lock_take(claim.lock_path, false, NULL);
    if (claim.lock >= 0) {
        train_claim_drop(&claim);
        return false;
    }
    out->since_s = env_lock_since(claim.lock_path);
    return train_listing_load(env, claim.listing, &out->listing, NULL) == SHOAL_OK &&
           !isnan(out->since_s);
}

shoal_status train_jobs_all(shoal_env *env, struct train_listing **out, size_t *out_count,
                            shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    char dir[PATH_SIZE];
    struct dated *jobs = NULL;
    struct train_listing *list = NULL;
    size_t count = 0, capacity = 0;
    struct base_buf names;
    shoal_status st = env_run_folder("jobs", dir, sizeof dir, err);

    base_buf_init(&names, alloc, NAMES_MAX);
    if (st == SHOAL_OK)
        st = env_list(env, dir, &names, err);
    for (size_t at = 0; st == SHOAL_OK && at < names.size; at += strlen(names.data + at) + 1) {
        void *grown = jobs;
        if (base_reserve(alloc, &grown, &capacity, count + 1, sizeof *jobs) != 0) {
            st = base_err_nomem(err, "listing jobs");
            break;
        }
        jobs = grown;
        count += load(env, dir, names.data + at, &jobs[count]);
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

static shoal_status no_such_job(shoal_env *env, const char *word, const struct train_listing *jobs,
                                size_t count, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
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

shoal_status train_jobs_find(shoal_env *env, const char *word, struct train_listing *out,
                             shoal_err *err)
{
    struct train_listing *jobs;
    size_t count, meant;
    shoal_status st = train_jobs_all(env, &jobs, &count, err);

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
        st = no_such_job(env, word, jobs, count, err);
    }
    base_free(env_alloc(env), jobs);
    return st;
}

bool train_jobs_loading(const struct train_listing *job)
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

json_t *train_jobs_ask(shoal_env *env, const struct train_listing *job, const char *line,
                       struct base_buf *text, shoal_err *err)
{
    json_t *answer;
    const json_t *error;

    base_buf_clear(text);
    if (train_jobs_loading(job)) {
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
    struct train_job_answer *answers;
};

static void ask_one(void *ctx, size_t index)
{
    struct round *round = ctx;
    struct train_job_answer *answer = &round->answers[index];

    answer->status =
        train_jobs_ask(round->env, &round->jobs[index], "status", &answer->text, &answer->err);
}

/* Those that are silent cost their time once, not one after the other. */
shoal_status train_jobs_ask_all(shoal_env *env, const struct train_listing *jobs, size_t count,
                                struct train_job_answer **out, shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct train_job_answer *answers = base_calloc(alloc, count + 1, sizeof *answers);
    struct round round = {env, jobs, answers};
    shoal_status st;

    if (answers == NULL)
        return base_err_nomem(err, "asking jobs");
    for (size_t i = 0; i < count; i++)
        base_buf_init(&answers[i].text, alloc, ANSWER_MAX);
    st = env_parallel(env, count, count < 64 ? (uint32_t)count + 1 : 64, ask_one, &round, err);
    if (st != SHOAL_OK) {
        train_jobs_answers_free(env, answers, count);
        return st;
    }
    *out = answers;
    return SHOAL_OK;
}

void train_jobs_answers_free(shoal_env *env, struct train_job_answer *answers, size_t count)
{
    for (size_t i = 0; answers != NULL && i < count; i++) {
        base_buf_fini(&answers[i].text);
        json_decref(answers[i].status);
    }
    base_free(env_alloc(env), answers);
}

const char *train_jobs_state(const struct train_listing *job, const struct train_job_answer *answer)
{
    return answer->status != NULL ? "running" : train_jobs_loading(job) ? "loading" : "silent";
}

double train_jobs_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
