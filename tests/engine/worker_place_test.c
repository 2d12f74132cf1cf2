/* Agents that workers offer: where their jobs run, and what becomes of these when a worker does not
 * take them, drains, or is gone (src/job/job_worker.c, src/job/job_worker_offer.c). */
#include "engine/scene.h"

#include "support/check.h"

#include "engine/state.h"

#define KEEP_SEC 300
#define RESULT   "{\"type\":\"job.result\",\"payload\":{\"result\":1}}"
#define DELEGATE                                                                                   \
    "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"train\",\"wait\":true,"          \
    "\"lease_request\":{}}}"

static scene *s;
static char hosts[3]; /* of the workers "a", "b" and "c"; only their addresses count */
static char last_warning[300];

static void note_warning(engine_rig *rig, arcp__log_level level, arcp_span text)
{
    (void)rig;
    if (level == ARCP__LOG_WARN) {
        (void)snprintf(last_warning, sizeof last_warning, "%.*s", (int)text.size, text.data);
    }
}

static bool confines; /* the engines of the rig ask their hosts */
static void *able;    /* only this host can confine; NULL: all can */

static void admit(void *user, const arcp__admit_request *request, arcp__admit_answer *answer)
{
    (void)user;
    if (able != NULL && request->host != able) {
        answer->status = ARCP_E_PERMISSION_DENIED;
        arcp_buf_append_cstr(&answer->texts[ARCP__ADMIT_MESSAGE], "the worker is unable");
        arcp_buf_append_cstr(&answer->texts[ARCP__ADMIT_DETAILS], "{\"min\":\"exact\"}");
    }
}

static void prepare(void *user, arcp__engine_options *options)
{
    (void)user;
    options->worker_keep_sec = KEEP_SEC;
    if (confines) {
        options->hosts = (arcp__agent_hosts){.admit = admit};
    }
}

static int begin(void **state)
{
    (void)state;
    s = calloc(1, sizeof *s);
    assert_non_null(s);
    disk_init(&s->disk);
    rig_begin(&s->rig, NULL);
    s->rig.store = &s->disk.store;
    s->rig.prepare = prepare;
    s->rig.logged = note_warning;
    rig_open(&s->rig);
    s->client = rig_connect(&s->rig, "alice");
    rig_send(&s->rig, s->client, HELLO_WITH("\"subscribe\""));
    last_warning[0] = '\0';
    return 0;
}

static int begin_confined(void **state)
{
    confines = true;
    able = NULL;
    return begin(state);
}

static int end(void **state)
{
    (void)state;
    confines = false;
    rig_stop(&s->rig);
    free(s);
    return 0;
}

/* ---- workers ---- */

typedef struct offers {
    uint64_t capacity;
    const char *boot_id;
    const char *name;    /* of the agent; NULL: "train" */
    uint8_t hash;        /* the first byte of the row's */
    const char *allowed; /* the glob of the token; NULL: there is none */
} offers;

static arcp__worker_life life_of(const char *name, const char *instance)
{
    return (arcp__worker_life){arcp_span_cstr(name), arcp_span_cstr(instance)};
}

/* A worker says hello with the job of `claim` (NULL: with none), and is ready if it was taken. */
static bool join_with(const char *name, const char *instance, offers what,
                      const arcp__worker_claim *claim, arcp__job **claimed)
{
    const arcp__worker_agent agent = {.name =
                                          arcp_span_cstr(what.name == NULL ? "train" : what.name),
                                      .mode = ARCP_SPAN_LITERAL("arcp"),
                                      .hash = {what.hash},
                                      .host = &hosts[name[0] - 'a']};
    const arcp__worker_intro intro = {.life = life_of(name, instance),
                                      .version = ARCP_SPAN_LITERAL("1.2.3"),
                                      .boot_id = arcp_span_cstr(what.boot_id),
                                      .work = ARCP_SPAN_LITERAL("/srv/jobs"),
                                      .pid = 42,
                                      .capacity = what.capacity,
                                      .agents = &agent,
                                      .agent_count = 1,
                                      .allowed = &what.allowed,
                                      .allowed_count = what.allowed == NULL ? 0 : 1};
    const bool has_joined = arcp__engine_worker_joins(s->rig.engine, s->rig.now, &intro);
    if (has_joined && claim != NULL) {
        assert_int_equal(arcp__engine_worker_claims(s->rig.engine, s->rig.now, intro.life, claim,
                                                    agent.host, claimed),
                         ARCP__CLAIM_GO_ON);
    }
    if (has_joined) {
        arcp__engine_worker_ready(s->rig.engine, s->rig.now, intro.life);
    }
    rig_run(&s->rig);
    return has_joined;
}

