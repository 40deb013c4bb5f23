/* repeat.c - writes a command line from its values (see repeat.h).
 * Tests: tests/unit/cli/test_repeat.c. */
#include "cli/repeat.h"

#include <string.h>

enum { VALUE_MAX = 1 << 16 };

static void put_word(const char *word, char before, struct base_buf *out)
{
    bool plain = word[0] != '\0' &&
                 strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-./,:=+@%") == strlen(word);

    base_buf_printf(out, plain ? "%c" : "%c'", before);
    for (const char *p = word; *p != '\0'; p++)
        base_buf_puts(out, *p == '\'' ? "'\\''" : (char[]){*p, '\0'});
    base_buf_puts(out, plain ? "" : "'");
}

void cli_repeat_word(const char *word, struct base_buf *out)
{
    put_word(word, ' ', out);
}

/* One that begins with a dash would be taken for the next option. */
static void put_value(const char *value, struct base_buf *out)
{
    put_word(value, value[0] == '-' ? '=' : ' ', out);
}

static void put_list(const struct base_opt *row, const void *values, struct base_buf *out)
{
    const struct base_opt_list *list = (const void *)((const char *)values + row->offset);

    for (size_t i = 0; i < list->count; i++) {
        base_buf_printf(out, " --%s", row->name);
        put_value(list->items[i], out);
    }
}

/* Nothing when the value is the default's. `mine` and `usual` are scratch. */
static void put_option(const struct base_opt *row, const void *values, const void *defaults,
                       struct base_buf *mine, struct base_buf *usual, struct base_buf *out)
{
    base_buf_clear(mine);
    base_buf_clear(usual);
    base_opt_format(row, values, mine);
    base_opt_format(row, defaults, usual);
    if (mine->size == 0 ||
        (mine->size == usual->size && memcmp(mine->data, usual->data, mine->size) == 0))
        return;
    base_buf_printf(out, " --%s", row->name);
    if (row->type != BASE_OPT_FLAG)
        put_value(mine->data, out);
}

/* What would be taken for an option. */
static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

static void put_options(const struct cli_command *command, const void *values, const void *defaults,
                        struct base_buf *out)
{
    struct base_buf mine, usual;

    base_buf_init(&mine, out->alloc, VALUE_MAX);
    base_buf_init(&usual, out->alloc, VALUE_MAX);
    for (size_t i = 0; i < command->opt_count; i++) {
        if (command->opts[i].type == BASE_OPT_LIST)
            put_list(&command->opts[i], values, out);
        else
            put_option(&command->opts[i], values, defaults, &mine, &usual, out);
    }
    base_buf_fini(&mine);
    base_buf_fini(&usual);
}

void cli_repeat_command(const struct cli_command *command, const void *values,
                        const char *const *args, size_t arg_count, struct base_buf *out)
{
    void *defaults = base_calloc(out->alloc, 1, command->values_size);
    bool last = false; /* arguments, after all options */

    if (defaults == NULL) {
        out->status = SHOAL_E_NOMEM;
        return;
    }
    for (size_t i = 0; i < arg_count; i++)
        last = last || looks_like_option(args[i]);
    base_opt_defaults(command->opts, command->opt_count, defaults);
    base_buf_printf(out, "shoal %s", command->name);
    if (last) {
        put_options(command, values, defaults, out);
        base_buf_puts(out, " --");
    }
    for (size_t i = 0; i < arg_count; i++)
        cli_repeat_word(args[i], out);
    if (!last)
        put_options(command, values, defaults, out);
    base_free(out->alloc, defaults);
}
