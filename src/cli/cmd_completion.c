/* cmd_completion.c - `shoal completion SHELL`: a completion script made from the rows.
 *
 * The scripts hold everything they offer (commands, verbs, options, choices, policies, knobs,
 * applications, settings), and find jobs by the names of their files, so that a key press starts no
 * process. One text per shell (completion_bash.c and so on), with holes that the same tables fill.
 * What completes a value is a word of its row:
 *
 * - file, dir: names on disk;
 * - policy: policies, with commas between;
 * - knob: KEY= of --set, of the policies named on the line, and in bash then its values;
 * - command: a command;
 * - app: an application; data: one, then files;
 * - setting: KEY= of --set, of the application named on the line, and in bash then its values;
 * - job: `last` and the jobs that run here, as the first argument;
 * - several words with spaces between them: those words.
 *
 * Tests: tests/cli/test_completion.py. */
#include "cli/completion.h"

#include <string.h>

enum { TEXT_MAX = 4 << 20 };

static const struct {
    const char *name;
    void (*fill)(struct base_buf *out);
} shells[] = {
    {"bash", cli_completion_bash}, {"zsh", cli_completion_zsh}, {"fish", cli_completion_fish}};

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    struct base_buf buf;
    int rc;

    (void)values, (void)arg_count;
    for (size_t i = 0; i < BASE_COUNT(shells); i++) {
        if (strcmp(shells[i].name, args[0]) != 0)
            continue;
        base_buf_init(&buf, env_alloc(cx->env), TEXT_MAX);
        shells[i].fill(&buf);
        rc = cli_print(cx, &buf);
        base_buf_fini(&buf);
        return rc;
    }
    return cli_usage(cx, "no completion for shell '%s', only for bash, zsh and fish", args[0]);
}

const struct cli_command cli_cmd_completion = {
    .name = "completion",
    .usage = "[options] SHELL",
    .summary = "Print a completion script for bash, zsh or fish.",
    .description = "Load it in bash with: eval \"$(shoal completion bash)\". For zsh write it to a "
                   "file _shoal in a "
                   "folder of $fpath, for fish to ~/.config/fish/completions/shoal.fish.",
    .example = "completion bash > shoal.bash",
    .arg_min = 1,
    .arg_max = 1,
    .arg_complete = "bash zsh fish",
    .no_config = true,
    .run = run,
};
