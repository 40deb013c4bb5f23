/* next.h - the one run that would help most now.
 *
 * For those who measure, ask, and measure again. Among candidates that no run has seen reach the
 * loss, the one whose chance of being near the best is largest for what finding out costs is run,
 * or its run goes on: to where the loss is predicted, but not past the time of the best one
 * measured (by then it has lost), and to at most twice the iterations it has (predictions get
 * better on the way). An algorithm that is not far enough to say anything is given as much as the
 * best one needs. When no candidate has a chance above one in twenty there is nothing left worth
 * measuring. Any thread. Tests: tests/unit/advise/test_choose.c. */
#ifndef ADVISE_NEXT_H
#define ADVISE_NEXT_H

#include "advise/choose.h"

struct advise_next {
    uint32_t algorithm, machines;
    double from, to;      /* iterations: those it has, and those it should have */
    double seconds, cost; /* of the way from one to the other: machine-seconds */
    double chance;        /* of being near the best; NAN: too little is known to say */
};

/* False: nothing more is worth measuring. `choice` may have no good candidate. */
bool advise_next(const struct advise_fit *fit, const struct advise_question *question,
                 const struct advise_choice *choice, bool cheapest, struct advise_next *out);

#endif
