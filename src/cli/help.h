/* help.h - help texts and manual pages, made from the rows. At most 80 columns. Any thread. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/cli.h"

void cli_help_overview(struct base_buf *out);                 /* `shoal` alone: one screen */
void cli_help_all(struct base_buf *out);                      /* `shoal help`: every command */
void cli_help_group(const char *group, struct base_buf *out); /* `shoal policy --help`: its verbs */
void cli_help_command(const struct cli_command *command, struct base_buf *out);

/* What an option is, with its choices. Returns buf. */
const char *cli_help_text(const shoal_opt *row, char *buf, size_t size);

/* mdoc. The command's page, or shoal(1) when it is NULL. */
void cli_man_page(const struct cli_command *command, struct base_buf *out);

/* "shoal-policy-list". Returns buf. */
const char *cli_man_name(const struct cli_command *command, char *buf, size_t size);

#endif
