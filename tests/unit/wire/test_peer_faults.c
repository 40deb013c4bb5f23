/* Tests of src/wire/peer.c on networks that delay, repeat, reorder, lose and stop: everything arrives
 * exactly once and in order, or both sides hear that it is over. A failure names its seed.
 * ctest: fast timeout=300 */
#include "property.h"
#include "wire_world.h"

#include "base/rand.h"
#include <stdlib.h>

enum { MESSAGES = 150 };

/* Sends bursts at drawn moments until `left` is 0. */
struct talker {
    struct side *side;
    struct env_timer timer;
    struct base_rand rand;
    uint64_t left;
};

struct play {
    struct world *world;
    struct talker talkers[2];
    struct env_timer weather; /* on the server's loop: nobody else's business */
    struct base_rand rand;
    bool cut;
    uint32_t cuts_left;
    double cut_max_s;
};

static size_t drawn_size(struct base_rand *rand)
{
    switch (base_rand_below(rand, 40)) {
    case 0: return 0;
    case 1: return base_rand_below(rand, 100000);
    case 2: return base_rand_below(rand, 5000);
    default: return base_rand_below(rand, 100);
    }
}

static void talk(void *ctx)
{
    struct talker *talker = ctx;
    uint64_t burst = 1 + base_rand_below(&talker->rand, 12);
    for (uint64_t i = 0; i < burst && talker->left > 0 && talker->side->peer != NULL; i++)
        if (side_send(talker->side, drawn_size(&talker->rand)) == SHOAL_OK)
            talker->left--;
    double mean_ns = base_rand_below(&talker->rand, 10) == 0 ? 1e9 : 2e7;
    if (talker->left > 0)
        shoal_assert(env_timer_start(talker->side->loop, &talker->timer,
                                     (uint64_t)base_rand_exp(&talker->rand, mean_ns), talk,
                                     talker) == SHOAL_OK);
}

static void change_weather(void *ctx)
{
    struct play *play = ctx;
    double wait_s = 0;
    if (!play->cut && play->cuts_left == 0)
        return;
    play->cut = !play->cut;
    env_sim_cut(play->world->env, "home", "away", play->cut);
    if (play->cut) {
        play->cuts_left--;
        wait_s = base_rand_range(&play->rand, 0, play->cut_max_s);
    } else {
        wait_s = base_rand_exp(&play->rand, 1);
    }
    shoal_assert(env_timer_start(play->world->home.loop, &play->weather, WORLD_S(wait_s),
                                 change_weather, play) == SHOAL_OK);
}

static void answer_some(struct side *side, uint64_t number)
{
    if (number % 10 == 0 && side->sent < 2 * MESSAGES)
        shoal_assert(side_send(side, 16) == SHOAL_OK);
}

static void play_start(struct play *play, uint64_t seed, const struct wire_opts *opts)
{
    struct env_sim_net net = {0};
    *play = (struct play){.world = world_new(&base_alloc_libc, seed, opts)};
    shoal_assert(play->world != NULL);
    base_rand_init(&play->rand, seed, "weather");
    if (base_rand_below(&play->rand, 4) > 0)
        net.delay_mean_s = base_rand_exp(&play->rand, 0.01);
    if (base_rand_below(&play->rand, 3) > 0)
        net.duplicate = base_rand_range(&play->rand, 0, 0.3);
    if (base_rand_below(&play->rand, 3) > 0)
        net.reorder = base_rand_range(&play->rand, 0, 0.5);
    if (base_rand_below(&play->rand, 3) > 0)
        net.drop = base_rand_range(&play->rand, 0, 0.25);
    env_sim_set_net(play->world->env, &net);
    play->cuts_left = (uint32_t)base_rand_below(&play->rand, 4);
    struct side *sides[2] = {&play->world->home, &play->world->away};
    for (size_t i = 0; i < 2; i++) {
        struct talker *talker = &play->talkers[i];
        talker->side = sides[i];
        base_rand_init(&talker->rand, seed, i == 0 ? "home" : "away");
        talker->left = MESSAGES;
        if (base_rand_below(&play->rand, 2) == 0)
            sides[i]->heard = answer_some;
    }
    shoal_assert(world_connect(play->world, NULL, opts) == SHOAL_OK);
}

/* The server has nobody to talk to before the client is in. */
static bool is_met(void *ctx)
{
    struct play *play = ctx;
    return play->world->accepted == 1 && play->world->away.ready == 1;
}

static bool is_done(void *ctx)
{
    struct play *play = ctx;
    const struct side *home = &play->world->home, *away = &play->world->away;
    return home->wrong || away->wrong || home->closed + away->closed > 0 ||
           (play->talkers[0].left + play->talkers[1].left == 0 && home->got == away->sent &&
            away->got == home->sent);
}

static void play_free(struct play *play)
{
    world_free(play->world);
}