static bool join(const char *name, const char *instance, offers what)
{
    return join_with(name, instance, what, NULL, NULL);
}

static void leave(const char *name, const char *instance)
{
    arcp__engine_worker_away(s->rig.engine, s->rig.now, life_of(name, instance));
    rig_run(&s->rig);
}

static void drain(const char *name)
{
    arcp__engine_worker_drains(s->rig.engine, s->rig.now, life_of(name, ""));
    rig_run(&s->rig);
}

/* The worker does not take the job that was given to it last. */
static void refuse(const arcp__job *job)
{
    rig_agent *agent = rig_agent_of(&s->rig, job->id);
    assert_non_null(agent);
    assert_true(agent->starting);
    agent->forgotten = true;
    arcp__engine_agent_refused(s->rig.engine, s->rig.now, agent->job);
    rig_run(&s->rig);
}

/* ---- jobs ---- */

static arcp__job *newest_job(void)
{
    arcp__job *newest = NULL;
    for (arcp__job *job = s->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        newest = newest == NULL || strcmp(job->id, newest->id) > 0 ? job : newest;
    }
    return newest;
}

static arcp__job *submit_as(rig_client *client, const char *payload)
{
    char frame[400];
    static unsigned requests;
    (void)snprintf(frame, sizeof frame, FRAME("s%u", "job.submit", "%s"), requests++, payload);
    rig_send(&s->rig, client, frame);
    return newest_job();
}

static arcp__job *submit(void)
{
    return submit_as(s->client, "{\"agent\":\"train\"}");
}

/* The name of the worker that has the job; "-" while it has none. */
static const char *where(const arcp__job *job)
{
    return job->live == NULL || job->live->numbers == NULL ? "-" : job->live->numbers->worker;
}

static void exits(const arcp__job *job)
{
    rig_agent_exits(&s->rig, rig_agent_of(&s->rig, job->id), false, 0);
}

/* Whether a submit of the agent is refused with this code. */
static bool is_refused(const char *agent, const char *code)
{
    char payload[100];
    (void)snprintf(payload, sizeof payload, "{\"agent\":\"%s\"}", agent);
    (void)scene_takes(s, "");
    (void)submit_as(s->client, payload);
    return scene_takes(s, code) == 1;
}

/* ---- where jobs run ---- */

static void a_job_runs_on_a_worker_that_offers_its_agent(void **state)
{
    (void)state;
    assert_true(is_refused("train", "AGENT_NOT_AVAILABLE"));
    assert_true(join("a", "1", (offers){.capacity = 2}));
    const arcp__job *job = submit();
    assert_string_equal(where(job), "a");
    assert_string_equal(job->live->numbers->instance, "1");
    assert_ptr_equal(job->live->host, &hosts[0]);
    assert_string_equal(job->live->cwd + strlen("/srv/jobs/"), job->id);
    assert_int_equal(job->status, ARCP_JOB_RUNNING);
    exits(job);
    assert_int_equal(job->status, ARCP_JOB_SUCCESS);
}

