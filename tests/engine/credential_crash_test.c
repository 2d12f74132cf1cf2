/* kill -9 at every step of a credential's life: for each course that it can take, the process dies
 * before its first, second, ... effect, batch, commit or answer, and starts again from the store. A
 * request on its way to the upstream arrives at once, late, or never. Afterwards every value that
 * was ever issued was revoked, once, and the table is empty. */
#include "engine/upstream.h"

#include "support/check.h"

#include "base/alloc.h"

#define HELLO                                                                                      \
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{\"scheme\":" \
    "\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{\"features\":[\"provisioned_"             \
    "credentials\""                                                                                \
    ",\"subscribe\"]}}}"
#define SUBMIT(id, agent, key)                                                                     \
    "{\"arcp\":\"1.1\",\"id\":\"" id "\",\"type\":\"job.submit\",\"payload\":{\"agent\":\"" agent  \
    "\",\"idempotency_key\":\"" key "\",\"lease_request\":{\"agent.delegate\":[\"*\"]}}}"

typedef struct world {
    engine_rig rig;
    upstream up;
} world;

typedef struct life {
    const char *name;
    void (*live)(world *w);
    upstream_mood issuing, revoking;
    uint64_t rotate_sec;
    bool replaces;
} life;

typedef enum orphans { ORPHANS_AT_ONCE, ORPHANS_LATE, ORPHANS_NEVER, ORPHANS_COUNT } orphans;

static void send(world *w, const char *frame)
{
    rig_client *client = rig_find(&w->rig, "a");
    if (client->link != NULL) {
        rig_send(&w->rig, client, frame);
    }
}

static void greet(world *w)
{
    if (!w->rig.is_dead) {
        (void)rig_connect(&w->rig, "a");
        send(w, HELLO);
    }
}

static void finish(world *w, int code)
{
    rig_agent *agent = rig_agent_last(&w->rig);
    if (agent != NULL && !w->rig.is_dead) {
        rig_agent_exits(&w->rig, agent, false, code);
    }
}

static void one_job(world *w)
{
    greet(w);
    send(w, SUBMIT("1", "echo", "k"));
    finish(w, 0);
}

static void two_jobs(world *w)
{
    greet(w);
    send(w, SUBMIT("1", "echo", "k"));
    send(w, SUBMIT("2", "work", "l"));
    send(w, SUBMIT("3", "echo", "k"));
    finish(w, 1);
    finish(w, 0);
}

static void rotations(world *w)
{
    greet(w);
    send(w, SUBMIT("1", "echo", "k"));
    for (unsigned i = 0; i < 3 && !w->rig.is_dead; i++) {
        rig_clock(&w->rig, 61 * ARCP_NS_PER_SEC);
    }
    finish(w, 0);
}

static void a_child(world *w)
{
    greet(w);
    send(w, SUBMIT("1", "echo", "k"));
    rig_agent *parent = rig_agent_last(&w->rig);
    if (parent != NULL && !w->rig.is_dead) {
        rig_agent_writes(&w->rig, parent,
                         "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"work\"}}");
        if (!w->rig.is_dead) {
            rig_agent_exits(&w->rig, parent, false, 0);
        }
    }
}

static const life lives[] = {
    {"one job", one_job, UPSTREAM_WELL, UPSTREAM_WELL, 0, false},
    {"two jobs", two_jobs, UPSTREAM_WELL, UPSTREAM_WELL, 0, false},
    {"a child", a_child, UPSTREAM_WELL, UPSTREAM_WELL, 0, false},
    {"rotations", rotations, UPSTREAM_WELL, UPSTREAM_WELL, 60, false},
    {"rotations that replace", rotations, UPSTREAM_WELL, UPSTREAM_WELL, 60, true},
    {"answers to issue are lost", two_jobs, UPSTREAM_LOSES_ANSWERS, UPSTREAM_WELL, 0, false},
    {"issue fails", two_jobs, UPSTREAM_FAILS, UPSTREAM_WELL, 0, false},
    {"issue is refused", two_jobs, UPSTREAM_REFUSES, UPSTREAM_WELL, 0, false},
    {"answers to revoke are lost", two_jobs, UPSTREAM_WELL, UPSTREAM_LOSES_ANSWERS, 0, false},
    {"revoke fails", rotations, UPSTREAM_WELL, UPSTREAM_FAILS, 60, false},
    {"empty values", two_jobs, UPSTREAM_EMPTY_VALUE, UPSTREAM_WELL, 0, false},
};
#define LIVES (sizeof lives / sizeof lives[0])

static void start(world *w, const life *how)
{
    *w = (world){.up = {.issuing = how->issuing, .revoking = how->revoking}};
    w->up.replaces = how->replaces;
    rig_begin(&w->rig, NULL);
    w->rig.settings.credentials_rotate_sec = how->rotate_sec;
    upstream_attach(&w->up, &w->rig);
    rig_open(&w->rig);
}

static void settle(world *w, orphans what)
{
    w->up.issuing = UPSTREAM_WELL;
    w->up.revoking = UPSTREAM_WELL;
    if (what == ORPHANS_LATE) {
        rig_clock(&w->rig, 20 * ARCP_NS_PER_SEC); /* within credentials.settle_sec */
        upstream_deliver_orphans(&w->up);
    }
    rig_clock(&w->rig, 900 * ARCP_NS_PER_SEC);
}

static void check(world *w, const char *label)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(w->rig.engine, &stats);
    upstream_check_all_revoked(&w->up, label);
    if (stats.credentials_outstanding != 0 || stats.credentials_stuck != 0) {
        fail_msg("%s: the books are not empty", label);
    }
}

