/* The runtime's ends of the links of the simulation: what workers say goes to the engine. */
#include "engine/worker_simulation.h"

bool simulation_has_joined(const simulated_worker *w)
{
    return w->peer != NULL && arcp__worker_peer_has_joined(w->peer);
}

arcp__worker_life simulation_life_of(const simulated_worker *w)
{
    return (arcp__worker_life){arcp_span_cstr(w->name), arcp_span_cstr(w->linked_instance)};
}

static void send_message(void *user, const arcp__worker_message *message)
{
    simulated_worker *w = user;
    link_post(&w->link, &w->link.down, &w->of->chance, simulation_now(w->of), message);
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
    *what = answers[arcp__engine_worker_claims(s->rig.engine, s->rig.now, simulation_life_of(w),
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
    const simulated_worker *w = user;
    arcp__engine_worker_ready(w->of->rig.engine, w->of->rig.now, simulation_life_of(w));
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
    simulation *s = w->of;
    arcp__worker_reader reader = {.line_bytes_max = 100000};
    for (frame *in = NULL;
         w->peer != NULL && (in = link_arrived(&w->link.up, simulation_now(s))) != NULL;
         frame_free(in)) {
        arcp__worker_message message;
        arcp_error err = {0};
        arcp_status status = arcp__worker_message_read(&reader, ARCP__WORKER_SIDE_WORKER,
                                                       arcp_buf_span(&in->bytes), &message, &err);
        if (status == ARCP_OK) {
            status = arcp__worker_peer_receive(w->peer, simulation_now(s), &message, &err);
        }
        chance_expect_ok(&s->chance, status, "runtime", &err);
        simulation_run_engine(s);
    }
    arcp__worker_reader_fini(&reader);
}

/* ---- the link ---- */

void simulation_cut(simulated_worker *w)
{
    if (w->link.is_up || w->peer != NULL) {
        link_cut(&w->link, &w->of->chance, simulation_now(w->of));
    }
}

static void end_link(simulated_worker *w)
{
    simulation *s = w->of;
    if (arcp__worker_peer_has_joined(w->peer)) {
        w->away_ns = simulation_now(s);
    }
    arcp__worker_peer_free(w->peer);
    w->peer = NULL;
    arcp__engine_worker_away(s->rig.engine, s->rig.now, simulation_life_of(w));
    simulation_run_engine(s);
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
    w->peer = arcp__worker_peer_new(&own, simulation_now(s));
    assert_non_null(w->peer);
    link_connect(&w->link, w->core, simulation_now(s));
}

void simulation_run_link(simulated_worker *w)
{
    simulation *s = w->of;
    if (!w->link.is_up && w->peer == NULL && simulation_now(s) >= w->link.connects_ns) {
        connect(w);
    }
    take_messages(w);
    if (w->peer != NULL && w->link.is_cut && simulation_now(s) >= w->link.runtime_notices_ns) {
        end_link(w);
    }
    arcp_error err = {0};
    if (w->peer != NULL && arcp__worker_peer_due(w->peer) <= simulation_now(s) &&
        arcp__worker_peer_tick(w->peer, simulation_now(s), &err) != ARCP_OK) {
        simulation_cut(w);
        end_link(w);
    }
}

void simulation_introduce(simulated_worker *w)
{
    const simulation *s = w->of;
    const arcp__worker_hello hello = {.name = arcp_span_cstr(w->name),
                                      .instance = arcp_span_cstr(w->instance),
                                      .boot_id = {"b", 1}};
    arcp__worker_welcome welcome;
    assert_int_equal(take_hello(w, &hello, &welcome, NULL), ARCP_OK);
    arcp__engine_worker_away(s->rig.engine, s->rig.now, simulation_life_of(w));
}
