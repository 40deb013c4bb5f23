/* Models of `mf`, and what cannot become one. */
#include "mf_world.h"

#include "data_text.h"
#include "shoal/version.h"
#include "store/facts.h"
#include "train/model.h"

static const char SGD[] = "rank=5\nexecutors=6\nepochs=4\nholdout=0.1\n";

/* ---- models ---- */

struct scored {
    double line[8], rmse, mae, count;
    size_t lines;
};

static shoal_status hear_line(void *ctx, const char *line, shoal_err *err)
{
    struct scored *s = ctx;

    (void)err;
    if (s->lines < 8)
        s->line[s->lines] = strtod(line, NULL);
    s->lines++;
    return SHOAL_OK;
}

static void hear_metric(void *ctx, const char *name, double value)
{
    struct scored *s = ctx;

    if (strcmp(name, "rmse") == 0)
        s->rmse = value;
    if (strcmp(name, "mae") == 0)
        s->mae = value;
    if (strcmp(name, "count") == 0)
        s->count = value;
}

static shoal_status score(shoal_env *env, const char *text, bool lines, struct scored *out,
                          shoal_err *err)
{
    struct train_score_opts opts = {"pairs", lines, hear_line, hear_metric, out};
    shoal_model *model = NULL;
    shoal_status st = shoal_model_open(env, "model", &model, err);

    *out = (struct scored){.lines = 0};
    assert_int_equal(env_sim_put(env, "pairs", text, strlen(text)), SHOAL_OK);
    if (st == SHOAL_OK)
        st = train_score(env, app_find("mf"), model, &opts, err);
    shoal_model_free(model);
    return st;
}

static void save(struct cluster *c, const char *settings)
{
    shoal_model *model = NULL;

    assert_int_equal(train_model_create(c->env, "model", "mf", settings, &model, NULL), SHOAL_OK);
    assert_int_equal(app_find("mf")->save(train_master_driver(c->master), model, NULL), SHOAL_OK);
    assert_int_equal(train_model_commit(model, NULL), SHOAL_OK);
}

static const float *part(const shoal_model *model, const char *name)
{
    const void *bytes = NULL;
    size_t size;

    assert_int_equal(shoal_model_get(model, name, &bytes, &size, NULL), SHOAL_OK);
    return bytes;
}

static void predictions_are_mean_biases_and_product(void **state)
{
    struct cluster c = {0};
    struct data_ratings ratings = {0};
    struct scored s;
    shoal_model *model = NULL;
    char text[200], name[2][DATA_ID_BUF];
    size_t size[2];

    (void)state;
    make_cluster(&c, 1, &WORLD);
    run(&c, 1, SGD);
    save(&c, SGD);
    assert_int_equal(data_ratings_load(c.env, "", NULL, &ratings, NULL), SHOAL_OK);
    assert_int_equal(shoal_model_open(c.env, "model", &model, NULL), SHOAL_OK);
    const struct mf_kept *kept =
        (const void *)shoal_driver_rows(train_master_driver(c.master), MF_KEPT);
    for (uint32_t n = 0; n < 50; n++) {
        uint32_t u = n * 7 % WORLD.users, i = n * 11 % WORLD.items;
        const char *user = data_ids_name(&ratings.user_ids, u, name[0], &size[0]);
        const char *item = data_ids_name(&ratings.item_ids, i, name[1], &size[1]);
        snprintf(text, sizeof text, "%.*s,%.*s\n%.*s,nothing\nnobody,%.*s\nnobody,nothing\n",
                 (int)size[0], user, (int)size[1], item, (int)size[0], user, (int)size[1], item);
        assert_int_equal(score(c.env, text, true, &s, NULL), SHOAL_OK);
        double bu = (double)part(model, "user_bias")[u], bi = (double)part(model, "item_bias")[i];
        double product = 0;
        for (uint32_t k = 0; k < 5; k++)
            product += (double)part(model, "user_factors")[u * 5 + k] *
                       (double)part(model, "item_factors")[i * 5 + k];
        assert_int_equal(s.lines, 4);
        assert_true(fabs(s.line[0] - (kept->mean + bu + bi + product)) < 1e-5);
        assert_true(fabs(s.line[1] - (kept->mean + bu)) < 1e-5);
        assert_true(fabs(s.line[2] - (kept->mean + bi)) < 1e-5);
        assert_true(fabs(s.line[3] - kept->mean) < 1e-5);
    }
    shoal_model_free(model);
    data_ratings_fini(&ratings);
    end(&c, NULL);
}

