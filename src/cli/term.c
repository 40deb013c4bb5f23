/* term.c - see term.h. The locale is read from its variables; setlocale is never called, so numbers
 * are always written with a point. Tests: tests/unit/cli/test_term.c. */
#include "cli/term.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_PIPED = 80, HEIGHT_PIPED = 24, WIDTH_MIN = 20, TALK_MAX = 1 << 16 };

static bool is_terminal(FILE *stream)
{
    int fd = fileno(stream); /* -1 for streams in memory */

    return fd >= 0 && isatty(fd) == 1;
}

void cli_term_init(struct cli_context *cx)
{
    struct winsize size;

    cx->terminal = is_terminal(cx->err);
    cx->screen.terminal = is_terminal(cx->out);
    cx->screen.width = WIDTH_PIPED;
    if (cx->screen.terminal && ioctl(fileno(cx->out), TIOCGWINSZ, &size) == 0 &&
        size.ws_col >= WIDTH_MIN)
        cx->screen.width = size.ws_col;
    cx->screen.color = false;
    cx->screen.ascii = true;
}

static const char *variable(const char *name)
{
    const char *text = getenv(name);

    return text == NULL || *text == '\0' ? NULL : text;
}

static bool want_color(const struct cli_context *cx, uint32_t choice)
{
    const char *force = variable("CLICOLOR_FORCE");
    const char *term = variable("TERM");

    if (choice != CLI_COLOR_AUTO)
        return choice == CLI_COLOR_ALWAYS;
    if (variable("NO_COLOR") != NULL)
        return false;
    if (force != NULL && strcmp(force, "0") != 0)
        return true;
    return cx->screen.terminal && term != NULL && strcmp(term, "dumb") != 0;
}

const char *cli_term_locale(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (variable(names[i]) != NULL)
            return variable(names[i]);
    return "C";
}

bool cli_term_utf8(void)
{
    const char *charset = strchr(cli_term_locale(), '.');

    return charset != NULL &&
           (strncasecmp(charset, ".utf-8", 6) == 0 || strncasecmp(charset, ".utf8", 5) == 0);
}

bool cli_term_moves(void)
{
    const char *term = variable("TERM");

    return term != NULL && strcmp(term, "dumb") != 0;
}

bool cli_term_erases(const struct cli_context *cx)
{
    return cx->terminal && cli_term_moves();
}

static struct winsize size_of(FILE *stream)
{
    struct winsize size = {.ws_row = 0};
    int fd = fileno(stream);

    if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){.ws_row = 0};
    return size;
}

unsigned cli_term_width(FILE *stream)
{
    struct winsize size = size_of(stream);

    return size.ws_col > 0 ? size.ws_col : WIDTH_PIPED;
}

unsigned cli_term_height(FILE *stream)
{
    struct winsize size = size_of(stream);

    return size.ws_row > 0 ? size.ws_row : HEIGHT_PIPED;
}

static bool put_to_stream(void *ctx, const char *text, size_t size)
{
    return fwrite(text, 1, size, ctx) == size;
}

void cli_term_talk(FILE *stream, const char *before, const char *text)
{
    struct page_screen screen = {.put = put_to_stream, .ctx = stream, .terminal = true};
    struct base_buf lines;

    if (!is_terminal(stream)) {
        fprintf(stream, "%s%s\n", before, text);
        return;
    }
    screen.width = cli_term_width(stream);
    base_buf_init(&lines, &base_alloc_libc, TALK_MAX);
    base_buf_printf(&lines, "%s%s", before, text);
    if (base_buf_status(&lines) == SHOAL_OK)
        (void)page_lines(&screen, lines.data);
    base_buf_fini(&lines);
}

void cli_term_apply(struct cli_context *cx, const struct cli_common *common)
{
    cx->screen.color = want_color(cx, common->color);
    cx->screen.ascii = common->ascii || !cli_term_utf8();
}