static void jobs_are_spread_and_the_others_wait(void **state)
{
    (void)state;
    assert_true(join("b", "1", (offers){.capacity = 1}));
    assert_true(join("a", "1", (offers){.capacity = 2}));
    const arcp__job *const jobs[] = {submit(), submit(), submit(), submit()};
    const char *const expected[] = {"a", "b", "a", "-"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(where(jobs[i]), expected[i]);
    }
    assert_int_equal(arcp__job_queue_place(jobs[3]), 1);
    assert_int_equal(scene_takes(s, "\"phase\":\"queued\""), 1);
    exits(jobs[1]);
    assert_string_equal(where(jobs[3]), "b");
    assert_int_equal(jobs[3]->status, ARCP_JOB_RUNNING);
}

static void agents_of_the_configuration_hide_those_of_workers(void **state)
{
    (void)state;
    arcp__worker_agent_view view;
    assert_true(join("a", "1", (offers){.capacity = 2, .name = "echo"}));
    assert_string_equal(where(submit_as(s->client, "{\"agent\":\"echo\"}")), "-");
    assert_true(arcp__engine_worker_agent_view(s->rig.engine, 0, 0, &view));
    assert_true(view.is_hidden);
    assert_false(arcp__engine_worker_agent_view(s->rig.engine, 0, 1, &view));
    rig_drop(&s->rig, s->client);
    s->client = rig_connect(&s->rig, "alice");
    rig_send(&s->rig, s->client, HELLO_WITH("\"agent_versions\""));
    char *welcome = rig_take(s->client);
    const char *first = strstr(welcome, "\"name\":\"echo\"");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\"name\":\"echo\""));
    arcp_free(welcome);
}

static void sessions_hear_of_the_agents_of_workers(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    rig_client *other = rig_connect(&s->rig, "bob");
    rig_send(&s->rig, other, HELLO_OF("bob", "\"agent_versions\""));
    char *welcome = rig_take(other);
    assert_non_null(strstr(welcome, "\"name\":\"train\""));
    arcp_free(welcome);
}

static void an_offer_that_the_token_does_not_allow_is_refused(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1, .allowed = "infer*"}));
    assert_non_null(strstr(last_warning, "train"));
    assert_true(is_refused("train", "AGENT_NOT_AVAILABLE"));
    assert_true(join("a", "1", (offers){.capacity = 1, .allowed = "tr*"}));
    assert_string_equal(where(submit()), "a");
}

static void an_agent_with_a_bad_name_is_refused(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1, .name = "Not A Name"}));
    assert_non_null(strstr(last_warning, "not valid"));
}

static void rows_that_differ_are_marked(void **state)
{
    (void)state;
    arcp__worker_agent_view view;
    assert_true(join("a", "1", (offers){.capacity = 1, .hash = 1}));
    assert_true(join("b", "1", (offers){.capacity = 1, .hash = 1}));
    assert_true(arcp__engine_worker_agent_view(s->rig.engine, 0, 0, &view));
    assert_false(view.is_unlike);
    assert_string_equal(last_warning, "");
    assert_true(join("c", "1", (offers){.capacity = 1, .hash = 2}));
    assert_non_null(strstr(last_warning, "different rows"));
    assert_true(arcp__engine_worker_agent_view(s->rig.engine, 0, 0, &view));
    assert_true(view.is_unlike);
}

/* ---- enforce.min ---- */

static void a_job_goes_to_a_worker_that_can_enforce_its_lease(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 2}));
    assert_true(join("b", "1", (offers){.capacity = 2}));
    able = &hosts[1];
    const arcp__job *job = submit();
    assert_string_equal(where(job), "b");
    assert_string_equal(where(submit()), "b");
    const arcp__job *third = submit(); /* the other worker has places */
    assert_string_equal(where(third), "-");
    exits(job);
    assert_string_equal(where(third), "b");
}

static void a_job_that_no_worker_can_enforce_is_refused(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 2}));
    able = &hosts[1];
    assert_true(is_refused("train", "PERMISSION_DENIED"));
    assert_true(join("b", "1", (offers){.capacity = 1}));
    leave("b", "1");
    assert_string_equal(where(submit()), "-"); /* it waits for the one that can */
    assert_true(join("b", "1", (offers){.capacity = 1}));
    assert_string_equal(where(newest_job()), "b");
}

