/* 1 000 schedules over a simulated year, in zones that skip and repeat hours, with kills at any
 * step, lost batches, clocks that are set, and stops of hours: no due time gets two jobs, and each
 * gets one, unless the policies of its schedule pass over it.
 *
 * Under tools that are slow every ARCP_TEST_STRIDE-th of them.
 *
 *   schedule_year_test [seed] */
#include "calendar/zone_file.h"
#include "engine/disk.h"
#include "schedule/schedule.h"
#include "support/check.h"

#include "base/timestamp.h"
#include "engine/engine.h"

#define SCHEDULES   1000
#define START       INT64_C(1767225600) /* 2026-01-01T00:00:00Z */
#define YEAR_SEC    INT64_C(31536000)
#define BACK_SEC    7200 /* the clock may just have been set back by this */
#define JOBS_MAX    4096
#define EFFECTS_MAX 64

typedef struct due_job {
    UT_hash_handle hh;
    char job_id[40];
    bool is_gone; /* its batch was lost */
    char key[];
} due_job;

typedef struct year {
    disk disk;
    arcp__engine *engine;
    arcp_time now;
    uint64_t random;
    unsigned scans;
    arcp_settings settings;
    size_t count; /* of schedules */
    arcp__schedule_options options[SCHEDULES];
    char texts[SCHEDULES][2][64]; /* name, expression */
    char zones[3][8192];
    arcp_span zone_bytes[3];
    arcp__job *agents[JOBS_MAX];
    size_t agent_count;
    due_job *jobs; /* that were written, by idempotency key */
    size_t made, kills, sets, stops;
    int64_t set_sec; /* how far the wall clock was set, in all */
} year;

static uint64_t draw(year *y, uint64_t below)
{
    y->random = y->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (y->random >> 33) % below;
}

static void fake_random(void *user, void *out, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        ((unsigned char *)out)[i] = (unsigned char)draw(user, 256);
    }
}

/* ---- the jobs that reach the disk ---- */

/* A batch is about to be written: no key may have two jobs. */
static void note_batch(year *y, const arcp_store_batch *batch)
{
    static const char member[] = "\"key\":\"schedule/";
    for (size_t i = 0; i < batch->count; i++) {
        const arcp_store_op *op = &batch->ops[i];
        const char *at = op->kind == ARCP_STORE_PUT && op->table == ARCP_STORE_JOBS
                             ? memmem(op->value.data, op->value.size, member, sizeof member - 1)
                             : NULL;
        if (at == NULL) {
            continue;
        }
        at += sizeof "\"key\":\"" - 1;
        const size_t size = strcspn(at, "\"");
        due_job *found = NULL;
        HASH_FIND(hh, y->jobs, at, size, found);
        if (found == NULL) {
            found = calloc(1, sizeof *found + size + 1);
            assert_non_null(found);
            memcpy(found->key, at, size);
            memcpy(found->job_id, op->key.data, op->key.size);
            HASH_ADD_KEYPTR(hh, y->jobs, found->key, size, found);
            y->made++;
        } else if (!arcp_span_equal_cstr(op->key, found->job_id)) {
            fail_msg("%s has the jobs %s and %.*s", found->key, found->job_id, (int)op->key.size,
                     op->key.data);
        }
    }
}

static bool write_batch(year *y)
{
    if (y->disk.written == y->disk.queued) {
        return false;
    }
    note_batch(y, &y->disk.queue[y->disk.written].batch);
    const bool is_written = disk_write(&y->disk);
    size_t kept = 0; /* the disk has room for those that are not removed */
    for (size_t i = 0; i < y->disk.known_count; i++) {
        if (!y->disk.known[i].is_gone) {
            y->disk.known[kept++] = y->disk.known[i];
        }
    }
    y->disk.known_count = kept;
    return is_written;
}

/* ---- the engine's owner ---- */

static void on_done(void *user, uint64_t batch_id, arcp_status status, const arcp_error *err)
{
    year *y = user;
    arcp__engine_committed(y->engine, y->now, batch_id, status);
}

static void on_read(void *user, uint64_t read_id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    year *y = user;
    arcp__engine_read_done(y->engine, y->now, read_id, status, first, records, count);
}

