/* ctest: timeout=300 */
/* Tests of src/train/checkpoint_load.c: which files a job resumes from, and which it refuses, in words:
 * damaged or forged ones, and those of another job, application or version. */
#include "checkpoint_world.h"

#include "shoal/version.h"

static void damage(struct world *w, const char *path, struct base_rand *rand)
{
    const struct base_buf *now = env_sim_find(w->c.env, path);
    size_t size = now->size;
    char *bytes = malloc(size + 1);

    memcpy(bytes, now->data, size);
    switch (base_rand_below(rand, 3)) {
    case 0: /* cut */ size = (size_t)base_rand_below(rand, size); break;
    case 1: /* altered */
        bytes[base_rand_below(rand, size)] ^= (char)(1 + base_rand_below(rand, 255));
        break;
    default: /* a block of it lost */ memset(bytes + size / 2, 0, size / 2);
    }
    assert_int_equal(env_sim_put(w->c.env, path, bytes, size), SHOAL_OK);
    free(bytes);
}

static void damaged_files_are_named_and_older_ones_used(void **state)
{
    static const char *const FILES[] = {"saved/full-0.pack", "saved/full-1.pack",
                                        "saved/delta.pack"};
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(40); seed++) {
        struct world *w = well_saved(seed);
        struct base_rand rand;
        uint32_t which = 1 + (uint32_t)(seed % 7), count = 0;
        base_rand_init(&rand, seed, "damage");
        for (uint32_t i = 0; i < 3; i++)
            if (which >> i & 1) {
                damage(w, FILES[i], &rand);
                count++;
            }
        shoal_status st = birth(w, true, &err);
        assert_int_equal(w->warnings, count);
        for (uint32_t i = 0; i < 3; i++)
            assert_true((strstr(w->said, FILES[i]) != NULL) == (which >> i & 1));
        if ((which & 3) == 3) {
            assert_int_equal(st, SHOAL_E_NOTFOUND);
            assert_non_null(strstr(err.message, "no checkpoint is whole"));
        } else {
            assert_int_equal(st, SHOAL_OK);
            live(w, UINT64_MAX);
            assert_int_equal(w->c.status, SHOAL_OK);
            check_ledger(w, 300);
        }
        world_free(w);
    }
}

/* A pack whose sections are those of the file, one of them altered, with right checksums. */
static void forge(struct world *w, const char *path, const char *name, struct base_rand *rand)
{
    struct store_pack *pack;
    struct store_pack_out *out;

    assert_int_equal(store_pack_open(w->c.env, path, NULL, &pack, NULL), SHOAL_OK);
    assert_int_equal(store_pack_create(w->c.env, path, store_pack_kind(pack), &out, NULL),
                     SHOAL_OK);
    for (size_t i = 0; i < store_pack_count(pack); i++) {
        const struct store_section *section = store_pack_at(pack, i);
        size_t size = (size_t)section->size;
        unsigned char *bytes = malloc(size + 9);
        assert_int_equal(store_pack_read(pack, section, 0, bytes, size, NULL), SHOAL_OK);
        if (strcmp(section->name, name) == 0) {
            uint64_t words[] = {0, 1, UINT64_MAX, UINT32_MAX, 1ull << 40, base_rand_u64(rand)};
            size_t at = (size_t)base_rand_below(rand, size) / 8 * 8;
            size_t much = (size_t)base_rand_below(rand, 9);
            memcpy(bytes + at, &words[base_rand_below(rand, 6)], much);
            if (base_rand_below(rand, 4) == 0)
                size = (size_t)base_rand_below(rand, size + 9);
        }
        store_pack_section(out, section->name, bytes, size);
        free(bytes);
    }
    assert_int_equal(store_pack_commit(out, NULL), SHOAL_OK);
    store_pack_close(pack);
}

static void forged_files_are_refused_or_run_and_never_crash_the_driver(void **state)
{
    static const char *const SECTIONS[] = {"driver", "index", "units", "layout", "facts"};
    uint64_t refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        struct world *w = world_new(seed, &LEDGER, 30, (uint32_t)(seed % 2), "");
        shoal_err err = SHOAL_ERR_INIT;
        struct base_rand rand;
        base_rand_init(&rand, seed, "forge");
        assert_int_equal(birth(w, false, &err), SHOAL_OK);
        live(w, 600);
        death(w);
        if (env_sim_find(w->c.env, "saved/full-0.pack") != NULL) {
            forge(w, "saved/full-0.pack", SECTIONS[seed % 5], &rand);
            shoal_status st = birth(w, true, &err);
            refused += st != SHOAL_OK;
            assert_true(st == SHOAL_OK || err.message[0] != 0);
        }
        world_free(w);
    }
    assert_true(refused > 50);
}

static void expect_refusal(struct world *w, const char *words)
{
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(birth(w, true, &err), SHOAL_E_INVAL);
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
}