/* ---- workers that are away ---- */

static void jobs_wait_for_a_worker_that_is_away(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    leave("a", "1");
    rig_clock(&s->rig, (KEEP_SEC + 10) * ARCP_NS_PER_SEC - 1);
    const arcp__job *job = submit();
    assert_string_equal(where(job), "-");
    assert_int_equal(job->status, ARCP_JOB_PENDING);
    rig_clock(&s->rig, 1); /* it is lost now */
    assert_true(is_refused("train", "AGENT_NOT_AVAILABLE"));
    assert_int_equal(job->status, ARCP_JOB_PENDING);
    assert_true(join("a", "2", (offers){.capacity = 1}));
    assert_string_equal(where(job), "a");
    assert_string_equal(job->live->numbers->instance, "2");
}

static void a_queued_job_outlives_a_restart_in_its_place(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    const arcp__job *running = submit();
    char ids[3][64];
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%s", submit()->id);
    }
    exits(running);
    assert_string_equal(where(newest_job()), "-");
    disk_crash(&s->disk);
    rig_restart(&s->rig);
    rig_reload(&s->rig); /* which ends jobs of agents that the configuration has no more */
    rig_run(&s->rig);
    for (size_t i = 1; i < 3; i++) {
        const arcp__job *job = arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(ids[i]));
        assert_int_equal(arcp__job_queue_place(job), i);
    }
    assert_true(join("b", "1", (offers){.capacity = 1}));
    const arcp__job *second = arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(ids[1]));
    assert_string_equal(where(second), "b");
    /* The first one is on the worker that is away. */
    const arcp__job *first = arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(ids[0]));
    assert_string_equal(where(first), "a");
    rig_clock(&s->rig, (KEEP_SEC + 10) * ARCP_NS_PER_SEC);
    assert_int_equal(first->status, ARCP_JOB_ERROR);
    assert_int_equal(second->status, ARCP_JOB_RUNNING);
}

/* The child is still one for which its parent lends its place. */
static void a_queued_child_outlives_a_restart_with_its_parent(void **state)
{
    char id[64];
    arcp__job *parent = NULL;
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    arcp__job *job = submit_as(s->client, "{\"agent\":\"train\",\"lease_request\":{"
                                          "\"agent.delegate\":[\"train\"]}}");
    (void)snprintf(id, sizeof id, "%s", job->id);
    drain("a");
    arcp__engine_agent_line(s->rig.engine, s->rig.now, job, 1, ARCP_SPAN_LITERAL(DELEGATE));
    rig_run(&s->rig);
    assert_string_equal(where(newest_job()), "-");
    disk_crash(&s->disk);
    rig_restart(&s->rig);
    const arcp__worker_claim claim = {
        .job = arcp_span_cstr(id), .items_first = 2, .stored = 1, .errors_first = 1};
    assert_true(join_with("a", "1", (offers){.capacity = 1}, &claim, &parent));
    assert_non_null(parent);
    const arcp__job *child = newest_job();
    assert_string_equal(child->parent_id, id);
    assert_string_equal(where(child), "a");
}

static void a_queued_job_times_out(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    leave("a", "1");
    const arcp__job *job = submit();
    rig_clock(&s->rig, (int64_t)s->rig.settings.jobs_queue_sec * ARCP_NS_PER_SEC);
    assert_int_equal(job->status, ARCP_JOB_TIMED_OUT);
}

/* ---- lives ---- */

static void a_second_life_is_refused_unless_the_first_one_drains(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 2}));
    const arcp__job *old = submit();
    assert_false(join("a", "2", (offers){.capacity = 2}));
    drain("a");
    assert_true(join("a", "2", (offers){.capacity = 2}));
    const arcp__job *fresh = submit();
    assert_string_equal(fresh->live->numbers->instance, "2");
    assert_string_equal(old->live->numbers->instance, "1");
    exits(old);
    assert_int_equal(old->status, ARCP_JOB_SUCCESS);
}

