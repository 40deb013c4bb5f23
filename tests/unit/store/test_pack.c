/* Tests of src/store/pack.c: what goes in comes out, nothing else passes, and what
 * was there before stays until commit. */
#include "torture.h"

#include "base/rand.h"
#include "pack_seal.h"
#include "property.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = STORE_PACK_BLOCK_SIZE, SECTIONS_MAX = 12 };

struct section {
    char name[STORE_PACK_NAME_MAX + 1];
    unsigned char *bytes;
    size_t size;
};

struct content {
    size_t count;
    struct section sections[SECTIONS_MAX];
};

static shoal_env *new_env(uint64_t seed)
{
    shoal_env *env = NULL;
    assert_int_equal(shoal_env_sim_new(seed, &env, NULL), SHOAL_OK);
    return env;
}

static size_t draw_size(struct base_rand *r, size_t size_max)
{
    static const size_t edges[] = {0,
                                   1,
                                   63,
                                   64,
                                   65,
                                   127,
                                   BLOCK - 1,
                                   BLOCK,
                                   BLOCK + 1,
                                   2 * BLOCK,
                                   2 * BLOCK + 63,
                                   BLOCK - 64,
                                   BLOCK - 63};
    size_t size = edges[base_rand_below(r, sizeof edges / sizeof edges[0])];
    if (base_rand_below(r, 2) == 0)
        size = (size_t)base_rand_below(r, 1 + base_rand_below(r, 3 * BLOCK));
    return size <= size_max ? size : (size_t)base_rand_below(r, size_max + 1);
}

static void draw_content(struct base_rand *r, size_t size_max, struct content *out)
{
    out->count = (size_t)base_rand_below(r, SECTIONS_MAX + 1);
    for (size_t i = 0; i < out->count; i++) {
        struct section *s = &out->sections[i];
        size_t length = 3 + (size_t)base_rand_below(r, STORE_PACK_NAME_MAX - 2);
        (void)snprintf(s->name, sizeof s->name, "%02zu", i); /* unique */
        for (size_t k = 2; k < length; k++)
            s->name[k] = "abcXYZ019._/-"[base_rand_below(r, 13)];
        s->name[length] = '\0';
        s->size = draw_size(r, size_max);
        s->bytes = malloc(s->size + 1);
        for (size_t k = 0; k < s->size; k++)
            s->bytes[k] = (unsigned char)base_rand_u64(r);
    }
}

static void free_content(struct content *content)
{
    for (size_t i = 0; i < content->count; i++)
        free(content->sections[i].bytes);
}

/* A section in pieces of any size, empty ones as well. */
static void put_pieces(struct store_pack_out *out, struct base_rand *r, const struct section *s)
{
    size_t at = 0;
    (void)store_pack_begin(out, s->name);
    while (at < s->size) {
        size_t piece = (size_t)base_rand_below(r, 2 * BLOCK);
        if (piece > s->size - at)
            piece = s->size - at;
        (void)store_pack_append(out, s->bytes + at, piece);
        at += piece;
    }
    (void)store_pack_end(out);
}

static shoal_status save(shoal_env *env, const char *path, const struct content *content,
                         struct base_rand *r, shoal_err *err)
{
    struct store_pack_out *out = NULL;
    shoal_status st = store_pack_create(env, path, "model", &out, err);
    if (st != SHOAL_OK)
        return st;
    for (size_t i = 0; i < content->count; i++) {
        const struct section *s = &content->sections[i];
        if (r != NULL && base_rand_below(r, 2) == 0)
            put_pieces(out, r, s);
        else
            (void)store_pack_section(out, s->name, s->bytes, s->size);
    }
    return store_pack_commit(out, err);
}

