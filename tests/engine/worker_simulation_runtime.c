/* The runtime of the simulation: an engine on a store that a crash leaves with what was written, or
 * with less, and its end of the link. */
#include "engine/worker_simulation.h"

#include "base/alloc.h"
#include "engine/frames.h"

#define LEASE                                                                                      \
    "{\"agent\":\"%s\",\"lease_request\":{\"cost.budget\":[\"USD:1000\"],\"tool.call\":[\"x\"],"   \
    "\"agent.delegate\":[\"%s\"]}}"

/* ---- what the engine has the workers do ---- */

static bool has_joined(const simulated_worker *w)
{
    return w->peer != NULL && arcp__worker_peer_has_joined(w->peer);
}

/* As the runtime knows it: the worker itself may be another life already. */
static arcp__worker_life life_of(const simulated_worker *w)
{
    return (arcp__worker_life){arcp_span_cstr(w->name), arcp_span_cstr(w->linked_instance)};
}

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
    if (w != NULL && has_joined(w) && !w->is_cut) {
        message->forget.job = arcp_span_cstr(effect->job->id); /* all of these begin with it */
        simulation_post(s, &w->down, message);
    }
}

static void start_job(simulation *s, const arcp__effect *effect)
{
    const arcp_span id = arcp_span_cstr(effect->job->id);
    arcp__worker_message message = {.kind = ARCP__WORKER_START, .body = effect->text};
    simulated_worker *w = worker_of(s, effect->job);
    simulation_expect(s, w != NULL && has_joined(w),
                      "a job is started on a worker that is not there");
    if (s->problem == NULL) {
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

static void run(simulation *s)
{
    rig_run(&s->rig);
    if (s->fault == FAULT_NO_LENDING) {
        take_back_places(s);
    }
    if (s->setup.offers) {
        check_order(s);
    }
}

/* ---- what a worker says ---- */

static void send_message(void *user, const arcp__worker_message *message)
{
    simulated_worker *w = user;
    if (!w->is_cut) {
        simulation_post(w->of, &w->down, message);
    }
}

static arcp_status take_hello(void *user, const arcp__worker_hello *hello,
                              arcp__worker_welcome *welcome, arcp_error *err)
{
    simulated_worker *w = user;
    simulation *s = w->of;
    (void)snprintf(w->linked_instance, sizeof w->linked_instance, "%.*s", (int)hello->instance.size,
                   hello->instance.data);
    const arcp__worker_agent agents[] = {{.name = ARCP_SPAN_LITERAL("train"), .host = s},
                                         {.name = ARCP_SPAN_LITERAL("chore"), .host = s}};
    const arcp__worker_intro intro = {.life = {hello->name, hello->instance},
                                      .boot_id = hello->boot_id,
                                      .capacity = 1,
                                      .agents = agents,
                                      .agent_count = s->setup.offers ? 2 : 0};
    *welcome = (arcp__worker_welcome){.store = ARCP_SPAN_LITERAL("s"),
                                      .keep_ms = KEEP_SEC * UINT64_C(1000),
                                      .line_bytes = 100000,
                                      .unkept_bytes = 2000,
                                      .unkept_total_bytes = 6000};
    return arcp__engine_worker_joins(s->rig.engine, s->rig.now, &intro)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_INVALID_REQUEST, "name_in_use");
}

/* The rig has an agent for each job that it has effects of. */
static void add_agent(simulation *s, arcp__job *job)
{
    for (size_t i = s->rig.agent_count; i > 0; i--) {
        if (s->rig.agents[i - 1].job == job && !s->rig.agents[i - 1].forgotten) {
            return;
        }
    }
    assert_true(s->rig.agent_count < RIG_AGENTS_MAX);
    s->rig.agents[s->rig.agent_count++] = (rig_agent){.job = job};
}

static bool take_claim(void *user, const arcp__worker_job_row *row, arcp__worker_resumption *what,
                       void **owned)
{
    static const arcp__worker_resumption answers[] = {
        [ARCP__CLAIM_FORGET] = ARCP__WORKER_FORGET_JOB,
        [ARCP__CLAIM_GO_ON] = ARCP__WORKER_GO_ON,
        [ARCP__CLAIM_END] = ARCP__WORKER_END,
    };
    const simulated_worker *w = user;
    simulation *s = w->of;
    program *p = simulation_program(s, row->job);
    const bool says_all = s->fault != FAULT_NO_STORED;
    const arcp__worker_claim claim = {.job = row->job,
                                      .items_first = row->items_first,
                                      .stored = says_all ? row->stored : 0,
                                      .bytes_first = row->bytes_first,
                                      .errors_first = row->errors_first,
                                      .at = says_all ? row->at : 0};
    arcp__job *job = simulation_job(s, row->job);
    const bool ran = job != NULL && !arcp__job_has_ended(job);
    *what =
        answers[arcp__engine_worker_claims(s->rig.engine, s->rig.now, life_of(w), &claim, s, &job)];
    if (*what != ARCP__WORKER_FORGET_JOB) {
        add_agent(s, job);
        *owned = job;
    }
    /* Only an older store ends or does not have a job that its worker speaks of. */
    p->is_exempt = p->is_exempt || job == NULL || (ran && arcp__job_has_ended(job));
    return true;
}

static void worker_is_ready(void *user)
{
    const simulated_worker *w = user;
    arcp__engine_worker_ready(w->of->rig.engine, w->of->rig.now, life_of(w));
}

static void take_started(void *user, void *job, uint64_t pid)
{
    const simulated_worker *w = user;
    (void)pid;
    arcp__engine_agent_started(w->of->rig.engine, w->of->rig.now, job, ARCP_OK,
                               arcp_span_make(NULL, 0));
}

/* Behind all others of its principal. */
static void put_last(simulation *s, arcp__job *job)
{
    arcp__place *place = &job->live->place;
    if (place->state == ARCP__PLACE_WAITING) {
        arcp__place_agent *agent = place->agent;
        const arcp__place_kind kind = place->kind;
        agent->waiting++; /* it is kept */
        (void)arcp__place_leave(&s->rig.engine->jobs.placement, place);
        agent->waiting--;
        assert_int_equal(arcp__place_wait(&s->rig.engine->jobs.placement, place, agent, kind,
                                          job->principal, job),
                         ARCP_OK);
    }
}

static void take_refused(void *user, void *of, const arcp__worker_refused *refused)
{
    const simulated_worker *w = user;
    simulation *s = w->of;
    arcp__job *job = of;
    simulation_expect(s, s->setup.offers && refused->why == ARCP__WORKER_BUSY,
                      "a start is refused");
    for (size_t i = 0; i < s->rig.agent_count; i++) {
        rig_agent *agent = &s->rig.agents[i];
        agent->forgotten = agent->forgotten ||
                           (agent->job == job && !job->cancelling && !arcp__job_has_ended(job));
    }
    arcp__engine_agent_refused(s->rig.engine, s->rig.now, job);
    if (s->fault == FAULT_BUSY_LAST) {
        put_last(s, job);
    }
}

static void take_item(void *user, void *job, uint64_t number, arcp__worker_item what,
                      arcp_span text)
{
    const simulated_worker *w = user;
    assert_int_equal(what, ARCP__WORKER_ITEM_LINE);
    arcp__engine_agent_line(w->of->rig.engine, w->of->rig.now, job, number, text);
}

static void take_output(void *user, void *job, uint64_t end, arcp_span bytes)
{
    (void)job;
    (void)end;
    (void)bytes;
    simulation_expect(((const simulated_worker *)user)->of, false, "there is output");
}

static void take_error_line(void *user, void *job, uint64_t number, arcp_span line)
{
    take_output(user, job, number, line);
}

static void take_log(void *user, void *job, arcp_span line)
{
    take_output(user, job, 0, line);
}

static void take_exited(void *user, void *job, const arcp__worker_exited *exited, arcp_span tail)
{
    const simulated_worker *w = user;
    const arcp__agent_exit end = {
        .by_signal = exited->by_signal, .code = (int)exited->code, .stderr_tail = tail};
    arcp__engine_agent_exited(w->of->rig.engine, w->of->rig.now, job, &end);
}

static void take_got(void *user, void *job, uint64_t at)
{
    const simulated_worker *w = user;
    arcp__engine_agent_got(w->of->rig.engine, w->of->rig.now, job, at);
}

static void get_kept(void *user, void *job, arcp__worker_kept *out)
{
    simulation *s = ((const simulated_worker *)user)->of;
    arcp__engine_get_kept(s->rig.engine, job, &s->kept);
    *out = (arcp__worker_kept){.items = s->kept.items,
                               .bytes = s->kept.bytes,
                               .errors = s->kept.errors,
                               .open = s->kept.open,
                               .open_count = s->fault == FAULT_NO_OPEN ? 0 : s->kept.open_count,
                               .stored = s->kept.stored};
    if (s->fault == FAULT_EARLY_KEPT) {
        out->items = ((const arcp__job *)job)->live->numbers->item;
    }
}

static void take_messages(simulated_worker *w)
{
    static arcp__worker_reader reader;
    simulation *s = w->of;
    reader = (arcp__worker_reader){.line_bytes_max = 100000};
    for (frame *in = NULL; w->peer != NULL && (in = simulation_arrived(s, &w->up)) != NULL;
         free(in)) {
        arcp__worker_message message;
        arcp_error err = {0};
        arcp_status status = arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_WORKER,
                                                       arcp_buf_span(&in->bytes), &message, &err);
        if (status == ARCP_OK) {
            status = arcp__worker_peer_receive(w->peer, simulation_now(s), &message, &err);
        }
        if (status != ARCP_OK && s->problem == NULL) {
            (void)snprintf(s->text, sizeof s->text, "the runtime closes the link: %.250s",
                           err.message);
            s->problem = s->text;
        }
        arcp_buf_fini(&in->bytes);
        run(s);
    }
    arcp__worker_reader_fini(&reader);
}