static void on_scan(void *user, uint64_t read_id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    year *y = user;
    for (size_t i = 0; i < count; i++) {
        arcp_error error = {0};
        if (arcp__engine_restore_row(y->engine, (arcp_store_table)read_id, rows[i].key,
                                     rows[i].value, &error) != ARCP_OK) {
            fail_msg("%s: %.*s", error.message, (int)rows[i].value.size, rows[i].value.data);
        }
    }
    y->scans -= last ? 1 : 0;
}

static void drop_agent(year *y, const arcp__job *job)
{
    for (size_t i = 0; i < y->agent_count; i++) {
        if (y->agents[i] == job) {
            y->agents[i] = y->agents[--y->agent_count];
            return;
        }
    }
}

static void perform(year *y, const arcp__effect *effect)
{
    arcp_error error = {0};
    const arcp__agent_exit exit = {.by_signal = true, .code = 15};
    if (effect->kind == ARCP__EFFECT_START_AGENT) {
        assert_true(y->agent_count < JOBS_MAX);
        y->agents[y->agent_count++] = effect->job;
        arcp__engine_agent_started(y->engine, y->now, effect->job, ARCP_OK, (arcp_span){NULL, 0});
    } else if (effect->kind == ARCP__EFFECT_CANCEL_AGENT ||
               effect->kind == ARCP__EFFECT_KILL_AGENT) {
        arcp__engine_agent_exited(y->engine, y->now, effect->job, &exit);
    } else if (effect->kind == ARCP__EFFECT_FORGET_AGENT) {
        drop_agent(y, effect->job);
    } else if (effect->kind == ARCP__EFFECT_READ) {
        assert_int_equal(y->disk.store.ops->read(&y->disk.store, effect->id, effect->text,
                                                 effect->from, effect->count_max, effect->bytes_max,
                                                 &error),
                         ARCP_OK);
    }
}

/* Does what there is to do; with `steps` only so many things. */
static void run(year *y, size_t steps)
{
    for (bool more = true; more;) {
        arcp__effect effect;
        arcp_error error = {0};
        more = false;
        arcp__engine_tick(y->engine, y->now);
        while (steps != 0 && (arcp__engine_next_effect(y->engine, y->now, &effect) ||
                              arcp__engine_next_forgotten(y->engine, &effect))) {
            perform(y, &effect);
            steps--;
            more = true;
        }
        const arcp_store_batch *batch = steps == 0 ? NULL : arcp__engine_take_batch(y->engine);
        if (batch != NULL) {
            assert_int_equal(y->disk.store.ops->submit(&y->disk.store, batch, &error), ARCP_OK);
            steps--;
            more = true;
        }
        if (steps != 0 && write_batch(y)) {
            steps--;
            more = true;
        }
        if (steps != 0 && disk_report(&y->disk)) {
            steps--;
            more = true;
        }
        while (disk_answer(&y->disk, 0)) {
            more = true;
        }
    }
}

static void start(year *y)
{
    static const arcp_store_table tables[] = {ARCP_STORE_SESSIONS,    ARCP_STORE_JOBS,
                                              ARCP_STORE_IDEMPOTENCY, ARCP_STORE_SUBSCRIPTIONS,
                                              ARCP_STORE_CREDENTIALS, ARCP_STORE_SCHEDULES};
    const arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .user = y};
    const arcp__engine_options options = {.runtime_name = "year",
                                          .runtime_version = "1",
                                          .settings = y->settings,
                                          .random = fake_random,
                                          .random_user = y,
                                          .store_is_durable = true,
                                          .has_no_log = true,
                                          .now = y->now};
    const arcp__agent_registration agent = {.name = ARCP_SPAN_LITERAL("echo"),
                                            .cwd = ARCP_SPAN_LITERAL("/")};
    arcp_error error = {0};
    assert_int_equal(arcp__engine_new(&options, &y->engine, &error), ARCP_OK);
    assert_int_equal(arcp__engine_register_agent(y->engine, &agent, &error), ARCP_OK);
    y->disk.store.ops->set_callbacks(&y->disk.store, &callbacks);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        assert_int_equal(y->disk.store.ops->scan(&y->disk.store, tables[i], tables[i],
                                                 (arcp_span){NULL, 0}, &error),
                         ARCP_OK);
        y->scans++;
    }
    while (disk_answer(&y->disk, 0)) {
    }
    assert_int_equal(y->scans, 0);
    arcp__engine_restore_done(y->engine, y->now);
    run(y, SIZE_MAX);
    assert_true(arcp__engine_is_restored(y->engine));
    if (arcp__engine_set_schedules(y->engine, y->now, y->options, y->count, &error) != ARCP_OK) {
        fail_msg("%s", error.message);
    }
}

