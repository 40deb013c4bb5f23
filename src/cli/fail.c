/* fail.c - saying once what went wrong: a line for people on stderr, or one JSON object on stdout
 * under --json.
 *
 * The same five fields in both: code, message, where, hint, action. Tests: tests/cli. */
#include "cli/cli.h"

#include "base/err.h"
#include "cli/term.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096 };

static void put_json(struct base_buf *out, const shoal_err *err)
{
    base_buf_puts(out, "{\"code\":");
    base_buf_json_string(out, shoal_status_name(err->code));
    base_buf_puts(out, ",\"message\":");
    base_buf_json_string(out, err->message);
    base_buf_puts(out, ",\"where\":");
    base_buf_json_string(out, err->where);
    base_buf_puts(out, ",\"hint\":");
    base_buf_json_string(out, err->hint);
    base_buf_puts(out, ",\"action\":");
    base_buf_json_string(out, shoal_action_text(shoal_status_action(err->code)));
    base_buf_puts(out, "}");
}

static void print_json(const struct cli_context *cx, const shoal_err *err)
{
    struct base_buf buf;

    base_buf_init(&buf, &base_alloc_libc, 16 * LINE_MAX_BYTES);
    base_buf_puts(&buf, "{\"v\":1,\"error\":");
    put_json(&buf, err);
    base_buf_puts(&buf, "}\n");
    if (base_buf_status(&buf) == SHOAL_OK)
        fwrite(buf.data, 1, buf.size, cx->out);
    else
        fputs("{\"v\":1,\"error\":{\"code\":\"SHOAL_E_NOMEM\",\"message\":\"out of "
              "memory\",\"where\":\"\","
              "\"hint\":\"\",\"action\":\"retry elsewhere\"}}\n",
              cx->out);
    base_buf_fini(&buf);
}

/* True when the message already names the place, give or take quotes. */
static bool names_place(const char *message, const char *where)
{
    char plain[sizeof((shoal_err *)0)->message];
    size_t n = 0;

    for (const char *p = message; *p != '\0' && n + 1 < sizeof plain; p++)
        if (*p != '\'')
            plain[n++] = *p;
    plain[n] = '\0';
    return strstr(plain, where) != NULL || strstr(message, where) != NULL;
}

/* User strings in a message must not drive the terminal. */
static void put_clean(struct base_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        bool drives = (unsigned char)*text < 0x20 || *text == 0x7f;
        base_buf_append(out, drives ? "?" : text, 1);
    }
}

static void put_joined(struct base_buf *out, const char *text)
{
    base_buf_puts(out, out->size > 0 && out->data[out->size - 1] == '?' ? " " : "; ");
    put_clean(out, text);
}

static void print_text(const struct cli_context *cx, const shoal_err *err, bool usage)
{
    const char *space = cx->topic[0] == '\0' ? "" : " ";
    char see[100];
    struct base_buf line;

    base_buf_init(&line, &base_alloc_libc, 4 * LINE_MAX_BYTES);
    base_buf_printf(&line, "shoal%s%s: ", space, cx->topic);
    if (err->where[0] != '\0' && !names_place(err->message, err->where)) {
        put_clean(&line, err->where);
        base_buf_puts(&line, ": ");
    }
    put_clean(&line, err->message);
    if (err->hint[0] != '\0')
        put_joined(&line, err->hint);
    if (usage) {
        snprintf(see, sizeof see, "see 'shoal%s%s --help'", space, cx->topic);
        put_joined(&line, see);
    }
    cli_term_talk(cx->err, "", base_buf_status(&line) == SHOAL_OK ? line.data : err->message);
    base_buf_fini(&line);
}

static int report(const struct cli_context *cx, const shoal_err *err, bool usage)
{
    if (cx->json)
        print_json(cx, err);
    else
        print_text(cx, err, usage);
    return usage ? 2 : 1;
}

int cli_fail(const struct cli_context *cx, shoal_status status, const shoal_err *err)
{
    shoal_err own = SHOAL_ERR_INIT;

    if (err != NULL && err->message[0] != '\0')
        own = *err;
    else
        base_err(&own, status, "%s", shoal_status_text(status));
    own.code = status;
    return report(cx, &own, status == SHOAL_E_INVAL);
}

int cli_usage_err(const struct cli_context *cx, const shoal_err *err)
{
    return report(cx, err, true);
}

int cli_usage(const struct cli_context *cx, const char *format, ...)
{
    shoal_err err = SHOAL_ERR_INIT;
    va_list args;

    err.code = SHOAL_E_INVAL;
    va_start(args, format);
    vsnprintf(err.message, sizeof err.message, format, args);
    va_end(args);
    return report(cx, &err, true);
}

static bool out_is_whole(const struct cli_context *cx)
{
    if (!ferror(cx->out))
        return true;
    if (cx->out_errno != NULL && *cx->out_errno == 0)
        *cx->out_errno = errno;
    return false;
}

bool cli_put(const struct cli_context *cx, const void *bytes, size_t size)
{
    if (size > 0)
        (void)fwrite(bytes, 1, size, cx->out);
    return out_is_whole(cx);
}

bool cli_flush(const struct cli_context *cx)
{
    (void)fflush(cx->out);
    return out_is_whole(cx);
}

int cli_print(const struct cli_context *cx, const struct base_buf *buf)
{
    if (base_buf_status(buf) != SHOAL_OK)
        return cli_fail(cx, base_buf_status(buf), NULL);
    (void)cli_put(cx, buf->data, buf->size);
    return 0;
}
