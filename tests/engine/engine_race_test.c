/* Everything that can end a job, at the same time: its agent's result, its agent's exit, a cancel,
 * its deadline, its lease's expiry, its parent's end, the runtime's stop; while the client connects
 * and disconnects and the store is late. Whatever comes first, there is one terminal message, each
 * agent is stopped once, and no agent remains.
 *   engine_race_test [RACES [FIRST]]; ARCP_SIMULATION_SEED=n runs one. */
#include "engine/play.h"
#include "engine/seeds.h"

#include "support/check.h"

#include "base/alloc.h"

#define SECOND ARCP_NS_PER_SEC

static seed_range races;

typedef struct figures {
    size_t cancelled, timed_out, expired, success, failed, stopped, kills;
} figures;

static void begin(play *p, uint64_t seed)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = seed % 3 == 0 ? 0 : 1500;
    settings.shutdown_grace_sec = seed % 2;
    play_begin_calm(p, seed, &settings, "engine_race_test");
}

/* A job with five seconds to run, under a lease that ends at about the same time. */
static void submit(play *p)
{
    char frame[512];
    assert_true(play_client_begins(p, 0));
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
                   "\"echo\",\"max_runtime_sec\":5,\"lease_request\":{\"agent.delegate\":[\"**\"]},"
                   "\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:00:0%uZ\"}}}",
                   4 + play_pick(p, 3));
    rig_send(&p->rig, play_client(p, 0), frame);
    play_look(p);
    assert_int_equal(p->rig.agent_count, 1);
    if (play_one_in(p, 2)) {
        rig_agent_writes(&p->rig, &p->rig.agents[0],
                         "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"work\","
                         "\"wait\":true}}");
        play_look(p);
        assert_int_equal(p->rig.agent_count, 2);
    }
}

static rig_agent *some_agent(play *p)
{
    return &p->rig.agents[play_pick(p, (unsigned)p->rig.agent_count)];
}

static void ask_cancel(play *p)
{
    char frame[256];
    if (play_client(p, 0)->link != NULL) {
        (void)snprintf(frame, sizeof frame,
                       "{\"arcp\":\"1.1\",\"id\":\"c%u\",\"type\":\"job.cancel\",\"payload\":{"
                       "\"job_id\":\"%s\"}}",
                       p->next_id++, some_agent(p)->job_id);
        rig_send(&p->rig, play_client(p, 0), frame);
    }
}

static void agent_ends(play *p)
{
    static const char *const words[] = {
        "{\"type\":\"job.result\",\"payload\":{\"result\":1}}",
        "{\"type\":\"job.error\",\"payload\":{\"code\":\"INTERNAL_ERROR\",\"message\":\"no\"}}",
        ("{\"type\":\"result.chunk\",\"payload\":{\"data\":\"x\",\"encoding\":\"utf8\","
         "\"more\":false}}"),
    };
    const unsigned choice = play_pick(p, 5);
    if (choice < 3) {
        rig_agent_writes(&p->rig, some_agent(p), words[choice]);
    } else {
        rig_agent_exits(&p->rig, some_agent(p), choice == 4, (int)play_pick(p, 2));
    }
}

static void one_event(play *p)
{
    switch (play_pick(p, 10)) {
    case 0:
        ask_cancel(p);
        break;
    case 1:
    case 2:
        agent_ends(p);
        break;
    case 3: /* just before the timeout and the expiry, or beyond them */
        rig_clock(&p->rig, 5 * SECOND - (int64_t)play_pick(p, 3));
        break;
    case 4:
        rig_clock(&p->rig, (int64_t)play_pick(p, 2000) * ARCP_NS_PER_MS);
        break;
    case 5:
        rig_drop(&p->rig, play_client(p, 0));
        break;
    case 6:
        if (!p->is_stopping && play_one_in(p, 2)) {
            p->is_stopping = true;
            arcp__engine_shutdown(p->rig.engine, p->rig.now, false);
        }
        break;
    case 7:
        p->disk.is_held = !p->disk.is_held;
        break;
    case 8:
        (void)disk_write(&p->disk);
        (void)disk_report(&p->disk);
        break;
    default: /* the next input comes before the effects of the last */
        p->rig.is_stepping = !p->rig.is_stepping;
        break;
    }
    p->rig.effects_left = play_pick(p, 3);
    rig_run(&p->rig);
    play_look(p);
}