static void another_job_does_not_resume(void **state)
{
    struct world *w = well_saved(1);
    char settings[sizeof w->settings];
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    w->job_seed = 8;
    expect_refusal(w, "made with seed '7', not '8'");
    w->job_seed = 7;
    w->c.staleness = 2;
    expect_refusal(w, "made with staleness '1', not '2'");
    w->c.staleness = 1;
    w->path = "b";
    expect_refusal(w, "'b' does not hold the data that 'a' had then");
    w->path = "a";
    memcpy(settings, w->settings, sizeof settings);
    snprintf(w->settings, sizeof w->settings, "clocks=300\nidle=5001\ntouch=true");
    expect_refusal(w, "made with idle '5000', not '5001'");
    snprintf(w->settings, sizeof w->settings, "clocks=300\nidle=5000");
    expect_refusal(w, "made with touch 'true', not 'false'");
    memcpy(w->settings, settings, sizeof settings);
    w->app = &WITNESS;
    snprintf(w->settings, sizeof w->settings, "clocks=3");
    expect_refusal(w, "made with app 'ledger', not 'witness'");
    w->app = &LEDGER;
    memcpy(w->settings, settings, sizeof settings);
    assert_int_equal(birth(w, true, &err), SHOAL_OK);
    world_free(w);
}

/* As expect_refusal, and it says what made the checkpoint and what to do. */
static void expect_other_version(struct world *w, const char *words, const char *hint)
{
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(birth(w, true, &err), SHOAL_E_INVAL);
    if (strstr(err.message, words) == NULL || strstr(err.message, "saved/") == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
    if (strstr(err.hint, hint) == NULL || strstr(err.hint, "start anew") == NULL)
        fail_msg("'%s' does not say '%s'", err.hint, hint);
}

static shoal_status small_state_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_status st = ledger_plan(driver, err);

    if (st == SHOAL_OK && shoal_driver_executor_state(driver, 2, 8) == NULL)
        return SHOAL_E_NOMEM;
    return st;
}

static shoal_status more_tables_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts more = SHOAL_TABLE_OPTS_INIT;
    shoal_status st = ledger_plan(driver, err);

    more.name = "more";
    more.rows = 2;
    return st == SHOAL_OK ? shoal_driver_table(driver, &more, err) : st;
}

/* An application that was changed: its number says so, or what it keeps has another size, or it has
 * other options, or another default of one that nobody set. */
static void a_changed_application_does_not_resume(void **state)
{
    struct world *w = well_saved(1);
    shoal_app changed = LEDGER;
    shoal_opt opts[5];
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    w->app = &changed;
    changed.state_version = 1;
    expect_other_version(w, "'ledger' keeps its state as version 1, there it is version 0",
                         "the version of the application that made it");
    changed = LEDGER;
    changed.driver_size += 8;
    expect_other_version(w, "'ledger' kept 24 bytes, now it keeps 32", "made it");
    changed = LEDGER;
    changed.plan = small_state_plan;
    expect_other_version(w, "executor 2 had a state of 16 bytes, now it has 8", "made it");
    changed.plan = more_tables_plan;
    expect_refusal(w, "the job has other tables");
    changed = LEDGER;
    memcpy(opts, LEDGER_OPTS, sizeof LEDGER_OPTS);
    opts[4] = (shoal_opt){.name = "more", .type = SHOAL_OPT_FLAG, .help = "x"};
    changed.opts = opts;
    changed.opt_count = 5;
    changed.options_size += 8;
    opts[4].offset = sizeof(struct ledger_options);
    expect_other_version(w, "'ledger' has other options now ('more')", "made it");
    changed.opt_count = 4;
    opts[3].name = "mine";
    expect_other_version(w, "'ledger' has other options now ('mine')", "made it");
    changed.opt_count = 3;
    expect_other_version(w, "'ledger' has other options now ('own')", "made it");
    changed.opt_count = 4;
    opts[3] = LEDGER_OPTS[3];
    opts[3].fallback = "true";
    expect_refusal(w, "made with own 'false', not 'true'");
    changed = LEDGER;
    assert_int_equal(birth(w, true, &err), SHOAL_OK);
    world_free(w);
}

/* Writes the facts of all files anew: `from` becomes `to`, both of one length. */
static void rewrite_facts(struct world *w, const char *from, const char *to)
{
    for (uint32_t i = 0; i < 3; i++) {
        char path[100];
        struct store_pack *pack;
        struct store_pack_out *out;
        snprintf(path, sizeof path, "%s/%s", DIR, train_shelf_file(i));
        assert_int_equal(store_pack_open(w->c.env, path, NULL, &pack, NULL), SHOAL_OK);
        assert_int_equal(store_pack_create(w->c.env, path, store_pack_kind(pack), &out, NULL),
                         SHOAL_OK);
        for (size_t k = 0; k < store_pack_count(pack); k++) {
            const struct store_section *section = store_pack_at(pack, k);
            char *bytes = calloc(1, (size_t)section->size + 1), *at;
            assert_int_equal(store_pack_read(pack, section, 0, bytes, (size_t)section->size, NULL),
                             SHOAL_OK);
            if (strcmp(section->name, "facts") == 0) {
                at = strstr(bytes, from);
                assert_non_null(at);
                memcpy(at, to, strlen(to));
            }
            store_pack_section(out, section->name, bytes, (size_t)section->size);
            free(bytes);
        }
        assert_int_equal(store_pack_commit(out, NULL), SHOAL_OK);
        store_pack_close(pack);
    }
}

