/* A restart with streams that are shorter than rows and indexes require: damage is refused with the
 * stream's name, a trimmed stream is accepted. With each store. */
#include "engine/frames.h"
#include "engine/patient_store.h"
#include "store/temp_dir.h"
#include "story/engine_rig.h"

#include "support/check.h"

#include "base/alloc.h"

#define AUTH "\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-alice\"}"

typedef struct scene {
    engine_rig rig;
    patient_store disk;
    temp_dir *dir;
    rig_client *client;
    char session[64];
    char token[80];
    char job[64]; /* the newest */
} scene;

static const char *const urls[] = {"memory:", "sqlite:"};
#define STORES (sizeof urls / sizeof urls[0])

static char *expect(scene *s, const char *type)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "\"type\":\"%s\"", type);
    char *frame = rig_take(s->client);
    if (frame == NULL || strstr(frame, wanted) == NULL) {
        fail_msg("wanted %s, got %s", type, frame == NULL ? "nothing" : frame);
    }
    return frame;
}

static void pass_over(scene *s, const char *type)
{
    arcp__free(expect(s, type));
}

static void copy_member(const char *frame, const char *name, char *to, size_t size)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "\"%s\":\"", name);
    const char *value = strstr(frame, wanted);
    assert_non_null(value);
    value += strlen(wanted);
    (void)snprintf(to, size, "%.*s", (int)strcspn(value, "\""), value);
}

static void take_welcome(scene *s)
{
    char *frame = expect(s, "session.welcome");
    copy_member(frame, "session_id", s->session, sizeof s->session);
    copy_member(frame, "resume_token", s->token, sizeof s->token);
    arcp__free(frame);
}

/* A session on a new store. */
static scene *begin(const char *url, const arcp_settings *settings)
{
    scene *s = arcp__alloc(sizeof *s);
    assert_non_null(s);
    s->dir = temp_dir_new();
    const bool is_file = strcmp(url, "sqlite:") == 0;
    patient_open(&s->disk, is_file ? temp_dir_join(s->dir, url, "arcp.db") : url);
    rig_begin(&s->rig, settings);
    s->rig.store = &s->disk.store;
    rig_open(&s->rig);
    s->client = rig_connect(&s->rig, "a1");
    rig_send(
        &s->rig, s->client,
        FRAME(
            "h", "session.hello",
            "{" AUTH
            ",\"capabilities\":{\"encodings\":[\"json\"],\"features\":[\"ack\",\"list_jobs\"]}}"));
    take_welcome(s);
    return s;
}

static void end(scene *s)
{
    rig_stop(&s->rig);
    temp_dir_free(s->dir);
    arcp__free(s);
}

/* Five records: `running`, three lines, and the end unless the job continues. */
static void run_job(scene *s, const char *id, bool ends)
{
    char frame[160];
    (void)snprintf(frame, sizeof frame, FRAME("%s", "job.submit", "{\"agent\":\"echo\"}"), id);
    rig_send(&s->rig, s->client, frame);
    char *accepted = expect(s, "job.accepted");
    copy_member(accepted, "job_id", s->job, sizeof s->job);
    arcp__free(accepted);
    rig_agent *agent = rig_agent_last(&s->rig);
    assert_non_null(agent);
    pass_over(s, "job.event");
    for (int line = 0; line < 3; line++) {
        rig_agent_writes(&s->rig, agent,
                         "{\"type\":\"job.event\",\"payload\":{\"kind\":\"thought\",\"body\":{"
                         "\"text\":\"t\"}}}");
        pass_over(s, "job.event");
    }
    if (ends) {
        rig_agent_writes(&s->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
        rig_agent_exits(&s->rig, agent, false, 0);
        pass_over(s, "job.result");
    }
}

static void acknowledge(scene *s, unsigned seq)
{
    char frame[128];
    (void)snprintf(frame, sizeof frame, FRAME("k", "session.ack", "{\"last_processed_seq\":%u}"),
                   seq);
    rig_send(&s->rig, s->client, frame);
}

static void resume(scene *s, unsigned seq)
{
    char frame[320];
    (void)snprintf(
        frame, sizeof frame,
        FRAME("r", "session.hello",
              "{" AUTH ",\"capabilities\":{\"encodings\":[\"json\"],\"features\":["
              "\"ack\",\"list_jobs\"]},\"resume\":{\"session_id\":\"%s\",\"resume_token\":\"%s\","
              "\"last_event_seq\":%u}}"),
        s->session, s->token, seq);
    s->client = rig_connect(&s->rig, "a2");
    rig_send(&s->rig, s->client, frame);
}

static void resume_well(scene *s, unsigned seq)
{
    resume(s, seq);
    take_welcome(s);
}

static arcp_settings keeping_for(uint64_t seconds)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.jobs_keep_terminal_sec = seconds;
    return settings;
}

