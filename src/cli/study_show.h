/* study_show.h - what `shoal study` prints about a study. */
#ifndef CLI_STUDY_SHOW_H
#define CLI_STUDY_SHOW_H

#include "cli/cli.h"
#include "study/study.h"

struct cli_study {
    const struct study *study;
    const char *cluster; /* its spec */
    bool chosen;         /* and not given */
};

/* Both return what cli_print returns. */
int cli_study_json(const struct cli_context *cx, const struct cli_study *shown);
/* Waiting by size and reason, the guidelines, and what to do first. */
int cli_study_table(const struct cli_context *cx, const struct cli_study *shown);

#endif