static void assert_read_in_pieces(struct store_pack *pack, struct base_rand *r,
                                  const struct store_section *section, const unsigned char *bytes)
{
    unsigned char *buf = malloc(section->size + 1);
    size_t size = (size_t)section->size;
    for (size_t at = 0; at < size;) { /* in order */
        size_t piece = (size_t)base_rand_below(r, BLOCK + BLOCK / 2);
        piece = piece < size - at ? piece : size - at;
        assert_int_equal(store_pack_read(pack, section, at, buf + at, piece, NULL), SHOAL_OK);
        at += piece;
    }
    assert_memory_equal(buf, bytes, size);
    for (int i = 0; i < 5; i++) { /* anywhere */
        size_t at = (size_t)base_rand_below(r, size + 1);
        size_t piece = (size_t)base_rand_below(r, size - at + 1);
        assert_int_equal(store_pack_read(pack, section, at, buf, piece, NULL), SHOAL_OK);
        assert_memory_equal(buf, bytes + at, piece);
    }
    free(buf);
}

static void assert_loads(shoal_env *env, const char *path, const struct content *content,
                         struct base_rand *r)
{
    struct store_pack *pack = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    if (store_pack_open(env, path, "model", &pack, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    assert_string_equal(store_pack_kind(pack), "model");
    assert_string_equal(store_pack_path(pack), path);
    assert_int_equal(store_pack_count(pack), content->count);
    assert_null(store_pack_at(pack, content->count));
    for (size_t i = 0; i < content->count; i++) {
        const struct section *s = &content->sections[i];
        const struct store_section *section = store_pack_find(pack, s->name);
        assert_ptr_equal(section, store_pack_at(pack, i));
        assert_string_equal(section->name, s->name);
        assert_int_equal(section->size, s->size);
        assert_int_equal(section->offset % STORE_PACK_ALIGN, 0);
        unsigned char *buf = malloc(s->size + 1);
        assert_int_equal(store_pack_read(pack, section, 0, buf, s->size, &err), SHOAL_OK);
        assert_memory_equal(buf, s->bytes, s->size);
        free(buf);
        assert_read_in_pieces(pack, r, section, s->bytes);
    }
    assert_null(store_pack_find(pack, "none"));
    assert_int_equal(store_pack_verify(pack, &err), SHOAL_OK);
    store_pack_close(pack);
}

static void what_was_saved_loads_equal(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.pack.equal");
    int count = property_count(40);
    for (int i = 0; i < count; i++) {
        struct content content;
        shoal_env *env = new_env((uint64_t)i);
        if (i % 2 == 1) /* reads that stop short are finished */
            assert_int_equal(env_sim_set_fault(env, "env.read.short", 0.5), SHOAL_OK);
        draw_content(&r, 3 * BLOCK, &content);
        assert_int_equal(save(env, "m", &content, &r, NULL), SHOAL_OK);
        assert_loads(env, "m", &content, &r);
        free_content(&content);
        shoal_env_free(env);
    }
}

static void the_same_sections_give_the_same_bytes_however_they_were_cut(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.pack.same");
    for (int i = 0; i < 10; i++) {
        struct content content;
        shoal_env *env = new_env(1);
        draw_content(&r, 3 * BLOCK, &content);
        assert_int_equal(save(env, "a", &content, NULL, NULL), SHOAL_OK);
        assert_int_equal(save(env, "b", &content, &r, NULL), SHOAL_OK);
        const struct base_buf *a = env_sim_find(env, "a"), *b = env_sim_find(env, "b");
        assert_int_equal(a->size, b->size);
        assert_memory_equal(a->data, b->data, a->size);
        free_content(&content);
        shoal_env_free(env);
    }
}

/* ---- damage ---- */

/* How a file of these bytes opens and verifies; `err` says why not. */
static shoal_status try_bytes(shoal_env *env, const void *bytes, size_t size, shoal_err *err)
{
    struct store_pack *pack = NULL;
    assert_int_equal(env_sim_put(env, "t", bytes, size), SHOAL_OK);
    shoal_status st = store_pack_open(env, "t", "model", &pack, err);
    if (st == SHOAL_OK)
        st = store_pack_verify(pack, err);
    store_pack_close(pack);
    return st;
}

static void assert_refused(shoal_env *env, const void *bytes, size_t size)
{
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(try_bytes(env, bytes, size, &err), SHOAL_E_FORMAT);
    assert_int_equal(err.code, SHOAL_E_FORMAT);
    assert_memory_equal(err.message, "cannot read model 't': ", 23);
    assert_non_null(strstr(err.where, "t, offset "));
}

/* A pack of these contents; the caller frees it. */
static unsigned char *bytes_of(shoal_env *env, const struct content *content, size_t *out_size)
{
    assert_int_equal(save(env, "whole", content, NULL, NULL), SHOAL_OK);
    const struct base_buf *file = env_sim_find(env, "whole");
    unsigned char *bytes = malloc(file->size + 100);
    memcpy(bytes, file->data, file->size);
    memset(bytes + file->size, 0, 100);
    *out_size = file->size;
    return bytes;
}

static struct content small_content(void)
{
    struct content content = {.count = 3};
    static const char *const names[] = {"facts", "weights", "empty"};
    static const size_t sizes[] = {200, 130, 0};
    for (size_t i = 0; i < content.count; i++) {
        struct section *s = &content.sections[i];
        (void)snprintf(s->name, sizeof s->name, "%s", names[i]);
        s->size = sizes[i];
        s->bytes = malloc(s->size + 1);
        memset(s->bytes, (int)i + 1, s->size);
    }
    return content;
}

static void every_changed_byte_of_a_small_pack_is_found(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    struct content content = small_content();
    size_t size = 0;
    unsigned char *bytes = bytes_of(env, &content, &size);
    assert_int_equal(try_bytes(env, bytes, size, NULL), SHOAL_OK);
    for (size_t at = 0; at < size; at++) {
        for (unsigned bit = 1; bit < 256; bit <<= 1) {
            bytes[at] = (unsigned char)(bytes[at] ^ bit);
            assert_refused(env, bytes, size);
            bytes[at] = (unsigned char)(bytes[at] ^ bit);
        }
    }
    free(bytes);
    free_content(&content);
    shoal_env_free(env);
}

static void every_cut_and_every_addition_is_found(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    struct content content = small_content();
    size_t size = 0;
    unsigned char *bytes = bytes_of(env, &content, &size);
    for (size_t cut = 0; cut < size + 100; cut++) {
        if (cut != size)
            assert_refused(env, bytes, cut);
    }
    free(bytes);
    free_content(&content);
    shoal_env_free(env);
}

static void damage_anywhere_in_a_large_pack_is_found(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.pack.damage");
    int count = property_count(20);
    for (int i = 0; i < count; i++) {
        struct content content;
        shoal_env *env = new_env(1);
        draw_content(&r, BLOCK + 1000, &content);
        size_t size = 0;
        unsigned char *bytes = bytes_of(env, &content, &size);
        for (int k = 0; k < 20; k++) {
            size_t at = (size_t)base_rand_below(&r, size);
            unsigned char old = bytes[at];
            bytes[at] = (unsigned char)(old ^ (1 + base_rand_below(&r, 255)));
            assert_refused(env, bytes, size);
            bytes[at] = old;
        }
        for (int k = 0; k < 10; k++)
            assert_refused(env, bytes, (size_t)base_rand_below(&r, size));
        assert_int_equal(try_bytes(env, bytes, size, NULL), SHOAL_OK);
        free(bytes);
        free_content(&content);
        shoal_env_free(env);
    }
}

static void a_damaged_section_is_named_with_its_offset_and_the_others_are_read(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    struct content content = small_content();
    size_t size = 0;
    unsigned char *bytes = bytes_of(env, &content, &size);
    bytes[64 + 256 + 70] ^= 1; /* the second section starts after the header and 200 padded */
    assert_int_equal(env_sim_put(env, "m.shoal", bytes, size), SHOAL_OK);
    struct store_pack *pack = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    unsigned char buf[200];
    assert_int_equal(store_pack_open(env, "m.shoal", "model", &pack, NULL), SHOAL_OK);
    const struct store_section *first = store_pack_find(pack, "facts");
    const struct store_section *second = store_pack_find(pack, "weights");
    assert_int_equal(store_pack_read(pack, first, 0, buf, 200, NULL), SHOAL_OK);
    assert_int_equal(store_pack_read(pack, second, 0, buf, 1, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "cannot read model 'm.shoal': section 'weights' is damaged: "
                                     "bytes 0 to 129 do not match their checksum");
    assert_string_equal(err.where, "m.shoal, offset 320");
    assert_int_equal(store_pack_read(pack, first, 100, buf, 100, NULL), SHOAL_OK);
    assert_memory_equal(buf, content.sections[0].bytes, 100);
    assert_int_equal(store_pack_read(pack, first, 101, buf, 100, &err), SHOAL_E_INVAL);
    assert_int_equal(store_pack_read(pack, first, UINT64_MAX, buf, 2, &err), SHOAL_E_INVAL);
    store_pack_close(pack);
    free(bytes);
    free_content(&content);
    shoal_env_free(env);
}

/* Checksums guard against accidents; whoever makes them right gets no further than the rules. */
static void altered_fields_with_right_checksums_are_refused_or_harmless(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.pack.fields");
    static const uint64_t values[] = {0,
                                      1,
                                      7,
                                      8,
                                      63,
                                      64,
                                      65,
                                      127,
                                      1 << 20,
                                      INT64_MAX,
                                      UINT64_MAX,
                                      UINT32_MAX,
                                      UINT64_MAX - 63,
                                      UINT64_MAX - 7};
    shoal_env *env = new_env(1);
    struct content content = small_content();
    size_t size = 0;
    unsigned char *bytes = bytes_of(env, &content, &size);
    unsigned char *altered = malloc(size);
    size_t directory = (size_t)base_get64(bytes + size - PACK_END_SIZE + PACK_AT_DIRECTORY);
    int count = property_count(20000);
    for (int i = 0; i < count; i++) {
        memcpy(altered, bytes, size);
        for (uint64_t k = 1 + base_rand_below(&r, 2); k > 0; k--) {
            size_t at = directory + 8 * (size_t)base_rand_below(&r, (size - directory) / 8);
            uint64_t value = values[base_rand_below(&r, sizeof values / sizeof values[0])];
            if (base_rand_below(&r, 2) == 0)
                value = base_get64(altered + at) + 8 * base_rand_below(&r, 17) - 64;
            base_put64(altered + at, value);
        }
        pack_seal(altered, size);
        shoal_err err = SHOAL_ERR_INIT;
        shoal_status st = try_bytes(env, altered, size, &err);
        assert_true(st == SHOAL_E_FORMAT || st == SHOAL_OK);
        assert_int_equal(err.code, st);
    }
    free(altered);
    free(bytes);
    free_content(&content);
    shoal_env_free(env);
}

/* One field written over; the rest of the file fits it as well as it can. */
struct alteration {
    bool in_trailer; /* else in the directory */
    size_t at;
    uint64_t value;
    const char *name; /* then its size is written there, plus `value`, and the name after it */
    const char *message;
};

static void assert_altered_is_refused(const struct content *content, const struct alteration *a)
{
    shoal_env *env = new_env(1);
    size_t size = 0;
    unsigned char *bytes = bytes_of(env, content, &size);
    unsigned char *trailer = bytes + size - PACK_END_SIZE;
    unsigned char *directory = bytes + base_get64(trailer + PACK_AT_DIRECTORY);
    unsigned char *at = (a->in_trailer ? trailer : directory) + a->at;
    base_put64(at, a->value);
    if (a->name != NULL) {
        base_put64(at, strlen(a->name) + a->value);
        memcpy(at + 8, a->name, strlen(a->name) + (a->value == 0));
    }
    if (a->at != PACK_AT_HEADER_SUM || !a->in_trailer)
        pack_seal(bytes, size);
    base_put64(trailer + PACK_AT_SUM, pack_sum(trailer, PACK_AT_SUM));
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(try_bytes(env, bytes, size, &err), SHOAL_E_FORMAT);
    if (strstr(err.message, a->message) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, a->message);
    free(bytes);
    shoal_env_free(env);
}

/* In the directory of small_content "facts" is at 0, "weights" at 40 and "empty" at 80, to 112. */
static void every_rule_of_the_directory_is_kept(void **state)
{
    (void)state;
    static const char outside[] = "lies outside of the file or over another";
    const struct alteration alterations[] = {
        {true, PACK_AT_FILE_SIZE, 1000, NULL, "bytes and should have 1000"},
        {true, PACK_AT_DIRECTORY, 8, NULL, "its directory lies outside of it"},
        {true, PACK_AT_DIRECTORY, 1 << 20, NULL, "its directory lies outside of it"},
        {true, PACK_AT_DIRECTORY_SIZE, 104, NULL, "its directory lies outside of it"},
        {true, PACK_AT_DIRECTORY_SIZE, UINT64_MAX, NULL, "its directory lies outside of it"},
        {true, PACK_AT_COUNT, 4, NULL, "it counts more sections than its directory holds"},
        {true, PACK_AT_COUNT, 2, NULL, "its directory leaves bytes over"},
        {true, PACK_AT_HEADER_SUM, 1, NULL, "its end mark belongs to another header"},
        {false, 40, 64, NULL, outside},
        {false, 40, 384, NULL, outside},
        {false, 48, 1 << 30, NULL, outside},
        {false, 48, UINT64_MAX, NULL, outside},
        {false, 88, 1, NULL, outside},
        {false, 16, 101, NULL, "entry 1 of its directory has no valid name"},
        {false, 56, UINT64_MAX, NULL, "entry 2 of its directory has no valid name"},
        {false, 16, 0, NULL, "entry 1 of its directory has no valid name"},
        {false, 16, 0, "a b", "entry 1 of its directory has no valid name"},
        {false, 96, 0, "facts", "entry 3 of its directory has the name of another"},
    };
    struct content content = small_content();
    for (size_t i = 0; i < sizeof alterations / sizeof alterations[0]; i++)
        assert_altered_is_refused(&content, &alterations[i]);
    free_content(&content);
}

/* One section "s" of five blocks, whose entry has room for two of the shortest. */
static void a_directory_that_stops_early_is_refused(void **state)
{
    (void)state;
    struct content content = {.count = 1};
    struct section *s = &content.sections[0];
    (void)snprintf(s->name, sizeof s->name, "s");
    s->size = 5 * BLOCK;
    s->bytes = calloc(s->size, 1);
    const struct alteration missing = {true, PACK_AT_COUNT, 2, NULL, "entry 2 of its directory is"};
    const struct alteration few = {false, 16, 0, "eightnam", "has too few checksums"};
    const struct alteration longer = {
        false, 16, 12, "a-name-as-long-as-all-that-is-left-in-the-entry!", "has no valid name"};
    assert_altered_is_refused(&content, &missing);
    assert_altered_is_refused(&content, &few);
    assert_altered_is_refused(&content, &longer);
    free_content(&content);
}

static void assert_message(shoal_env *env, const char *path, const char *kind, const char *message)
{
    struct store_pack *pack = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(store_pack_open(env, path, kind, &pack, &err), SHOAL_E_FORMAT);
    assert_null(pack);
    assert_string_equal(err.message, message);
}

static void what_is_no_pack_is_refused_in_words(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    struct content content = small_content();
    size_t size = 0;
    unsigned char *bytes = bytes_of(env, &content, &size);
    struct store_pack *pack = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    assert_message(env, "whole", "checkpoint", "cannot read checkpoint 'whole': it is a model");
    assert_int_equal(store_pack_open(env, "whole", NULL, &pack, NULL), SHOAL_OK);
    assert_string_equal(store_pack_kind(pack), "model");
    store_pack_close(pack);
    pack = NULL;

    assert_int_equal(env_sim_put(env, "e", "", 0), SHOAL_OK);
    assert_message(env, "e", NULL, "cannot read pack 'e': it is empty");
    assert_int_equal(env_sim_put(env, "text", "label,x\n1,2\n", 12), SHOAL_OK);
    assert_message(env, "text", "model", "cannot read model 'text': it was not written by shoal");
    assert_int_equal(env_sim_put(env, "cut", bytes, 100), SHOAL_OK);
    assert_message(env, "cut", "model",
                   "cannot read model 'cut': it is cut short: only 100 bytes are there");
    assert_int_equal(env_sim_put(env, "cut", bytes, 200), SHOAL_OK);
    assert_message(env, "cut", "model",
                   "cannot read model 'cut': it is cut short or damaged: no end mark at byte 136");

    bytes[PACK_AT_VERSION] = 2;
    pack_seal(bytes, size);
    assert_int_equal(env_sim_put(env, "v2", bytes, size), SHOAL_OK);
    assert_message(env, "v2", "model",
                   "cannot read model 'v2': it has format version 2; this shoal reads 1");
    assert_int_equal(env_sim_put(env, "-", bytes, size), SHOAL_OK);
    assert_message(env, "-", "model", "cannot read '-': it is not a plain file");
    assert_int_equal(store_pack_open(env, "none", "model", &pack, &err), SHOAL_E_NOTFOUND);
    free(bytes);
    free_content(&content);
    shoal_env_free(env);
}

static void needed_sections_are_there_with_their_size(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    struct content content = small_content();
    struct store_pack *pack = NULL;
    const struct store_section *section = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(save(env, "m", &content, NULL, NULL), SHOAL_OK);
    assert_int_equal(store_pack_open(env, "m", "model", &pack, NULL), SHOAL_OK);
    assert_int_equal(store_pack_need(pack, "weights", 130, &section, &err), SHOAL_OK);
    assert_string_equal(section->name, "weights");
    assert_int_equal(store_pack_need(pack, "empty", UINT64_MAX, &section, &err), SHOAL_OK);
    assert_int_equal(section->size, 0);
    assert_int_equal(store_pack_read(pack, section, 0, NULL, 0, &err), SHOAL_OK);
    assert_int_equal(store_pack_need(pack, "weights", 131, &section, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "cannot read model 'm': section 'weights' has 130 bytes and "
                                     "should have 131");
    assert_int_equal(store_pack_need(pack, "biases", 1, &section, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, "cannot read model 'm': it has no section 'biases'");
    assert_string_equal(section->name, "empty");
    store_pack_close(pack);
    free_content(&content);
    shoal_env_free(env);
}

/* ---- writes that fail ---- */

static void assert_same_file(shoal_env *env, const unsigned char *bytes, size_t size)
{
    const struct base_buf *file = env_sim_find(env, "whole");
    assert_non_null(file);
    assert_int_equal(file->size, size);
    assert_memory_equal(file->data, bytes, size);
}

/* Writes twelve sections over the file; *out_failed is the first that failed, the count of them when
 * only commit did. */
static shoal_status write_over(shoal_env *env, int *out_failed, shoal_err *err)
{
    struct store_pack_out *out = NULL;
    assert_int_equal(store_pack_create(env, "whole", "model", &out, NULL), SHOAL_OK);
    *out_failed = SECTIONS_MAX;
    for (int i = 0; i < SECTIONS_MAX; i++) {
        char name[10];
        (void)snprintf(name, sizeof name, "s%d", i);
        shoal_status st = store_pack_section(out, name, "some bytes", 10);
        if (st != SHOAL_OK && *out_failed == SECTIONS_MAX)
            *out_failed = i;
    }
    return store_pack_commit(out, err);
}

static void a_failed_write_at_any_moment_leaves_the_old_file(void **state)
{
    (void)state;
    int failed_at[SECTIONS_MAX + 1] = {0}, written = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        shoal_env *env = new_env(seed);
        struct content content = small_content();
        size_t size = 0;
        unsigned char *old = bytes_of(env, &content, &size);
        assert_int_equal(env_sim_set_fault(env, "env.write", 0.1), SHOAL_OK);
        assert_int_equal(env_sim_set_fault(env, "env.commit", 0.3), SHOAL_OK);
        int at = 0;
        shoal_err err = SHOAL_ERR_INIT;
        shoal_status st = write_over(env, &at, &err);
        assert_int_equal(err.code, st);
        if (st == SHOAL_OK) {
            written++;
            const struct base_buf *file = env_sim_find(env, "whole");
            assert_int_equal(try_bytes(env, file->data, file->size, NULL), SHOAL_OK);
        } else {
            assert_int_equal(st, SHOAL_E_IO);
            assert_non_null(strstr(err.message, "cannot write 'whole': simulated fault"));
            failed_at[at]++;
            assert_same_file(env, old, size);
        }
        free(old);
        free_content(&content);
        shoal_env_free(env);
    }
    assert_true(written > 0);
    for (int i = 0; i <= SECTIONS_MAX; i++)
        assert_true(failed_at[i] > 0);
}

static void reads_that_fail_are_errors_of_the_file(void **state)
{
    (void)state;
    int failed = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        shoal_env *env = new_env(seed);
        struct content content = small_content();
        size_t size = 0;
        free(bytes_of(env, &content, &size));
        const struct base_buf *file = env_sim_find(env, "whole");
        assert_int_equal(env_sim_set_fault(env, "env.read", 0.2), SHOAL_OK);
        shoal_err err = SHOAL_ERR_INIT;
        shoal_status st = try_bytes(env, file->data, file->size, &err);
        assert_true(st == SHOAL_OK || st == SHOAL_E_IO);
        assert_int_equal(err.code, st);
        failed += st != SHOAL_OK;
        free_content(&content);
        shoal_env_free(env);
    }
    assert_true(failed > 0 && failed < 100);
}

/* Calls in a wrong order: each is remembered, and commit refuses. */
static void begin_twice(struct store_pack_out *out)
{
    assert_int_equal(store_pack_begin(out, "a"), SHOAL_OK);
    assert_int_equal(store_pack_begin(out, "b"), SHOAL_E_INVAL);
}

static void end_nothing(struct store_pack_out *out)
{
    assert_int_equal(store_pack_end(out), SHOAL_E_INVAL);
}

static void append_outside(struct store_pack_out *out)
{
    assert_int_equal(store_pack_append(out, "x", 1), SHOAL_E_INVAL);
}

static void leave_open(struct store_pack_out *out)
{
    assert_int_equal(store_pack_begin(out, "a"), SHOAL_OK);
}

static void repeat_a_name(struct store_pack_out *out)
{
    assert_int_equal(store_pack_section(out, "a", "x", 1), SHOAL_OK);
    assert_int_equal(store_pack_section(out, "a", "y", 1), SHOAL_E_INVAL);
}

static void use_bad_names(struct store_pack_out *out)
{
    char name[STORE_PACK_NAME_MAX + 2];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(store_pack_section(out, name, "x", 1), SHOAL_E_INVAL);
}

static void use_an_empty_name(struct store_pack_out *out)
{
    assert_int_equal(store_pack_section(out, "", "x", 1), SHOAL_E_INVAL);
}

static void use_a_name_with_a_space(struct store_pack_out *out)
{
    assert_int_equal(store_pack_section(out, "a b", "x", 1), SHOAL_E_INVAL);
}

static void fail_by_hand(struct store_pack_out *out)
{
    shoal_err why = {SHOAL_E_INVAL, "cannot write 'whole': a reason", "", ""};
    assert_int_equal(store_pack_fail(out, &why), SHOAL_E_INVAL);
}

static void wrong_calls_fail_at_commit_and_leave_the_old_file(void **state)
{
    (void)state;
    static void (*const wrong[])(struct store_pack_out *) = {
        begin_twice,   end_nothing,       append_outside,          leave_open,  repeat_a_name,
        use_bad_names, use_an_empty_name, use_a_name_with_a_space, fail_by_hand};
    shoal_env *env = new_env(1);
    struct content content = small_content();
    size_t size = 0;
    unsigned char *old = bytes_of(env, &content, &size);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct store_pack_out *out = NULL;
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(store_pack_create(env, "whole", "model", &out, NULL), SHOAL_OK);
        wrong[i](out);
        if (wrong[i] != leave_open)
            assert_int_equal(store_pack_section(out, "later", "x", 1), SHOAL_E_INVAL);
        assert_int_equal(store_pack_commit(out, &err), SHOAL_E_INVAL);
        assert_non_null(strstr(err.message, "cannot write 'whole': "));
        assert_same_file(env, old, size);
    }
    struct store_pack_out *out = NULL;
    assert_int_equal(store_pack_create(env, "x", "a kind", &out, NULL), SHOAL_E_INVAL);
    assert_int_equal(store_pack_create(env, "x", "sixteen-letters-", &out, NULL), SHOAL_E_INVAL);
    assert_null(out);
    free(old);
    free_content(&content);
    shoal_env_free(env);
}

static void a_discarded_pack_leaves_the_old_file(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    struct content content = small_content();
    size_t size = 0;
    unsigned char *old = bytes_of(env, &content, &size);
    struct store_pack_out *out = NULL;
    assert_int_equal(store_pack_create(env, "whole", "model", &out, NULL), SHOAL_OK);
    assert_int_equal(store_pack_section(out, "a", old, size), SHOAL_OK);
    assert_int_equal(store_pack_written(out), size);
    assert_int_equal(store_pack_begin(out, "b"), SHOAL_OK);
    assert_int_equal(store_pack_append(out, old, 10), SHOAL_OK);
    assert_int_equal(store_pack_written(out), size + 10);
    store_pack_discard(out);
    store_pack_discard(NULL);
    store_pack_close(NULL);
    assert_same_file(env, old, size);
    free(old);
    free_content(&content);
    shoal_env_free(env);
}

/* ---- memory ---- */

static shoal_status read_back(shoal_env *env, const struct content *content, shoal_err *err)
{
    struct store_pack *pack = NULL;
    unsigned char buf[300];
    shoal_status st = store_pack_open(env, "m", "model", &pack, err);
    for (size_t i = 0; st == SHOAL_OK && i < content->count; i++) {
        const struct section *s = &content->sections[i];
        const struct store_section *section = NULL;
        st = store_pack_need(pack, s->name, s->size, &section, err);
        if (st == SHOAL_OK)
            st = store_pack_read(pack, section, 0, buf, s->size, err);
        if (st == SHOAL_OK && memcmp(buf, s->bytes, s->size) != 0)
            st = SHOAL_E_INTERNAL;
    }
    store_pack_close(pack);
    return st;
}

static shoal_status save_and_load(const struct base_alloc *alloc, void *ctx)
{
    const struct content *content = ctx;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = env_sim_new(alloc, 1, &env, &err);
    if (st == SHOAL_OK)
        st = save(env, "m", content, NULL, &err);
    if (st == SHOAL_OK)
        st = read_back(env, content, &err);
    if (st != SHOAL_OK && st != SHOAL_E_INTERNAL && err.code != st)
        st = SHOAL_E_INTERNAL; /* a failure says why */
    shoal_env_free(env);
    return st;
}

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    struct content content = small_content();
    torture_run(save_and_load, &content);
    free_content(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_saved_loads_equal),
        cmocka_unit_test(the_same_sections_give_the_same_bytes_however_they_were_cut),
        cmocka_unit_test(every_changed_byte_of_a_small_pack_is_found),
        cmocka_unit_test(every_cut_and_every_addition_is_found),
        cmocka_unit_test(damage_anywhere_in_a_large_pack_is_found),
        cmocka_unit_test(a_damaged_section_is_named_with_its_offset_and_the_others_are_read),
        cmocka_unit_test(altered_fields_with_right_checksums_are_refused_or_harmless),
        cmocka_unit_test(every_rule_of_the_directory_is_kept),
        cmocka_unit_test(a_directory_that_stops_early_is_refused),
        cmocka_unit_test(what_is_no_pack_is_refused_in_words),
        cmocka_unit_test(needed_sections_are_there_with_their_size),
        cmocka_unit_test(a_failed_write_at_any_moment_leaves_the_old_file),
        cmocka_unit_test(reads_that_fail_are_errors_of_the_file),
        cmocka_unit_test(wrong_calls_fail_at_commit_and_leave_the_old_file),
        cmocka_unit_test(a_discarded_pack_leaves_the_old_file),
        cmocka_unit_test(every_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