/* Only the first `count` records of a stream are left. */
static void cut(scene *s, const char *prefix, const char *id, size_t count)
{
    char key[80];
    (void)snprintf(key, sizeof key, "%s%s", prefix, id);
    patient_stream stream = {{NULL}, 0};
    if (count != 0) {
        stream = patient_read(&s->disk, key);
    }
    patient_write(&s->disk, key, &stream, count);
    patient_free_stream(&stream);
}

static void check_is_refused(scene *s, const char *wanted)
{
    arcp_error refusal = {0};
    s->rig.refusal = &refusal;
    rig_restart(&s->rig);
    assert_string_equal(refusal.message, wanted);
    assert_int_equal(refusal.status, ARCP_E_CORRUPT);
    assert_false(arcp__engine_is_restored(s->rig.engine));
    assert_null(arcp__engine_take_batch(s->rig.engine)); /* and nothing is written */
    end(s);
}

/* The error names the stream, and how many of how many records are there. */
static void check_refused(scene *s, const char *prefix, const char *id, const char *what)
{
    char wanted[160];
    (void)snprintf(wanted, sizeof wanted, "the stored stream \"%s%s\" is damaged: it ends after %s",
                   prefix, id, what);
    check_is_refused(s, wanted);
}

/* ---- damage ---- */

/* A job with so many records, cut after each of them. */
static void check_each_cut(bool ends, size_t records)
{
    for (size_t store = 0; store < STORES; store++) {
        for (size_t left = 0; left < records; left++) {
            char what[48];
            scene *s = begin(urls[store], NULL);
            run_job(s, "1", ends);
            cut(s, "j:", s->job, left);
            (void)snprintf(what, sizeof what, "record %zu of %zu", left, records);
            check_refused(s, "j:", s->job, what);
        }
    }
}

static void the_cut_stream_of_an_ended_job_is_refused(void **state)
{
    (void)state;
    check_each_cut(true, 5);
}

/* The session was removed, and its index with it: the job's row still has the count. */
static void the_cut_stream_of_a_job_without_its_session_is_refused(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *s = begin(urls[store], NULL);
        run_job(s, "1", true);
        rig_drop(&s->rig, s->client);
        rig_clock(&s->rig, INT64_C(3600) * ARCP_NS_PER_SEC);
        cut(s, "j:", s->job, 3);
        check_refused(s, "j:", s->job, "record 3 of 5");
    }
}

static void the_cut_stream_of_a_running_job_is_refused(void **state)
{
    (void)state;
    check_each_cut(false, 4);
}

static void the_cut_stream_of_a_session_is_refused(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *s = begin(urls[store], NULL);
        rig_send(&s->rig, s->client, FRAME("1", "job.submit", "{\"agent\":\"nobody\"}"));
        pass_over(s, "job.error");
        cut(s, "s:", s->session, 0);
        check_refused(s, "s:", s->session, "record 0 of 1");
    }
}

static void an_index_that_ends_before_what_was_acknowledged_is_refused(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *s = begin(urls[store], NULL);
        run_job(s, "1", true);
        acknowledge(s, 5);
        resume_well(s, 5); /* the session's row is written */
        cut(s, "x:", s->session, 0);
        check_refused(s, "x:", s->session, "number 0 of 5");
    }
}

/* The job was removed, but the newest run of an index is never trimmed. */
static void the_lost_stream_of_the_newest_run_is_refused(void **state)
{
    const arcp_settings settings = keeping_for(5);
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *s = begin(urls[store], &settings);
        run_job(s, "1", true);
        rig_clock(&s->rig, 10 * ARCP_NS_PER_SEC);
        cut(s, "j:", s->job, 0);
        check_refused(s, "j:", s->job, "record 0 of 5");
    }
}

/* In memory, where a trimmed record is removed at once. */
static void a_stream_without_its_beginning_is_refused(void **state)
{
    char wanted[160];
    char key[80];
    (void)state;
    scene *s = begin("memory:", NULL);
    for (int refusal = 0; refusal < 2; refusal++) {
        rig_send(&s->rig, s->client,
                 refusal == 0 ? FRAME("1", "job.submit", "{\"agent\":\"nobody\"}")
                              : FRAME("2", "job.submit", "{\"agent\":\"nobody\"}"));
        pass_over(s, "job.error");
    }
    (void)snprintf(key, sizeof key, "s:%s", s->session);
    patient_trim(&s->disk, key, 1);
    cut(s, "x:", s->session, 0);
    (void)snprintf(wanted, sizeof wanted, "the stored stream \"%s\" is damaged", key);
    check_is_refused(s, wanted);
}