/* At the end all agents exit when they are asked to. */
static void let_end(play *p)
{
    p->disk.is_held = p->rig.is_stepping = false;
    rig_run(&p->rig);
    for (unsigned times = 0; times < 3; times++) {
        rig_clock(&p->rig, 10 * SECOND);
        play_agents_reap(p);
        play_look(p);
    }
    rig_clock(&p->rig, 10 * SECOND);
    play_look(p);
}

static void check_agents(play *p, figures *sum)
{
    for (size_t i = 0; i < p->rig.agent_count; i++) {
        const rig_agent *agent = &p->rig.agents[i];
        if (agent->forgets != 1 || agent->cancels > 1 || agent->kills > 1) {
            watch_fail(&p->watch,
                       "its agent was not released once, or was cancelled or killed twice",
                       agent->job_id);
        }
        sum->kills += agent->kills;
    }
    arcp__engine_stats stats;
    arcp__engine_get_stats(p->rig.engine, &stats);
    if (stats.jobs_running != 0 || (p->is_stopping && !arcp__engine_is_finished(p->rig.engine))) {
        watch_fail(&p->watch, "something is left running", "");
    }
}

static void count_end(const char *frame, figures *sum)
{
    const struct {
        const char *text;
        size_t *count;
    } ends[] = {
        {"\"code\":\"CANCELLED\"", &sum->cancelled},   {"\"code\":\"TIMEOUT\"", &sum->timed_out},
        {"\"code\":\"LEASE_EXPIRED\"", &sum->expired}, {"is stopping", &sum->stopped},
        {"\"type\":\"job.result\"", &sum->success},    {"", &sum->failed},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strstr(frame, ends[i].text) != NULL) {
            ++*ends[i].count;
            return;
        }
    }
}

/* A new session reads all of it. */
static void check_ends(play *p, figures *sum)
{
    if (p->is_stopping) {
        rig_restart(&p->rig);
    }
    assert_true(play_client_begins(p, 1));
    for (size_t i = 0; i < p->watch.job_count; i++) {
        const char *job_id = p->watch.jobs[i].id;
        rig_client *client = play_client(p, 1);
        client->slow = true; /* so that its frames wait */
        play_client_subscribes(p, 1, job_id);
        unsigned ends = 0;
        for (char *frame = rig_read(&p->rig, client); frame != NULL;
             frame = rig_read(&p->rig, client)) {
            const bool is_end = strstr(frame, "\"final_status\"") != NULL;
            ends += is_end ? 1 : 0;
            if (is_end) {
                count_end(frame, sum);
            }
            arcp__free(frame);
        }
        if (ends != 1) {
            watch_fail(&p->watch, "it has not exactly one end", job_id);
        }
    }
}

static void one_race(uint64_t seed, figures *sum)
{
    play *p = arcp__alloc(sizeof *p);
    assert_non_null(p);
    begin(p, seed);
    submit(p);
    for (unsigned left = 3 + play_pick(p, 10); left > 0; left--) {
        p->watch.step++;
        one_event(p);
    }
    let_end(p);
    check_agents(p, sum);
    check_ends(p, sum);
    play_end(p);
    arcp__free(p);
}

static void a_job_ends_once_whatever_ends_it(void **state)
{
    (void)state;
    figures sum = {0};
    for (uint64_t i = 0; i < races.count; i++) {
        one_race(races.first + i, &sum);
    }
    print_message("%llu races: %zu success, %zu failed, %zu cancelled, %zu timed out, %zu expired, "
                  "%zu stopped; %zu agents killed\n",
                  (unsigned long long)races.count, sum.success, sum.failed, sum.cancelled,
                  sum.timed_out, sum.expired, sum.stopped, sum.kills);
    const size_t counts[] = {sum.success, sum.failed,  sum.cancelled, sum.timed_out,
                             sum.expired, sum.stopped, sum.kills};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && races.count >= 1000; i++) {
        assert_true(counts[i] > races.count / 200);
    }
}

int main(int argc, char **argv)
{
    races = seeds_of(argc, argv, 10000);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_ends_once_whatever_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
