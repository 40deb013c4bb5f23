/* Tests of src/train/options.c: settings as text. */
#include "torture.h"

#include "base/rand.h"
#include "property.h"
#include "train/options.h"
#include <stddef.h>
#include <string.h>

struct values {
    bool flag;
    uint32_t choice;
    uint64_t whole;
    double real;
    const char *word, *other;
};

static const char *const CHOICES[] = {"red", "green", "blue", NULL};
#define AT(member) offsetof(struct values, member)

static const shoal_opt OPTS[] = {
    {AT(flag), SHOAL_OPT_FLAG, "flag", 0, NULL, "true", .help = "a flag"},
    {AT(choice), SHOAL_OPT_CHOICE, "choice", 0, NULL, "green", "a choice", .choices = CHOICES},
    {AT(whole), SHOAL_OPT_U64, "whole", 0, NULL, "10", "a number", .max = 1e15},
    {AT(real), SHOAL_OPT_F64, "real", 0, NULL, "0.1", .help = "a number"},
    {AT(word), SHOAL_OPT_STR, "word", .help = "a text"},
    {AT(other), SHOAL_OPT_STR, "other", 0, NULL, "some", .help = "a text"},
};
static const shoal_app APP = {.struct_size = sizeof APP,
                              .name = "any",
                              .opts = OPTS,
                              .opt_count = sizeof OPTS / sizeof OPTS[0],
                              .options_size = sizeof(struct values)};

static struct base_buf text_of(const char *settings)
{
    struct base_buf out;

    base_buf_init(&out, &base_alloc_libc, 1 << 16);
    assert_int_equal(train_options_text(&base_alloc_libc, &APP, settings, &out, NULL), SHOAL_OK);
    return out;
}

static void is_text(const char *settings, const char *want)
{
    struct base_buf out = text_of(settings);

    assert_string_equal(out.data, want);
    base_buf_fini(&out);
}

static void what_is_at_its_default_is_left_out_and_the_rest_is_in_order(void **state)
{
    (void)state;
    is_text("", "");
    is_text("whole=7\nflag=false\n", "flag=false\nwhole=7\n");
    is_text("flag=false\nwhole=7", "flag=false\nwhole=7\n");
    is_text("whole=8\nwhole=7\nflag=true\n", "whole=7\n");
    is_text("real=1e-1\nwhole=10\nother=some\n", "");
    is_text("real=0.0000001\n", "real=1e-7\n");
    is_text("word=a = b\nother=\n", "word=a = b\nother=\n");
    is_text("word=\n", "word=\n"); /* not the same as none */
}

/* A line of row `i` with one of a few values. */
static void put_any(struct base_buf *out, size_t i, struct base_rand *rand)
{
    static const char *const VALUES[6][4] = {{"true", "false", "yes", "no"},
                                             {"red", "green", "blue", "red"},
                                             {"10", "0", "1000000000000000", "7"},
                                             {"0.1", "1e-300", "0.30000000000000004", "-12.5"},
                                             {"a", "", "x=y", "a b"},
                                             {"some", "", "else", "none"}};

    base_buf_printf(out, "%s=%s\n", OPTS[i].name, VALUES[i][base_rand_below(rand, 4)]);
}

static void put_all(const char *settings, struct base_buf *out)
{
    assert_int_equal(train_options_all(&base_alloc_libc, &APP, settings, out, NULL), SHOAL_OK);
}

static void all_options_are_there_in_order_when_all_are_wanted(void **state)
{
    struct base_buf out;

    (void)state;
    base_buf_init(&out, &base_alloc_libc, 1 << 12);
    put_all("whole=7\n", &out);
    assert_string_equal(out.data,
                        "flag=true\nchoice=green\nwhole=7\nreal=0.1\nword=\nother=some\n");
    base_buf_fini(&out);
}

/* The text says the same, and says it as any other text that does. */
static void texts_that_say_the_same_become_one(void **state)
{
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "test.options");
    for (int round = 0; round < property_count(500); round++) {
        struct base_buf line[6], one, two, then, now;
        size_t order[6] = {0};
        base_buf_init(&one, &base_alloc_libc, 1 << 12);
        base_buf_init(&two, &base_alloc_libc, 1 << 12);
        base_buf_init(&then, &base_alloc_libc, 1 << 12);
        base_buf_init(&now, &base_alloc_libc, 1 << 12);
        base_buf_puts(&one, "");
        base_buf_puts(&two, "");
        for (size_t i = 0; i < 6; i++) {
            size_t other = base_rand_below(&rand, i + 1);
            base_buf_init(&line[i], &base_alloc_libc, 1 << 12);
            if (base_rand_below(&rand, 3) > 0)
                put_any(&line[i], i, &rand);
            base_buf_append(&one, line[i].data, line[i].size);
            order[i] = order[other];
            order[other] = i;
        }
        for (size_t i = 0; i < 6; i++) { /* with something before that does not hold */
            if (line[order[i]].size > 0 && base_rand_below(&rand, 3) == 0)
                put_any(&two, order[i], &rand);
            base_buf_append(&two, line[order[i]].data, line[order[i]].size);
        }
        struct base_buf first = text_of(one.data), second = text_of(two.data),
                        again = text_of(first.data);
        assert_string_equal(first.data, second.data);
        assert_string_equal(first.data, again.data);
        put_all(one.data, &then);
        put_all(first.data, &now);
        assert_string_equal(then.data, now.data);
        struct base_buf *all[] = {&one, &two, &then, &now, &first, &second, &again};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            base_buf_fini(all[i]);
        for (size_t i = 0; i < 6; i++)
            base_buf_fini(&line[i]);
    }
}

static void a_mistake_is_told(void **state)
{
    struct base_buf out;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    base_buf_init(&out, &base_alloc_libc, 1 << 12);
    assert_int_equal(train_options_text(&base_alloc_libc, &APP, "whole=x", &out, &err),
                     SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "whole"));
    base_buf_fini(&out);
}

static shoal_status with_memory(const struct base_alloc *alloc, void *ctx)
{
    struct base_buf out;
    shoal_status st;

    (void)ctx;
    base_buf_init(&out, alloc, 1 << 12);
    st = train_options_text(alloc, &APP, "whole=3\nword=x\nflag=false\n", &out, NULL);
    if (st == SHOAL_OK && strcmp(out.data, "flag=false\nwhole=3\nword=x\n") != 0)
        st = SHOAL_E_INTERNAL;
    base_buf_fini(&out);
    return st;
}

static void without_memory_it_fails_and_leaks_nothing(void **state)
{
    (void)state;
    torture_run(with_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_at_its_default_is_left_out_and_the_rest_is_in_order),
        cmocka_unit_test(all_options_are_there_in_order_when_all_are_wanted),
        cmocka_unit_test(texts_that_say_the_same_become_one),
        cmocka_unit_test(a_mistake_is_told),
        cmocka_unit_test(without_memory_it_fails_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