static void a_worker_that_drains_gets_no_new_jobs(void **state)
{
    (void)state;
    arcp__worker_view view;
    assert_true(join("a", "1", (offers){.capacity = 2}));
    drain("a");
    const arcp__job *job = submit();
    assert_string_equal(where(job), "-");
    assert_true(arcp__engine_worker_view(s->rig.engine, 0, &view));
    assert_true(view.is_draining);
    assert_int_equal(view.drains_wall_ns, s->rig.now.wall_ns);
    leave("a", "1"); /* and it goes on with that when it is back */
    assert_true(join("a", "1", (offers){.capacity = 2}));
    assert_string_equal(where(job), "-");
}

/* A worker on the same boot has ended the programs of the lives before it. */
static void a_new_life_on_the_same_boot_says_that_the_old_one_is_dead(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1, .boot_id = "x"}));
    const arcp__job *job = submit();
    leave("a", "1");
    assert_true(join("a", "2", (offers){.capacity = 1, .boot_id = "x"}));
    assert_int_equal(job->status, ARCP_JOB_ERROR);
    const arcp__job *other = submit();
    leave("a", "2");
    assert_true(join("a", "3", (offers){.capacity = 1, .boot_id = "y"}));
    assert_int_equal(other->status, ARCP_JOB_RUNNING);
}

static void the_jobs_of_each_worker_are_lost_on_their_own(void **state)
{
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    assert_true(join("b", "1", (offers){.capacity = 1}));
    const arcp__job *first = submit();
    const arcp__job *second = submit();
    arcp__engine_worker_lost(s->rig.engine, s->rig.now, life_of("a", "")); /* forget */
    rig_run(&s->rig);
    assert_int_equal(first->status, ARCP_JOB_ERROR);
    assert_int_equal(second->status, ARCP_JOB_RUNNING);
    leave("b", "1");
    rig_clock(&s->rig, (KEEP_SEC + 10) * ARCP_NS_PER_SEC);
    assert_int_equal(second->status, ARCP_JOB_ERROR);
    arcp__worker_view view;
    assert_false(arcp__engine_worker_view(s->rig.engine, 0, &view));
}

/* ---- jobs that a worker does not take ---- */

static void a_job_that_is_not_taken_goes_to_another_worker(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    assert_true(join("b", "1", (offers){.capacity = 1}));
    const arcp__job *job = submit();
    assert_string_equal(where(job), "a");
    refuse(job);
    assert_string_equal(where(job), "b");
    assert_int_equal(job->agent_state, ARCP__AGENT_STARTING);
    rig_agent_started(&s->rig, rig_agent_of(&s->rig, job->id));
    exits(job);
    assert_int_equal(job->status, ARCP_JOB_SUCCESS);
}

static void a_job_that_is_not_taken_is_the_next_one_again(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    const arcp__job *first = submit();
    const arcp__job *second = submit();
    (void)scene_takes(s, "");
    refuse(first);
    assert_int_equal(arcp__job_queue_place(first), 1);
    assert_int_equal(arcp__job_queue_place(second), 2);
    assert_int_equal(scene_takes(s, "\"phase\":\"queued\""), 1);
    rig_clock(&s->rig, 5 * ARCP_NS_PER_SEC - 1);
    assert_string_equal(where(first), "-");
    rig_clock(&s->rig, 1); /* the worker is tried again */
    assert_string_equal(where(first), "a");
    assert_string_equal(where(second), "-");
    refuse(first);
    assert_int_equal(scene_takes(s, "\"phase\":\"queued\""), 0); /* it has that event */
}

static void a_job_that_was_not_taken_outlives_a_restart(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    char id[64];
    (void)snprintf(id, sizeof id, "%s", submit()->id);
    (void)submit();
    refuse(newest_job() == NULL ? NULL : arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(id)));
    disk_crash(&s->disk);
    rig_restart(&s->rig);
    const arcp__job *job = arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(id));
    assert_int_equal(arcp__job_queue_place(job), 1);
    assert_true(join("b", "1", (offers){.capacity = 1}));
    assert_string_equal(where(job), "b");
}