static void restart(world *w, orphans what)
{
    upstream_orphan_calls(&w->up);
    if (what == ORPHANS_AT_ONCE) {
        upstream_deliver_orphans(&w->up);
    } else if (what == ORPHANS_NEVER) {
        upstream_drop_orphans(&w->up);
    }
    rig_restart(&w->rig);
}

/* Dies at the given step, and again at step `second` after the restart; returns whether that was
 * reached. */
static bool die_at(const life *how, unsigned first, unsigned second, orphans what)
{
    world *w = arcp__alloc(sizeof *w);
    char label[128];
    assert_non_null(w);
    (void)snprintf(label, sizeof label, "%s, step %u, then %u, orphans %d", how->name, first,
                   second, (int)what);
    start(w, how);
    w->rig.fuse = first;
    how->live(w);
    const bool died = w->rig.is_dead;
    if (died) {
        w->rig.fuse = second;
        restart(w, what);
        if (second != 0) {
            rig_clock(&w->rig, ARCP_NS_PER_SEC);
        }
        if (w->rig.is_dead) {
            restart(w, what);
        }
        w->rig.fuse = 0;
        settle(w, what);
        check(w, label);
    }
    rig_stop(&w->rig);
    arcp__free(w);
    return died;
}

/* [arcp:14-14] */
static void no_value_survives_a_crash_at_any_step(void **state)
{
    (void)state;
    const unsigned stride = (unsigned)test_stride();
    unsigned deaths = 0;
    for (size_t i = 0; i < LIVES; i++) {
        for (int what = 0; what < ORPHANS_COUNT; what++) {
            for (unsigned step = 1; die_at(&lives[i], step, 0, (orphans)what); step += stride) {
                deaths++;
            }
        }
    }
    print_message("%u deaths\n", deaths);
    assert_true(deaths > 300 / stride); /* a course without steps would prove nothing */
}

static void no_value_survives_a_second_crash_while_starting_again(void **state)
{
    (void)state;
    static const unsigned again[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20};
    const unsigned stride = (unsigned)test_stride();
    unsigned deaths = 0;
    for (size_t i = 0; i < LIVES; i++) {
        for (size_t second = 0; second < sizeof again / sizeof again[0]; second++) {
            for (unsigned step = 1; die_at(&lives[i], step, again[second], ORPHANS_AT_ONCE);
                 step += stride) {
                deaths++;
            }
        }
    }
    print_message("%u times two deaths\n", deaths);
    assert_true(deaths > 1000 / stride);
}

static void without_a_crash_every_life_ends_clean(void **state)
{
    (void)state;
    for (size_t i = 0; i < LIVES; i++) {
        world *w = arcp__alloc(sizeof *w);
        assert_non_null(w);
        start(w, &lives[i]);
        lives[i].live(w);
        settle(w, ORPHANS_NEVER);
        check(w, lives[i].name);
        rig_stop(&w->rig);
        arcp__free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_crash_every_life_ends_clean),
        cmocka_unit_test(no_value_survives_a_crash_at_any_step),
        cmocka_unit_test(no_value_survives_a_second_crash_while_starting_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