/* ---- the provisioner: children get a credential, so that delegations wait ---- */

static void provision(engine_rig *rig, uint64_t call_id)
{
    simulation *s = rig->upstream;
    assert_true(s->call_count < sizeof s->calls / sizeof s->calls[0]);
    s->calls[s->call_count++] = call_id;
}

static void answer_call(simulation *s)
{
    if (s->call_count == 0) {
        return;
    }
    char value[24];
    const size_t at = simulation_draw(s, s->call_count);
    const uint64_t call_id = s->calls[at];
    s->calls[at] = s->calls[--s->call_count];
    arcp_provision_request request;
    const arcp__provision_verb verb =
        arcp__engine_provision_request(s->rig.engine, call_id, &request);
    arcp_provision_result result = arcp_provision_result_init();
    result.call_id = call_id;
    result.outcome = ARCP_PROVISION_DONE;
    if (verb == ARCP__PROVISION_ISSUE) {
        result.upstream_id = ARCP_SPAN_LITERAL("u");
        (void)snprintf(value, sizeof value, "v%" PRIu64, ++s->values);
        result.value = arcp_span_cstr(value);
    }
    arcp__engine_provision_sent(s->rig.engine);
    arcp__engine_provisioned(s->rig.engine, s->rig.now, &result);
    run(s);
}