static void restart(year *y)
{
    disk_crash(&y->disk);
    arcp__engine_free(y->engine);
    y->agent_count = 0;
    start(y);
}

/* ---- the year ---- */

/* Mostly few due times; some schedules are hourly, with each pair of policies. */
static void configure(year *y)
{
    static const char *const zones[] = {"Europe-Berlin", "America-New_York", "Australia-Lord_Howe"};
    for (size_t i = 0; i < 3; i++) {
        y->zone_bytes[i] = zone_bytes(zones[i], y->zones[i], sizeof y->zones[i]);
    }
    for (size_t i = 0; i < y->count; i++) {
        char *expression = y->texts[i][1];
        arcp__schedule_options *options = &y->options[i];
        (void)snprintf(y->texts[i][0], 64, "s%zu", i);
        const int minute = (int)draw(y, 60);
        if (i < 6) {
            (void)snprintf(expression, 64, "%d * * * *", minute);
        } else if (i < 60) {
            (void)snprintf(expression, 64, "%d %d * * *", minute, (int)draw(y, 4));
        } else {
            (void)snprintf(expression, 64, "%d %d %d * %d", minute, (int)draw(y, 24),
                           1 + (int)draw(y, 31), (int)draw(y, 7));
        }
        *options = (arcp__schedule_options){.name = arcp_span_cstr(y->texts[i][0]),
                                            .agent = ARCP_SPAN_LITERAL("echo"),
                                            .principal = ARCP_SPAN_LITERAL("ops"),
                                            .cron = arcp_span_cstr(expression),
                                            .request = ARCP_SPAN_LITERAL("{\"input\":1}"),
                                            .overlap = (arcp__overlap)(i % 3),
                                            .catch_up = (arcp__catch_up)(i / 3 % 3)};
        if (i % 4 != 3) {
            options->zone = arcp_span_cstr(zones[i % 4]);
            options->tzif = y->zone_bytes[i % 4];
        }
        if (i == 2) { /* an interval, too */
            options->cron = options->zone = options->tzif = (arcp_span){NULL, 0};
            options->every_sec = 5400;
        }
    }
}

/* Ends some agents. */
static void end_agents(year *y)
{
    const arcp__agent_exit exit = {0};
    for (size_t i = y->agent_count; i > 0; i--) {
        if (draw(y, 3) != 0) {
            arcp__engine_agent_exited(y->engine, y->now, y->agents[i - 1], &exit);
        }
    }
}

static void pass(year *y, int64_t sec)
{
    y->now.wall_ns += sec * ARCP_NS_PER_SEC;
    y->now.mono_ns += sec * ARCP_NS_PER_SEC;
}

/* The clock goes to its next deadline, at most an hour on. */
static void step(year *y)
{
    const int64_t left_ns = arcp__engine_deadline(y->engine) - y->now.mono_ns;
    const int64_t hour_ns = 3600 * ARCP_NS_PER_SEC;
    const int64_t forward_ns = left_ns < 0 ? 0 : left_ns < hour_ns ? left_ns : hour_ns;
    y->now.wall_ns += forward_ns;
    y->now.mono_ns += forward_ns;
    const uint64_t choice = draw(y, 400);
    if (choice == 0) { /* killed in the middle */
        run(y, (size_t)draw(y, EFFECTS_MAX));
        y->kills++;
        pass(y, (int64_t)draw(y, 30));
        restart(y);
    } else if (choice == 1) { /* stopped for up to two days */
        y->stops++;
        run(y, (size_t)draw(y, EFFECTS_MAX));
        pass(y, (int64_t)draw(y, 172800));
        restart(y);
    } else if (choice == 2) { /* the clock is set, by at most an hour from the true time */
        const int64_t set_sec = (int64_t)draw(y, 7200) - 3600;
        y->sets++;
        y->now.wall_ns += (set_sec - y->set_sec) * ARCP_NS_PER_SEC;
        y->set_sec = set_sec;
    }
    run(y, SIZE_MAX);
    if (draw(y, 2) == 0) {
        end_agents(y);
        run(y, SIZE_MAX);
    }
}

