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

static char *expect(scene *self, const char *type)
{
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "\"type\":\"%s\"", type);
    char *frame = rig_take(self->client);
    if (frame == NULL || strstr(frame, wanted) == NULL) {
        fail_msg("wanted %s, got %s", type, frame == NULL ? "nothing" : frame);
    }
    return frame;
}

static void pass_over(scene *self, const char *type)
{
    arcp__free(expect(self, type));
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

static void take_welcome(scene *self)
{
    char *frame = expect(self, "session.welcome");
    copy_member(frame, "session_id", self->session, sizeof self->session);
    copy_member(frame, "resume_token", self->token, sizeof self->token);
    arcp__free(frame);
}

/* A session on a new store. */
static scene *begin(const char *url, const arcp_settings *settings)
{
    scene *self = arcp__alloc(sizeof *self);
    assert_non_null(self);
    self->dir = temp_dir_new();
    bool is_file = strcmp(url, "sqlite:") == 0;
    patient_open(&self->disk, is_file ? temp_dir_join(self->dir, url, "arcp.db") : url);
    rig_begin(&self->rig, settings);
    self->rig.store = &self->disk.store;
    rig_open(&self->rig);
    self->client = rig_connect(&self->rig, "a1");
    rig_send(
        &self->rig, self->client,
        FRAME(
            "h", "session.hello",
            "{" AUTH
            ",\"capabilities\":{\"encodings\":[\"json\"],\"features\":[\"ack\",\"list_jobs\"]}}"));
    take_welcome(self);
    return self;
}

static void end(scene *self)
{
    rig_stop(&self->rig);
    temp_dir_free(self->dir);
    arcp__free(self);
}

/* Five records: it runs, three lines, and its end unless it goes on. */
static void run_job(scene *self, const char *id, bool ends)
{
    char frame[160];
    (void)snprintf(frame, sizeof frame, FRAME("%s", "job.submit", "{\"agent\":\"echo\"}"), id);
    rig_send(&self->rig, self->client, frame);
    char *accepted = expect(self, "job.accepted");
    copy_member(accepted, "job_id", self->job, sizeof self->job);
    arcp__free(accepted);
    rig_agent *agent = rig_agent_last(&self->rig);
    assert_non_null(agent);
    pass_over(self, "job.event");
    for (int line = 0; line < 3; line++) {
        rig_agent_writes(&self->rig, agent,
                         "{\"type\":\"job.event\",\"payload\":{\"kind\":\"thought\",\"body\":{"
                         "\"text\":\"t\"}}}");
        pass_over(self, "job.event");
    }
    if (ends) {
        rig_agent_writes(&self->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
        rig_agent_exits(&self->rig, agent, false, 0);
        pass_over(self, "job.result");
    }
}

static void acknowledge(scene *self, unsigned seq)
{
    char frame[128];
    (void)snprintf(frame, sizeof frame, FRAME("k", "session.ack", "{\"last_processed_seq\":%u}"),
                   seq);
    rig_send(&self->rig, self->client, frame);
}

static void resume(scene *self, unsigned seq)
{
    char frame[320];
    (void)snprintf(
        frame, sizeof frame,
        FRAME("r", "session.hello",
              "{" AUTH ",\"capabilities\":{\"encodings\":[\"json\"],\"features\":["
              "\"ack\",\"list_jobs\"]},\"resume\":{\"session_id\":\"%s\",\"resume_token\":\"%s\","
              "\"last_event_seq\":%u}}"),
        self->session, self->token, seq);
    self->client = rig_connect(&self->rig, "a2");
    rig_send(&self->rig, self->client, frame);
}

static void resume_well(scene *self, unsigned seq)
{
    resume(self, seq);
    take_welcome(self);
}

static arcp_settings keeping_for(uint64_t seconds)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.jobs_keep_terminal_sec = seconds;
    return settings;
}

/* Only the first `count` records of a stream are left. */
static void cut(scene *self, const char *prefix, const char *id, size_t count)
{
    char key[80];
    (void)snprintf(key, sizeof key, "%s%s", prefix, id);
    patient_stream stream = {{NULL}, 0};
    if (count != 0) {
        stream = patient_read(&self->disk, key);
    }
    patient_write(&self->disk, key, &stream, count);
    patient_free_stream(&stream);
}

static void check_is_refused(scene *self, const char *wanted)
{
    arcp_error refusal = {0};
    self->rig.refusal = &refusal;
    rig_restart(&self->rig);
    assert_string_equal(refusal.message, wanted);
    assert_int_equal(refusal.status, ARCP_E_CORRUPT);
    assert_false(arcp__engine_is_restored(self->rig.engine));
    assert_null(arcp__engine_take_batch(self->rig.engine)); /* and nothing is written */
    end(self);
}

/* The error names the stream, and how many of how many records are there. */
static void check_refused(scene *self, const char *prefix, const char *id, const char *what)
{
    char wanted[160];
    (void)snprintf(wanted, sizeof wanted, "the stored stream \"%s%s\" is damaged: it ends after %s",
                   prefix, id, what);
    check_is_refused(self, wanted);
}

/* ---- damage ---- */

/* A job with so many records, cut after each of them. */
static void check_each_cut(bool ends, size_t records)
{
    for (size_t store = 0; store < STORES; store++) {
        for (size_t left = 0; left < records; left++) {
            char what[48];
            scene *self = begin(urls[store], NULL);
            run_job(self, "1", ends);
            cut(self, "j:", self->job, left);
            (void)snprintf(what, sizeof what, "record %zu of %zu", left, records);
            check_refused(self, "j:", self->job, what);
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
        scene *self = begin(urls[store], NULL);
        run_job(self, "1", true);
        rig_drop(&self->rig, self->client);
        rig_clock(&self->rig, INT64_C(3600) * ARCP_NS_PER_SEC);
        cut(self, "j:", self->job, 3);
        check_refused(self, "j:", self->job, "record 3 of 5");
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
        scene *self = begin(urls[store], NULL);
        rig_send(&self->rig, self->client, FRAME("1", "job.submit", "{\"agent\":\"nobody\"}"));
        pass_over(self, "job.error");
        cut(self, "s:", self->session, 0);
        check_refused(self, "s:", self->session, "record 0 of 1");
    }
}

static void an_index_that_ends_before_what_was_acknowledged_is_refused(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *self = begin(urls[store], NULL);
        run_job(self, "1", true);
        acknowledge(self, 5);
        resume_well(self, 5); /* the session's row is written */
        cut(self, "x:", self->session, 0);
        check_refused(self, "x:", self->session, "number 0 of 5");
    }
}

/* The job was removed, but the newest run of an index is never trimmed. */
static void the_lost_stream_of_the_newest_run_is_refused(void **state)
{
    const arcp_settings settings = keeping_for(5);
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *self = begin(urls[store], &settings);
        run_job(self, "1", true);
        rig_clock(&self->rig, 10 * ARCP_NS_PER_SEC);
        cut(self, "j:", self->job, 0);
        check_refused(self, "j:", self->job, "record 0 of 5");
    }
}

