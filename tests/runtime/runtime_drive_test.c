/* A drive of a runtime must leave time for the other handles of its loop. */
#include "runtime/runtime_rig.h"

#include "support/check.h"

#include <arcp/sys/store.h>

#include <limits.h>

#include "engine/state.h"
#include "runtime/runtime_state.h"

#define ROUNDS_MAX     64u /* src/runtime/runtime_drive.c */
#define WORTH_A_COMMIT 64u /* src/runtime/runtime_drive.c */

/* A memory store that reports for a number of rounds that it has more answers. */
static arcp_store_ops busy_ops;
static bool (*poll_memory)(arcp_store *store);
static unsigned rounds_left;         /* so long */
static unsigned rounds, most_rounds; /* in this turn of the loop; in any */

static bool poll_busily(arcp_store *store)
{
    const bool has_more = poll_memory(store);
    rounds++;
    if (rounds_left == 0) {
        return has_more;
    }
    rounds_left--;
    return true;
}

static arcp_store *open_busy_store(void)
{
    arcp_store *store = NULL;
    arcp_error error = {0};
    check_ok(arcp_store_open_memory(&store, &error), &error);
    busy_ops = *store->ops;
    poll_memory = busy_ops.poll;
    busy_ops.poll = poll_busily;
    store->ops = &busy_ops;
    return store;
}

static void on_turn(uv_check_t *turn)
{
    (void)turn;
    most_rounds = rounds > most_rounds ? rounds : most_rounds;
    rounds = 0;
}

static bool is_quiet(void *user)
{
    (void)user;
    return rounds_left == 0;
}

/* A runtime on a busy store; the watch is called at the end of each turn of its loop. */
static void open_busy(runtime_rig *rig, uv_check_t *turn, uv_check_cb watch)
{
    arcp_runtime_options options = arcp_runtime_options_init();
    runtime_rig_begin(rig);
    options.store = open_busy_store();
    runtime_rig_open(rig, &options);
    assert_int_equal(uv_check_init(&rig->loop, turn), 0);
    assert_int_equal(uv_check_start(turn, watch), 0);
    turn->data = rig;
}

static void other_handles_are_served_while_a_store_is_busy(void **state)
{
    static runtime_rig rig;
    uv_check_t turn;
    (void)state;
    open_busy(&rig, &turn, on_turn);
    rounds = most_rounds = 0;
    rounds_left = 20 * ROUNDS_MAX;
    runtime_rig_send(&rig, "session.ping", "{}");
    (void)runtime_rig_wait(&rig, "\"session.pong\"");
    runtime_rig_until(&rig, is_quiet, NULL); /* driving continues without any input */
    /* The loop also polls the store when it is woken. */
    assert_true(most_rounds >= ROUNDS_MAX && most_rounds <= ROUNDS_MAX + 2);
    uv_close((uv_handle_t *)&turn, NULL);
    runtime_rig_stop(&rig);
}

static unsigned most_over; /* agents at the end of a turn whose jobs are over */

static void on_turn_with_agents(uv_check_t *turn)
{
    unsigned over = 0;
    const runtime_rig *rig = turn->data;
    for (const arcp__job *job = rig->runtime->shards->engine->jobs.release_first; job != NULL;
         job = job->next_release) {
        over++;
    }
    most_over = over > most_over ? over : most_over;
}

static void finish(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
}

/* Not only when the runtime has nothing left to do, which may never happen. */
static void agents_are_freed_in_each_turn_while_a_store_is_busy(void **state)
{
    static runtime_rig rig;
    uv_check_t turn;
    (void)state;
    open_busy(&rig, &turn, on_turn_with_agents);
    runtime_rig_add(&rig, "finish", ARCP_AGENT_NON_BLOCKING, finish, NULL);
    most_over = 0;
    rounds_left = UINT_MAX;
    for (unsigned i = 0; i < 20; i++) {
        runtime_rig_submit(&rig, "finish", "");
        (void)runtime_rig_wait(&rig, "\"job.result\"");
    }
    assert_true(rounds_left > 0);
    rounds_left = 0;
    assert_in_range(most_over, 0, 1);
    uv_close((uv_handle_t *)&turn, NULL);
    runtime_rig_stop(&rig);
}

/* ---- a turn in which many jobs run ---- */

#define JOBS        20u
#define JOBS_OF_FEW 3u /* whose changes are not worth a commit of their own */
#define DENIALS     8u /* a job */
#define MANY        400u

