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

typedef struct fixture {
    engine_rig rig;
    upstream up;
} fixture;

typedef struct life {
    const char *name;
    void (*live)(fixture *f);
    upstream_mode issuing, revoking;
    uint64_t rotate_sec;
    bool replaces;
} life;

typedef enum orphans { ORPHANS_AT_ONCE, ORPHANS_LATE, ORPHANS_NEVER, ORPHANS_COUNT } orphans;

static void send(fixture *f, const char *frame)
{
    rig_client *client = rig_find(&f->rig, "a");
    if (client->link != NULL) {
        rig_send(&f->rig, client, frame);
    }
}

static void greet(fixture *f)
{
    if (!f->rig.is_dead) {
        (void)rig_connect(&f->rig, "a");
        send(f, HELLO);
    }
}

static void finish(fixture *f, int code)
{
    rig_agent *agent = rig_agent_last(&f->rig);
    if (agent != NULL && !f->rig.is_dead) {
        rig_agent_exits(&f->rig, agent, false, code);
    }
}

static void one_job(fixture *f)
{
    greet(f);
    send(f, SUBMIT("1", "echo", "k"));
    finish(f, 0);
}

static void two_jobs(fixture *f)
{
    greet(f);
    send(f, SUBMIT("1", "echo", "k"));
    send(f, SUBMIT("2", "work", "l"));
    send(f, SUBMIT("3", "echo", "k"));
    finish(f, 1);
    finish(f, 0);
}

static void rotations(fixture *f)
{
    greet(f);
    send(f, SUBMIT("1", "echo", "k"));
    for (unsigned i = 0; i < 3 && !f->rig.is_dead; i++) {
        rig_clock(&f->rig, 61 * ARCP_NS_PER_SEC);
    }
    finish(f, 0);
}

static void a_child(fixture *f)
{
    greet(f);
    send(f, SUBMIT("1", "echo", "k"));
    rig_agent *parent = rig_agent_last(&f->rig);
    if (parent != NULL && !f->rig.is_dead) {
        rig_agent_writes(&f->rig, parent,
                         "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"work\"}}");
        if (!f->rig.is_dead) {
            rig_agent_exits(&f->rig, parent, false, 0);
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

static void start(fixture *f, const life *how)
{
    *f = (fixture){.up = {.issuing = how->issuing, .revoking = how->revoking}};
    f->up.replaces = how->replaces;
    rig_begin(&f->rig, NULL);
    f->rig.settings.credentials_rotate_sec = how->rotate_sec;
    upstream_attach(&f->up, &f->rig);
    rig_open(&f->rig);
}

static void settle(fixture *f, orphans what)
{
    f->up.issuing = UPSTREAM_WELL;
    f->up.revoking = UPSTREAM_WELL;
    if (what == ORPHANS_LATE) {
        rig_clock(&f->rig, 20 * ARCP_NS_PER_SEC); /* within credentials.settle_sec */
        upstream_deliver_orphans(&f->up);
    }
    rig_clock(&f->rig, 900 * ARCP_NS_PER_SEC);
}

static void check(fixture *f, const char *label)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(f->rig.engine, &stats);
    upstream_check_all_revoked(&f->up, label);
    if (stats.credentials_outstanding != 0 || stats.credentials_stuck != 0) {
        fail_msg("%s: the books are not empty", label);
    }
}

static void restart(fixture *f, orphans what)
{
    upstream_orphan_calls(&f->up);
    if (what == ORPHANS_AT_ONCE) {
        upstream_deliver_orphans(&f->up);
    } else if (what == ORPHANS_NEVER) {
        upstream_drop_orphans(&f->up);
    }
    rig_restart(&f->rig);
}

/* Dies at the given step, and again at step `second` after the restart; returns whether that was
 * reached. */
static bool die_at(const life *how, unsigned first, unsigned second, orphans what)
{
    fixture *f = arcp__alloc(sizeof *f);
    char label[128];
    assert_non_null(f);
    (void)snprintf(label, sizeof label, "%s, step %u, then %u, orphans %d", how->name, first,
                   second, (int)what);
    start(f, how);
    f->rig.fuse = first;
    how->live(f);
    const bool died = f->rig.is_dead;
    if (died) {
        f->rig.fuse = second;
        restart(f, what);
        if (second != 0) {
            rig_clock(&f->rig, ARCP_NS_PER_SEC);
        }
        if (f->rig.is_dead) {
            restart(f, what);
        }
        f->rig.fuse = 0;
        settle(f, what);
        check(f, label);
    }
    rig_stop(&f->rig);
    arcp__free(f);
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
        fixture *f = arcp__alloc(sizeof *f);
        assert_non_null(f);
        start(f, &lives[i]);
        lives[i].live(f);
        settle(f, ORPHANS_NEVER);
        check(f, lives[i].name);
        rig_stop(&f->rig);
        arcp__free(f);
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
