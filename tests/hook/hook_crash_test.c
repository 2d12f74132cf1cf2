/* kill -9 at every step of the way of notifications: the process dies before its first, second, ...
 * effect, batch, commit or answer of a receiver, and starts again from the store. Afterwards each
 * notification whose row was written, or whose job's end was, has arrived, and none of a hook that
 * does not match. */
#include <string.h>

#include "hook/hook_rig.h"
#include "support/check.h"

#define JOBS_MAX 32

/* What was written to the store in all runs. */
typedef struct written {
    char jobs[JOBS_MAX][40]; /* that have ended */
    size_t job_count;
    char ids[JOBS_MAX][40]; /* of rows of the outbox */
    size_t id_count;
} written;

static written store;

static void add(char list[][40], size_t *count, arcp_span key)
{
    for (size_t i = 0; i < *count; i++) {
        if (arcp_span_equal_cstr(key, list[i])) {
            return;
        }
    }
    assert_true(*count < JOBS_MAX && key.size < 40);
    memcpy(list[*count], key.data, key.size);
    list[(*count)++][key.size] = '\0';
}

static void on_stored(engine_rig *rig, const arcp_store_op *op)
{
    static const char running[] = "{\"status\":\"running\"";
    static const char pending[] = "{\"status\":\"pending\"";
    (void)rig;
    if (op->kind != ARCP_STORE_PUT) {
        return;
    }
    if (op->table == ARCP_STORE_OUTBOX) {
        add(store.ids, &store.id_count, op->key);
    } else if (op->table == ARCP_STORE_JOBS && memchr(op->key.data, '/', op->key.size) == NULL &&
               !arcp_span_starts_with(op->value, arcp_span_cstr(running)) &&
               !arcp_span_starts_with(op->value, arcp_span_cstr(pending))) {
        add(store.jobs, &store.job_count, op->key);
    }
}

/* ---- lives ---- */

static void write_line(hook_rig *h, rig_agent *agent, const char *line)
{
    if (agent != NULL && !h->rig.is_dead) {
        rig_agent_writes(&h->rig, agent, line);
    }
}

static void finish(hook_rig *h, rig_agent *agent)
{
    write_line(h, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    if (agent != NULL && !h->rig.is_dead) {
        rig_agent_exits(&h->rig, agent, false, 0);
    }
}

static void one_job(hook_rig *h)
{
    finish(h, hook_submit(h, "echo", ""));
}

static void all_events(hook_rig *h)
{
    rig_agent *agent = hook_submit(h, "echo", "\"lease_request\":{\"cost.budget\":[\"USD:1\"]}");
    write_line(h, agent,
               "{\"type\":\"authorize\",\"id\":\"1\",\"payload\":{\"capability\":\"fs.read\","
               "\"target\":\"/etc/shadow\"}}");
    write_line(h, agent,
               "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"
               "\"cost.inference\",\"value\":0.95,\"unit\":\"USD\"}}}");
    if (!h->rig.is_dead) {
        rig_clock(&h->rig, 700 * ARCP_NS_PER_SEC);
    }
    finish(h, agent);
}

static void some_jobs(hook_rig *h)
{
    rig_agent *agents[3];
    for (int i = 0; i < 3; i++) {
        agents[i] = h->rig.is_dead ? NULL : hook_submit(h, i == 1 ? "work" : "echo", "");
    }
    for (int i = 0; i < 3; i++) {
        finish(h, agents[i]);
    }
}

typedef struct life {
    const char *name;
    void (*live)(hook_rig *h);
    hook_receiver receiver;
} life;

static const life lives[] = {
    {"one job", one_job, HOOK_RECEIVES},
    {"one job, the receiver fails twice", one_job, HOOK_FAILS_TWICE},
    {"one job, the receiver never answers", one_job, HOOK_IS_SILENT},
    {"all events", all_events, HOOK_RECEIVES},
    {"all events, the receiver fails", all_events, HOOK_FAILS},
    {"some jobs", some_jobs, HOOK_RECEIVES},
    {"some jobs, the receiver fails twice", some_jobs, HOOK_FAILS_TWICE},
};
#define LIVES (sizeof lives / sizeof lives[0])

/* ---- the check ---- */

static size_t delivered(const hook_rig *h, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < h->delivered_count; i++) {
        count += strstr(h->delivered[i].body, text) != NULL ? 1 : 0;
    }
    return count;
}