static bool seal(void *user, arcp_span alias, arcp_span value, arcp_buf *out)
{
    (void)user;
    (void)alias;
    arcp_buf_append(out, value);
    return true;
}

/* ---- its life ---- */

static void prepare(void *user, arcp__engine_options *options)
{
    const simulation *s = user;
    options->worker_keep_sec = s->fault == FAULT_NO_MARGIN ? 0 : KEEP_SEC;
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
    static const char *const agents[] = {"work", "chore"};
    static arcp_provisioner_terms terms;
    terms = arcp_provisioner_terms_init();
    terms.agents = agents;
    terms.agent_count = 2;
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
    s->rig.upstream = s;
    s->rig.provision = provision;
    s->rig.credentials = (arcp__credential_options){
        .provisioner = "p", .terms = &terms, .seal = seal, .unseal = seal, .user = s};
    rig_open(&s->rig);
    for (size_t i = 0; s->setup.offers && i < s->setup.workers; i++) {
        /* It was there before, so that the jobs are accepted. */
        simulated_worker *w = &s->workers[i];
        const arcp__worker_hello hello = {.name = arcp_span_cstr(w->name),
                                          .instance = arcp_span_cstr(w->instance),
                                          .boot_id = {"b", 1}};
        arcp__worker_welcome welcome;
        assert_int_equal(take_hello(w, &hello, &welcome, NULL), ARCP_OK);
        arcp__engine_worker_away(s->rig.engine, s->rig.now, life_of(w));
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
        simulation_drop(&w->up);
        simulation_drop(&w->down);
        arcp__worker_core_free(w->core);
    }
    rig_stop(&s->rig);
}

