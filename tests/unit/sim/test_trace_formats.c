/* Tests of the readers of other people's formats: src/sim/trace_formats.c, and of node lists. */
#include "unit/sim/public_data.h"
#include "unit/sim/sim_world.h"

#include "sim/cluster_load.h"
#include "sim/cluster_load.h"
#include <math.h>

#define G10    "ResNet-18 (batch size 32)\tpython3 x.py\tdir\t--steps\t1\t"
#define POLLUX "name,time,application,num_replicas,batch_size\n"
#define PHILLY "timestamp,duration,num_gpus,gpu_time,cluster\n"
#define OPENB                                                                           \
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time," \
    "deletion_time,scheduled_time\n"

static void gavel_lines_come_in_two_shapes(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "a.trace", G10 "925982\t4\t5\t-1.000000\t0\n" G10 "10\t1\t1\t1.5\t7.5\n");
    struct sim_trace *trace = world_load(env, "a.trace", SIM_FORMAT_AUTO);
    assert_string_equal(trace->format, "gavel");
    const struct sim_job *job = trace->jobs;
    assert_string_equal(job[0].name, "job-1");
    assert_int_equal(job[0].work, SIM_WORK_STEPS);
    assert_string_equal(sim_names_get(&trace->models, job[0].model), "ResNet-18 (batch size 32)");
    assert_true(job[0].steps == 925982 && job[0].gpus == 4 && job[0].weight == 5);
    assert_true(isnan(job[0].slo) && isinf(job[0].deadline_s));
    assert_true(job[1].slo == 1.5f && job[1].submit_s == 7.5);
    sim_trace_free(trace);

    world_put(env, "b.trace", "A3C\tcd %s && python3 m.py\t-n\t1\t95121\t6.000000\t2\n");
    trace = world_load(env, "b.trace", SIM_FORMAT_AUTO);
    assert_true(trace->jobs[0].steps == 95121 && trace->jobs[0].gpus == 2);
    assert_true(trace->jobs[0].submit_s == 6 && trace->jobs[0].weight == 1);
    sim_trace_free(trace);
    shoal_env_free(env);
}

static void gavel_mistakes_are_found(void **state)
{
    (void)state;
    world_refuses_text(G10 "9\t4\t1\t-1\n", "expected a trace in a known format", "");
    world_refuses_text(G10 "9\t4\t1\t-1\t0\nA3C\tx\t-n\t1\t9\t6\t2\n",
                       "line 2: expected 10 fields, found 7", "");
    world_refuses_text(G10 "-9\t4\t1\t-1\t0\n", "column 6: expected steps above 0", "");
    world_refuses_text(G10 "9\t0\t1\t-1\t0\n", "column 7: expected a scale factor", "");
    world_refuses_text(G10 "9\t1\t0\t-1\t0\n", "column 8: expected a priority weight", "");
    world_refuses_text(G10 "9\t1\t1\t0\t0\n", "column 9: expected an SLO above 0", "");
    world_refuses_text(G10 "9\t1\t1\t-1\t-5\n", "column 10: expected seconds of 0 or more", "");
}

static void names_that_are_made_up_stay_unique_over_several_files(void **state)
{
    shoal_env *env = world_new();
    struct sim_trace *trace = NULL;
    const char *paths[] = {"one/vc.trace", "two/vc.trace", "other.trace"};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        world_put(env, paths[i], G10 "9\t4\t1\t-1\t0\n");
    assert_int_equal(sim_trace_load(env, paths, 3, SIM_FORMAT_AUTO, &trace, NULL), SHOAL_OK);
    assert_string_equal(trace->jobs[0].name, "vc:job-1");
    assert_string_equal(trace->jobs[1].name, "vc#2:job-1");
    assert_string_equal(trace->jobs[2].name, "other:job-1");
    sim_trace_free(trace);
    shoal_env_free(env);
}

static void pollux_jobs_train_an_application_with_a_batch(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "w.csv", POLLUX "cifar10-0,401.0,cifar10,12,4096\nncf-2,135,ncf,1,32768\n");
    struct sim_trace *trace = world_load(env, "w.csv", SIM_FORMAT_AUTO);
    assert_string_equal(trace->format, "pollux");
    assert_string_equal(trace->jobs[0].name, "ncf-2");
    assert_int_equal(trace->jobs[1].work, SIM_WORK_PROFILE);
    assert_true(trace->jobs[1].submit_s == 401 && trace->jobs[1].gpus == 12);
    assert_int_equal(trace->jobs[1].batch, 4096);
    sim_trace_free(trace);
    shoal_env_free(env);
    world_refuses_text(POLLUX "a,1,ncf,0,1\n", "line 2, column 4: expected replicas", "");
    world_refuses_text(
        POLLUX "a,1,ncf,1,\n",
        "column 5: expected a total batch, a whole number from 1 to 2147483647, found nothing", "");
    world_refuses_text(POLLUX "a,1,,1,5\n", "column 3: expected an application", "");
}

