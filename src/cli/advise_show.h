/* advise_show.h - what `shoal advise` prints: the answer in a sentence, candidates, warnings. */
#ifndef CLI_ADVISE_SHOW_H
#define CLI_ADVISE_SHOW_H

#include "advise/choose.h"
#include "advise/next.h"
#include "advise/plan.h"
#include "cli/cli.h"

struct cli_advised {
    const struct advise_runs *runs;
    const struct advise_fit *fit;
    const struct advise_question *question;
    const struct advise_choice *choice;
    struct advise_next next_fast, next_cheap;
    bool has_next_fast, has_next_cheap;
    double within; /* what target was made of; NAN: it was given */
    bool within_default;
    bool best_given; /* --best: not estimated */
};

/* Both return what cli_print returns. */
int cli_advise_text(const struct cli_context *cx, const struct cli_advised *shown);
int cli_advise_json(const struct cli_context *cx, const struct cli_advised *shown);
/* What the data said about itself, to stderr. */
void cli_advise_warn(const struct cli_context *cx, const struct cli_advised *shown);

/* What a plan of runs is asked for. */
struct cli_advise_ask {
    const struct advise_runs *runs;
    const struct advise_fit *fit; /* NULL: nothing was measured */
    const uint32_t *machines;     /* rising, at least one */
    size_t machine_count;
    double start_s, usd_h, budget; /* machine-seconds, or dollars where usd_h is above 0 */
    const char *data;              /* for `shoal train`; NULL: no lines for a shell */
};
/* Plans and prints. Returns the exit status. */
int cli_advise_plan(struct cli_context *cx, const struct cli_advise_ask *ask);

/* "$1.20" or "0.33 machine-hours". Returns buf. */
const char *cli_advise_cost(const struct advise_question *question, double cost, char *buf,
                            size_t size);

#endif