static void check(const hook_rig *h, const char *label)
{
    for (size_t i = 0; i < store.id_count; i++) {
        if (delivered(h, store.ids[i]) == 0) {
            fail_msg("%s: %s did not arrive", label, store.ids[i]);
        }
    }
    for (size_t i = 0; i < store.job_count; i++) {
        char end[80];
        (void)snprintf(end, sizeof end, "\"event\":\"end\"");
        size_t ends = 0;
        for (size_t k = 0; k < h->delivered_count; k++) {
            ends += strstr(h->delivered[k].body, store.jobs[i]) != NULL &&
                            strstr(h->delivered[k].body, end) != NULL
                        ? 1
                        : 0;
        }
        if (ends == 0) {
            fail_msg("%s: the end of %s did not arrive", label, store.jobs[i]);
        }
    }
    assert_int_equal(hook_count(h, "other", NULL), 0);
    if (hook_waiting(h) != 0) {
        fail_msg("%s: the outbox is not empty", label);
    }
}

/* The answers to what the dead process has sent do not arrive. */
static void restart(hook_rig *h)
{
    for (size_t i = 0; i < h->delivered_count; i++) {
        h->delivered[i].is_answered = true;
    }
    h->rig.keep_store = true;
    rig_restart(&h->rig);
}

static bool die_at(const life *how, unsigned first, unsigned second)
{
    arcp__hook_options hooks[2] = {hook_for("pager", ON(END) | ON(DENIAL) | ON(BUDGET) | ON(STUCK)),
                                   hook_for("other", ON(END))};
    hook_rig *h = calloc(1, sizeof *h);
    char label[128];
    assert_non_null(h);
    hooks[1].principal = ARCP_SPAN_LITERAL("bob");
    (void)snprintf(label, sizeof label, "%s, step %u, then %u", how->name, first, second);
    memset(&store, 0, sizeof store);
    hook_start(h, hooks, 2);
    h->rig.stored = on_stored;
    h->receiver = how->receiver;
    h->rig.fuse = first;
    how->live(h);
    const bool died = h->rig.is_dead;
    h->rig.fuse = second;
    restart(h);
    if (second != 0 && !h->rig.is_dead) {
        rig_clock(&h->rig, 5 * ARCP_NS_PER_SEC);
    }
    h->rig.fuse = 0;
    h->receiver = HOOK_RECEIVES;
    restart(h);
    rig_clock(&h->rig, 1200 * ARCP_NS_PER_SEC);
    check(h, label);
    hook_stop(h);
    free(h);
    return died;
}

static void each_notification_arrives_after_a_crash_at_any_step(void **state)
{
    const unsigned stride = (unsigned)test_stride();
    unsigned deaths = 0;
    (void)state;
    for (size_t i = 0; i < LIVES; i++) {
        for (unsigned step = 1; die_at(&lives[i], step, 0); step += stride) {
            deaths++;
        }
    }
    print_message("%u deaths\n", deaths);
    assert_true(deaths > 200 / stride);
}

static void each_notification_arrives_after_a_second_crash(void **state)
{
    static const unsigned again[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16};
    const unsigned stride = (unsigned)test_stride();
    unsigned deaths = 0;
    (void)state;
    for (size_t i = 0; i < LIVES; i++) {
        for (size_t second = 0; second < sizeof again / sizeof again[0]; second++) {
            for (unsigned step = 1; die_at(&lives[i], step, again[second]); step += stride) {
                deaths++;
            }
        }
    }
    print_message("%u times two deaths\n", deaths);
    assert_true(deaths > 1000 / stride);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_notification_arrives_after_a_crash_at_any_step),
        cmocka_unit_test(each_notification_arrives_after_a_second_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