/* ---- on purpose ---- */

static void whole_and_empty_streams_are_taken_up(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *s = begin(urls[store], NULL);
        rig_restart(&s->rig); /* a session that was sent nothing */
        resume_well(s, 0);
        run_job(s, "1", true);
        run_job(s, "2", false);
        rig_restart(&s->rig);
        resume_well(s, 8);
        pass_over(s, "job.event");
        pass_over(s, "job.error");
        assert_null(rig_take(s->client));
        end(s);
    }
}

static void a_trimmed_index_is_taken_up(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *s = begin(urls[store], NULL);
        run_job(s, "1", true);
        run_job(s, "2", true);
        acknowledge(s, 10);
        rig_restart(&s->rig);
        resume_well(s, 10);
        run_job(s, "3", true);
        end(s);
    }
}

/* A trim may be carried out late: then the index still has runs of a job that was removed with its
 * stream. Those numbers can no longer be sent, and everything else works. */
static void an_index_that_still_has_runs_of_dropped_streams_is_taken_up(void **state)
{
    const arcp_settings settings = keeping_for(5);
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *s = begin(urls[store], &settings);
        char key[80];
        char job_key[80];
        char *frame = NULL;
        (void)snprintf(key, sizeof key, "x:%s", s->session);
        run_job(s, "1", true);
        (void)snprintf(job_key, sizeof job_key, "j:%s", s->job);
        run_job(s, "2", true);
        patient_stream index = patient_read(&s->disk, key);
        rig_restart(&s->rig);
        resume_well(s, 10);
        rig_clock(&s->rig, 10 * ARCP_NS_PER_SEC); /* both jobs are removed */
        acknowledge(s, 10);
        rig_drop(&s->rig, s->client);
        const patient_stream dropped = patient_read(&s->disk, job_key);
        assert_int_equal(dropped.count, 0);
        patient_write(&s->disk, key, &index, index.count);
        patient_free_stream(&index);
        rig_restart(&s->rig);
        resume(s, 0);
        frame = expect(s, "session.error");
        assert_non_null(strstr(frame, "RESUME_WINDOW_EXPIRED"));
        arcp__free(frame);
        resume_well(s, 10);
        run_job(s, "3", true);
        end(s);
    }
}

/* ---- what is forgotten ---- */

static void list(scene *s, const char *id, const char *wanted)
{
    char frame[128];
    (void)snprintf(frame, sizeof frame, FRAME("%s", "session.list_jobs", "{}"), id);
    rig_send(&s->rig, s->client, frame);
    char *jobs = expect(s, "session.jobs");
    if (strstr(jobs, wanted) == NULL) {
        fail_msg("wanted %s, got %s", wanted, jobs);
    }
    arcp__free(jobs);
}

/* Its stream is needed for as long as a session may ask for it: also when its time ends in the
 * middle of the start. */
static void a_job_that_expired_while_stopped_is_removed_after_the_start(void **state)
{
    const arcp_settings settings = keeping_for(5);
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *s = begin(urls[store], &settings);
        run_job(s, "1", true);
        s->rig.now.wall_ns += 10 * ARCP_NS_PER_SEC;
        for (int start = 0; start < 2; start++) {
            rig_restart(&s->rig);
            rig_clock(&s->rig, 2 * ARCP_NS_PER_SEC);
        }
        resume_well(s, 1);
        for (int event = 0; event < 3; event++) {
            pass_over(s, "job.event");
        }
        pass_over(s, "job.result");
        list(s, "l", "\"jobs\":[]");
        end(s);
    }
}

static void the_start_removes_the_oldest_jobs_beyond_the_limit(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *s = begin(urls[store], NULL);
        char first[64];
        char wanted[96];
        run_job(s, "1", false);
        memcpy(first, s->job, sizeof first);
        run_job(s, "2", true);
        run_job(s, "3", true);
        rig_clock(&s->rig, ARCP_NS_PER_SEC);
        rig_agent *agent = rig_agent_of(&s->rig, first);
        rig_agent_writes(&s->rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
        rig_agent_exits(&s->rig, agent, false, 0);
        pass_over(s, "job.result");
        s->rig.settings.jobs_keep_terminal_max = 1;
        for (int start = 0; start < 2; start++) {
            rig_restart(&s->rig);
            rig_clock(&s->rig, 2 * ARCP_NS_PER_SEC);
        }
        resume_well(s, 15);
        (void)snprintf(wanted, sizeof wanted, "\"jobs\":[{\"job_id\":\"%s\"", first);
        list(s, "l", wanted);
        assert_null(rig_take(s->client));
        end(s);
    }
}