/* All ratings, judged by the model: the training error of its last judgement. */
static void a_model_scores_what_training_said(void **state)
{
    static const char SETTINGS[] = "algorithm=als\nrank=4\nepochs=4\n";
    struct cluster c = {0};
    struct scored s;
    struct base_buf text;

    (void)state;
    make_cluster(&c, 1, &WORLD);
    run(&c, 1, SETTINGS);
    save(&c, SETTINGS);
    base_buf_init(&text, env_alloc(c.env), 1 << 22);
    struct data_ratings ratings = {0}; /* of pairs that come twice the last counts */
    assert_int_equal(data_ratings_load(c.env, "", NULL, &ratings, NULL), SHOAL_OK);
    assert_int_equal(data_text_ratings(c.env, "once", &ratings), SHOAL_OK);
    assert_int_equal(env_read_whole(c.env, "once", &text, NULL), SHOAL_OK);
    assert_int_equal(score(c.env, text.data, false, &s, NULL), SHOAL_OK);
    assert_true(s.count == (double)ratings.count && s.lines == 0);
    /* The model's floats are those of training times the root of the scale, rounded once more. */
    assert_true(fabs(s.rmse / train_master_stats(c.master).value - 1) < 1e-5);
    assert_true(s.mae < s.rmse && s.mae > 0.5 * s.rmse);
    base_buf_fini(&text);
    data_ratings_fini(&ratings);
    end(&c, NULL);
}

/* The ratings that a job holds out, as text. */
static void put_held_out(struct cluster *c, double share, struct base_buf *text)
{
    struct data_ratings all = {0};

    assert_int_equal(data_ratings_load(c->env, "", NULL, &all, NULL), SHOAL_OK);
    size_t train = num_mf_split(all.rating, all.count, share, 7); /* cluster.h has this seed */
    struct data_ratings held = all;
    held.rating += train;
    held.count -= train;
    assert_int_equal(data_text_ratings(c->env, "held", &held), SHOAL_OK);
    assert_int_equal(env_read_whole(c->env, "held", text, NULL), SHOAL_OK);
    data_ratings_fini(&all);
}

/* Without a penalty they learn the noise; with one they end at their best, or about there. */
static void the_model_kept_has_the_least_held_out_error_of_all_epochs(void **state)
{
    static const char *const SETTINGS[] = {
        "l2=0\nepochs=12",         "l2=0\nepochs=12\ntolerance=0.001",
        "l2=0.2\nepochs=12",       "algorithm=als\nl2=0.001\nepochs=9\ntolerance=0",
        "algorithm=als\nl2=0.001", "algorithm=als\nl2=0.1"};
    uint32_t earlier = 0;

    (void)state;
    for (uint32_t i = 0; i < sizeof SETTINGS / sizeof SETTINGS[0]; i++) {
        struct cluster c = {.workers = 2, .staleness = i % 2};
        struct scored s;
        struct base_buf text;
        char settings[100];
        double least = INFINITY;

        snprintf(settings, sizeof settings, "%s\nrank=8\nholdout=0.2\n", SETTINGS[i]);
        make_cluster(&c, 1, &WORLD);
        run(&c, 1, settings);
        save(&c, settings);
        const struct mf_driver *d = shoal_driver_state(train_master_driver(c.master));
        const struct train_trail *trail = train_master_trail(c.master);
        struct train_stats stats = train_master_stats(c.master);
        for (uint32_t k = 0; k < trail->count; k++)
            least = fmin(least, trail->value[k].value);
        assert_true(stats.value == least);
        assert_int_equal(stats.stopped == SHOAL_STOP_HELD_OUT, mf_keeps_earlier(d));
        earlier += mf_keeps_earlier(d);
        base_buf_init(&text, env_alloc(c.env), 1 << 22);
        put_held_out(&c, 0.2, &text);
        assert_int_equal(score(c.env, text.data, false, &s, NULL), SHOAL_OK);
        assert_true(s.count == (double)d->valid);
        /* floats are rounded once more in the model */
        assert_true(fabs(s.rmse / least - 1) < 1e-5);
        base_buf_fini(&text);
        end(&c, NULL);
    }
    assert_in_range(earlier, 2, 5); /* both happen */
}

static void models_that_make_no_sense_are_refused(void **state)
{
    static const char SETTINGS[] = "rank=2\nepochs=1\n";
    struct cluster c = {0};
    struct base_buf bytes, changed;
    struct base_rand rand;
    struct scored s;
    shoal_err err;

    (void)state;
    make_cluster(&c, 1, &WORLD);
    run(&c, 1, SETTINGS);
    save(&c, SETTINGS);
    base_rand_init(&rand, 1, "changes");
    base_buf_init(&bytes, env_alloc(c.env), 1 << 24);
    base_buf_init(&changed, env_alloc(c.env), 1 << 24);
    assert_int_equal(env_read_whole(c.env, "model", &bytes, NULL), SHOAL_OK);
    for (int n = 0; n < property_count(200); n++) {
        base_buf_clear(&changed);
        base_buf_append(&changed, bytes.data, bytes.size);
        changed.data[base_rand_below(&rand, bytes.size)] ^= (char)(1 + base_rand_below(&rand, 255));
        assert_int_equal(env_sim_put(c.env, "model", changed.data, changed.size), SHOAL_OK);
        (void)!score(c.env, "u1,1001\n", true, &s, &err); /* fails or not, but does not crash */
    }
    base_buf_fini(&bytes);
    base_buf_fini(&changed);
    end(&c, NULL);
}