/* Counts so far. */
static struct {
    unsigned jobs;    /* that are submitted */
    unsigned runs;    /* agents that were started */
    unsigned told;    /* denials that the log got */
    unsigned barred;  /* denials that the log got before the newest barrier */
    unsigned stored;  /* denials that the store got */
    unsigned early;   /* batches with denials that came before the last agent was started */
    size_t most;      /* changes in one batch */
    bool is_too_soon; /* the store got more than the log had got */
} seen;

static arcp_store_ops watched_ops;
static arcp_status (*submit_memory)(arcp_store *store, const arcp_store_batch *batch,
                                    arcp_error *err);

static arcp_status watch_submit(arcp_store *store, const arcp_store_batch *batch, arcp_error *err)
{
    unsigned denials = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const arcp_span value = batch->ops[i].value;
        const bool is_denial = /* an event: not the last denials among the job's details */
            value.size != 0 && memmem(value.data, value.size, "tool_result", 11) != NULL &&
            memmem(value.data, value.size, "PERMISSION_DENIED", 17) != NULL;
        denials += is_denial ? 1 : 0;
    }
    seen.stored += denials;
    seen.early += denials != 0 && seen.runs < seen.jobs ? 1 : 0;
    seen.most = batch->count > seen.most ? batch->count : seen.most;
    seen.is_too_soon = seen.is_too_soon || seen.stored > seen.barred;
    return submit_memory(store, batch, err);
}

static void watch_log(void *user, arcp_log_level level, const char *text, const char *fields)
{
    (void)user;
    seen.told += level == ARCP_LOG_AUDIT && strstr(text, "PERMISSION_DENIED") != NULL ? 1 : 0;
}

static void watch_barrier(void *user, bool must_wait)
{
    (void)user;
    seen.barred = must_wait ? seen.barred : seen.told;
}

/* Tries what its lease does not allow. */
static void grab(arcp_agent_call *call, void *user)
{
    (void)user;
    seen.runs++;
    for (unsigned i = 0; i < DENIALS; i++) {
        assert_int_equal(arcp_agent_event(call, "tool_call",
                                          ARCP_SPAN_LITERAL("{\"tool\":\"rm\",\"call_id\":\"c\"}"),
                                          NULL),
                         ARCP_E_PERMISSION_DENIED);
    }
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
}

static bool all_is_stored(void *user)
{
    (void)user;
    return seen.stored == seen.jobs * DENIALS;
}

/* A runtime that is watched, with a memory store. The shares of a turn are counted in frames and
 * bytes only, so that a busy machine does not decide what happens in one turn. */
static void open_watched(runtime_rig *rig)
{
    static arcp__turn_limits of_links, of_agents;
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_error error = {0};
    runtime_rig_begin(rig);
    check_ok(arcp_store_open_memory(&options.store, &error), &error);
    watched_ops = *options.store->ops;
    submit_memory = watched_ops.submit;
    watched_ops.submit = watch_submit;
    options.store->ops = &watched_ops;
    options.log = watch_log;
    options.audit_barrier = watch_barrier;
    runtime_rig_open(rig, &options);
    of_links = arcp__turn_of_links;
    of_agents = arcp__turn_of_agents;
    of_links.taker_ns = of_agents.taker_ns = INT64_MAX;
    rig->runtime->turn.limits = &of_links;
    rig->runtime->inbox.turn.limits = &of_agents;
    memset(&seen, 0, sizeof seen);
}

static void run_grabbers(runtime_rig *rig, unsigned jobs)
{
    open_watched(rig);
    runtime_rig_add(rig, "grab", ARCP_AGENT_NON_BLOCKING, grab, NULL);
    seen.jobs = jobs;
    for (unsigned job = 0; job < jobs; job++) {
        runtime_rig_submit(rig, "grab", "");
    }
    runtime_rig_until(rig, all_is_stored, NULL);
}

static void a_store_with_nothing_to_do_gets_its_first_batch_before_the_last_agent_runs(void **state)
{
    static runtime_rig rig;
    (void)state;
    run_grabbers(&rig, JOBS);
    assert_int_equal(seen.runs, JOBS);
    assert_in_range(seen.early, 1, JOBS - 1);
    runtime_rig_stop(&rig);
}

