/* sim_policies.c - `shoal sim`: which policies run, and which knobs each of them gets. */
#include "cli/sim_work.h"

#include "base/err.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

enum { KNOBS_MAX = 128 };

static bool knows(const struct sched_policy *p, const char *set)
{
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(set, "="), set);
    return base_opt_find(p->opts, p->opt_count, name) != NULL ||
           base_opt_find(sched_place_rows, sched_place_row_count, name) != NULL;
}

/* The names of the knobs of `count` runs and of placement, once each. */
static size_t knob_names(const struct cli_sim_run *runs, size_t count, const char **names)
{
    size_t used = 0;

    for (size_t r = 0; r <= count; r++) {
        const struct base_opt *rows = r < count ? runs[r].choice.policy->opts : sched_place_rows;
        size_t row_count = r < count ? runs[r].choice.policy->opt_count : sched_place_row_count;
        for (size_t i = 0; i < row_count; i++) {
            size_t k = 0;
            while (k < used && strcmp(names[k], rows[i].name) != 0)
                k++;
            if (k == used && used < KNOBS_MAX)
                names[used++] = rows[i].name;
        }
    }
    return used;
}

/* Offers the nearest knob, else all of them. err has the message already. */
static shoal_status hint_knobs(const struct cli_sim_run *runs, size_t count, const char *set,
                               shoal_err *err)
{
    const char *names[KNOBS_MAX];
    char name[64], list[170] = "";
    size_t used = knob_names(runs, count, names);

    snprintf(name, sizeof name, "%.*s", (int)strcspn(set, "="), set);
    const char *near = base_nearest(name, names, used);
    if (near != NULL) {
        base_err_hint(err, "did you mean '%s'?", near);
        return SHOAL_E_INVAL;
    }
    for (size_t i = 0; i < used; i++) {
        size_t length = strlen(list);
        if (length + strlen(names[i]) + 8 > sizeof list) {
            snprintf(list + length, sizeof list - length, ", ...");
            break;
        }
        snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    base_err_hint(err, "there are %s", list);
    return SHOAL_E_INVAL;
}

/* Knobs after colons are for their own policy. */
static shoal_status check_sets(const struct cli_sim_run *run, shoal_err *err)
{
    for (size_t i = 0; i < run->choice.set_count; i++) {
        const char *set = run->choice.sets[i];
        if (strchr(set, '=') == NULL || knows(run->choice.policy, set))
            continue;
        base_err(err, SHOAL_E_INVAL, "policy '%s' has no knob '%.*s'", run->choice.policy->name,
                 (int)strcspn(set, "="), set);
        return hint_knobs(run, 1, set, err);
    }
    return SHOAL_OK;
}

/* A --set goes to every policy that has the knob; one that none has is a mistake. */
static shoal_status spread_sets(struct cli_sim *w, shoal_err *err)
{
    for (size_t i = 0; i < w->v->sets.count; i++) {
        const char *set = w->v->sets.items[i];
        size_t taken = 0;
        for (size_t r = 0; r < w->run_count; r++)
            if (knows(w->runs[r].choice.policy, set) &&
                w->runs[r].choice.set_count < SIM_SETS_MAX) {
                w->runs[r].choice.sets[w->runs[r].choice.set_count++] = set;
                taken++;
            }
        if (taken == 0) {
            base_err(err, SHOAL_E_INVAL, "no policy here has a knob '%.*s'", (int)strcspn(set, "="),
                     set);
            return hint_knobs(w->runs, w->run_count, set, err);
        }
    }
    return SHOAL_OK;
}

/* The comma after which the next policy of the list begins, or NULL. A word with a '=' names none:
 * after a knob it belongs to that, as in hierarchical:weights=research=2,web=1. */
static char *next_comma(char *list)
{
    char *comma = strchr(list, ',');

    while (comma != NULL && comma[1 + strcspn(comma + 1, ",:=")] == '=' &&
           memchr(list, ':', (size_t)(comma - list)) != NULL)
        comma = strchr(comma + 1, ',');
    return comma;
}

shoal_status cli_sim_policies(struct cli_sim *w, shoal_err *err)
{
    base_buf_puts(&w->words, w->v->policy);
    if (base_buf_status(&w->words) != SHOAL_OK)
        return base_err_nomem(err, "reading the policies");
    for (char *p = w->words.data; p != NULL;) {
        char *comma = next_comma(p);
        if (comma != NULL)
            *comma = '\0';
        if (w->run_count == CLI_SIM_RUNS_MAX)
            return base_err(err, SHOAL_E_INVAL, "more than %d policies at once", CLI_SIM_RUNS_MAX);
        shoal_status st = sim_choice_parse(p, &w->runs[w->run_count].choice, err);
        if (st == SHOAL_OK)
            st = check_sets(&w->runs[w->run_count], err);
        if (st == SHOAL_E_NOTFOUND) { /* an unknown name in an option is a mistake in the call */
            if (strchr(p, '=') != NULL)
                base_err_hint(
                    err, "knobs follow their policy after a colon: %s:%s",
                    w->run_count > 0 ? w->runs[w->run_count - 1].choice.policy->name : "POLICY", p);
            err->code = SHOAL_E_INVAL;
            return SHOAL_E_INVAL;
        }
        if (st != SHOAL_OK)
            return st;
        w->run_count++;
        p = comma != NULL ? comma + 1 : NULL;
    }
    return spread_sets(w, err);
}
