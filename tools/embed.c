/* embed.c - a tool of the build: writes files as C.
 *
 *     embed --texts header.h out.c name=file ...          each file as the text that the header declares so
 *     embed page.html page.css page.js out.c              a page's template, with its style sheet and script in it
 *
 * {{style}} and {{script}} of the template become those files, {{style-sha256}} and {{script-sha256}} what a
 * content policy names them by. Other marks stay for the program. See src/page/html.c. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *data;
    size_t size;
};

static void fail(const char *what, const char *which)
{
    (void)fprintf(stderr, "embed: %s '%s'\n", what, which);
    exit(1);
}

static struct text read_file(const char *path)
{
    struct text text = {NULL, 0};
    FILE *file = fopen(path, "rb");
    size_t got = 1;

    if (file == NULL)
        fail("cannot open", path);
    while (got > 0) {
        char *more = realloc(text.data, text.size + (1 << 16) + 1);
        if (more == NULL)
            fail("no memory for", path);
        text.data = more;
        got = fread(text.data + text.size, 1, 1 << 16, file);
        text.size += got;
    }
    if (ferror(file) != 0 || fclose(file) != 0)
        fail("cannot read", path);
    text.data[text.size] = '\0';
    return text;
}

/* "sha256-...", as in a content policy. */
static struct text hash(const struct text *of)
{
    unsigned char digest[EVP_MAX_MD_SIZE], text[128];
    unsigned size = 0;
    struct text name = {malloc(160), 0};

    if (name.data == NULL || EVP_Digest(of->data, of->size, digest, &size, EVP_sha256(), NULL) != 1)
        fail("cannot hash", "it");
    (void)EVP_EncodeBlock(text, digest, (int)size);
    name.size = (size_t)snprintf(name.data, 160, "sha256-%s", (const char *)text);
    return name;
}

static void put(FILE *out, const char *text, size_t size)
{
    (void)fputs("    \"", out);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            (void)fputs(i + 1 < size ? "\\n\"\n    \"" : "\\n", out);
        else if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < 0x20 || c > 0x7e || c == '?')
            (void)fprintf(out, "\\%03o", c);
        else
            (void)fputc(c, out);
    }
    (void)fputs("\"\n", out);
}

static FILE *begin(const char *path, const char *header)
{
    FILE *out = fopen(path, "wb");

    if (out == NULL)
        fail("cannot write", path);
    (void)fprintf(out, "/* Made by tools/embed.c. */\n#include \"%s\"\n", header);
    return out;
}

static void end(FILE *out, const char *path)
{
    if (ferror(out) != 0 || fclose(out) != 0)
        fail("cannot write", path);
}

static int embed_texts(const char *header, const char *path, char **files)
{
    FILE *out = begin(path, header);

    for (; *files != NULL; files++) {
        char *file = strchr(*files, '=');
        if (file == NULL)
            fail("no name for", *files);
        struct text text = read_file(file + 1);
        (void)fprintf(out, "\nconst char %.*s[] =\n", (int)(file - *files), *files);
        put(out, text.data, text.size);
        (void)fputs("    ;\n", out);
        free(text.data);
    }
    end(out, path);
    return 0;
}

int main(int argc, char **argv)
{
    struct text part[5]; /* template, style, script, and what those are called */
    static const char *const marks[5] = {NULL, "{{style}}", "{{script}}", "{{style-sha256}}",
                                         "{{script-sha256}}"};

    if (argc > 4 && strcmp(argv[1], "--texts") == 0)
        return embed_texts(argv[2], argv[3], argv + 4);
    if (argc != 5)
        fail("usage:", "embed page.html page.css page.js out.c");
    for (int i = 0; i < 3; i++)
        part[i] = read_file(argv[1 + i]);
    part[3] = hash(&part[1]);
    part[4] = hash(&part[2]);
    FILE *out = begin(argv[4], "page/show.h");
    (void)fputs("\nconst char page_template[] =\n", out);
    for (const char *at = part[0].data, *mark; *at != '\0';) {
        size_t used = 2;
        int which = 0;
        mark = strstr(at, "{{");
        put(out, at, mark == NULL ? strlen(at) : (size_t)(mark - at));
        if (mark == NULL)
            break;
        for (int i = 1; i < 5; i++)
            if (strncmp(mark, marks[i], strlen(marks[i])) == 0)
                which = i;
        if (which > 0)
            used = strlen(marks[which]);
        put(out, which > 0 ? part[which].data : mark, which > 0 ? part[which].size : used);
        at = mark + used;
    }
    (void)fputs("    ;\n", out);
    end(out, argv[4]);
    for (int i = 0; i < 5; i++)
        free(part[i].data);
    return 0;
}