/* Nothing of a removed job is left that the next start would refuse, and its key outlives it. */
static void a_removed_job_leaves_its_key(void **state)
{
    (void)state;
    const arcp_settings settings = keeping_for(5);
    scene *s = begin("memory:", &settings);
    rig_send(&s->rig, s->client,
             FRAME("1", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"K\"}"));
    char *accepted = expect(s, "job.accepted");
    copy_member(accepted, "job_id", s->job, sizeof s->job);
    arcp__free(accepted);
    pass_over(s, "job.event");
    rig_agent *agent = rig_agent_last(&s->rig);
    rig_agent_writes(&s->rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(&s->rig, agent, false, 0);
    pass_over(s, "job.result");
    rig_clock(&s->rig, 6 * ARCP_NS_PER_SEC);
    list(s, "l", "\"jobs\":[]");
    rig_restart(&s->rig);
    resume_well(s, 2);
    rig_send(&s->rig, s->client,
             FRAME("2", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"K\"}"));
    accepted = expect(s, "job.accepted");
    assert_non_null(strstr(accepted, s->job));
    arcp__free(accepted);
    end(s);
}

/* A session that did not negotiate a kind gets a job's history from the store, later. */
static void a_job_is_kept_while_an_observer_reads_its_history(void **state)
{
    arcp_settings settings;
    char frame[160];
    (void)state;
    arcp__settings_default(&settings);
    settings.jobs_keep_terminal_max = 1;
    scene *s = begin("memory:", &settings);
    run_job(s, "1", true);
    char first[64];
    memcpy(first, s->job, sizeof first);
    run_job(s, "2", false);
    acknowledge(s, 6); /* the first job's records leave memory */
    rig_client *other = rig_connect(&s->rig, "b");
    rig_send(&s->rig, other,
             FRAME("h", "session.hello",
                   "{" AUTH
                   ",\"capabilities\":{\"encodings\":[\"json\"],\"features\":[\"subscribe\"]}}"));
    char *welcome = rig_take(other);
    assert_non_null(welcome);
    arcp__free(welcome);
    const rig_agent *second = rig_agent_of(&s->rig, s->job);
    (void)snprintf(frame, sizeof frame,
                   FRAME("s", "job.subscribe", "{\"job_id\":\"%s\",\"history\":true}"), first);
    /* The other job ends before the read is complete. */
    arcp__engine_receive(s->rig.engine, s->rig.now, other->link, arcp_span_cstr(frame));
    arcp__engine_agent_line(s->rig.engine, s->rig.now, second->job, 0,
                            ARCP_SPAN_LITERAL("{\"type\":\"job.result\",\"payload\":{}}"));
    rig_run(&s->rig);
    const char *const wanted[] = {"job.subscribed", "job.event", "job.event",
                                  "job.event",      "job.event", "job.result"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char *got = rig_take(other);
        assert_non_null(got);
        assert_non_null(strstr(got, wanted[i]));
        arcp__free(got);
    }
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cut_stream_of_an_ended_job_is_refused),
        cmocka_unit_test(the_cut_stream_of_a_job_without_its_session_is_refused),
        cmocka_unit_test(the_cut_stream_of_a_running_job_is_refused),
        cmocka_unit_test(the_cut_stream_of_a_session_is_refused),
        cmocka_unit_test(an_index_that_ends_before_what_was_acknowledged_is_refused),
        cmocka_unit_test(the_lost_stream_of_the_newest_run_is_refused),
        cmocka_unit_test(a_stream_without_its_beginning_is_refused),
        cmocka_unit_test(whole_and_empty_streams_are_taken_up),
        cmocka_unit_test(a_trimmed_index_is_taken_up),
        cmocka_unit_test(an_index_that_still_has_runs_of_dropped_streams_is_taken_up),
        cmocka_unit_test(a_job_that_expired_while_stopped_is_removed_after_the_start),
        cmocka_unit_test(the_start_removes_the_oldest_jobs_beyond_the_limit),
        cmocka_unit_test(a_removed_job_leaves_its_key),
        cmocka_unit_test(a_job_is_kept_while_an_observer_reads_its_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