/* Each due time of the schedule up to `upto` has a job if it must have one, and there are no other
 * jobs. */
static void check_schedule(year *y, size_t index, int64_t upto)
{
    const arcp__schedule_options *options = &y->options[index];
    const bool needs_all =
        options->catch_up == ARCP__CATCH_UP_ALL && options->overlap != ARCP__OVERLAP_SKIP;
    arcp__recurrence recurrence;
    arcp__zone *zone = NULL;
    arcp_error error = {0};
    assert_int_equal(arcp__schedule_recurrence(options, &recurrence, &zone, &error), ARCP_OK);
    for (int64_t due = arcp__recurrence_next(&recurrence, START); due <= upto + BACK_SEC;
         due = arcp__recurrence_next(&recurrence, due)) {
        char key[96];
        char time[ARCP__TIMESTAMP_SIZE];
        due_job *job = NULL;
        arcp__timestamp_format(due * ARCP_NS_PER_SEC, time);
        (void)snprintf(key, sizeof key, "schedule/%s/%.19sZ", y->texts[index][0], time);
        HASH_FIND_STR(y->jobs, key, job);
        if (job == NULL && needs_all && due <= upto) {
            fail_msg("%s has no job (%s)", key, y->texts[index][1]);
        }
        if (job != NULL) {
            HASH_DEL(y->jobs, job);
            free(job);
        }
    }
    arcp__zone_free(zone);
}

static void play(uint64_t seed)
{
    year *y = calloc(1, sizeof *y);
    assert_non_null(y);
    y->random = seed;
    y->count = SCHEDULES / test_stride();
    y->now = (arcp_time){START * ARCP_NS_PER_SEC, 1000 * ARCP_NS_PER_SEC};
    arcp__settings_default(&y->settings);
    y->settings.jobs_keep_terminal_max = 100;
    y->settings.jobs_idempotency_max = 1000;
    y->settings.limits_submits_per_sec = 100000;
    y->settings.limits_submit_burst = 100000;
    disk_init(&y->disk);
    y->disk.is_held = true;
    configure(y);
    start(y);
    const int64_t end_ns = y->now.mono_ns + YEAR_SEC * ARCP_NS_PER_SEC;
    while (y->now.mono_ns < end_ns) {
        step(y);
    }
    /* What waits gets its job now. */
    for (int i = 0; i < 3000; i++) {
        const arcp__agent_exit exit = {0};
        for (size_t k = y->agent_count; k > 0; k--) {
            arcp__engine_agent_exited(y->engine, y->now, y->agents[k - 1], &exit);
        }
        run(y, SIZE_MAX);
    }
    const int64_t upto = y->now.wall_ns / ARCP_NS_PER_SEC;
    for (size_t i = 0; i < y->count; i++) {
        check_schedule(y, i, upto);
    }
    for (const due_job *job = y->jobs; job != NULL; job = job->hh.next) {
        fail_msg("%s is not a due time", job->key);
    }
    (void)printf("%zu jobs, %zu kills, %zu stops, %zu clock changes\n", y->made, y->kills, y->stops,
                 y->sets);
    assert_true(y->made > 20 * y->count && y->kills > 50 && y->stops > 50 && y->sets > 50);
    arcp__engine_free(y->engine);
    y->disk.store.ops->close(&y->disk.store);
    free(y);
}

static uint64_t seed_of_run = 1;

static void each_due_time_of_a_year_gets_one_job(void **state)
{
    (void)state;
    play(seed_of_run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_due_time_of_a_year_gets_one_job)};
    seed_of_run = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
