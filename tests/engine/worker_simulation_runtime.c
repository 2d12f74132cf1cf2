/* The runtime of the simulation: an engine on a store that a crash leaves with what was written, or
 * with less. */
#include "engine/worker_simulation.h"

#include "base/alloc.h"
#include "engine/frames.h"

#define LEASE                                                                                      \
    "{\"agent\":\"%s\",\"lease_request\":{\"cost.budget\":[\"USD:1000\"],\"tool.call\":[\"x\"],"   \
    "\"agent.delegate\":[\"%s\"]}}"

/* ---- what the engine has the workers do ---- */

/* The worker that the job was given to; NULL: that life has no link. */
static simulated_worker *worker_of(simulation *s, const arcp__job *job)
{
    for (size_t i = 0; i < s->setup.workers; i++) {
        simulated_worker *w = &s->workers[i];
        if (job->live != NULL && job->live->numbers != NULL &&
            strcmp(job->live->numbers->worker, w->name) == 0 &&
            strcmp(job->live->numbers->instance, w->linked_instance) == 0) {
            return w;
        }
    }
    return NULL;
}

static void send_to_job(simulation *s, const arcp__effect *effect, arcp__worker_message *message)
{
    simulated_worker *w = worker_of(s, effect->job);
    if (w != NULL && simulation_has_joined(w)) {
        message->forget.job = arcp_span_cstr(effect->job->id); /* all of these begin with it */
        link_post(&w->link, &w->link.down, &s->chance, simulation_now(s), message);
    }
}

static void start_job(simulation *s, const arcp__effect *effect)
{
    const arcp_span id = arcp_span_cstr(effect->job->id);
    arcp__worker_message message = {.kind = ARCP__WORKER_START, .body = effect->text};
    simulated_worker *w = worker_of(s, effect->job);
    simulation_expect(s, w != NULL && simulation_has_joined(w),
                      "a job is started on a worker that is not there");
    simulation_expect(s, effect->job->live->host != NULL, "a job is started without an agent");
    if (s->chance.problem == NULL) {
        assert_true(arcp__worker_peer_add(w->peer, id, effect->job));
        message.start.agent = arcp_span_cstr(effect->job->agent_text);
        send_to_job(s, effect, &message);
    }
}

static void on_effect(void *user, const arcp__effect *effect)
{
    simulation *s = user;
    arcp__worker_message message = {.body = {NULL, 0}};
    if (effect->kind == ARCP__EFFECT_START_AGENT) {
        start_job(s, effect);
    } else if (effect->kind == ARCP__EFFECT_AGENT_LINE ||
               effect->kind == ARCP__EFFECT_CANCEL_AGENT) {
        message = (arcp__worker_message){.kind = ARCP__WORKER_LINE,
                                         .line = {.at = effect->from, .answers_to = effect->id},
                                         .body = effect->text};
        send_to_job(s, effect, &message);
    } else if (effect->kind == ARCP__EFFECT_KILL_AGENT) {
        message = (arcp__worker_message){.kind = ARCP__WORKER_KILL, .kill = {.at_once = true}};
        send_to_job(s, effect, &message);
    } else if (effect->kind == ARCP__EFFECT_FORGET_AGENT) {
        const simulated_worker *w = worker_of(s, effect->job);
        if (w != NULL && w->peer != NULL) {
            arcp__worker_peer_forget(w->peer, arcp_span_cstr(effect->job->id));
        }
    }
}

/* ---- the queue ---- */

/* A submitted job never starts before an older one of its principal and agent that waits. Delegated
 * ones have their ids before they have waited for a credential. */
static void check_order(simulation *s)
{
    for (arcp__job *job = s->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        program *p = simulation_program(s, arcp_span_cstr(job->id));
        p->is_child = job->parent_id[0] != '\0';
        const bool is_queued = job->agent_state == ARCP__AGENT_QUEUED;
        const bool has_begun =
            p->was_queued && !p->is_child && job->agent_state == ARCP__AGENT_STARTING;
        for (const arcp__job *other = s->rig.engine->jobs.all; has_begun && other != NULL;
             other = other->hh.next) {
            simulation_expect(s,
                              other->agent_state != ARCP__AGENT_QUEUED ||
                                  other->principal != job->principal ||
                                  strcmp(other->agent_text, job->agent_text) != 0 ||
                                  strcmp(other->id, job->id) > 0,
                              "a job starts before an older one");
        }
        p->was_queued = is_queued;
    }
}