static void philly_dates_count_from_the_earliest_job(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "p.csv",
              PHILLY "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
                     "2017-10-09 06:01:55,5.5,8,44.0,6214e9\n"
                     "2017-10-09 06:01:56,0.0,8,0.0,6214e9\n"
                     "2017-10-09 06:01:57,9.0,0,0.0,6214e9\n");
    struct sim_trace *trace = world_load(env, "p.csv", SIM_FORMAT_AUTO);
    assert_string_equal(trace->format, "philly");
    assert_int_equal(trace->job_count, 2);
    assert_int_equal(trace->skipped, 2);
    assert_string_equal(trace->jobs[0].name, "philly-3");
    assert_true(trace->jobs[0].submit_s == 0 && trace->jobs[1].submit_s == 3600);
    assert_true(trace->jobs[0].duration_s == 5.5);
    assert_string_equal(sim_names_get(&trace->groups, trace->jobs[1].group), "11cb48");
    sim_trace_free(trace);
    shoal_env_free(env);
    world_refuses_text(PHILLY "yesterday,66.0,1,66.0,x\n", "column 1: expected a date", "");
    world_refuses_text(PHILLY "2017-10-09 06:01:56,-1,8,0,x\n", "column 2: expected seconds of 0",
                       "");
    world_refuses_text(PHILLY "2017-10-09 06:01:56,0,8,0,x\n", "no jobs in it, 1 line was left out",
                       "");
}

static void alibaba_pods_become_jobs_by_the_stated_rules(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "o.csv",
              OPENB "p0,1,1,0,0,,LS,Running,0,10,0\n"
                    "p1,1,1,1,460,V100M16|V100M32|V100M32,LS,Running,5,100,40\n"
                    "p2,1,1,8,1000,,BE,Pending,7,27,\n"
                    "p3,1,1,1,230,,BE,Pending,9,9,\n");
    struct sim_trace *trace = world_load(env, "o.csv", SIM_FORMAT_AUTO);
    assert_string_equal(trace->format, "alibaba");
    assert_int_equal(trace->job_count, 2);
    assert_int_equal(trace->skipped, 2);
    const struct sim_job *job = trace->jobs;
    assert_true(job[0].submit_s == 5 && job[0].duration_s == 60 && job[0].gpus == 1);
    assert_int_equal(job[0].want_kinds, 3);
    assert_string_equal(sim_names_get(&trace->kinds, 1), "V100M32");
    assert_true(job[1].submit_s == 7 && job[1].duration_s == 20 && job[1].gpus == 8);
    assert_int_equal(job[1].want_kinds, 0);
    assert_string_equal(sim_names_get(&trace->groups, job[1].group), "BE");
    sim_trace_free(trace);
    shoal_env_free(env);
    world_refuses_text(OPENB "p1,1,1,1,460,,LS,Running,5,30,40\n",
                       "column 10: expected a deletion_time", "");
    world_refuses_text(OPENB "p1,1,1,1,1460,,LS,Running,5,30,10\n",
                       "column 5: expected thousandths", "");
    world_refuses_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,1\n", "with a column",
                       "without times");
}

