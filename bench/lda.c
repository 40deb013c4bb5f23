/* lda.c - the sampler of topic models by itself, without the runtime.
 *
 *     bench_lda DOCWORD [topics=1000] [threads=1] [iterations=60] [alpha=50] [beta=0.01] [seed=1]
 *               [every=10] [range=65536] [lanes=16] [target=LIKELIHOOD]
 *
 * DOCWORD is a UCI bag of words: documents, words, entries, then "document word count" a line, from
 * 1, documents ascending. alpha is the sum over topics, beta that of one word. An iteration is a word
 * pass and a document pass, records in place. Prints JSON lines: likelihood per token and seconds of
 * sampling (CPU of all threads, and wall) every `every` iterations; with a target it ends where that
 * is reached. Time is that of passes and of c_k between them, without likelihood. */
#include "bench/docword.h"
#include "num/lda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 64 };

struct settings {
    double topics, threads, iterations, alpha, beta, seed, every, range, lanes, target;
};

struct run;

struct thread {
    struct run *run;
    struct num_lda_work *work;
    struct num_lda_tile *tiles;
    int32_t *change;
    double likelihood, cpu_s;
};

struct run {
    struct settings set;
    struct num_lda_cut *cut;
    const struct num_lda_ops *ops;
    struct num_lda_pass pass;
    enum num_lda_side side;
    void *records;
    int64_t *c;
    float *inverse;
    void (*task)(struct thread *thread, const struct num_lda_strip *strip, uint32_t tiles);
    atomic_uint next;
    uint32_t threads;
    struct thread thread[THREADS_MAX];
};

/* ---- tasks ---- */

static void sample(struct thread *t, const struct num_lda_strip *strip, uint32_t tiles)
{
    t->run->ops->sample(&t->run->pass, strip, t->tiles, tiles, t->work, t->change);
}

static void score(struct thread *t, const struct num_lda_strip *strip, uint32_t tiles)
{
    t->likelihood += num_lda_likelihood(&t->run->pass, strip, t->tiles, tiles, t->work);
}

static void begin(struct thread *t, const struct num_lda_strip *strip, uint32_t tiles)
{
    num_lda_start(&t->run->pass, strip, t->tiles, tiles, t->change);
}

static void *work(void *arg)
{
    struct thread *t = arg;
    struct run *run = t->run;
    double begun = clock_s(CLOCK_THREAD_CPUTIME_ID);
    uint32_t index;

    num_lda_work_pass(t->work, &run->pass);
    while ((index = atomic_fetch_add(&run->next, 1)) < run->cut->ranges[run->side]) {
        struct num_lda_strip strip = num_lda_cut_strip(run->cut, run->side, index);
        run->task(t, &strip,
                  num_lda_cut_tiles(run->cut, &strip, run->pass.topics, run->records, run->records,
                                    t->tiles));
    }
    t->cpu_s += clock_s(CLOCK_THREAD_CPUTIME_ID) - begun;
    return NULL;
}

/* A task for every strip of a side. */
static void all(struct run *run, enum num_lda_side side,
                void (*task)(struct thread *, const struct num_lda_strip *, uint32_t))
{
    pthread_t id[THREADS_MAX] = {0};

    run->side = side;
    run->task = task;
    run->pass.prior =
        (float)(side == NUM_LDA_WORDS ? run->set.beta : run->set.alpha / run->set.topics);
    atomic_store(&run->next, 0);
    for (uint32_t i = 1; i < run->threads; i++)
        if (pthread_create(&id[i], NULL, work, &run->thread[i]) != 0)
            die("cannot start a thread");
    work(&run->thread[0]);
    for (uint32_t i = 1; i < run->threads; i++)
        pthread_join(id[i], NULL);
}

static void take_changes(struct run *run)
{
    double begun = clock_s(CLOCK_THREAD_CPUTIME_ID);

    for (uint32_t i = 0; i < run->threads; i++) {
        int32_t *change = run->thread[i].change;
        for (uint32_t k = 0; k < run->pass.topics; k++)
            run->c[k] += change[k];
        memset(change, 0, run->pass.topics * sizeof *change);
    }
    num_lda_inverse(run->pass.topics, run->c, run->set.beta * run->cut->words, run->inverse);
    run->pass.clock++;
    run->thread[0].cpu_s += clock_s(CLOCK_THREAD_CPUTIME_ID) - begun;
}

static double likelihood(struct run *run)
{
    double sum =
        num_lda_likelihood_topics(run->pass.topics, run->c, run->set.beta * run->cut->words);

    all(run, NUM_LDA_WORDS, score);
    all(run, NUM_LDA_DOCUMENTS, score);
    for (uint32_t i = 0; i < run->threads; i++) {
        sum += run->thread[i].likelihood;
        run->thread[i].likelihood = 0;
    }
    return sum / (double)run->cut->tokens;
}

