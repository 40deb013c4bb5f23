/* world.h - runs the whole command in process with words, a private configuration folder and
 * captured output. */
#ifndef TESTS_UNIT_CLI_WORLD_H
#define TESTS_UNIT_CLI_WORLD_H

#include "cli/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    char folder[64]; /* XDG_CONFIG_HOME, made by mkdtemp */
    char config[128];
    char *out, *err; /* of the last run */
    size_t out_size, err_size;
};

static inline int world_open(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    char path[100];

    snprintf(w->folder, sizeof w->folder, "/tmp/shoal-test-XXXXXX");
    if (mkdtemp(w->folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/shoal", w->folder);
    if (mkdir(path, 0700) != 0)
        return -1;
    snprintf(w->config, sizeof w->config, "%s/shoal/config", w->folder);
    setenv("XDG_CONFIG_HOME", w->folder, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    unsetenv("CLICOLOR_FORCE");
    *state = w;
    return 0;
}

static inline int world_close(void **state)
{
    struct world *w = *state;
    char path[100];

    unlink(w->config);
    snprintf(path, sizeof path, "%s/shoal", w->folder);
    rmdir(path);
    rmdir(w->folder);
    free(w->out);
    free(w->err);
    free(w);
    return 0;
}

static inline void world_configure(struct world *w, const char *text)
{
    FILE *file = fopen(w->config, "w");

    fputs(text, file);
    fclose(file);
}

/* argv without the program's name; ends at NULL. */
static inline int world_run(struct world *w, const char *const *words)
{
    const char *argv[64] = {"shoal"};
    int argc = 1;
    FILE *out, *err;
    int rc;

    while (words[argc - 1] != NULL && argc < 63) {
        argv[argc] = words[argc - 1];
        argc++;
    }
    free(w->out);
    free(w->err);
    out = open_memstream(&w->out, &w->out_size);
    err = open_memstream(&w->err, &w->err_size);
    rc = cli_main(argc, argv, out, err);
    fclose(out);
    fclose(err);
    return rc;
}

#define WORLD_RUN(w, ...) world_run(w, (const char *const[]){__VA_ARGS__, NULL})

#endif