/* Parents keep their places while they wait for children. */
static void take_back_places(simulation *s)
{
    for (arcp__job *job = s->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        arcp__place *place = job->live == NULL ? NULL : &job->live->place;
        if (place != NULL && place->state == ARCP__PLACE_LENT) {
            const unsigned children = place->children;
            while (place->children != 0) {
                arcp__place_return(place);
            }
            place->children = children;
        }
    }
}

void simulation_run_engine(simulation *s)
{
    rig_run(&s->rig);
    if (s->fault == FAULT_NO_LENDING) {
        take_back_places(s);
    }
    if (s->setup.offers) {
        check_order(s);
    }
}

/* ---- its life ---- */

static void prepare(void *user, arcp__engine_options *options)
{
    const simulation *s = user;
    options->worker_keep_sec = s->fault == FAULT_NO_MARGIN ? 0 : KEEP_SEC;
    if (s->setup.prepare != NULL) {
        s->setup.prepare(s->setup.user, options);
    }
}

/* Jobs of several agents belong to two principals in turn. */
static void submit_jobs(simulation *s)
{
    rig_client *clients[] = {rig_connect(&s->rig, "a"), rig_connect(&s->rig, "c")};
    const char *agent = s->setup.offers ? "train" : "echo";
    const char *child = s->setup.offers ? "chore" : "work";
    const char *features = "\"progress\",\"cost.budget\",\"provisioned_credentials\"";
    for (size_t i = 0; i < 2; i++) {
        char hello[400];
        (void)snprintf(hello, sizeof hello, HELLO_OF("%s", "%s"), i == 0 ? "alice" : "carol",
                       features);
        rig_send(&s->rig, clients[i], hello);
    }
    for (size_t i = 0; i < s->setup.parents; i++) {
        char request[400];
        (void)snprintf(request, sizeof request, FRAME("s%zu", "job.submit", LEASE), i, agent,
                       child);
        rig_send(&s->rig, clients[s->setup.offers ? i % 2 : 0], request);
    }
    for (const arcp__job *job = s->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        (void)simulation_program(s, arcp_span_cstr(job->id));
    }
    assert_int_equal(s->program_count, s->setup.parents);
    rig_drop(&s->rig, clients[0]);
    rig_drop(&s->rig, clients[1]);
    s->first_backup = s->disk.history_count;
}

void simulation_begin_runtime(simulation *s)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.session_resume_window_sec = 2592000;
    rig_begin(&s->rig, &settings);
    disk_init(&s->disk);
    s->disk.keeps_history = true;
    s->rig.store = &s->disk.store;
    s->rig.worker = s->setup.offers ? NULL : "w";
    s->rig.hold_start = true;
    s->rig.prepare = prepare;
    s->rig.prepare_user = s;
    s->rig.on_effect = on_effect;
    s->rig.on_effect_user = s;
    simulation_attach_upstream(s);
    rig_open(&s->rig);
    for (size_t i = 0; s->setup.offers && i < s->setup.workers; i++) {
        simulation_introduce(&s->workers[i]);
    }
    submit_jobs(s);
    s->disk.is_held = true;
    s->is_up = true;
}

void simulation_end_runtime(simulation *s)
{
    for (size_t i = 0; i < s->setup.workers; i++) {
        simulated_worker *w = &s->workers[i];
        arcp__worker_peer_free(w->peer);
        link_drop(&w->link);
        arcp__worker_core_free(w->core);
    }
    rig_stop(&s->rig);
}

/* A delegation that has no reply yet. */
static bool waits_for_child(const simulation *s, const program *p)
{
    for (uint64_t item = 1; item <= p->items && item <= p->written; item++) {
        if (simulation_kind_of(s, p, item) == KIND_DELEGATE && p->replies[item] == 0) {
            return true;
        }
    }
    return false;
}

/* Nothing is promised of jobs that the worker does not have: they may have ended after the backup,
 * or not have reached the worker; nor of one that waits for a child that was made after the backup.
 */