/* In memory, where a trimmed record is removed at once. */
static void a_stream_without_its_beginning_is_refused(void **state)
{
    char wanted[160];
    char key[80];
    (void)state;
    scene *self = begin("memory:", NULL);
    for (int refusal = 0; refusal < 2; refusal++) {
        rig_send(&self->rig, self->client,
                 refusal == 0 ? FRAME("1", "job.submit", "{\"agent\":\"nobody\"}")
                              : FRAME("2", "job.submit", "{\"agent\":\"nobody\"}"));
        pass_over(self, "job.error");
    }
    (void)snprintf(key, sizeof key, "s:%s", self->session);
    patient_trim(&self->disk, key, 1);
    cut(self, "x:", self->session, 0);
    (void)snprintf(wanted, sizeof wanted, "the stored stream \"%s\" is damaged", key);
    check_is_refused(self, wanted);
}

/* ---- on purpose ---- */

static void whole_and_empty_streams_are_taken_up(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *self = begin(urls[store], NULL);
        rig_restart(&self->rig); /* a session that was sent nothing */
        resume_well(self, 0);
        run_job(self, "1", true);
        run_job(self, "2", false);
        rig_restart(&self->rig);
        resume_well(self, 8);
        pass_over(self, "job.event");
        pass_over(self, "job.error");
        assert_null(rig_take(self->client));
        end(self);
    }
}

static void a_trimmed_index_is_taken_up(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *self = begin(urls[store], NULL);
        run_job(self, "1", true);
        run_job(self, "2", true);
        acknowledge(self, 10);
        rig_restart(&self->rig);
        resume_well(self, 10);
        run_job(self, "3", true);
        end(self);
    }
}

/* A trim may be carried out late: then the index still has runs of a job that was removed with its
 * stream. Those numbers can no longer be sent, and everything else works. */
static void an_index_that_still_has_runs_of_dropped_streams_is_taken_up(void **state)
{
    const arcp_settings settings = keeping_for(5);
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *self = begin(urls[store], &settings);
        char key[80];
        char job_key[80];
        char *frame = NULL;
        (void)snprintf(key, sizeof key, "x:%s", self->session);
        run_job(self, "1", true);
        (void)snprintf(job_key, sizeof job_key, "j:%s", self->job);
        run_job(self, "2", true);
        patient_stream index = patient_read(&self->disk, key);
        rig_restart(&self->rig);
        resume_well(self, 10);
        rig_clock(&self->rig, 10 * ARCP_NS_PER_SEC); /* both jobs are removed */
        acknowledge(self, 10);
        rig_drop(&self->rig, self->client);
        patient_stream dropped = patient_read(&self->disk, job_key);
        assert_int_equal(dropped.count, 0);
        patient_write(&self->disk, key, &index, index.count);
        patient_free_stream(&index);
        rig_restart(&self->rig);
        resume(self, 0);
        frame = expect(self, "session.error");
        assert_non_null(strstr(frame, "RESUME_WINDOW_EXPIRED"));
        arcp__free(frame);
        resume_well(self, 10);
        run_job(self, "3", true);
        end(self);
    }
}

