/* report.c - a page and the command that repeats it (see report.h). */
#include "cli/report.h"

#include "base/buf.h"
#include "base/err.h"
#include "cli/repeat.h"
#include "env/env.h"
#include <string.h>

enum { PAGE_MAX = 64 << 20 };

bool cli_report_to_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

shoal_status cli_report_write(const struct cli_report *report, cli_report_fn make, const void *ctx,
                              shoal_err *err)
{
    const struct cli_context *cx = report->cx;
    struct base_buf page, command;

    base_buf_init(&page, env_alloc(cx->env), PAGE_MAX);
    base_buf_init(&command, env_alloc(cx->env), PAGE_MAX);
    cli_repeat_command(cx->command, report->values, report->args, report->arg_count, &command);
    shoal_status st = base_buf_status(&command) == SHOAL_OK
                          ? make(ctx, command.data, &page, err)
                          : base_err_nomem(err, "writing the report");
    if (st == SHOAL_OK && cli_report_to_stdout(report->path))
        (void)cli_put(cx, page.data, page.size);
    else if (st == SHOAL_OK)
        st = env_write_whole(cx->env, report->path, page.data, page.size, err);
    base_buf_fini(&page);
    base_buf_fini(&command);
    return st;
}