/* Everything must arrive: the cuts are shorter than anybody's patience. */
static void check_all_arrives(uint64_t seed, uint64_t *again, uint64_t *hash)
{
    static const struct wire_opts OPTS = {1000, 30000, 60000, (size_t)1 << 30};
    struct play play;
    play_start(&play, seed, &OPTS);
    play.cut_max_s = 6;
    (void)env_sim_run(play.world->env, WORLD_S(60), is_met, &play);
    if (!is_met(&play))
        fail_msg("seed %llu: no meeting", (unsigned long long)seed);
    talk(&play.talkers[0]);
    talk(&play.talkers[1]);
    change_weather(&play);
    (void)env_sim_run(play.world->env, WORLD_S(2000), is_done, &play);
    struct side *home = &play.world->home, *away = &play.world->away;
    if (home->wrong || away->wrong)
        fail_msg("seed %llu: a message came twice, late or changed", (unsigned long long)seed);
    if (home->closed + away->closed > 0)
        fail_msg("seed %llu: closed: %s", (unsigned long long)seed,
                 home->closed > 0 ? home->why.message : away->why.message);
    if (!is_done(&play))
        fail_msg("seed %llu: %llu of %llu and %llu of %llu arrived", (unsigned long long)seed,
                 (unsigned long long)home->got, (unsigned long long)away->sent,
                 (unsigned long long)away->got, (unsigned long long)home->sent);
    world_run(play.world, 30); /* late copies change nothing */
    if (!is_done(&play) || home->wrong || away->wrong || play.world->refused > 0)
        fail_msg("seed %llu: not quiet at the end", (unsigned long long)seed);
    *again += wire_peer_count(home->peer).again + wire_peer_count(away->peer).again;
    *hash = env_sim_hash(play.world->env);
    play_free(&play);
}

static void everything_arrives_once_and_in_order(void **state)
{
    uint64_t again = 0, hash = 0;
    const char *only = getenv("SHOAL_TEST_SEED"); /* to see one again */
    (void)state;

    if (only != NULL) {
        check_all_arrives(strtoull(only, NULL, 10), &again, &hash);
        return;
    }
    for (int seed = 0; seed < property_count(1000); seed++)
        check_all_arrives((uint64_t)seed, &again, &hash);
    assert_true(again > 500); /* the networks were bad enough to mean something */
}

static void the_same_seed_gives_the_same_events(void **state)
{
    uint64_t again = 0, first = 0, second = 0, other = 0;
    (void)state;

    for (uint64_t seed = 0; seed < 20; seed++) {
        check_all_arrives(seed, &again, &first);
        check_all_arrives(seed, &again, &second);
        check_all_arrives(seed + 1, &again, &other);
        assert_true(first == second && first != other);
    }
}

/* The sender must not wait for silence to find out. */
static void a_lost_message_is_found_while_the_other_side_keeps_talking(void **state)
{
    const struct env_sim_net lossy = {.drop = 1}, perfect = {.drop = 0};
    struct world *world = world_of_two(1, NULL);
    (void)state;

    world_run(world, 1);
    assert_int_equal(world->away.ready, 1);
    env_sim_set_net(world->env, &lossy);
    assert_int_equal(side_send(&world->away, 100), SHOAL_OK);
    world_run(world, 0.001);
    env_sim_set_net(world->env, &perfect);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(side_send(&world->home, 10), SHOAL_OK);
        world_run(world, 0.01);
    }
    assert_true(world->home.got == 1 && world->away.got == 50);
    assert_int_equal(wire_peer_count(world->away.peer).again, 1);
    world_free(world);
}

/* Cuts longer than anybody's patience, and deaths: both sides end, in time and with words; what
 * arrived before is in order. */
static void both_sides_hear_of_the_end(void **state)
{
    static const struct wire_opts OPTS = {500, 4000, 4000, (size_t)1 << 30};
    (void)state;

    for (int i = 0; i < property_count(300); i++) {
        struct play play;
        uint64_t seed = (uint64_t)i;
        play_start(&play, seed, &OPTS);
        const struct env_sim_net net = {.delay_mean_s = 1e-3, .duplicate = 0.1, .reorder = 0.1};
        env_sim_set_net(play.world->env, &net); /* without loss: only the cut may end it */
        (void)env_sim_run(play.world->env, WORLD_S(10), is_met, &play);
        assert_true(is_met(&play));
        talk(&play.talkers[0]);
        talk(&play.talkers[1]);
        struct side *home = &play.world->home, *away = &play.world->away;
        world_run(play.world, base_rand_range(&play.rand, 0, 3));
        bool kill = base_rand_below(&play.rand, 2) == 0;
        if (kill)
            env_sim_kill(away->loop);
        else
            env_sim_cut(play.world->env, "home", "away", true);
        world_run(play.world, 3.4);
        if (!kill && home->closed + away->closed > 0)
            fail_msg("seed %llu: closed early: %s", (unsigned long long)seed, home->why.message);
        world_run(play.world, 1.2);
        if (home->closed != 1 || away->closed != (kill ? 0 : 1) || home->wrong || away->wrong)
            fail_msg("seed %llu: %u and %u closed", (unsigned long long)seed, home->closed,
                     away->closed);
        if (!kill)
            assert_says(&away->why, "no word from '", play.world->address, "' for 4 s");
        env_sim_cut(play.world->env, "home", "away", false);
        world_run(play.world, 30);
        assert_true(home->closed == 1 && away->closed <= 1 && !home->wrong && !away->wrong);
        play_free(&play);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives_once_and_in_order),
        cmocka_unit_test(the_same_seed_gives_the_same_events),
        cmocka_unit_test(a_lost_message_is_found_while_the_other_side_keeps_talking),
        cmocka_unit_test(both_sides_hear_of_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
