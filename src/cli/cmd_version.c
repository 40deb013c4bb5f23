/* cmd_version.c - `shoal version`. */
#include "cli/cli.h"

#include "shoal/version.h"

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    (void)values, (void)args, (void)arg_count;
    if (cx->json)
        fprintf(cx->out, "{\"v\":1,\"version\":\"%s\"}\n", shoal_version());
    else
        fprintf(cx->out, "shoal %s\n", shoal_version());
    return 0;
}

const struct cli_command cli_cmd_version = {
    .name = "version",
    .usage = "[options]",
    .summary = "Print the version.",
    .description = "Does the same as 'shoal --version'.",
    .example = "version --json",
    .json = true,
    .no_config = true,
    .run = run,
};