static void a_checkpoint_of_another_shoal_is_read_or_refused_in_words(void **state)
{
    struct world *w = well_saved(1);
    shoal_app changed = LEDGER;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    w->app = &changed;
    rewrite_facts(w, "\"shoal\": \"" SHOAL_VERSION "\"", "\"shoal\": \"0.0.1\"");
    changed.state_version = 1;
    expect_other_version(w, "there it is version 0", "made by shoal 0.0.1");
    changed.state_version = 0;
    w->path = "b"; /* what plan makes of the data may be what has changed */
    expect_other_version(w, "'b' does not hold the data that 'a' had then", "made by shoal 0.0.1");
    w->path = "a";
    assert_int_equal(birth(w, true, &err), SHOAL_OK);
    death(w);
    rewrite_facts(w, "\"format\": 2", "\"format\": 3");
    expect_other_version(w, "it has format 3, this reads 2", "made by shoal 0.0.1");
    rewrite_facts(w, "\"format\": 3", "\"format\": 1");
    rewrite_facts(w, "\"shoal\"", "\"shoat\""); /* one that did not tell */
    expect_other_version(w, "it has format 1, this reads 2",
                         "made by an earlier shoal, and this is shoal " SHOAL_VERSION);
    world_free(w);
}

/* Of a checkpoint that is alone: nothing older is there to fall back to. */
static void no_altered_or_missing_byte_around_a_checkpoint_is_accepted(void **state)
{
    struct world *w = world_new(1, &LEDGER, 30, 1, "");
    const char *path = "saved/full-0.pack";
    shoal_err err = SHOAL_ERR_INIT;
    size_t facts = 0;

    (void)state;
    assert_int_equal(birth(w, false, &err), SHOAL_OK);
    for (int i = 0; i < 4000 && env_sim_find(w->c.env, path) == NULL; i++)
        live(w, 1);
    death(w);
    const struct base_buf *now = env_sim_find(w->c.env, path);
    size_t size = now->size;
    unsigned char *good = malloc(size), *bytes = malloc(size);
    memcpy(good, now->data, size);
    struct store_pack *pack;
    assert_int_equal(store_pack_open(w->c.env, path, NULL, &pack, NULL), SHOAL_OK);
    facts = (size_t)(store_pack_find(pack, "facts")->offset + store_pack_find(pack, "facts")->size);
    store_pack_close(pack);
    for (size_t at = 0; at < size; at += at < facts || at + 300 > size ? 1 : 13) {
        memcpy(bytes, good, size);
        bytes[at] ^= (unsigned char)(1 << at % 8);
        assert_int_equal(env_sim_put(w->c.env, path, bytes, size), SHOAL_OK);
        assert_int_equal(birth(w, true, &err), SHOAL_E_NOTFOUND);
        assert_non_null(strstr(err.message, "no checkpoint is whole: cannot read checkpoint"));
        assert_int_equal(env_sim_put(w->c.env, path, good, at), SHOAL_OK); /* cut there */
        assert_int_equal(birth(w, true, &err), SHOAL_E_NOTFOUND);
    }
    assert_int_equal(env_sim_put(w->c.env, path, good, size), SHOAL_OK);
    assert_int_equal(birth(w, true, &err), SHOAL_OK);
    free(good);
    free(bytes);
    world_free(w);
}

static void settings_are_the_same_in_any_order_and_with_defaults_written_out(void **state)
{
    struct world *w = well_saved(1);
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    snprintf(w->settings, sizeof w->settings,
             "own=false\ntouch=true\nidle=1\nidle=5000\nclocks=300");
    assert_int_equal(birth(w, true, &err), SHOAL_OK);
    world_free(w);
}

static void a_new_job_does_not_write_over_what_is_there(void **state)
{
    struct world *w = well_saved(1);
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(birth(w, false, &err), SHOAL_E_EXISTS);
    assert_non_null(strstr(err.message, "saved/full-0.pack"));
    assert_non_null(strstr(err.hint, "--resume"));
    world_free(w);
}

static void nothing_to_resume_from_is_an_error(void **state)
{
    struct world *w = world_new(1, &LEDGER, 3, 0, "");
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(birth(w, true, &err), SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "there is no checkpoint"));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_are_named_and_older_ones_used),
        cmocka_unit_test(forged_files_are_refused_or_run_and_never_crash_the_driver),
        cmocka_unit_test(another_job_does_not_resume),
        cmocka_unit_test(a_changed_application_does_not_resume),
        cmocka_unit_test(a_checkpoint_of_another_shoal_is_read_or_refused_in_words),
        cmocka_unit_test(no_altered_or_missing_byte_around_a_checkpoint_is_accepted),
        cmocka_unit_test(settings_are_the_same_in_any_order_and_with_defaults_written_out),
        cmocka_unit_test(a_new_job_does_not_write_over_what_is_there),
        cmocka_unit_test(nothing_to_resume_from_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