/* Parts that a pack's checksums let through, but the application must not. */
static void parts_of_the_wrong_size_are_refused(void **state)
{
    static const char *const FLOATS[] = {"user_bias", "item_bias", "user_factors", "item_factors"};
    static const size_t COUNTS[] = {2, 1, 6, 3}; /* two users, one item, rank 3 */
    struct {
        uint32_t version, algorithm, users, items, rank, unused;
        double mean;
    } shape = {1, MF_SGD, 2, 1, 3, 0, 3.5};
    const float zero[16] = {0};
    struct scored s;
    shoal_env *env;

    (void)state;
    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    for (int wrong = -1; wrong < 10; wrong++) { /* -1: nothing is */
        shoal_model *m = NULL;
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(train_model_create(env, "model", "mf", "", &m, NULL), SHOAL_OK);
        shape.version = wrong == 0 ? 2 : 1;
        shape.rank = wrong == 1 ? 0 : 3;
        shape.mean = wrong == 2 ? (double)NAN : 3.5;
        assert_int_equal(shoal_model_put(m, "shape", &shape, sizeof shape - (wrong == 3), NULL),
                         SHOAL_OK);
        assert_int_equal(shoal_model_put(m, "users", wrong == 4 ? "a\na\n" : "a\nb\n", 4, NULL),
                         SHOAL_OK);
        assert_int_equal(shoal_model_put(m, "items", "c\nd\n", wrong == 5 ? 4 : 2, NULL), SHOAL_OK);
        for (int i = 0; i < 4; i++)
            assert_int_equal(shoal_model_put(m, FLOATS[i], zero,
                                             (COUNTS[i] + (wrong == 6 + i)) * sizeof *zero, NULL),
                             SHOAL_OK);
        assert_int_equal(train_model_commit(m, NULL), SHOAL_OK);
        shoal_status st = score(env, "a,c\n", true, &s, &err);
        assert_int_equal(st, wrong < 0 ? SHOAL_OK : SHOAL_E_FORMAT);
        assert_true(wrong >= 0 || s.line[0] == 3.5);
    }
    shoal_env_free(env);
}

static void a_model_that_cannot_be_read_tells_which_version_made_it(void **state)
{
    static const struct {
        const char *made_by, *hint;
    } CASES[] = {{"0.0.1", "shoal 0.0.1 made it, this is shoal " SHOAL_VERSION},
                 {NULL, "an earlier shoal made it, this is shoal " SHOAL_VERSION},
                 {SHOAL_VERSION, ""}};
    struct scored s;
    shoal_env *env;

    (void)state;
    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    for (size_t i = 0; i < 3; i++) {
        struct store_pack_out *out = NULL;
        struct store_facts *facts = NULL;
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(store_pack_create(env, "model", "model", &out, NULL), SHOAL_OK);
        assert_int_equal(store_facts_new(env, &facts, NULL), SHOAL_OK);
        store_facts_set_text(facts, "app", "mf");
        store_facts_set_text(facts, "settings", "");
        if (CASES[i].made_by != NULL)
            store_facts_set_text(facts, "shoal", CASES[i].made_by);
        store_facts_save(facts, out);
        store_facts_free(facts);
        store_pack_section(out, "shape", "another", 7);
        assert_int_equal(store_pack_commit(out, NULL), SHOAL_OK);
        assert_int_equal(score(env, "a,c\n", true, &s, &err), SHOAL_E_FORMAT);
        assert_true(err.message[0] != '\0');
        assert_memory_equal(err.hint, CASES[i].hint, strlen(CASES[i].hint));
        assert_true((err.hint[0] == '\0') == (CASES[i].hint[0] == '\0'));
    }
    shoal_env_free(env);
}

/* ---- what is refused ---- */

static void nothing_more(void *ctx, shoal_status status, const shoal_err *err)
{
    (void)ctx, (void)status, (void)err;
}

