/* The runtime of the simulation: an engine on a store that a crash leaves with what was written, or
 * with less, and its end of the link. */
#include "engine/worker_simulation.h"

#include "base/alloc.h"
#include "engine/frames.h"

#define LEASE                                                                                      \
    "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:1000\"],\"tool.call\":[\"x\"]," \
    "\"agent.delegate\":[\"work\"]}}"

/* ---- what the engine has the worker do ---- */

static void send_to_job(simulation *s, const arcp__effect *effect, arcp__worker_message *message)
{
    if (s->peer != NULL && arcp__worker_peer_has_joined(s->peer)) {
        message->forget.job = arcp_span_cstr(effect->job->id); /* all of these begin with it */
        simulation_post(s, &s->down, message);
    }
}

static void start_job(simulation *s, const arcp__effect *effect)
{
    const arcp_span id = arcp_span_cstr(effect->job->id);
    arcp__worker_message message = {.kind = ARCP__WORKER_START, .body = effect->text};
    simulation_expect(s, s->peer != NULL && arcp__worker_peer_has_joined(s->peer),
                      "a job is started on a worker that is not there");
    if (s->problem == NULL) {
        assert_true(arcp__worker_peer_add(s->peer, id, effect->job));
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
    } else if (effect->kind == ARCP__EFFECT_FORGET_AGENT && s->peer != NULL) {
        arcp__worker_peer_forget(s->peer, arcp_span_cstr(effect->job->id));
    }
}

/* ---- what the worker says ---- */

static void send_message(void *user, const arcp__worker_message *message)
{
    simulation *s = user;
    simulation_post(s, &s->down, message);
}

