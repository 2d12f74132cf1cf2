/* The standard error of agents: what is kept of it, in how much memory, and who may read it
 * (src/job/job_stderr.c, src/session/view_stderr.c). */
#include "support/check.h"

#include <stdio.h>

#include "base/alloc.h"
#include "engine/frames.h"
#include "engine/state.h"
#include "story/engine_rig.h"

#define VIEW "\"x-vendor.arcpd.view\""

static engine_rig rig;
static rig_client *alice;

static int set_up(void **state)
{
    memset(&rig, 0, sizeof rig);
    rig_start(&rig, NULL);
    alice = rig_connect(&rig, "a");
    rig_send(&rig, alice, HELLO_OF("alice", VIEW));
    return 0;
}

static int tear_down(void **state)
{
    rig_stop(&rig);
    return 0;
}

static arcp__job *start(void)
{
    static unsigned requests;
    char frame[160];
    (void)snprintf(frame, sizeof frame, FRAME("s%u", "job.submit", "{\"agent\":\"echo\"}"),
                   requests++);
    rig_send(&rig, alice, frame);
    rig_agent *agent = rig_agent_last(&rig);
    assert_non_null(agent);
    return agent->job;
}

static void add(arcp__job *job, arcp_span line)
{
    arcp__engine_agent_stderr(rig.engine, rig.now, job, line, true);
    rig_run(&rig);
}

static void write_line(arcp__job *job, const char *line)
{
    add(job, arcp_span_cstr(line));
}

/* A line of this many bytes, with its line feed. */
static void write_bytes(arcp__job *job, size_t bytes)
{
    static char line[70000];
    memset(line, 'x', sizeof line);
    add(job, arcp_span_make(line, bytes - 1));
}

static void exits(arcp__job *job)
{
    rig_agent_exits(&rig, rig_agent_of(&rig, job->id), false, 0);
}

static size_t kept_bytes(const arcp__job *job)
{
    return job->facts.errors == NULL ? 0 : job->facts.errors->text.size;
}

static size_t memory(void)
{
    return rig.engine->jobs.errors.bytes;
}

static void set_maximum(size_t bytes)
{
    rig.engine->jobs.errors.bytes_max = bytes;
}

/* Asks for the job's standard error, and checks that the answer has a part. */
static void check_answer(rig_client *client, const arcp__job *job, const char *members,
                         const char *part)
{
    static unsigned requests;
    char frame[256];
    (void)snprintf(frame, sizeof frame,
                   FRAME("e%u", "x-vendor.arcpd.stderr", "{\"job_id\":\"%s\"%s}"), requests++,
                   job->id, members);
    for (char *old = rig_take(client); old != NULL; old = rig_take(client)) {
        arcp__free(old);
    }
    rig_send(&rig, client, frame);
    char *answer = rig_take(client);
    assert_non_null(answer);
    if (strstr(answer, part) == NULL) {
        fail_msg("%s is not in %s", part, answer);
    }
    arcp__free(answer);
}

/* ---- of one job ---- */

static void a_running_agent_keeps_64_kib_and_then_loses_its_older_half(void **state)
{
    arcp__job *job = start();
    for (size_t i = 0; i < 64; i++) {
        write_bytes(job, 1024);
    }
    assert_int_equal(kept_bytes(job), 65536);
    check_answer(alice, job, "", "\"first_line\":1,\"lines\":64,\"dropped_lines\":0}");
    write_bytes(job, 1);
    assert_int_equal(kept_bytes(job), 32768 + 1);
    check_answer(alice, job, "", "\"first_line\":33,\"lines\":65,\"dropped_lines\":32}");
}

static void a_line_that_takes_more_than_half_replaces_what_was_kept(void **state)
{
    arcp__job *job = start();
    write_line(job, "before");
    write_bytes(job, 65536);
    assert_int_equal(kept_bytes(job), 65536);
    check_answer(alice, job, ",\"lines\":1", "\"first_line\":2,\"lines\":2,\"dropped_lines\":1}");
}

static void only_whole_lines_are_kept_when_older_ones_go(void **state)
{
    arcp__job *job = start();
    for (size_t i = 0; i < 66; i++) {
        write_bytes(job, 1000);
    }
    /* 65 lines were kept, and the last 32 of them fit in half of the room. */
    assert_int_equal(kept_bytes(job), 33 * 1000);
    check_answer(alice, job, "", "\"first_line\":34,\"lines\":66,\"dropped_lines\":33}");
}

static void an_agent_that_has_exited_keeps_4_kib(void **state)
{
    arcp__job *jobs[2] = {start(), start()};
    for (size_t i = 0; i < 4; i++) {
        write_bytes(jobs[0], 1024);
        write_bytes(jobs[1], 1024);
    }
    write_bytes(jobs[1], 1);
    exits(jobs[0]);
    exits(jobs[1]);
    assert_int_equal(kept_bytes(jobs[0]), 4096);
    assert_int_equal(kept_bytes(jobs[1]), 3 * 1024 + 1);
    check_answer(alice, jobs[1], "", "\"status\":\"success\"");
    check_answer(alice, jobs[1], "", "\"first_line\":2,\"lines\":5,\"dropped_lines\":1}");
}