/* Plans a job with these lines as data; its message must have the words. */
static void refused(const char *text, const char *settings, const char *words)
{
    struct wire_opts wire = WIRE_OPTS_INIT;
    struct wire_key key;
    struct train_master_opts opts = {.app = app_find("mf"),
                                     .path = "ratings",
                                     .settings = settings,
                                     .workers = 1,
                                     .threads = 1,
                                     .seed = 7,
                                     .address = "home:0",
                                     .key = &key,
                                     .wire = &wire,
                                     .segment_size = 16 << 20,
                                     .ended = nothing_more};
    shoal_env *env;
    struct env_loop *loop;
    struct train_master *master = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    char all[900];

    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    assert_int_equal(wire_key_new(env, &key, NULL), SHOAL_OK);
    assert_int_equal(env_loop_new(env, "home", &loop, NULL), SHOAL_OK);
    assert_int_equal(env_sim_put(env, "ratings", text, strlen(text)), SHOAL_OK);
    assert_true(train_master_new(loop, &opts, &master, &err) < 0);
    snprintf(all, sizeof all, "%s %s %s", err.message, err.where, err.hint);
    if (strstr(all, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, all);
    env_loop_free(loop);
    shoal_env_free(env);
}

static void what_cannot_be_trained_on_is_refused_with_a_reason(void **state)
{
    (void)state;
    refused("a,b,3\na,c,x\n", "", "line 2");
    refused("", "", "rating");
    refused("a,b\na,c\n", "", "algorithm=implicit");
    refused("a,b,3\na,c,-1\n", "algorithm=implicit", "never negative");
    refused("a,b,3\na,c,1\n", "algorithm=implicit\nholdout=0.5", "holdout");
    refused("a,b,3\n", "holdout=0.99", "lower holdout");
    refused("a,b,3\na,c,1\n", "l2=100", "lower l2 or rate");
    refused("a,b,3\n", "rank=0", "rank");
}

/* From the data to the first dispatch, and a prediction from a model. */
static shoal_status plan_and_predict(const struct base_alloc *alloc, void *ctx)
{
    static const char TEXT[] = "a,x,1\na,y,2\nb,x,3\nb,z,4\nc,y,5\nc,z,1\nd,x,2\n";
    struct wire_opts wire = WIRE_OPTS_INIT;
    struct wire_key key;
    struct train_master_opts opts = {.app = app_find("mf"),
                                     .path = "ratings",
                                     .settings = ctx,
                                     .threads = 1,
                                     .address = "home:0",
                                     .key = &key,
                                     .wire = &wire,
                                     .segment_size = 4 << 20,
                                     .ended = nothing_more};
    shoal_env *env = NULL;
    struct env_loop *loop = NULL;
    struct train_master *master = NULL;
    shoal_model *model = NULL;
    struct scored s = {.lines = 0};
    struct train_score_opts score_opts = {"ratings", true, hear_line, hear_metric, &s};
    shoal_status st = env_sim_new(alloc, 1, &env, NULL);

    if (st != SHOAL_OK)
        return st;
    st = env_sim_put(env, "ratings", TEXT, sizeof TEXT - 1);
    if (st == SHOAL_OK)
        st = wire_key_new(env, &key, NULL);
    if (st == SHOAL_OK)
        st = env_loop_new(env, "home", &loop, NULL);
    if (st == SHOAL_OK)
        st = train_master_new(loop, &opts, &master, NULL);
    if (st == SHOAL_OK)
        st = train_model_create(env, "model", "mf", ctx, &model, NULL);
    if (st == SHOAL_OK) {
        st = app_find("mf")->save(train_master_driver(master), model, NULL);
        if (st == SHOAL_OK)
            st = train_model_commit(model, NULL);
        else
            shoal_model_free(model);
        model = NULL;
    }
    if (st == SHOAL_OK)
        st = shoal_model_open(env, "model", &model, NULL);
    if (st == SHOAL_OK)
        st = train_score(env, app_find("mf"), model, &score_opts, NULL);
    if (st == SHOAL_OK && s.lines != 7)
        st = SHOAL_E_INTERNAL;
    shoal_model_free(model);
    train_master_free(master);
    env_loop_free(loop);
    shoal_env_free(env);
    return st == SHOAL_E_IO ? SHOAL_E_NOMEM : st; /* a part of a model that cannot be kept */
}

static void memory_that_is_short_ends_in_a_clean_error(void **state)
{
    static char sgd[] = "rank=3\nholdout=0.3", implicit[] = "rank=3\nalgorithm=implicit";

    (void)state;
    torture_run(plan_and_predict, sgd);
    torture_run(plan_and_predict, implicit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_are_mean_biases_and_product),
        cmocka_unit_test(a_model_scores_what_training_said),
        cmocka_unit_test(the_model_kept_has_the_least_held_out_error_of_all_epochs),
        cmocka_unit_test(models_that_make_no_sense_are_refused),
        cmocka_unit_test(parts_of_the_wrong_size_are_refused),
        cmocka_unit_test(a_model_that_cannot_be_read_tells_which_version_made_it),
        cmocka_unit_test(memory_that_is_short_ends_in_a_clean_error),
        cmocka_unit_test(what_cannot_be_trained_on_is_refused_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
