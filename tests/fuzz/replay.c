/* replay.c - runs a fuzz target over stored inputs, as an ordinary test.
 *
 * Usage: fuzz_<name> FILE-OR-FOLDER... Each file is one input; folders are read in sorted order,
 * one level deep. A missing or empty folder is a failure: a corpus that is not there tests nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The whole file in an allocation of exactly its size, so that sanitizers see reads past the end.
 */
static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);
    int failed = 1;

    if (file != NULL && data != NULL && fread(data, 1, size, file) == size) {
        fprintf(stderr, "replay: %s\n", path);
        LLVMFuzzerTestOneInput(data, size);
        failed = 0;
    } else {
        fprintf(stderr, "replay: cannot read '%s': %s\n", path, strerror(errno));
    }
    free(data);
    if (file != NULL)
        fclose(file);
    return failed;
}

/* Runs one file, or every file of a folder; counts inputs in *count and returns how many failed. */
static int replay_path(const char *path, int depth, size_t *count)
{
    struct stat st;
    struct dirent **names = NULL;
    int failed = 0;

    if (stat(path, &st) != 0) {
        fprintf(stderr, "replay: cannot open '%s': %s\n", path, strerror(errno));
        return 1;
    }
    if (S_ISREG(st.st_mode)) {
        *count += 1;
        return replay_file(path, (size_t)st.st_size);
    }
    if (!S_ISDIR(st.st_mode) || depth > 0)
        return 0;

    int name_count = scandir(path, &names, not_hidden, alphasort);
    for (int i = 0; i < name_count; i++) {
        char inner[4096];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name);
        if (length > 0 && (size_t)length < sizeof inner)
            failed += replay_path(inner, depth + 1, count);
        free(names[i]);
    }
    free(names);
    return failed;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed += replay_path(argv[i], 0, &count);
    if (count == 0) {
        fprintf(stderr, "replay: no inputs; usage: %s FILE-OR-FOLDER...\n", argv[0]);
        return 1;
    }
    printf("%zu inputs replayed, %d unreadable\n", count, failed);
    return failed > 0;
}