static void of_a_long_last_line_the_end_is_kept_from_a_character_on(void **state)
{
    char line[6000];
    arcp__job *job = start();
    for (size_t i = 0; i + 1 < sizeof line; i += 2) {
        memcpy(line + i, "\xc3\xa4", 2);
    }
    add(job, arcp_span_make(line, sizeof line));
    exits(job);
    assert_int_equal(kept_bytes(job), 4095); /* its first byte was the second half of a letter */
    assert_memory_equal(job->facts.errors->text.data, "\xc3\xa4", 2);
}

static void the_lines_of_a_job_that_was_removed_are_not_kept(void **state)
{
    rig.settings.jobs_keep_terminal_sec = 60;
    arcp__engine_set_settings(rig.engine, &rig.settings);
    arcp__job *job = start();
    write_line(job, "oh dear");
    exits(job);
    assert_true(memory() != 0);
    rig_clock(&rig, 61 * ARCP_NS_PER_SEC);
    assert_int_equal(memory(), 0);
    assert_null(rig.engine->jobs.errors.exited);
}

/* ---- of all jobs ---- */

static void of_all_jobs_64_mib_are_kept(void **state)
{
    assert_int_equal(rig.engine->jobs.errors.bytes_max, 67108864);
}

static void the_memory_that_is_counted_is_what_was_allocated(void **state)
{
    arcp__job *job = start();
    assert_int_equal(memory(), 0);
    write_line(job, "oh dear");
    assert_int_equal(memory(), sizeof *job->facts.errors + job->facts.errors->text.capacity);
    exits(job);
    assert_int_equal(memory(), sizeof *job->facts.errors + job->facts.errors->text.capacity);
}

/* Four jobs whose agents have exited in this order: 2, 0, 3, 1. */
static void run_four(arcp__job *jobs[4])
{
    static const size_t order[] = {2, 0, 3, 1};
    for (size_t i = 0; i < 4; i++) {
        jobs[i] = start();
        write_bytes(jobs[i], 1000);
    }
    for (size_t i = 0; i < 4; i++) {
        exits(jobs[order[i]]);
    }
}

static void at_the_maximum_nothing_goes_and_beyond_it_the_one_that_exited_first(void **state)
{
    arcp__job *jobs[4];
    run_four(jobs);
    const size_t four = memory();
    const size_t one = four / 4;
    arcp__job *running = start();
    set_maximum(four + one);
    write_bytes(running, 1000);
    assert_int_equal(memory(), four + one);
    set_maximum(four + one - 1);
    write_bytes(running, 1); /* fits in what was allocated */
    assert_null(jobs[2]->facts.errors);
    assert_non_null(jobs[0]->facts.errors);
    assert_int_equal(memory(), four);
    check_answer(alice, jobs[2], "",
                 "\"text\":\"\",\"first_line\":2,\"lines\":1,\"dropped_lines\":1}");
    set_maximum(3 * one);
    write_bytes(running, 1);
    assert_null(jobs[0]->facts.errors);
    assert_non_null(jobs[3]->facts.errors);
    assert_non_null(jobs[1]->facts.errors);
}

static void agents_that_run_lose_nothing_while_one_has_exited(void **state)
{
    arcp__job *running = start();
    arcp__job *ended = start();
    write_bytes(running, 20000);
    write_bytes(ended, 1000);
    exits(ended);
    set_maximum(memory() - 1);
    write_bytes(running, 1);
    assert_null(ended->facts.errors);
    assert_int_equal(kept_bytes(running), 20001);
}

static void among_agents_that_run_none_loses_what_is_within_its_share(void **state)
{
    arcp__job *loud = start();
    arcp__job *quiet = start();
    arcp__job *silent = start();
    for (size_t i = 0; i < 40; i++) {
        write_bytes(loud, 1000);
    }
    write_bytes(quiet, 1000);
    write_bytes(silent, 10);
    set_maximum(memory() - 1);
    write_bytes(quiet, 1);
    assert_int_equal(kept_bytes(quiet), 1001);
    assert_int_equal(kept_bytes(silent), 10);
    /* Half of its share, which is a third of the maximum. */
    const size_t share = rig.engine->jobs.errors.bytes_max / 3;
    assert_true(kept_bytes(loud) > 0 && kept_bytes(loud) <= share / 2);
    assert_true(memory() <= rig.engine->jobs.errors.bytes_max);
}