static void a_job_whose_start_was_lost_is_started_after_a_restart(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    char id[64];
    (void)snprintf(id, sizeof id, "%s", submit()->id);
    disk_crash(&s->disk);
    rig_restart(&s->rig);
    assert_true(join("a", "1", (offers){.capacity = 1})); /* it knows nothing of the job */
    const rig_agent *agent = rig_agent_of(&s->rig, id);
    assert_non_null(agent);
    assert_ptr_equal(agent->job->live->host, &hosts[0]);
}

static void a_cancelled_job_that_is_not_taken_ends_so(void **state)
{
    char frame[200];
    (void)state;
    s->rig.hold_start = true;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    const arcp__job *job = submit();
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"), job->id);
    rig_send(&s->rig, s->client, frame);
    rig_agent *agent = rig_agent_of(&s->rig, job->id);
    arcp__engine_agent_refused(s->rig.engine, s->rig.now, agent->job);
    rig_run(&s->rig);
    assert_int_equal(job->status, ARCP_JOB_CANCELLED);
}

/* ---- many ---- */

/* 100 jobs for 3 places on two workers: 60 of one principal, 10 of each of four others. */
static void a_hundred_jobs_of_five_principals_start_in_turn(void **state)
{
    static const char *const names[] = {"alice", "bob", "carol", "dave", "erin"};
    static const char *const hellos[] = {NULL, HELLO_OF("bob", ""), HELLO_OF("carol", ""),
                                         HELLO_OF("dave", ""), HELLO_OF("erin", "")};
    rig_client *clients[5] = {s->client};
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    assert_true(join("b", "1", (offers){.capacity = 2}));
    for (size_t i = 1; i < 5; i++) {
        clients[i] = rig_connect(&s->rig, names[i]);
        rig_send(&s->rig, clients[i], hellos[i]);
    }
    for (size_t i = 0; i < 100; i++) {
        (void)submit_as(clients[i < 60 ? 0 : 1 + (i - 60) / 10], "{\"agent\":\"train\"}");
    }
    assert_int_equal(s->rig.agent_count, 3);
    for (size_t ended = 0; ended < 100; ended++) {
        assert_int_equal(s->rig.agent_count, ended + 3 < 100 ? ended + 3 : 100);
        rig_agent_exits(&s->rig, &s->rig.agents[ended], false, 0);
    }
    for (size_t i = 0; i < 100; i++) {
        const arcp__job *job =
            arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(s->rig.agents[i].job_id));
        const size_t expected = i < 3 || i >= 53 ? 0 : (i - 3) % 5;
        assert_string_equal(job->principal->name, names[expected]);
        assert_int_equal(job->status, ARCP_JOB_SUCCESS);
    }
}

/* Three parents have all three places, and each waits for a child of the same agent. */
static void parents_that_have_all_places_get_their_children(void **state)
{
    const arcp__job *parents[3];
    (void)state;
    assert_true(join("a", "1", (offers){.capacity = 1}));
    assert_true(join("b", "1", (offers){.capacity = 2}));
    for (size_t i = 0; i < 3; i++) {
        parents[i] = submit_as(s->client, "{\"agent\":\"train\",\"lease_request\":{"
                                          "\"agent.delegate\":[\"train\"]}}");
    }
    for (size_t i = 0; i < 3; i++) {
        rig_agent_writes(&s->rig, rig_agent_of(&s->rig, parents[i]->id), DELEGATE);
    }
    assert_int_equal(s->rig.agent_count, 6);
    for (size_t i = 3; i < 6; i++) {
        rig_agent_writes(&s->rig, &s->rig.agents[i], RESULT);
        rig_agent_exits(&s->rig, &s->rig.agents[i], false, 0);
    }
    for (size_t i = 0; i < 3; i++) {
        rig_agent_writes(&s->rig, rig_agent_of(&s->rig, parents[i]->id), RESULT);
        assert_int_equal(parents[i]->status, ARCP_JOB_SUCCESS);
    }
}

