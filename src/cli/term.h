/* term.h - what the terminal can show: colour, width, UTF-8. Owner thread only. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include "cli/cli.h"

enum { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER }; /* order of the choices of --color */

/* Before options are read: terminals and width, plain output. */
void cli_term_init(struct cli_context *cx);
/* Colour: --color beats NO_COLOR (not empty) beats CLICOLOR_FORCE beats "a terminal, and TERM is
 * not dumb". ASCII:
 * --ascii, or a locale that is not UTF-8. */
void cli_term_apply(struct cli_context *cx, const struct cli_common *common);
/* The locale's name from LC_ALL, LC_CTYPE or LANG, "C" when none is set. */
const char *cli_term_locale(void);
bool cli_term_utf8(void);
bool cli_term_moves(void); /* TERM says that the cursor can be moved */
/* A line on stderr can be erased and drawn again. */
bool cli_term_erases(const struct cli_context *cx);
/* Two texts as lines of talk; on a terminal they go on at a word in the next line. */
void cli_term_talk(FILE *stream, const char *before, const char *text);
/* Columns and rows of the stream's terminal now, 80 x 24 when it has none. */
unsigned cli_term_width(FILE *stream);
unsigned cli_term_height(FILE *stream);

#endif