/* ---- what is forgotten ---- */

static void list(scene *self, const char *id, const char *wanted)
{
    char frame[128];
    (void)snprintf(frame, sizeof frame, FRAME("%s", "session.list_jobs", "{}"), id);
    rig_send(&self->rig, self->client, frame);
    char *jobs = expect(self, "session.jobs");
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
        scene *self = begin(urls[store], &settings);
        run_job(self, "1", true);
        self->rig.now.wall_ns += 10 * ARCP_NS_PER_SEC;
        for (int start = 0; start < 2; start++) {
            rig_restart(&self->rig);
            rig_clock(&self->rig, 2 * ARCP_NS_PER_SEC);
        }
        resume_well(self, 1);
        for (int event = 0; event < 3; event++) {
            pass_over(self, "job.event");
        }
        pass_over(self, "job.result");
        list(self, "l", "\"jobs\":[]");
        end(self);
    }
}

static void the_start_removes_the_oldest_jobs_beyond_the_limit(void **state)
{
    (void)state;
    for (size_t store = 0; store < STORES; store++) {
        scene *self = begin(urls[store], NULL);
        char first[64];
        char wanted[96];
        run_job(self, "1", false);
        memcpy(first, self->job, sizeof first);
        run_job(self, "2", true);
        run_job(self, "3", true);
        rig_clock(&self->rig, ARCP_NS_PER_SEC);
        rig_agent *agent = rig_agent_of(&self->rig, first);
        rig_agent_writes(&self->rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
        rig_agent_exits(&self->rig, agent, false, 0);
        pass_over(self, "job.result");
        self->rig.settings.jobs_keep_terminal_max = 1;
        for (int start = 0; start < 2; start++) {
            rig_restart(&self->rig);
            rig_clock(&self->rig, 2 * ARCP_NS_PER_SEC);
        }
        resume_well(self, 15);
        (void)snprintf(wanted, sizeof wanted, "\"jobs\":[{\"job_id\":\"%s\"", first);
        list(self, "l", wanted);
        assert_null(rig_take(self->client));
        end(self);
    }
}

/* Nothing of a removed job is left that the next start would refuse, and its key outlives it. */
static void a_removed_job_leaves_its_key(void **state)
{
    (void)state;
    const arcp_settings settings = keeping_for(5);
    scene *self = begin("memory:", &settings);
    rig_send(&self->rig, self->client,
             FRAME("1", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"K\"}"));
    char *accepted = expect(self, "job.accepted");
    copy_member(accepted, "job_id", self->job, sizeof self->job);
    arcp__free(accepted);
    pass_over(self, "job.event");
    rig_agent *agent = rig_agent_last(&self->rig);
    rig_agent_writes(&self->rig, agent, "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(&self->rig, agent, false, 0);
    pass_over(self, "job.result");
    rig_clock(&self->rig, 6 * ARCP_NS_PER_SEC);
    list(self, "l", "\"jobs\":[]");
    rig_restart(&self->rig);
    resume_well(self, 2);
    rig_send(&self->rig, self->client,
             FRAME("2", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"K\"}"));
    accepted = expect(self, "job.accepted");
    assert_non_null(strstr(accepted, self->job));
    arcp__free(accepted);
    end(self);
}

/* A session that did not negotiate a kind gets a job's history from the store, later. */
static void a_job_is_kept_while_an_observer_reads_its_history(void **state)
{
    arcp_settings settings;
    char frame[160];
    (void)state;
    arcp__settings_default(&settings);
    settings.jobs_keep_terminal_max = 1;
    scene *self = begin("memory:", &settings);
    run_job(self, "1", true);
    char first[64];
    memcpy(first, self->job, sizeof first);
    run_job(self, "2", false);
    acknowledge(self, 6); /* the first job's records leave memory */
    rig_client *other = rig_connect(&self->rig, "b");
    rig_send(&self->rig, other,
             FRAME("h", "session.hello",
                   "{" AUTH
                   ",\"capabilities\":{\"encodings\":[\"json\"],\"features\":[\"subscribe\"]}}"));
    char *welcome = rig_take(other);
    assert_non_null(welcome);
    arcp__free(welcome);
    rig_agent *second = rig_agent_of(&self->rig, self->job);
    (void)snprintf(frame, sizeof frame,
                   FRAME("s", "job.subscribe", "{\"job_id\":\"%s\",\"history\":true}"), first);
    /* The other job ends before the read is complete. */
    arcp__engine_receive(self->rig.engine, self->rig.now, other->link, arcp_span_cstr(frame));
    arcp__engine_agent_line(self->rig.engine, self->rig.now, second->job,
                            ARCP_SPAN_LITERAL("{\"type\":\"job.result\",\"payload\":{}}"));
    rig_run(&self->rig);
    const char *const wanted[] = {"job.subscribed", "job.event", "job.event",
                                  "job.event",      "job.event", "job.result"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char *got = rig_take(other);
        assert_non_null(got);
        assert_non_null(strstr(got, wanted[i]));
        arcp__free(got);
    }
    end(self);
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
