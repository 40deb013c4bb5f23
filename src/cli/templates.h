/* templates.h - the files of src/cli/templates, which the build embeds: what `shoal new app` writes and `shoal
 * completion` fills. */
#ifndef CLI_TEMPLATES_H
#define CLI_TEMPLATES_H

extern const char cli_template_app[], cli_template_makefile[], cli_template_readme[];
extern const char cli_template_bash[], cli_template_zsh[], cli_template_fish[];

#endif