/* ---- */

static double cpu_s(const struct run *run)
{
    double sum = 0;

    for (uint32_t i = 0; i < run->threads; i++)
        sum += run->thread[i].cpu_s;
    return sum;
}

static void iterate(struct run *run)
{
    double cpu = 0, wall = 0;

    for (uint32_t i = 1; i <= (uint32_t)run->set.iterations; i++) {
        double cpu_begun = cpu_s(run), wall_begun = clock_s(CLOCK_MONOTONIC);
        all(run, NUM_LDA_WORDS, sample);
        take_changes(run);
        all(run, NUM_LDA_DOCUMENTS, sample);
        take_changes(run);
        cpu += cpu_s(run) - cpu_begun;
        wall += clock_s(CLOCK_MONOTONIC) - wall_begun;
        if (i % (uint32_t)run->set.every != 0 && i != (uint32_t)run->set.iterations)
            continue;
        double reached = likelihood(run), tokens = 1e-6 * (double)run->cut->tokens * i;
        printf("{\"iteration\": %u, \"likelihood\": %.5f, \"cpu_s\": %.4f, \"wall_s\": %.4f, "
               "\"mtokens_cpu_s\": %.2f}\n",
               i, reached, cpu, wall, tokens / cpu);
        fflush(stdout);
        if (run->set.target != 0 && reached >= run->set.target)
            return;
    }
}

static void prepare(struct run *run, const char *path)
{
    struct num_corpus corpus = load(path);
    shoal_err err = {0};
    double begun = clock_s(CLOCK_THREAD_CPUTIME_ID);
    uint32_t topics = (uint32_t)run->set.topics, tiles;

    shoal_status st =
        num_lda_cut_new(&base_alloc_libc, &corpus, (uint32_t)run->set.range, &run->cut, &err);
    if (st != SHOAL_OK || run->cut == NULL)
        die(err.message);
    double cut_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - begun;
    const struct num_lda_cut *cut = run->cut;
    run->ops = num_lda_ops_find((uint32_t)run->set.lanes);
    run->c = memory(topics * sizeof *run->c);
    run->inverse = memory(num_lda_stride(topics) * sizeof *run->inverse);
    run->records = memory(cut->tokens * num_lda_format(topics).size);
    run->pass = (struct num_lda_pass){
        .topics = topics, .inverse = run->inverse, .seed = (uint64_t)run->set.seed};
    tiles = cut->ranges[0] > cut->ranges[1] ? cut->ranges[0] : cut->ranges[1];
    for (uint32_t i = 0; i < run->threads; i++) {
        size_t size = num_lda_work_size(topics, cut->strip_max, cut->segment_max);
        struct thread *t = &run->thread[i];
        t->run = run;
        t->work = num_lda_work_init(memory(size), topics, cut->strip_max, cut->segment_max);
        t->tiles = memory(tiles * sizeof *t->tiles);
        t->change = memory(topics * sizeof *t->change);
    }
    printf("{\"corpus\": \"%s\", \"documents\": %u, \"words\": %u, \"tokens\": %llu, \"topics\": "
           "%u, \"threads\": %u, \"ranges\": [%u, %u], \"cut_cpu_s\": %.2f, \"sampler\": \"%s\"}\n",
           path, cut->documents, corpus.words, (unsigned long long)cut->tokens, topics,
           run->threads, cut->ranges[0], cut->ranges[1], cut_s, run->ops->name);
}

static void set(struct run *run, const char *word)
{
    struct settings *s = &run->set;
    const struct {
        const char *name;
        double *value;
    } options[] = {
        {"topics", &s->topics}, {"threads", &s->threads}, {"iterations", &s->iterations},
        {"alpha", &s->alpha},   {"beta", &s->beta},       {"seed", &s->seed},
        {"every", &s->every},   {"range", &s->range},     {"lanes", &s->lanes},
        {"target", &s->target},
    };

    for (size_t o = 0; o < sizeof options / sizeof options[0]; o++) {
        size_t n = strlen(options[o].name);
        if (strncmp(word, options[o].name, n) == 0 && word[n] == '=') {
            *options[o].value = strtod(word + n + 1, NULL);
            return;
        }
    }
    die("unknown option");
}

int main(int argc, char **argv)
{
    static struct run run = {.set = {1000, 1, 60, 50, 0.01, 1, 10, 0, 16, 0}};

    if (argc < 2) {
        fprintf(stderr, "usage: bench_lda DOCWORD [option=value ...]\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        set(&run, argv[i]);
    run.threads = (uint32_t)run.set.threads;
    if (run.threads < 1 || run.threads > THREADS_MAX || run.set.every < 1)
        die("threads or every is out of range");
    prepare(&run, argv[1]);
    all(&run, NUM_LDA_DOCUMENTS, begin);
    take_changes(&run);
    iterate(&run);
    return 0;
}