static arcp_status take_hello(void *user, const arcp__worker_hello *hello,
                              arcp__worker_welcome *welcome, arcp_error *err)
{
    simulation *s = user;
    *welcome = (arcp__worker_welcome){.store = ARCP_SPAN_LITERAL("s"),
                                      .keep_ms = KEEP_SEC * UINT64_C(1000),
                                      .line_bytes = 100000,
                                      .unkept_bytes = 2000,
                                      .unkept_total_bytes = 6000};
    return arcp__engine_worker_joins(s->rig.engine, s->rig.now, hello->name, hello->instance)
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
    simulation *s = user;
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
    *what = answers[arcp__engine_worker_claims(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"),
                                               &claim, s, &job)];
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
    simulation *s = user;
    arcp__engine_worker_ready(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"));
}

static void take_started(void *user, void *job, uint64_t pid)
{
    simulation *s = user;
    (void)pid;
    arcp__engine_agent_started(s->rig.engine, s->rig.now, job, ARCP_OK, arcp_span_make(NULL, 0));
}

static void take_refused(void *user, void *job, const arcp__worker_refused *refused)
{
    (void)job;
    (void)refused;
    simulation_expect(user, false, "a start is refused");
}

static void take_item(void *user, void *job, uint64_t number, arcp__worker_item what,
                      arcp_span text)
{
    simulation *s = user;
    assert_int_equal(what, ARCP__WORKER_ITEM_LINE);
    arcp__engine_agent_line(s->rig.engine, s->rig.now, job, number, text);
}

static void take_output(void *user, void *job, uint64_t end, arcp_span bytes)
{
    (void)job;
    (void)end;
    (void)bytes;
    simulation_expect(user, false, "there is output");
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
    simulation *s = user;
    const arcp__agent_exit end = {
        .by_signal = exited->by_signal, .code = (int)exited->code, .stderr_tail = tail};
    arcp__engine_agent_exited(s->rig.engine, s->rig.now, job, &end);
}

static void take_got(void *user, void *job, uint64_t at)
{
    simulation *s = user;
    arcp__engine_agent_got(s->rig.engine, s->rig.now, job, at);
}

static void get_kept(void *user, void *job, arcp__worker_kept *out)
{
    simulation *s = user;
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

static void take_messages(simulation *s)
{
    static arcp__worker_reader reader;
    reader = (arcp__worker_reader){.line_bytes_max = 100000};
    for (frame *in = NULL; s->peer != NULL && (in = simulation_arrived(s, &s->up)) != NULL;
         free(in)) {
        arcp__worker_message message;
        arcp_error err = {0};
        arcp_status status = arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_WORKER,
                                                       arcp_buf_span(&in->bytes), &message, &err);
        if (status == ARCP_OK) {
            status = arcp__worker_peer_receive(s->peer, simulation_now(s), &message, &err);
        }
        if (status != ARCP_OK && s->problem == NULL) {
            (void)snprintf(s->text, sizeof s->text, "the runtime closes the link: %.250s",
                           err.message);
            s->problem = s->text;
        }
        arcp_buf_fini(&in->bytes);
        rig_run(&s->rig);
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
    rig_run(&s->rig);
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

static void submit_jobs(simulation *s)
{
    rig_client *client = rig_connect(&s->rig, "a");
    rig_send(&s->rig, client,
             HELLO_WITH("\"progress\",\"cost.budget\",\"provisioned_credentials\""));
    for (size_t i = 0; i < PARENTS; i++) {
        char request[400];
        (void)snprintf(request, sizeof request, FRAME("s%zu", "job.submit", LEASE), i);
        rig_send(&s->rig, client, request);
    }
    for (char *got = NULL; (got = rig_take(client)) != NULL; arcp__free(got)) {
        const char *accepted = strstr(got, "\"type\":\"job.accepted\"");
        const char *id = accepted == NULL ? NULL : strstr(got, "\"job_id\":\"");
        if (id != NULL) {
            id += strlen("\"job_id\":\"");
            (void)simulation_program(s, arcp_span_make(id, strcspn(id, "\"")));
        }
    }
    assert_int_equal(s->program_count, PARENTS);
    rig_drop(&s->rig, client);
    s->first_backup = s->disk.history_count;
}

void simulation_begin_runtime(simulation *s)
{
    static const char *const agents[] = {"work"};
    static arcp_provisioner_terms terms;
    terms = arcp_provisioner_terms_init();
    terms.agents = agents;
    terms.agent_count = 1;
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.session_resume_window_sec = 2592000;
    rig_begin(&s->rig, &settings);
    disk_init(&s->disk);
    s->disk.keeps_history = true;
    s->rig.store = &s->disk.store;
    s->rig.worker = "w";
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
    submit_jobs(s);
    s->disk.is_held = true;
    s->is_up = true;
}

void simulation_end_runtime(simulation *s)
{
    arcp__worker_peer_free(s->peer);
    s->peer = NULL;
    rig_stop(&s->rig);
}

static void end_link(simulation *s)
{
    if (arcp__worker_peer_has_joined(s->peer)) {
        s->away_ns = simulation_now(s);
    }
    arcp__worker_peer_free(s->peer);
    s->peer = NULL;
    arcp__engine_worker_away(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"));
    rig_run(&s->rig);
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
    simulation_cut(s);
    arcp__worker_peer_free(s->peer);
    s->peer = NULL;
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
    s->away_ns = simulation_now(s);
}

/* No job is lost while its program lives; one whose program has ended may be, after that time. */
static void check_lost(simulation *s, bool is_late)
{
    for (size_t i = 0; i < s->program_count; i++) {
        program *p = &s->programs[i];
        const arcp__job *job = simulation_job(s, arcp_span_cstr(p->id));
        if (job != NULL && job->status == ARCP_JOB_ERROR && !p->is_exempt && !p->is_child) {
            simulation_expect(s, !p->runs, "a job is lost while its program lives");
            p->is_exempt = is_late;
        }
    }
}

void simulation_run_runtime(simulation *s)
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
    if (!s->is_up && simulation_now(s) >= s->up_ns) {
        start_again(s);
    }
    if (!s->is_up) {
        return;
    }
    const bool is_late = (s->peer == NULL || !arcp__worker_peer_has_joined(s->peer)) &&
                         simulation_now(s) - s->away_ns >= (KEEP_SEC + 10) * ARCP_NS_PER_SEC;
    if (!s->link_is_up && s->peer == NULL && simulation_now(s) >= s->connects_ns) {
        arcp__worker_peer_owner own = owner;
        own.user = s;
        simulation_drop(&s->up);
        simulation_drop(&s->down);
        s->is_cut = false;
        s->link_is_up = true;
        s->peer = arcp__worker_peer_new(&own, simulation_now(s));
        assert_non_null(s->peer);
        arcp__worker_core_connected(s->core, simulation_now(s));
    }
    rig_run(&s->rig);
    take_messages(s);
    if (s->peer != NULL && s->is_cut && simulation_now(s) >= s->notices_ns) {
        end_link(s);
    }
    while (simulation_draw(s, 3) != 0) {
        (void)(simulation_draw(s, 2) == 0 ? disk_write(&s->disk) : disk_report(&s->disk));
        rig_run(&s->rig);
    }
    if (simulation_draw(s, 3) == 0) {
        answer_call(s);
    }
    arcp_error err = {0};
    if (s->peer != NULL && arcp__worker_peer_due(s->peer) <= simulation_now(s) &&
        arcp__worker_peer_tick(s->peer, simulation_now(s), &err) != ARCP_OK) {
        simulation_cut(s);
        end_link(s);
    }
    check_lost(s, is_late);
}
