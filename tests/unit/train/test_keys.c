/* Who has only the key to join a job can join it and nothing else; who has the job's key can command it.
 * In simulation, on networks that lose, repeat and reorder; see sim_cases.h for how to run one seed again. */
#include "counted.h"

#include "fake_worker.h"

/* Begins a job of two workers and lets somebody connect to it who does not join. */
static void look_on(struct cluster *c, struct fake *f, uint64_t seed, bool joins)
{
    c->workers = 2;
    c->staleness = 1;
    c->task_mean_s = 0.1;
    c->net = bad_net(seed, 0.02);
    cluster_begin(c, seed);
    cluster_run(c, &WITNESS, "clocks=20\nstaleness=1", 0.2);
    fake_come(f, c, &(struct train_join){.threads = 0}, joins);
}

static bool ask(struct cluster *c, struct fake *f, const char *line, const char *answer)
{
    char text[sizeof((struct word *)0)->bytes + 1] = "";

    f->heard_count = 0;
    fake_say(f, TRAIN_ASK, line, strlen(line));
    for (int i = 0; i < 100 && f->heard_count == 0; i++)
        go_on(c, 0.01);
    const struct word *word = fake_find(f, TRAIN_ANSWER, UINT32_MAX);
    if (word != NULL)
        memcpy(text, word->bytes, sizeof word->bytes);
    return strstr(text, answer) != NULL;
}

static const char *only_joins(struct cluster *c, uint64_t seed)
{
    static const char *const LINES[] = {"scale 1", "drain 1", "stop", "status", "nonsense"};
    struct fake f;
    bool refused = true;

    look_on(c, &f, seed, true);
    for (int i = 0; i < 5; i++)
        refused = ask(c, &f, LINES[i], "SHOAL_E_DENIED") && refused;
    struct train_stats s = train_master_stats(c->master);
    fake_free(&f);
    go_on(c, 1000);
    return !refused                                                         ? "it was not refused"
           : s.wanted != 2 || s.workers != 2                                ? "it was obeyed"
           : s.refused != 5                                                 ? "nobody was told"
           : strstr(train_master_refusal(c->master), "key to join") == NULL ? "nor why"
                                                                            : all_counted(c, 20, 1);
}

static const char *commands(struct cluster *c, uint64_t seed)
{
    struct fake f;

    look_on(c, &f, seed, false);
    bool obeyed = ask(c, &f, "scale 3", "\"v\":1") && train_master_stats(c->master).wanted == 3;
    fake_free(&f);
    go_on(c, 1000);
    return !obeyed ? "it was not obeyed" : all_counted(c, 20, 1);
}

/* Asks so fast that no answer can have been read: it goes when too much waits for it, and the job has
 * not noticed. */
static const char *asks_and_asks(struct cluster *c, uint64_t seed)
{
    struct fake f;

    look_on(c, &f, seed, false);
    go_on(c, 0.1);
    for (int i = 0; i < 100000; i++)
        fake_say(&f, TRAIN_ASK, "status", 6);
    go_on(c, 5);
    bool closed = f.closed || c->over,
         told = strstr(train_master_refusal(c->master), "does not read its answers") != NULL;
    fake_free(&f);
    go_on(c, 1000);
    return !closed ? "it was not closed" : !told ? "nobody was told" : all_counted(c, 20, 1);
}

/* Once in ten milliseconds, and reads the answer. */
static const char *looks_on(struct cluster *c, uint64_t seed)
{
    struct fake f;
    bool answered = true;

    look_on(c, &f, seed, false);
    for (int i = 0; i < 1000 && !c->over; i++)
        answered = (ask(c, &f, "status", "\"v\":1") || c->over) && answered;
    fake_free(&f);
    return !answered                                   ? "it was not answered"
           : train_master_stats(c->master).refused > 0 ? "it was turned away"
                                                       : all_counted(c, 20, 1);
}

/* A seat of a worker that the driver has started itself. */
static const char *takes_a_seat(struct cluster *c, uint64_t seed)
{
    struct fake f;

    c->workers = 1;
    c->deaf = 1; /* so that a seat is free */
    cluster_begin(c, seed);
    cluster_run(c, &WITNESS, "clocks=2", 1);
    fake_come(&f, c, &(struct train_join){.threads = 1, .slot = 1, .host = "fake"}, true);
    go_on(c, 1);
    const struct word *word = fake_find(&f, TRAIN_REFUSED, UINT32_MAX);
    bool refused = word != NULL && fake_find(&f, TRAIN_SETUP, UINT32_MAX) == NULL;
    fake_free(&f);
    c->deaf = 0;
    go_on(c, 1000);
    return refused ? all_counted(c, 2, 1) : "it was given the seat";
}

/* What a worker calls itself, and why it gives up, is shown to people. */
static const char *paints(struct cluster *c, uint64_t seed)
{
    struct train_failed failed = {
        .executor = UINT32_MAX, .code = SHOAL_E_IO, .message = "\033[2J\nno"};
    struct train_worker_info info;
    struct fake f;

    c->workers = 1;
    c->task_mean_s = 0.1;
    cluster_begin(c, seed);
    cluster_run(c, &WITNESS, "clocks=10", 0.05);
    fake_come(&f, c, &(struct train_join){.threads = 1, .host = "a\033]0;b\007\n"}, true);
    go_on(c, 0.1);
    bool plain =
        train_master_worker(c->master, 1, &info) == SHOAL_OK && strcmp(info.host, "a?]0;b??") == 0;
    fake_say(&f, TRAIN_FAILED, &failed, sizeof failed);
    go_on(c, 0.1);
    plain = plain && strcmp(train_master_refusal(c->master), "a?]0;b??: ?[2J?no") == 0;
    fake_free(&f);
    go_on(c, 1000);
    return plain ? all_counted(c, 10, 1) : "it paints on terminals";
}

/* Workers elsewhere have the key to join in all simulations. */
static const char *joins(struct cluster *c, uint64_t seed)
{
    c->away = 2;
    c->away_mean_s = 0.01;
    c->staleness = (uint32_t)(seed % 3);
    c->net = bad_net(seed, 0.02);
    cluster_begin(c, seed);
    run(c, 10, "");
    return all_counted(c, 10, 1);
}

static const char *joined(const struct cluster_count *n)
{
    return n->far == n->tasks ? NULL : "tasks that all ran elsewhere";
}

static const struct sim_case CASES[] = {
    {"the_key_to_join_commands_nothing_and_shows_nothing", 20, only_joins, NULL},
    {"the_job_s_key_commands", 10, commands, NULL},
    {"an_onlooker_that_does_not_read_is_let_go_with_a_reason", 5, asks_and_asks, NULL},
    {"an_onlooker_that_reads_is_answered_to_the_end", 10, looks_on, NULL},
    {"the_key_to_join_takes_no_seat_of_this_machine", 4, takes_a_seat, NULL},
    {"what_a_worker_calls_itself_is_plain_text", 3, paints, NULL},
    {"the_key_to_join_is_all_that_a_worker_elsewhere_needs", 10, joins, joined},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