static void changes_of_few_jobs_are_one_batch(void **state)
{
    static runtime_rig rig;
    (void)state;
    run_grabbers(&rig, JOBS_OF_FEW);
    assert_int_equal(seen.runs, JOBS_OF_FEW);
    assert_int_equal(seen.early, 0);
    assert_true(seen.most >= (size_t)JOBS_OF_FEW * DENIALS);
    runtime_rig_stop(&rig);
}

/* Each refusal is one record, and there are no others; all are made in one turn of the loop. */
static void changes_by_a_client_in_one_turn_are_stored_in_parts(void **state)
{
    static runtime_rig rig;
    char last[32];
    (void)state;
    open_watched(&rig);
    for (unsigned i = 0; i < MANY; i++) {
        runtime_rig_submit(&rig, "nobody", "");
    }
    (void)snprintf(last, sizeof last, "\"m%u\"", rig.next_id - 1);
    (void)runtime_rig_wait(&rig, last);
    assert_in_range(seen.most, 1, MANY - WORTH_A_COMMIT);
    runtime_rig_stop(&rig);
}

static void lines_that_a_program_writes_at_once_are_stored_in_parts(void **state)
{
    static runtime_rig rig;
    char script[128];
    (void)state;
    open_watched(&rig);
    /* One write of all lines. */
    (void)snprintf(script, sizeof script, "a=$(seq %u); echo \"$a\"", MANY);
    runtime_rig_register_sh(&rig, "counts", script, NULL);
    runtime_rig_submit(&rig, "counts", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_in_range(seen.most, 1, MANY - WORTH_A_COMMIT);
    runtime_rig_stop(&rig);
}

static void decisions_are_logged_before_the_store_gets_their_events(void **state)
{
    static runtime_rig rig;
    (void)state;
    run_grabbers(&rig, JOBS);
    assert_int_equal(seen.told, JOBS * DENIALS);
    assert_false(seen.is_too_soon);
    runtime_rig_stop(&rig);
}

/* ---- the audit log, which commits wait for ---- */

#define TALKERS 60u
#define LINES   100u /* sent by each, at once */

static unsigned talkers;
static unsigned waits, most_waits; /* for the log, in this turn of the loop; in any */

static void talk(arcp_agent_call *call, void *user)
{
    (void)user;
    for (unsigned i = 0; i < LINES; i++) {
        assert_int_equal(arcp_agent_log(call, "info", "x", NULL), ARCP_OK);
    }
    talkers++;
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
}

static void count_waits(void *user, bool must_wait)
{
    (void)user;
    waits += must_wait ? 1 : 0;
}

static void on_turn_with_waits(uv_check_t *turn)
{
    (void)turn;
    most_waits = waits > most_waits ? waits : most_waits;
    waits = 0;
}

static bool all_have_talked(void *user)
{
    (void)user;
    return talkers == TALKERS;
}

static void a_turn_waits_for_the_log_a_few_times_however_much_is_logged_in_it(void **state)
{
    static runtime_rig rig;
    uv_check_t turn;
    arcp_runtime_options options = arcp_runtime_options_init();
    (void)state;
    options.audit_barrier = count_waits;
    runtime_rig_begin(&rig);
    runtime_rig_open(&rig, &options);
    runtime_rig_add(&rig, "talk", ARCP_AGENT_NON_BLOCKING, talk, NULL);
    assert_int_equal(uv_check_init(&rig.loop, &turn), 0);
    assert_int_equal(uv_check_start(&turn, on_turn_with_waits), 0);
    talkers = waits = most_waits = 0;
    for (unsigned i = 0; i < TALKERS; i++) {
        runtime_rig_submit(&rig, "talk", "");
    }
    runtime_rig_until(&rig, all_have_talked, NULL);
    on_turn_with_waits(&turn);
    assert_in_range(most_waits, 1, 10);
    uv_close((uv_handle_t *)&turn, NULL);
    runtime_rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_handles_are_served_while_a_store_is_busy),
        cmocka_unit_test(agents_are_freed_in_each_turn_while_a_store_is_busy),
        cmocka_unit_test(
            a_store_with_nothing_to_do_gets_its_first_batch_before_the_last_agent_runs),
        cmocka_unit_test(changes_of_few_jobs_are_one_batch),
        cmocka_unit_test(changes_by_a_client_in_one_turn_are_stored_in_parts),
        cmocka_unit_test(lines_that_a_program_writes_at_once_are_stored_in_parts),
        cmocka_unit_test(a_turn_waits_for_the_log_a_few_times_however_much_is_logged_in_it),
        cmocka_unit_test(decisions_are_logged_before_the_store_gets_their_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
