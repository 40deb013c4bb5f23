/* replay.c - runs a fuzz target over stored inputs, and over as many mutated ones as are asked for, as an
 * ordinary test.
 *
 * Usage: fuzz_<name> [--mutate COUNT] [--seed N] [--keep FILE] FILE-OR-FOLDER... Each file is one input;
 * folders are read in sorted order, one level deep. A missing or empty folder is a failure: a corpus that
 * is not there tests nothing. A mutated input may take LIMIT_S seconds of CPU time and LIMIT_BYTES of
 * memory at once; the last one is in the file to keep, so that whatever ends the program can be run again.
 */
#include "measure.h"
#include "mutate.h"
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { HANGS_S = 300 }; /* of time that passes, also where no CPU is at work */
static const double LIMIT_S = 5;
static const size_t LIMIT_BYTES = (size_t)1 << 30;

struct replay {
    struct mutate_seed *seeds; /* inputs as they are */
    size_t seed_count, seed_cap;
    unsigned long mutate;
    uint64_t seed;
    const char *keep;
    int failed;
};

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The whole file in an allocation of exactly its size, so that sanitizers see reads past the end.
 */
static void load_file(struct replay *r, const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);

    if (r->seed_count == r->seed_cap) {
        r->seed_cap = 2 * r->seed_cap + 16;
        r->seeds = realloc(r->seeds, r->seed_cap * sizeof *r->seeds);
    }
    if (file != NULL && data != NULL && r->seeds != NULL && fread(data, 1, size, file) == size) {
        fprintf(stderr, "replay: %s\n", path);
        if (r->mutate == 0)
            LLVMFuzzerTestOneInput(data, size);
        r->seeds[r->seed_count++] = (struct mutate_seed){data, size};
    } else {
        fprintf(stderr, "replay: cannot read '%s': %s\n", path, strerror(errno));
        free(data);
        r->failed++;
    }
    if (file != NULL)
        fclose(file);
}

/* Loads one file, or every file of a folder, and runs it unless inputs are mutated. */
static void load_path(struct replay *r, const char *path, int depth)
{
    struct stat st;
    struct dirent **names = NULL;

    if (stat(path, &st) != 0) {
        fprintf(stderr, "replay: cannot open '%s': %s\n", path, strerror(errno));
        r->failed++;
        return;
    }
    if (S_ISREG(st.st_mode)) {
        load_file(r, path, (size_t)st.st_size);
        return;
    }
    if (!S_ISDIR(st.st_mode) || depth > 0)
        return;

    int name_count = scandir(path, &names, not_hidden, alphasort);
    for (int i = 0; i < name_count; i++) {
        char inner[4096];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name);
        if (length > 0 && (size_t)length < sizeof inner)
            load_path(r, inner, depth + 1);
        free(names[i]);
    }
    free(names);
}

static void keep_input(const struct replay *r, const uint8_t *data, size_t size)
{
    FILE *file = r->keep != NULL ? fopen(r->keep, "wb") : NULL;

    if (file == NULL)
        return;
    fwrite(data, 1, size, file);
    fclose(file);
}

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void run_mutated(struct replay *r)
{
    double slowest = 0;
    size_t largest = 0;
    unsigned long done = 0;

    if (LLVMFuzzerInitialize != NULL)
        LLVMFuzzerInitialize(NULL, NULL);
    for (; done < r->mutate && r->failed == 0; done++) {
        size_t size = 0;
        uint8_t *data = mutate(r->seeds, r->seed_count, r->seed + done, &size);
        keep_input(r, data, size);
        alarm(HANGS_S);
        measure_begin();
        double began = cpu_seconds();
        LLVMFuzzerTestOneInput(data, size);
        double took = cpu_seconds() - began;
        size_t memory = measure_peak();
        free(data);
        slowest = took > slowest ? took : slowest;
        largest = memory > largest ? memory : largest;
        if (took > LIMIT_S || memory > LIMIT_BYTES) {
            fprintf(stderr, "replay: input %llu takes %.1f s and %zu bytes\n",
                    (unsigned long long)(r->seed + done), took, memory);
            r->failed++;
        }
    }
    printf("{\"inputs\":%lu,\"slowest_s\":%.3f,\"largest_bytes\":%zu}\n", done, slowest, largest);
}

int main(int argc, char **argv)
{
    struct replay r = {.seed = 1};

    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (more && strcmp(argv[i], "--mutate") == 0)
            r.mutate = strtoul(argv[++i], NULL, 10);
        else if (more && strcmp(argv[i], "--seed") == 0)
            r.seed = strtoull(argv[++i], NULL, 10);
        else if (more && strcmp(argv[i], "--keep") == 0)
            r.keep = argv[++i];
        else
            load_path(&r, argv[i], 0);
    }
    if (r.seed_count == 0) {
        fprintf(stderr, "replay: no inputs; usage: %s [--mutate COUNT] FILE-OR-FOLDER...\n",
                argv[0]);
        return 1;
    }
    if (r.mutate > 0 && r.failed == 0)
        run_mutated(&r);
    else
        printf("%zu inputs replayed, %d unreadable\n", r.seed_count, r.failed);
    for (size_t i = 0; i < r.seed_count; i++)
        free(r.seeds[i].data);
    free(r.seeds);
    return r.failed > 0;
}