static void end_link(simulated_worker *w)
{
    simulation *s = w->of;
    if (arcp__worker_peer_has_joined(w->peer)) {
        w->away_ns = simulation_now(s);
    }
    arcp__worker_peer_free(w->peer);
    w->peer = NULL;
    arcp__engine_worker_away(s->rig.engine, s->rig.now, life_of(w));
    run(s);
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
    s->up_ns =
        simulation_now(s) +
        (int64_t)simulation_draw(s, simulation_draw(s, 8) == 0 ? 25000 : 3000) * ARCP_NS_PER_MS;
    disk_crash(&s->disk);
    if (has_older_store) {
        forget_ended(s);
        const size_t newer = s->disk.history_count - s->first_backup;
        disk_go_back(&s->disk, s->first_backup + (size_t)simulation_draw(s, newer + 1));
    }
}

static void start_again(simulation *s)
{
    s->call_count = 0;
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
            arcp__engine_worker_drains(s->rig.engine, s->rig.now, life_of(w));
        }
    }
}

/* Whether jobs of the worker may be lost: it is away for so long. */
static bool is_late(const simulated_worker *w)
{
    return !has_joined(w) &&
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

static void connect(simulated_worker *w)
{
    static const arcp__worker_peer_owner owner = {.send = send_message,
                                                  .hello = take_hello,
                                                  .claim = take_claim,
                                                  .ready = worker_is_ready,
                                                  .started = take_started,
                                                  .refused = take_refused,
                                                  .item = take_item,
                                                  .output = take_output,
                                                  .error_line = take_error_line,
                                                  .log = take_log,
                                                  .exited = take_exited,
                                                  .got = take_got,
                                                  .get_kept = get_kept};
    simulation *s = w->of;
    arcp__worker_peer_owner own = owner;
    own.user = w;
    simulation_drop(&w->up);
    simulation_drop(&w->down);
    w->is_cut = false;
    w->link_is_up = true;
    w->peer = arcp__worker_peer_new(&own, simulation_now(s));
    assert_non_null(w->peer);
    arcp__worker_core_connected(w->core, simulation_now(s));
}

void simulation_drain(simulation *s)
{
    simulated_worker *w = &s->workers[1 + simulation_draw(s, s->setup.workers - 1)];
    if (s->is_up && !w->is_draining) {
        w->is_draining = true;
        arcp__engine_worker_drains(s->rig.engine, s->rig.now, life_of(w));
        run(s);
    }
}

static void run_link(simulated_worker *w)
{
    simulation *s = w->of;
    if (!w->link_is_up && w->peer == NULL && simulation_now(s) >= w->connects_ns) {
        connect(w);
    }
    take_messages(w);
    if (w->peer != NULL && w->is_cut && simulation_now(s) >= w->notices_ns) {
        end_link(w);
    }
    arcp_error err = {0};
    if (w->peer != NULL && arcp__worker_peer_due(w->peer) <= simulation_now(s) &&
        arcp__worker_peer_tick(w->peer, simulation_now(s), &err) != ARCP_OK) {
        simulation_cut(w);
        end_link(w);
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
    run(s);
    for (size_t i = 0; i < s->setup.workers; i++) {
        run_link(&s->workers[i]);
    }
    while (simulation_draw(s, 3) != 0) {
        (void)(simulation_draw(s, 2) == 0 ? disk_write(&s->disk) : disk_report(&s->disk));
        run(s);
    }
    if (simulation_draw(s, 3) == 0) {
        answer_call(s);
    }
    check_lost(s, were_late);
}
