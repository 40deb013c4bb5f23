/* plan_command.c - the line for a shell that makes a planned run (see plan.h). */
#include "advise/plan.h"

#include <stdio.h>
#include <string.h>

struct line {
    char *out;
    size_t size, used;
    bool full;
};

static void put(struct line *l, const char *text)
{
    size_t length = strlen(text);

    if (l->full || length >= l->size - l->used) {
        l->full = true;
        return;
    }
    memcpy(l->out + l->used, text, length + 1);
    l->used += length;
}

/* A word for a shell: in quotes unless it is plain. */
static void put_word(struct line *l, const char *word)
{
    static const char *const PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789._/+-=,:@%";
    char one[2] = "";

    if (word[0] != '\0' && strspn(word, PLAIN) == strlen(word)) {
        put(l, word);
        return;
    }
    put(l, "'");
    for (; *word != '\0'; word++) {
        one[0] = *word;
        put(l, *word == '\'' ? "'\\''" : one);
    }
    put(l, "'");
}

void advise_plan_command(const struct advise_plan_problem *problem,
                         const struct advise_plan_run *run, char *out, size_t size)
{
    const struct advise_plan_algorithm *a = &problem->algorithms[run->algorithm];
    struct line l = {out, size, 0, size == 0};
    char text[64], part[1024];

    if (size > 0)
        out[0] = '\0';
    if (a->app == NULL || a->data == NULL)
        return;
    const char *data = a->data;
    if (run->fraction < 1) {
        int n = snprintf(part, sizeof part, "%s.part-%g", a->data, run->fraction);
        l.full |= n < 0 || (size_t)n >= sizeof part;
        snprintf(text, sizeof text, "awk 'BEGIN{srand(1)} rand()<%g' ", run->fraction);
        put(&l, text);
        put_word(&l, data);
        put(&l, " > ");
        put_word(&l, part);
        put(&l, " && ");
        data = part;
    }
    put(&l, "shoal train ");
    put_word(&l, a->app);
    put(&l, " ");
    put_word(&l, data);
    if (a->options != NULL && a->options[0] != '\0') {
        put(&l, " ");
        put(&l, a->options);
    }
    snprintf(text, sizeof text, " --workers %u", run->machines);
    put(&l, text);
    if (a->limit != NULL) {
        put(&l, " --set ");
        put_word(&l, a->limit);
        snprintf(text, sizeof text, "=%u", run->iterations);
        put(&l, text);
    }
    put(&l, " --json");
    if (l.full && size > 0)
        out[0] = '\0';
}
