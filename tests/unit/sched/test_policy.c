/* test_policy.c - the table of policies, look-ups in it, and how kinds are ranked for a job. */
#include "world.h"

static void rows_are_whole_and_have_names_of_their_own(void **state)
{
    (void)state;
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);
    assert_true(count >= 6);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(rows[i]->name) > 0);
        assert_int_equal(strspn(rows[i]->name, "abcdefghijklmnopqrstuvwxyz0123456789_-"),
                         strlen(rows[i]->name));
        assert_true(strlen(rows[i]->summary) > 0);
        assert_non_null(rows[i]->optimises);
        assert_non_null(rows[i]->paper);
        assert_true(rows[i]->decide != NULL);
        assert_true(rows[i]->opt_count == 0 || rows[i]->memory_size > 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(rows[i]->name, rows[k]->name);
        /* --set takes both kinds of knob, so none may hide another. */
        for (size_t k = 0; k < rows[i]->opt_count; k++)
            assert_null(
                base_opt_find(sched_place_rows, sched_place_row_count, rows[i]->opts[k].name));
    }
}

static void every_row_is_found_by_its_name_and_nothing_else_is(void **state)
{
    (void)state;
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);
    for (size_t i = 0; i < count; i++) {
        char longer[64];
        shoal_err err = SHOAL_ERR_INIT;
        assert_ptr_equal(sched_policy_find(rows[i]->name, &err), rows[i]);
        assert_int_equal(err.code, SHOAL_OK);
        snprintf(longer, sizeof longer, "%sx", rows[i]->name);
        assert_null(sched_policy_find(longer, &err));
        assert_int_equal(err.code, SHOAL_E_NOTFOUND);
        assert_non_null(strstr(err.message, longer));
        assert_non_null(strstr(err.hint, rows[i]->name)); /* one letter off: it is offered */
    }
    assert_null(sched_policy_find("", NULL));
    assert_null(sched_policy_find("LAS", NULL));
    shoal_err err = SHOAL_ERR_INIT;
    assert_null(sched_policy_find("quite-something-else", &err));
    assert_null(strstr(err.hint, "did you mean"));
    assert_non_null(strstr(err.hint, "policy list"));
}

/* Rates of one row that differ by kind, so that ranks mean something. */
static void random_rates(struct world *w, struct sched_table *table, uint32_t gpus)
{
    assert_int_equal(sched_table_init(table, &base_alloc_libc, &w->cluster, &gpus, 1), SHOAL_OK);
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        assert_int_equal(
            sched_table_set(table, &table->packed[k], 0, 1 + (double)base_rand_below(&w->rand, 4)),
            SHOAL_OK);
}

static void ranks_are_the_kinds_it_may_use_fastest_first(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        struct world w;
        struct base_rand rand;
        struct sched_table table;
        char spec[256];
        base_rand_init(&rand, seed, "spec");
        world_random_spec(&rand, spec, sizeof spec);
        world_open(&w, NULL, seed, spec);
        uint32_t all = (1u << w.cluster.kind_count) - 1;
        random_rates(&w, &table, 1);
        struct sched_job job = {.gpus = 1,
                                .kinds = (uint32_t)base_rand_below(&w.rand, all + 1),
                                .model = sched_model_table(&table, 0, 1000)};
        sched_job_rank(&job, &w.cluster);
        uint32_t seen = 0;
        double last = 0;
        for (uint32_t i = 0; i < job.kind_count; i++) {
            uint32_t kind = job.kind_rank[i];
            double s = sched_model_ideal_s(&job.model, &w.cluster, kind, 1, 0);
            double best = sched_model_ideal_s(&job.model, &w.cluster, job.kind_rank[0], 1, 0);
            WORLD_CLAIM(&w, (seen >> kind & 1) == 0, "kind %u ranked twice", kind);
            seen |= 1u << kind;
            WORLD_CLAIM(&w, s >= last, "kind %u is faster than the one before it", kind);
            if (i > 0 && s == last) /* a tie keeps the cluster's order */
                WORLD_CLAIM(&w, kind > job.kind_rank[i - 1], "tie out of order");
            assert_true(fabs((double)job.kind_slower[i] - s / best) < 1e-6);
            last = s;
        }
        assert_int_equal(seen, job.kinds);
        sched_table_fini(&table);
        world_close(&w);
    }
}

static void jobs_of_a_snapshot_are_found_by_id_and_only_by_id(void **state)
{
    enum { JOBS = 40 };
    struct sched_job job[JOBS], *jobs[JOBS];
    struct base_rand rand;

    (void)state;
    base_rand_init(&rand, 1, "find");
    for (uint32_t count = 0; count <= JOBS; count++) {
        struct sched_snapshot snap = {.jobs = jobs, .job_count = count};
        uint32_t id = 0;
        for (uint32_t i = 0; i < count; i++) {
            id += 1 + (uint32_t)base_rand_below(&rand, 3);
            job[i] = (struct sched_job){.id = id};
            jobs[i] = &job[i];
        }
        for (uint32_t asked = 0, next = 0; asked <= id + 1; asked++) {
            bool there = next < count && job[next].id == asked;
            assert_int_equal(sched_snapshot_find(&snap, asked), there ? next : SCHED_JOB_NONE);
            next += there;
        }
        assert_int_equal(sched_snapshot_find(&snap, SCHED_JOB_NONE), SCHED_JOB_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole_and_have_names_of_their_own),
        cmocka_unit_test(every_row_is_found_by_its_name_and_nothing_else_is),
        cmocka_unit_test(jobs_of_a_snapshot_are_found_by_id_and_only_by_id),
        cmocka_unit_test(ranks_are_the_kinds_it_may_use_fastest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