static void what_becomes_of_a_worker_is_audited(void **state)
{
    (void)state;
    assert_true(join("a", "7", (offers){.capacity = 1}));
    assert_non_null(strstr(s->rig.last_audit, "\"event\":\"worker\",\"decision\":\"joined\""));
    assert_non_null(strstr(s->rig.last_audit, "\"target\":\"a\""));
    assert_non_null(strstr(s->rig.last_audit, "\"instance\":\"7\""));
    drain("a");
    assert_non_null(strstr(s->rig.last_audit, "\"decision\":\"drained\""));
    leave("a", "7");
    assert_non_null(strstr(s->rig.last_audit, "\"decision\":\"left\""));
    rig_clock(&s->rig, (KEEP_SEC + 10) * ARCP_NS_PER_SEC);
    assert_non_null(strstr(s->rig.last_audit, "\"decision\":\"lost\""));
}

static void operators_see_workers(void **state)
{
    (void)state;
    arcp__worker_view view;
    arcp_buf text = arcp_buf_init();
    assert_true(join("a", "1", (offers){.capacity = 1}));
    (void)submit();
    (void)submit();
    assert_true(arcp__engine_worker_view(s->rig.engine, 0, &view));
    assert_string_equal(view.name, "a");
    assert_string_equal(view.version, "1.2.3");
    assert_int_equal(view.state, ARCP__WORKER_JOINED);
    assert_int_equal(view.jobs, 1);
    assert_int_equal(view.capacity, 1);
    assert_int_equal(view.pid, 42);
    assert_int_equal(view.agents, 1);
    assert_false(view.is_draining);
    leave("a", "1");
    arcp__engine_write_state(s->rig.engine, s->rig.now, 100, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_non_null(strstr(text.data, "{\"kind\":\"worker\",\"name\":\"a\",\"instance\":\"1\","
                                      "\"state\":\"away\",\"draining\":false"));
    assert_non_null(strstr(text.data, "a place on a worker that offers its agent: it is number 1"));
    arcp_buf_fini(&text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_job_runs_on_a_worker_that_offers_its_agent),
        TEST(jobs_are_spread_and_the_others_wait),
        TEST(agents_of_the_configuration_hide_those_of_workers),
        TEST(sessions_hear_of_the_agents_of_workers),
        TEST(an_offer_that_the_token_does_not_allow_is_refused),
        TEST(an_agent_with_a_bad_name_is_refused),
        TEST(rows_that_differ_are_marked),
        cmocka_unit_test_setup_teardown(a_job_goes_to_a_worker_that_can_enforce_its_lease,
                                        begin_confined, end),
        cmocka_unit_test_setup_teardown(a_job_that_no_worker_can_enforce_is_refused, begin_confined,
                                        end),
        TEST(jobs_wait_for_a_worker_that_is_away),
        TEST(a_queued_job_outlives_a_restart_in_its_place),
        TEST(a_queued_child_outlives_a_restart_with_its_parent),
        TEST(a_queued_job_times_out),
        TEST(a_second_life_is_refused_unless_the_first_one_drains),
        TEST(a_worker_that_drains_gets_no_new_jobs),
        TEST(a_new_life_on_the_same_boot_says_that_the_old_one_is_dead),
        TEST(the_jobs_of_each_worker_are_lost_on_their_own),
        TEST(a_job_that_is_not_taken_goes_to_another_worker),
        TEST(a_job_that_is_not_taken_is_the_next_one_again),
        TEST(a_job_that_was_not_taken_outlives_a_restart),
        TEST(a_job_whose_start_was_lost_is_started_after_a_restart),
        TEST(a_cancelled_job_that_is_not_taken_ends_so),
        TEST(a_hundred_jobs_of_five_principals_start_in_turn),
        TEST(parents_that_have_all_places_get_their_children),
        TEST(what_becomes_of_a_worker_is_audited),
        TEST(operators_see_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
