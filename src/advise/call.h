/* call.h - what the files behind shoal_advise_run share: what the options were made into, and what came of it.
 *
 *   run.c        the options as rows, the order of things, saving
 *   result.c     the answer as records
 *   words.c      the answer in words, and what there is to know beside it
 *   pictures.c   the answer in pictures
 *   plan_run.c   with --plan: the problem of plan.h from runs and options, and its plan as a result
 *
 * Owner thread only. Tests: tests/unit/advise/test_run.c, tests/cli/test_advise.py. */
#ifndef ADVISE_CALL_H
#define ADVISE_CALL_H

#include "advise/choose.h"
#include "env/env.h"
#include "page/make.h"
#include "shoal/advise.h"

/* A choice with a lower probability of being within 5 % of the best is none: evidence is not enough. Chosen on what
 * choices turned out to be: docs/design/0015-advice.md. */
extern const double advise_enough;

/* One question about the candidates: who is fastest, or who is cheapest. */
struct advise_asked {
    uint32_t best;      /* index of a candidate; UINT32_MAX: not asked */
    uint32_t likeliest; /* that of the highest probability of being within 5 % of the best */
    uint32_t rivals;    /* candidates for which that is not below one in twenty */
    double near;        /* that probability of the best */
    bool enough;        /* there is evidence to choose it */
    bool has_next;      /* a run is worth making for it */
    struct advise_next next;
    const struct advise_path *path; /* leg_count below 2: none is worth it */
};

struct advise_call {
    shoal_env *env;
    const shoal_advise_opts *v;
    shoal_watch *watch;
    struct page_made *made;
    struct advise_runs runs;
    struct advise_fit *fit; /* NULL: a plan from nothing */
    struct advise_question question;
    uint32_t machines[ADVISE_ASKED_MAX];
    double within; /* what the target was made of; NAN: it was given, or there is none */
    bool within_default;
    struct advise_choice choice;
    struct advise_asked fast, cheap;
};

/* result.c: title, records and all that follows, of a choice. */
void advise_result_make(const struct advise_call *w);
/* The rows that tables have; the others are in JSON and CSV. */
bool advise_result_shown(const struct advise_call *call, uint32_t candidate);

/* words.c */
/* A line of the heading: what runs there are, and the counts that are chosen from. */
void advise_words_runs(const struct advise_call *w);
void advise_words_say(const struct advise_call *w);
/* "$0.025", "1m35s of machine time", "less than $0.001": of a cost as choose.h has it. The result's. */
const char *advise_words_cost(const struct advise_call *w, double cost);
/* "sdca on 8 machines". The result's. */
const char *advise_words_choice(const struct advise_call *w, const struct advise_candidate *c);

/* pictures.c */
void advise_pictures_draw(const struct advise_call *w);

/* plan_run.c: the plan and its result. */
SHOAL_MUST_USE shoal_status advise_plan_run(const struct advise_call *call, shoal_err *err);

#endif