static void however_many_agents_write_the_memory_stays_below_the_maximum(void **state)
{
    arcp__job *jobs[8];
    for (size_t i = 0; i < 8; i++) {
        jobs[i] = start();
    }
    set_maximum(60000);
    for (size_t i = 0; i < 400; i++) {
        write_bytes(jobs[i * i % 8], 100 + i * 7 % 900);
        assert_true(memory() <= 60000);
    }
    for (size_t i = 0; i < 8; i++) {
        exits(jobs[i]);
        assert_true(memory() <= 60000);
    }
}

/* ---- reading ---- */

static void the_last_lines_are_shown_and_those_behind_a_line(void **state)
{
    static const struct {
        const char *name, *members, *answer;
    } rows[] = {
        {"all", "", "\"text\":\"one\\ntwo\\nthree\\n\",\"first_line\":1,"},
        {"the last two", ",\"lines\":2", "\"text\":\"two\\nthree\\n\",\"first_line\":2,"},
        {"after none", ",\"after\":0", "\"text\":\"one\\ntwo\\nthree\\n\",\"first_line\":1,"},
        {"after the first", ",\"after\":1", "\"text\":\"two\\nthree\\n\",\"first_line\":2,"},
        {"one after the first", ",\"after\":1,\"lines\":1",
         "\"text\":\"two\\n\",\"first_line\":2,"},
        {"after the last", ",\"after\":3", "\"text\":\"\",\"first_line\":4,\"lines\":3,"},
        {"after one that is yet to come", ",\"after\":9", "\"text\":\"\",\"first_line\":4,"},
    };
    arcp__job *job = start();
    check_answer(alice, job, "", "\"text\":\"\",\"first_line\":1,\"lines\":0,\"dropped_lines\":0}");
    write_line(job, "one");
    write_line(job, "two");
    write_line(job, "three");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("  %s\n", rows[i].name);
        check_answer(alice, job, rows[i].members, rows[i].answer);
    }
    check_answer(alice, job, ",\"lines\":1000", "\"status\":\"running\"");
    check_answer(alice, job, ",\"lines\":1001", "payload.lines must be from 1 to 1000");
}

/* agents: stderr_in_errors */
static void a_submitter_reads_only_what_may_be_shown_to_it(void **state)
{
    arcp__job *job = start();
    rig_client *viewer = rig_connect(&rig, "v");
    rig_send(&rig, viewer,
             FRAME("h", "session.hello",
                   "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"v-vera\"},\"capabilities\":{"
                   "\"features\":[\"x-vendor.arcpd.view\",\"x-vendor.arcpd.operate\"]}}"));
    arcp__engine_agent_stderr(rig.engine, rig.now, job, ARCP_SPAN_LITERAL("a secret"), false);
    rig_run(&rig);
    check_answer(alice, job, "", "\"code\":\"PERMISSION_DENIED\"");
    check_answer(viewer, job, "", "\"text\":\"a secret\\n\"");
    exits(job);
    check_answer(alice, job, "", "\"code\":\"PERMISSION_DENIED\"");
    check_answer(viewer, job, "", "\"text\":\"a secret\\n\"");
}

static void a_frame_has_as_many_lines_as_fit(void **state)
{
    char last[64];
    rig.settings.limits_frame_bytes = 262144;
    arcp__engine_set_settings(rig.engine, &rig.settings);
    const size_t fit = arcp__frame_text_max(&rig.engine->context) / 1000;
    assert_in_range(fit, 10, 50);
    arcp__job *job = start();
    for (size_t i = 0; i < 60; i++) {
        write_bytes(job, 1000);
    }
    (void)snprintf(last, sizeof last, "\"first_line\":%zu,\"lines\":60,", 61 - fit);
    check_answer(alice, job, "", last);
    check_answer(alice, job, ",\"after\":0", "\"first_line\":1,\"lines\":60,");
    check_answer(alice, job, ",\"after\":59", "\"first_line\":60,\"lines\":60,");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_running_agent_keeps_64_kib_and_then_loses_its_older_half),
        TEST(a_line_that_takes_more_than_half_replaces_what_was_kept),
        TEST(only_whole_lines_are_kept_when_older_ones_go),
        TEST(an_agent_that_has_exited_keeps_4_kib),
        TEST(of_a_long_last_line_the_end_is_kept_from_a_character_on),
        TEST(the_lines_of_a_job_that_was_removed_are_not_kept),
        TEST(of_all_jobs_64_mib_are_kept),
        TEST(the_memory_that_is_counted_is_what_was_allocated),
        TEST(at_the_maximum_nothing_goes_and_beyond_it_the_one_that_exited_first),
        TEST(agents_that_run_lose_nothing_while_one_has_exited),
        TEST(among_agents_that_run_none_loses_what_is_within_its_share),
        TEST(however_many_agents_write_the_memory_stays_below_the_maximum),
        TEST(the_last_lines_are_shown_and_those_behind_a_line),
        TEST(a_submitter_reads_only_what_may_be_shown_to_it),
        TEST(a_frame_has_as_many_lines_as_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