static void forget_ended(simulation *s)
{
    for (size_t i = 0; i < s->program_count; i++) {
        program *p = &s->programs[i];
        p->is_exempt = p->is_exempt || waits_for_child(s, p);
        if (p->job == NULL) {
            p->is_exempt = true;
            p->is_killed = false;
            p->starts = 0;
            p->written = 0;
            memset(p->replies, 0, sizeof p->replies);
        }
    }
}

void simulation_crash(simulation *s, bool has_older_store)
{
    for (size_t i = 0; i < s->setup.workers; i++) {
        simulation_cut(&s->workers[i]);
        arcp__worker_peer_free(s->workers[i].peer);
        s->workers[i].peer = NULL;
    }
    s->is_up = false;
    simulation_crash_upstream(s);
    s->up_ns =
        simulation_now(s) + chance_draw_ns(&s->chance, simulation_draw(s, 8) == 0 ? 25000 : 3000);
    disk_crash(&s->disk);
    if (has_older_store) {
        forget_ended(s);
        simulation_forget_values(s);
        const size_t newer = s->disk.history_count - s->first_backup;
        disk_go_back(&s->disk, s->first_backup + (size_t)simulation_draw(s, newer + 1));
    }
}

static void start_again(simulation *s)
{
    rig_restart(&s->rig);
    s->disk.is_held = true;
    s->is_up = true;
    for (size_t i = 0; i < s->program_count; i++) {
        s->programs[i].was_queued = false; /* the store may have it as it was before */
    }
    for (size_t i = 0; i < s->setup.workers; i++) {
        simulated_worker *w = &s->workers[i];
        w->away_ns = simulation_now(s);
        if (w->is_draining) { /* the operator says so again */
            arcp__engine_worker_drains(s->rig.engine, s->rig.now, simulation_life_of(w));
        }
    }
}

/* Whether jobs of the worker may be lost: it is away for so long. */
static bool is_late(const simulated_worker *w)
{
    return !simulation_has_joined(w) &&
           simulation_now(w->of) - w->away_ns >= (KEEP_SEC + 10) * ARCP_NS_PER_SEC;
}

/* No job is lost while its program lives; one whose program has ended may be, after that time. */
static void check_lost(simulation *s, const bool were_late[WORKERS_MAX])
{
    for (size_t i = 0; i < s->program_count; i++) {
        program *p = &s->programs[i];
        const arcp__job *job = simulation_job(s, arcp_span_cstr(p->id));
        if (job != NULL && job->status == ARCP_JOB_ERROR && !p->is_exempt && !p->is_child) {
            simulation_expect(s, !p->runs, "a job is lost while its program lives");
            /* It was given to a worker that was killed before it had the job. */
            p->is_exempt = s->setup.offers && p->starts == 0;
            for (size_t k = 0; k < s->setup.workers; k++) { /* its start may have been lost */
                p->is_exempt = p->is_exempt ||
                               ((p->worker == NULL || p->worker == &s->workers[k]) && were_late[k]);
            }
        }
    }
}

void simulation_drain(simulation *s)
{
    simulated_worker *w = &s->workers[1 + simulation_draw(s, s->setup.workers - 1)];
    if (s->is_up && !w->is_draining) {
        w->is_draining = true;
        arcp__engine_worker_drains(s->rig.engine, s->rig.now, simulation_life_of(w));
        simulation_run_engine(s);
    }
}

void simulation_run_runtime(simulation *s)
{
    bool were_late[WORKERS_MAX] = {false};
    if (!s->is_up && simulation_now(s) >= s->up_ns) {
        start_again(s);
    }
    if (!s->is_up) {
        return;
    }
    for (size_t i = 0; i < s->setup.workers; i++) {
        were_late[i] = is_late(&s->workers[i]);
    }
    simulation_run_engine(s);
    for (size_t i = 0; i < s->setup.workers; i++) {
        simulation_run_link(&s->workers[i]);
    }
    while (simulation_draw(s, 3) != 0) {
        (void)(simulation_draw(s, 2) == 0 ? disk_write(&s->disk) : disk_report(&s->disk));
        simulation_run_engine(s);
    }
    if (simulation_draw(s, 3) == 0 && simulation_answer_call(s)) {
        simulation_run_engine(s);
    }
    simulation_check_upstream(s);
    check_lost(s, were_late);
}