static void an_alibaba_node_list_becomes_a_cluster(void **state)
{
    shoal_env *env = world_new();
    struct sched_cluster cluster;
    struct base_buf spec;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_put(env, "n.csv",
              "sn,cpu_milli,memory_mib,gpu,model\na,1,1,2,P100\nb,1,1,0,\n"
              "c,1,1,8,G2\nd,1,1,2,P100\n");
    base_buf_init(&spec, &base_alloc_libc, 1000);
    assert_int_equal(sim_cluster_from_openb(env, "n.csv", &spec, &err), SHOAL_OK);
    assert_string_equal(spec.data, "2x2:P100,1x8:G2");
    base_buf_fini(&spec);
    assert_int_equal(sim_cluster_load(env, "n.csv", &cluster, &err), SHOAL_OK);
    assert_int_equal(cluster.gpus, 12);
    sched_cluster_fini(&cluster);
    world_put(env, "c.txt", "# ours\n2x4:t4\n1x8:a100\n");
    assert_int_equal(sim_cluster_load(env, "c.txt", &cluster, &err), SHOAL_OK);
    assert_int_equal(cluster.gpus, 16);
    sched_cluster_fini(&cluster);
    assert_int_equal(sim_cluster_load(env, "2x4:t4", &cluster, &err), SHOAL_OK);
    sched_cluster_fini(&cluster);
    world_put(env, "bad.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,2,P 100\n");
    assert_int_equal(sim_cluster_load(env, "bad.csv", &cluster, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "line 2, column 5"));
    assert_int_equal(sim_cluster_load(env, "nowhere", &cluster, &err), SHOAL_E_NOTFOUND);
    shoal_env_free(env);
}

/* --- the published files -----------------------------------------------------------------------
 */

static struct sim_trace *load_public(const char *path)
{
    shoal_env *env = NULL;

    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    struct sim_trace *trace = world_load(env, path, SIM_FORMAT_AUTO);
    for (size_t i = 0; i < trace->job_count; i++) {
        const struct sim_job *job = &trace->jobs[i];
        assert_true(i == 0 || job[-1].submit_s <= job->submit_s);
        assert_true(job->submit_s >= 0 && job->gpus >= 1);
    }
    shoal_env_free(env);
    return trace;
}

static void the_published_philly_list_loads_whole(void **state)
{
    struct public_data data;
    double gpu_h = 0;

    (void)state;
    public_data_init(&data);
    struct sim_trace *trace =
        load_public(public_data_file(&data, "philly/philly_jobs.csv.xz", NULL));
    assert_int_equal(trace->job_count, 82247);
    assert_int_equal(trace->skipped, 0);
    assert_int_equal(trace->groups.map.count, 15);
    for (size_t i = 0; i < trace->job_count; i++)
        gpu_h += trace->jobs[i].duration_s * trace->jobs[i].gpus / 3600;
    assert_true(fabs(gpu_h - 978078.47) < 0.01);         /* the sum of the list's gpu_time column */
    assert_true(trace->jobs[82246].submit_s == 9408690); /* 2017-09-04 10:30:41 to 12-22 08:02:11 */
    sim_trace_free(trace);
    public_data_fini(&data);
}

static void published_gavel_pollux_sia_and_alibaba_traces_load_whole(void **state)
{
    static const struct {
        const char *file, *member, *format;
        size_t jobs, skipped;
    } cases[] = {
        {"gavel/max_min_fairness.trace", NULL, "gavel", 96, 0},
        {"gavel/minimize_makespan.trace", NULL, "gavel", 100, 0},
        {"gavel/msr_traces_seed0.tar.xz", "msr/seed=0/0e4a51.trace", "gavel", 1181, 0},
        {"pollux/pollux_osdi21_workloads.tar.xz", "./workloads/workload-6.csv", "pollux", 160, 0},
        {"sia/sia_sosp23_workloads.tar.xz", "./workloads/saturn/workload-1.csv", "pollux", 160, 0},
        {"alibaba/openb_gpu_v2023_csv.tar.xz", "csv/openb_pod_list_default.csv", "alibaba", 7063,
         1089},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct public_data data;
        public_data_init(&data);
        struct sim_trace *trace =
            load_public(public_data_file(&data, cases[i].file, cases[i].member));
        assert_string_equal(trace->format, cases[i].format);
        assert_int_equal(trace->job_count, cases[i].jobs);
        assert_int_equal(trace->skipped, cases[i].skipped);
        sim_trace_free(trace);
        public_data_fini(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gavel_lines_come_in_two_shapes),
        cmocka_unit_test(gavel_mistakes_are_found),
        cmocka_unit_test(names_that_are_made_up_stay_unique_over_several_files),
        cmocka_unit_test(pollux_jobs_train_an_application_with_a_batch),
        cmocka_unit_test(philly_dates_count_from_the_earliest_job),
        cmocka_unit_test(alibaba_pods_become_jobs_by_the_stated_rules),
        cmocka_unit_test(an_alibaba_node_list_becomes_a_cluster),
        cmocka_unit_test(the_published_philly_list_loads_whole),
        cmocka_unit_test(published_gavel_pollux_sia_and_alibaba_traces_load_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
