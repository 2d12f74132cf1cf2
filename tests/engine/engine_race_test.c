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

static void begin(play *self, uint64_t seed)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = seed % 3 == 0 ? 0 : 1500;
    settings.shutdown_grace_sec = seed % 2;
    play_begin_calm(self, seed, &settings, "engine_race_test");
}

/* A job with five seconds to run, under a lease that ends at about the same time. */
static void submit(play *self)
{
    char frame[512];
    assert_true(play_client_begins(self, 0));
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
                   "\"echo\",\"max_runtime_sec\":5,\"lease_request\":{\"agent.delegate\":[\"**\"]},"
                   "\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:00:0%uZ\"}}}",
                   4 + play_pick(self, 3));
    rig_send(&self->rig, play_client(self, 0), frame);
    play_look(self);
    assert_int_equal(self->rig.agent_count, 1);
    if (play_one_in(self, 2)) {
        rig_agent_writes(&self->rig, &self->rig.agents[0],
                         "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"work\","
                         "\"wait\":true}}");
        play_look(self);
        assert_int_equal(self->rig.agent_count, 2);
    }
}

static rig_agent *some_agent(play *self)
{
    return &self->rig.agents[play_pick(self, (unsigned)self->rig.agent_count)];
}

static void ask_cancel(play *self)
{
    char frame[256];
    if (play_client(self, 0)->link != NULL) {
        (void)snprintf(frame, sizeof frame,
                       "{\"arcp\":\"1.1\",\"id\":\"c%u\",\"type\":\"job.cancel\",\"payload\":{"
                       "\"job_id\":\"%s\"}}",
                       self->next_id++, some_agent(self)->job_id);
        rig_send(&self->rig, play_client(self, 0), frame);
    }
}

static void agent_ends(play *self)
{
    static const char *const words[] = {
        "{\"type\":\"job.result\",\"payload\":{\"result\":1}}",
        "{\"type\":\"job.error\",\"payload\":{\"code\":\"INTERNAL_ERROR\",\"message\":\"no\"}}",
        ("{\"type\":\"result.chunk\",\"payload\":{\"data\":\"x\",\"encoding\":\"utf8\","
         "\"more\":false}}"),
    };
    unsigned choice = play_pick(self, 5);
    if (choice < 3) {
        rig_agent_writes(&self->rig, some_agent(self), words[choice]);
    } else {
        rig_agent_exits(&self->rig, some_agent(self), choice == 4, (int)play_pick(self, 2));
    }
}

static void one_event(play *self)
{
    switch (play_pick(self, 10)) {
    case 0:
        ask_cancel(self);
        break;
    case 1:
    case 2:
        agent_ends(self);
        break;
    case 3: /* just before the timeout and the expiry, or beyond them */
        rig_clock(&self->rig, 5 * SECOND - (int64_t)play_pick(self, 3));
        break;
    case 4:
        rig_clock(&self->rig, (int64_t)play_pick(self, 2000) * ARCP_NS_PER_MS);
        break;
    case 5:
        rig_drop(&self->rig, play_client(self, 0));
        break;
    case 6:
        if (!self->is_stopping && play_one_in(self, 2)) {
            self->is_stopping = true;
            arcp__engine_shutdown(self->rig.engine, self->rig.now);
        }
        break;
    case 7:
        self->disk.is_held = !self->disk.is_held;
        break;
    case 8:
        (void)disk_write(&self->disk);
        (void)disk_report(&self->disk);
        break;
    default: /* the next input comes before the effects of the last */
        self->rig.is_stepping = !self->rig.is_stepping;
        break;
    }
    self->rig.effects_left = play_pick(self, 3);
    rig_run(&self->rig);
    play_look(self);
}

/* In the end all agents obey. */
static void let_end(play *self)
{
    self->disk.is_held = self->rig.is_stepping = false;
    rig_run(&self->rig);
    for (unsigned times = 0; times < 3; times++) {
        rig_clock(&self->rig, 10 * SECOND);
        play_agents_reap(self);
        play_look(self);
    }
    rig_clock(&self->rig, 10 * SECOND);
    play_look(self);
}

static void check_agents(play *self, figures *sum)
{
    for (size_t i = 0; i < self->rig.agent_count; i++) {
        const rig_agent *agent = &self->rig.agents[i];
        if (agent->forgets != 1 || agent->cancels > 1 || agent->kills > 1) {
            watch_fail(&self->watch, "its agent is left, or was told twice", agent->job_id);
        }
        sum->kills += agent->kills;
    }
    arcp__engine_stats stats;
    arcp__engine_get_stats(self->rig.engine, &stats);
    if (stats.jobs_running != 0 ||
        (self->is_stopping && !arcp__engine_is_finished(self->rig.engine))) {
        watch_fail(&self->watch, "something is left running", "");
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
static void check_ends(play *self, figures *sum)
{
    if (self->is_stopping) {
        rig_restart(&self->rig);
    }
    assert_true(play_client_begins(self, 1));
    for (size_t i = 0; i < self->watch.job_count; i++) {
        const char *job_id = self->watch.jobs[i].id;
        rig_client *client = play_client(self, 1);
        client->slow = true; /* so that its frames wait */
        play_client_subscribes(self, 1, job_id);
        unsigned ends = 0;
        for (char *frame = rig_read(&self->rig, client); frame != NULL;
             frame = rig_read(&self->rig, client)) {
            bool is_end = strstr(frame, "\"final_status\"") != NULL;
            ends += is_end ? 1 : 0;
            if (is_end) {
                count_end(frame, sum);
            }
            arcp__free(frame);
        }
        if (ends != 1) {
            watch_fail(&self->watch, "it has not exactly one end", job_id);
        }
    }
}

static void one_race(uint64_t seed, figures *sum)
{
    play *self = arcp__alloc(sizeof *self);
    assert_non_null(self);
    begin(self, seed);
    submit(self);
    for (unsigned left = 3 + play_pick(self, 10); left > 0; left--) {
        self->watch.step++;
        one_event(self);
    }
    let_end(self);
    check_agents(self, sum);
    check_ends(self, sum);
    play_end(self);
    arcp__free(self);
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
