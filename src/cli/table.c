/* table.c - look-ups in the table of commands. Tests: tests/unit/cli/test_table.c. */
#include "cli/table.h"

#include "base/assert.h"
#include "base/text.h"
#include <string.h>

static const struct cli_command *const rows[] = {
#define CLI_COMMAND_ROW(section, id) &cli_cmd_##id,
    CLI_COMMAND_MAP(CLI_COMMAND_ROW)
#undef CLI_COMMAND_ROW
};

static const struct cli_command *const internal[] = {
#define CLI_COMMAND_ROW(section, id) &cli_cmd_##id,
    CLI_INTERNAL_MAP(CLI_COMMAND_ROW)
#undef CLI_COMMAND_ROW
};

static const unsigned char sections[] = {
#define CLI_COMMAND_ROW(section, id) CLI_SECTION_##section,
    CLI_COMMAND_MAP(CLI_COMMAND_ROW)
#undef CLI_COMMAND_ROW
};

#define CLI_SECTION_ROW(id, title) {#id, title},
static const char *const section_texts[CLI_SECTIONS][2] = {CLI_SECTION_MAP(CLI_SECTION_ROW)};
#undef CLI_SECTION_ROW

const char *cli_section_name(enum cli_section section)
{
    return section_texts[section][0];
}

const char *cli_section_title(enum cli_section section)
{
    return section_texts[section][1];
}

enum cli_section cli_table_section(size_t index)
{
    return sections[index];
}

const struct cli_command *const *cli_table_commands(size_t *out_count)
{
    *out_count = BASE_COUNT(rows);
    return rows;
}

/* Length of the first word of a name. */
static size_t first_length(const char *name)
{
    return strcspn(name, " ");
}

static bool first_is(const struct cli_command *command, const char *word)
{
    size_t length = first_length(command->name);

    return strlen(word) == length && memcmp(command->name, word, length) == 0;
}

const char *cli_table_verb_name(const struct cli_command *command)
{
    const char *rest = command->name + first_length(command->name);

    return *rest == '\0' ? NULL : rest + 1;
}

const struct cli_command *cli_table_verb(const char *group, size_t *at)
{
    while (*at < BASE_COUNT(rows)) {
        const struct cli_command *command = rows[(*at)++];
        if (first_is(command, group) && cli_table_verb_name(command) != NULL)
            return command;
    }
    return NULL;
}

const struct cli_command *cli_table_find(const char *const *words, size_t count, size_t *out_words,
                                         bool *out_group)
{
    *out_group = false;
    *out_words = 0;
    for (size_t i = 0; count > 0 && i < BASE_COUNT(rows); i++) {
        const char *verb = cli_table_verb_name(rows[i]);
        if (!first_is(rows[i], words[0]))
            continue;
        if (verb == NULL || (count > 1 && strcmp(verb, words[1]) == 0)) {
            *out_words = verb == NULL ? 1 : 2;
            *out_group = false;
            return rows[i];
        }
        *out_group = true;
    }
    for (size_t i = 0; count > 0 && i < BASE_COUNT(internal); i++) {
        if (strcmp(internal[i]->name, words[0]) == 0) {
            *out_words = 1;
            return internal[i];
        }
    }
    return NULL;
}

/* A letter and a word mean the same in every command (docs/command-line.md); these did not. */
static const struct {
    const char *command, *was, *now;
} renamed[] = {
    {"advise", "d", "deadline"},
    {"advise", "start", "startup"},
    {"advise", "t", "target"},
    {"gen corpus", "k", "topics"},
    {"gen corpus", "m", "mixed"},
    {"gen corpus", "spread", "length-spread"},
    {"gen corpus", "w", "words"},
    {"gen prices", "regions", "region-count"},
    {"gen prices", "zones", "zone-count"},
    {"gen ratings", "r", "rank"},
    {"gen regression", "c", "correlation"},
    {"gen regression", "k", "nonzeros"},
    {"gen sparse", "c", "classes"},
    {"gen sparse", "k", "nonzeros"},
    {"join", "k", "key-file"},
    {"join", "key", "key-file"},
    {"market", "j", "fleet"},
    {"market", "jobs", "fleet"},
    {"market", "m", "moves"},
    {"market", "rate", "exchange"},
    {"market", "w", "work"},
    {"sim", "checkpoint", "checkpoint-every"},
    {"solve", "j", "show"},
    {"solve", "jobs", "show"},
    {"trace convert", "cluster", "nodes"},
    {"train", "out", "output"},
};

const char *cli_table_renamed(const char *command, const char *was, size_t length)
{
    for (size_t i = 0; i < BASE_COUNT(renamed); i++)
        if (strcmp(renamed[i].command, command) == 0 && strlen(renamed[i].was) == length &&
            memcmp(renamed[i].was, was, length) == 0)
            return renamed[i].now;
    return NULL;
}

const char *cli_table_was(const char *command, const char *name)
{
    for (size_t i = 0; i < BASE_COUNT(renamed); i++)
        if (renamed[i].now[0] == name[0] && renamed[i].was[1] != '\0' &&
            strcmp(renamed[i].command, command) == 0 && strcmp(renamed[i].now, name) == 0)
            return renamed[i].was;
    return NULL;
}

const char *cli_table_nearest(const char *group, const char *word, char *buf, size_t size)
{
    char words[BASE_COUNT(rows)][32];
    const char *names[BASE_COUNT(rows)];
    const char *nearest;
    size_t count = 0;

    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const char *name = rows[i]->name;
        size_t length = first_length(name);
        if (group != NULL) {
            if (!first_is(rows[i], group) || cli_table_verb_name(rows[i]) == NULL)
                continue;
            name = cli_table_verb_name(rows[i]);
            length = strlen(name);
        }
        shoal_assert(length < sizeof words[0]);
        memcpy(words[count], name, length);
        words[count][length] = '\0';
        names[count] = words[count];
        count++;
    }
    nearest = base_nearest(word, names, count);
    if (nearest == NULL || strlen(nearest) >= size)
        return NULL;
    return strcpy(buf, nearest);
}
