#include "engine/worker_offer_rig.h"

#include "support/check.h"

scene *s;
char offer_rig_hosts[3];
char offer_rig_warning[300];

static void note_warning(engine_rig *rig, arcp__log_level level, arcp_span text)
{
    (void)rig;
    if (level == ARCP__LOG_WARN) {
        (void)snprintf(offer_rig_warning, sizeof offer_rig_warning, "%.*s", (int)text.size,
                       text.data);
    }
}

static bool confines; /* the engines of the rig ask their hosts */
void *offer_rig_able;

static void admit(void *user, const arcp__admit_request *request, arcp__admit_answer *answer)
{
    (void)user;
    if (offer_rig_able != NULL && request->host != offer_rig_able) {
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

int offer_rig_set_up(void **state)
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
    offer_rig_warning[0] = '\0';
    return 0;
}

int offer_rig_set_up_confined(void **state)
{
    confines = true;
    offer_rig_able = NULL;
    return offer_rig_set_up(state);
}

int offer_rig_tear_down(void **state)
{
    (void)state;
    confines = false;
    rig_stop(&s->rig);
    free(s);
    return 0;
}

/* ---- workers ---- */

arcp__worker_life offer_rig_life_of(const char *name, const char *instance)
{
    return (arcp__worker_life){arcp_span_cstr(name), arcp_span_cstr(instance)};
}

bool offer_rig_join_with(const char *name, const char *instance, offers what,
                         const arcp__worker_claim *claim, arcp__job **claimed)
{
    const arcp__worker_agent agent = {.name =
                                          arcp_span_cstr(what.name == NULL ? "train" : what.name),
                                      .mode = ARCP_SPAN_LITERAL("arcp"),
                                      .hash = {what.hash},
                                      .host = &offer_rig_hosts[name[0] - 'a']};
    const arcp__worker_intro intro = {.life = offer_rig_life_of(name, instance),
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

bool offer_rig_join(const char *name, const char *instance, offers what)
{
    return offer_rig_join_with(name, instance, what, NULL, NULL);
}

void offer_rig_leave(const char *name, const char *instance)
{
    arcp__engine_worker_away(s->rig.engine, s->rig.now, offer_rig_life_of(name, instance));
    rig_run(&s->rig);
}

void offer_rig_drain(const char *name)
{
    arcp__engine_worker_drains(s->rig.engine, s->rig.now, offer_rig_life_of(name, ""));
    rig_run(&s->rig);
}

/* ---- jobs ---- */

arcp__job *offer_rig_newest_job(void)
{
    arcp__job *newest = NULL;
    for (arcp__job *job = s->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        newest = newest == NULL || strcmp(job->id, newest->id) > 0 ? job : newest;
    }
    return newest;
}

arcp__job *offer_rig_submit_as(rig_client *client, const char *payload)
{
    char frame[400];
    static unsigned requests;
    (void)snprintf(frame, sizeof frame, FRAME("s%u", "job.submit", "%s"), requests++, payload);
    rig_send(&s->rig, client, frame);
    return offer_rig_newest_job();
}

arcp__job *offer_rig_submit(void)
{
    return offer_rig_submit_as(s->client, "{\"agent\":\"train\"}");
}

const char *offer_rig_where(const arcp__job *job)
{
    return job->live == NULL || job->live->numbers == NULL ? "-" : job->live->numbers->worker;
}

void offer_rig_exits(const arcp__job *job)
{
    rig_agent_exits(&s->rig, rig_agent_of(&s->rig, job->id), false, 0);
}

bool offer_rig_is_refused(const char *agent, const char *code)
{
    char payload[100];
    (void)snprintf(payload, sizeof payload, "{\"agent\":\"%s\"}", agent);
    (void)scene_takes(s, "");
    (void)offer_rig_submit_as(s->client, payload);
    return scene_takes(s, code) == 1;
}
