/* corpus_totals.c - see corpus_totals.h. Tests: tests/cli/transcripts/corpus.txt. */
#include "cli/corpus_totals.h"

#include <sys/stat.h>

void cli_corpus_add(struct cli_corpus_totals *t, const struct data_corpus *part)
{
    t->documents += part->x.documents;
    t->entries += part->entries;
    t->tokens += part->tokens;
    t->empty += part->empty;
    t->sorted += part->sorted;
    t->repeated += part->repeated;
    t->left_out += part->left_out;
}

void cli_corpus_put(struct base_buf *out, const struct cli_corpus_totals *t, uint32_t words)
{
    base_buf_printf(out,
                    "\"documents\":%llu,\"words\":%u,\"tokens\":%llu,\"entries\":%llu,"
                    "\"empty\":%llu,\"sorted\":%llu,\"repeated\":%llu,\"left_out\":%llu",
                    (unsigned long long)t->documents, words, (unsigned long long)t->tokens,
                    (unsigned long long)t->entries, (unsigned long long)t->empty,
                    (unsigned long long)t->sorted, (unsigned long long)t->repeated,
                    (unsigned long long)t->left_out);
}

void cli_corpus_tell_doubt(const struct cli_context *cx, enum data_corpus_format resembles)
{
    const char *name = data_corpus_format_names[resembles];

    if (resembles != DATA_CORPUS_AUTO)
        base_log(&cx->log, BASE_LOG_INFO,
                 "read as text; if it is %s, --format %s tells its mistake", name, name);
}

uint64_t cli_corpus_size(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}
