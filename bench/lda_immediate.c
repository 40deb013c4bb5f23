/* lda_immediate.c - the sampler of topic models whose counts change at once (tests/unit/num/lda_immediate.h)
 * beside bench_lda, which prints the same numbers for the one that `shoal train lda` runs.
 *
 *     bench_lda_immediate DOCWORD TOPICS SWEEPS ALPHA_SUM BETA [STEPS=1] [SEED=1] [EVERY=10]
 *
 * Prints JSON lines: likelihood per token and CPU-seconds of sampling every EVERY sweeps. Counts of the
 * likelihood are dense, so corpora are small. */
#include "bench/docword.h"
#include "num/lda_reference.h"
#include "unit/num/lda_immediate.h"

static double argument(int argc, char **argv, int at, double fallback)
{
    return at < argc ? strtod(argv[at], NULL) : fallback;
}

int main(int argc, char **argv)
{
    struct num_lda_exact *exact = NULL;
    double cpu_s = 0;

    if (argc < 6) {
        fprintf(stderr, "usage: bench_lda_immediate DOCWORD TOPICS SWEEPS ALPHA_SUM BETA ...\n");
        return 2;
    }
    struct num_corpus corpus = load(argv[1]);
    uint32_t topics = (uint32_t)argument(argc, argv, 2, 0);
    uint32_t sweeps = (uint32_t)argument(argc, argv, 3, 0);
    double *alpha = memory(topics * sizeof *alpha), beta = argument(argc, argv, 5, 0);
    for (uint32_t k = 0; k < topics; k++)
        alpha[k] = argument(argc, argv, 4, 0) / topics;
    struct lda_immediate_opts opts = {topics, alpha, beta, (uint32_t)argument(argc, argv, 6, 1),
                                      (uint64_t)argument(argc, argv, 7, 1)};
    struct lda_immediate *x = lda_immediate_new(&corpus, &opts);
    if (num_lda_exact_new(&base_alloc_libc, &corpus, topics, alpha, beta, &exact, NULL) != SHOAL_OK)
        die("out of memory");
    for (uint32_t i = 1; i <= sweeps; i++) {
        double begun = clock_s(CLOCK_THREAD_CPUTIME_ID);
        lda_immediate_sweep(x);
        cpu_s += clock_s(CLOCK_THREAD_CPUTIME_ID) - begun;
        if (i % (uint32_t)argument(argc, argv, 8, 10) != 0 && i != sweeps)
            continue;
        num_lda_exact_set(exact, x->z);
        printf("{\"iteration\": %u, \"likelihood\": %.5f, \"cpu_s\": %.4f, "
               "\"mtokens_cpu_s\": %.2f}\n",
               i, num_lda_exact_joint(exact) / x->tokens, cpu_s, 1e-6 * x->tokens * i / cpu_s);
    }
    num_lda_exact_free(exact);
    lda_immediate_free(x);
    return 0;
}
