/* Jobs on workers: what the engine says about their agents becomes messages, and what these say
 * becomes inputs of the engine. */
#include <arcp/secret.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "hosting/confinement.h"
#include "runtime/agent_gateway.h"
#include "runtime/local_worker.h"
#include "runtime/worker_links.h"

typedef arcp__joined_worker joined_worker;

static arcp_runtime *runtime_of(const joined_worker *worker)
{
    return worker->links->runtime;
}

/* ---- what agents say ---- */

static void on_started(void *user, void *of, uint64_t pid)
{
    arcp__job *job = of;
    if (job->agent_state == ARCP__AGENT_STARTING) { /* it comes on each link */
        arcp__engine_agent_started(arcp__engine_of(job), arcp__input_of(job), job, ARCP_OK,
                                   arcp_span_make(NULL, 0));
    }
}

static bool shows_errors(const arcp__job *job)
{
    return ((const arcp__agent_entry *)job->live->host)->process.stderr_in_errors;
}

static void fail_start(arcp_runtime *runtime, arcp__job *job, arcp_status status, arcp_span why)
{
    arcp__runtime_log(runtime, job, ARCP_LOG_ERROR, "%.*s", (int)why.size,
                      why.size == 0 ? "" : why.data);
    arcp__engine_agent_started(
        arcp__engine_of(job), arcp__input_of(job), job, status,
        shows_errors(job) ? why : ARCP_SPAN_LITERAL("the agent's program cannot be started"));
}

static void on_refused(void *user, void *job, const arcp__worker_refused *refused)
{
    arcp_runtime *runtime = runtime_of(user);
    if (refused->why != ARCP__WORKER_BUSY) {
        fail_start(runtime, job, ARCP_E_INTERNAL_ERROR, refused->message);
        return;
    }
    arcp__runtime_log(runtime, job, ARCP_LOG_WARN, "the job waits: its worker takes no jobs now");
    arcp__worker_gateway_close(job);
    ((arcp__job *)job)->live->user = NULL;
    arcp__engine_agent_refused(arcp__engine_of(job), arcp__input_of(job), job);
}

static void on_item(void *user, void *of, uint64_t number, arcp__worker_item what, arcp_span text)
{
    arcp__job *job = of;
    arcp__engine *engine = arcp__engine_of(job);
    const arcp_time now = arcp__input_of(job);
    switch (what) {
    case ARCP__WORKER_ITEM_LINE:
        arcp__engine_agent_line(engine, now, job, number, text);
        break;
    case ARCP__WORKER_ITEM_TOO_LONG:
        arcp__engine_agent_line_too_long(engine, now, job, number);
        break;
    case ARCP__WORKER_ITEM_RECORD:
        arcp__confinement_record(runtime_of(user), job, number, text);
        break;
    case ARCP__WORKER_ITEMS_COUNT:
        arcp__engine_agent_noted(engine, now, job, number);
        break;
    }
    (void)arcp__shard_feed_store(arcp__shard_of(job));
}

static void on_output(void *user, void *job, uint64_t end, arcp_span bytes)
{
    arcp__engine_agent_output(arcp__engine_of(job), arcp__input_of(job), job, end, bytes);
}

static void on_error_line(void *user, void *job, uint64_t number, arcp_span line)
{
    arcp__engine_agent_error_line(arcp__engine_of(job), arcp__input_of(job), job, number, line,
                                  shows_errors(job));
}

static void on_log(void *user, void *job, arcp_span line)
{
    arcp_runtime *runtime = runtime_of(user);
    const arcp_span shown = arcp_span_first(line, 400);
    arcp__engine_agent_stderr(arcp__engine_of(job), arcp__input_of(job), job, line,
                              shows_errors(job));
    arcp__runtime_log(runtime, job, ARCP_LOG_INFO, "%.*s", (int)shown.size, shown.data);
}

static void on_log_dropped(void *user, void *job, uint64_t bytes)
{
    arcp__runtime_log(
        runtime_of(user), job, ARCP_LOG_WARN,
        "%llu bytes that its program wrote to standard error are lost: the worker had "
        "no room for them, or its jobs wrote more than 1 MiB in a second",
        (unsigned long long)bytes);
}

/* A job that the runtime itself has killed has ended already, or is cancelled. */
static arcp__agent_ended_by ended_by(arcp__worker_end why)
{
    return why == ARCP__WORKER_END_KILLED  ? ARCP__AGENT_ENDED_BY_STOP
           : why == ARCP__WORKER_END_ALONE ? ARCP__AGENT_ENDED_BY_ABSENCE
                                           : ARCP__AGENT_ENDED_BY_ITSELF;
}

static void on_exited(void *user, void *job, const arcp__worker_exited *exited, arcp_span tail)
{
    arcp_runtime *runtime = runtime_of(user);
    const arcp__agent_exit exit = {
        .by_signal = exited->by_signal,
        .code = exited->is_known ? (int)exited->code : 255,
        .stderr_tail = shows_errors(job) ? tail : arcp_span_make(NULL, 0),
        .failed_step = exited->failed_step,
        .failure = exited->failure,
        .has_run_out = exited->has_run_out,
        .is_shared = exited->is_shared,
        .ended_by = ended_by(exited->why),
    };
    arcp__confinement_failed(&runtime->hosting, exited->failed_step);
    arcp__runtime_log(runtime, job, ARCP_LOG_DEBUG,
                      "its process ended with %s %d (%s); %.3f s of CPU time, %.1f MiB",
                      exit.by_signal ? "signal" : "status", exit.code,
                      arcp__worker_end_name(exited->why),
                      (double)(exited->user_us + exited->system_us) / 1e6,
                      (double)exited->memory_bytes / 1048576.0);
    arcp__engine_agent_exited(arcp__engine_of(job), arcp__input_of(job), job, &exit);
}

static void on_got(void *user, void *job, uint64_t at)
{
    arcp__engine_agent_got(arcp__engine_of(job), arcp__input_of(job), job, at);
}

static void get_kept(void *user, void *job, arcp__worker_kept *out)
{
    const joined_worker *worker = user;
    arcp__job_kept *kept = &worker->links->kept;
    arcp__engine_get_kept(arcp__engine_of(job), job, kept);
    *out = (arcp__worker_kept){.items = kept->items,
                               .bytes = kept->bytes,
                               .errors = kept->errors,
                               .open = kept->open,
                               .open_count = kept->open_count,
                               .stored = kept->stored};
}

/* ---- jobs that it has ---- */

/* The agent of a job that an earlier runtime has started. It may be registered no more: then the
 * job has one of its own, which is offered to no other. NULL when out of memory. */
static arcp__agent_entry *entry_of(arcp_runtime *runtime, const arcp__job *job)
{
    arcp__agent_entry *entry = NULL;
    LL_FOREACH (runtime->agents, entry) {
        const size_t size = strlen(entry->name);
        const char *rest = job->agent_text + size;
        if (entry->ops == &arcp__agent_worker_host &&
            (entry->worker[0] == '\0' || strcmp(entry->worker, job->live->numbers->worker) == 0) &&
            strncmp(job->agent_text, entry->name, size) == 0 &&
            (entry->version[0] == '\0' ? rest[0] == '\0'
                                       : rest[0] == '@' && strcmp(rest + 1, entry->version) == 0)) {
            return entry;
        }
    }
    return arcp__worker_entry_new(runtime, "", job->agent_text, "");
}

/* The job may be in any shard. */
static arcp__claim_answer claim_of_any(const joined_worker *worker,
                                       const arcp__worker_claim *claimed, arcp__job **job)
{
    const arcp_runtime *runtime = runtime_of(worker);
    arcp__claim_answer answer = ARCP__CLAIM_FORGET;
    for (arcp__shard *shard = runtime->shards;
         shard != arcp__shards_end(runtime) && answer == ARCP__CLAIM_FORGET; shard++) {
        answer = arcp__engine_worker_claims(shard->engine, arcp__input_now(shard),
                                            arcp__joined_life(worker), claimed, NULL, job);
    }
    return answer;
}

static bool claim(void *user, const arcp__worker_job_row *row, arcp__worker_resumption *what,
                  void **out)
{
    const joined_worker *worker = user;
    arcp_runtime *runtime = runtime_of(worker);
    const arcp__worker_claim claimed = {.job = row->job,
                                        .items_first = row->items_first,
                                        .stored = row->stored,
                                        .bytes_first = row->bytes_first,
                                        .errors_first = row->errors_first,
                                        .at = row->at};
    arcp__job *job = NULL;
    if (!arcp_span_equal_cstr(row->store, runtime->store_id)) {
        return false;
    }
    *what = ARCP__WORKER_FORGET_JOB;
    switch (claim_of_any(worker, &claimed, &job)) {
    case ARCP__CLAIM_GO_ON:
        *what = ARCP__WORKER_GO_ON;
        break;
    case ARCP__CLAIM_END:
        *what = ARCP__WORKER_END;
        break;
    case ARCP__CLAIM_FORGET:
        return true;
    }
    job->live->host = entry_of(runtime, job);
    job->live->user = job;
    *out = job;
    arcp_error error = {0};
    if (arcp__worker_gateway_open(runtime, job, &error) != ARCP_OK) {
        arcp__runtime_log(runtime, job, ARCP_LOG_ERROR, "%s", error.message);
    }
    return job->live->host != NULL;
}

static void on_ready(void *user)
{
    const joined_worker *worker = user;
    arcp_runtime *runtime = runtime_of(worker);
    if (worker->is_draining) { /* before jobs whose start it may not have */
        arcp__worker_link_send(worker->link, &(arcp__worker_message){.kind = ARCP__WORKER_DRAIN});
    } else if (worker->is_local) {
        arcp__local_worker_list_agents(runtime);
    }
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        arcp__engine_worker_ready(shard->engine, arcp__input_now(shard), arcp__joined_life(worker));
    }
}

void arcp__worker_jobs_fill_owner(arcp__worker_peer_owner *owner)
{
    owner->claim = claim;
    owner->ready = on_ready;
    owner->started = on_started;
    owner->refused = on_refused;
    owner->item = on_item;
    owner->output = on_output;
    owner->error_line = on_error_line;
    owner->log = on_log;
    owner->log_dropped = on_log_dropped;
    owner->exited = on_exited;
    owner->got = on_got;
    owner->get_kept = get_kept;
}

/* ---- calls of the engine; `agent` is the job ---- */

static const arcp__process_agent *agent_of(const arcp__job *job)
{
    return &((const arcp__agent_entry *)job->live->host)->process;
}

/* NULL: the worker is away, and gets what it has missed when it is back. */
static const joined_worker *worker_of(const arcp__job *job)
{
    const arcp__worker_links *links =
        ((const arcp__agent_entry *)job->live->host)->runtime->worker_links;
    const char *instance = job->live->numbers->instance;
    joined_worker *worker = NULL;
    if (links != NULL) {
        HASH_FIND_STR(links->joined, instance, worker);
    }
    return worker;
}

static void tell(const arcp__job *job, const arcp__worker_message *message)
{
    const joined_worker *worker = worker_of(job);
    if (worker != NULL) {
        arcp__worker_link_send(worker->link, message);
    }
}

/* The time until the job is to be killed, whether the runtime is there or not; 0: none. */
static uint64_t deadline_ms(const arcp_runtime *runtime, const arcp__job *job)
{
    const int64_t now_ns = arcp__clock_now().mono_ns;
    int64_t due_ns =
        job->live->max_runtime_sec == 0 ? ARCP_TIME_NEVER : job->live->runtime_timer.at_ns;
    const int64_t expiry_ns = arcp_authority_deadline_mono_ns(job->live->authority);
    if (!runtime->hosting.enforce.outlasts_expiry && expiry_ns < due_ns) {
        due_ns = expiry_ns;
    }
    return due_ns == ARCP_TIME_NEVER ? 0
           : due_ns <= now_ns        ? 1
                                     : (uint64_t)(due_ns - now_ns) / ARCP_NS_PER_MS + 1;
}

/* What a remote worker does not know. A process that was started before its lease is known must be
 * good enough for enforce.min, which the plan says. */
static void set_terms(const arcp_runtime *runtime, const arcp__job *job, arcp__worker_start *out)
{
    const arcp__enforcement *enforcement = job->live->enforcement;
    const arcp__job_plan *plan = enforcement == NULL ? NULL : enforcement->plan;
    out->is_confined = enforcement != NULL && enforcement->is_confined;
    out->is_cold = out->is_confined && (plan == NULL || !plan->plan->is_late);
    out->outlasts_expiry = runtime->hosting.enforce.outlasts_expiry;
    out->outlasts_budget = runtime->hosting.enforce.outlasts_budget;
    out->cancel_grace_ms = runtime->hosting.cancel_grace_ms;
}

/* Whether the job's program gets gateways. A remote worker knows its own rows. */
static bool has_gateways(const joined_worker *worker, const arcp__job *job)
{
    const arcp__process_agent *agent = agent_of(job);
    return !worker->is_local ||
           (!agent->without_gateways &&
            (agent->served == NULL || !arcp__process_agent_is_confined(agent)));
}

/* Opens the gateways of the job, if it is to have some, and says so in its start. */
static arcp_status offer_gateways(arcp_runtime *runtime, const joined_worker *worker,
                                  arcp__job *job, arcp__worker_start *out, arcp_error *err)
{
    const char *url = arcp__worker_gateways_url(runtime, worker->is_local);
    arcp__worker_gateway_close(job); /* of an earlier start, with another key */
    if (url[0] == '\0' || job->live->numbers->gateway_key[0] == '\0' ||
        !has_gateways(worker, job)) {
        return ARCP_OK;
    }
    out->gateways = runtime->hosting.gateways;
    out->gateways_url = arcp_span_cstr(url);
    out->gateway_key = arcp_span_cstr(job->live->numbers->gateway_key);
    return arcp__worker_gateway_open(runtime, job, err);
}

/* Says so if a job on a remote worker could have gateways, and there is no way to them. */
static void note_lack_of_gateways(const arcp_runtime *runtime, arcp__job *job)
{
    if (runtime->gateway != NULL && arcp__worker_gateways_url(runtime, false)[0] == '\0') {
        arcp__engine_agent_log(
            arcp__engine_of(job), arcp__input_of(job), job, 0, "warn",
            ARCP_SPAN_LITERAL("the job has no gateways to models and tools: its worker is on "
                              "another machine, and gateways.url is not set"));
    }
}

static void start(arcp_runtime *runtime, arcp__agent_entry *entry, arcp__job *job, arcp_span line)
{
    const joined_worker *worker = worker_of(job);
    arcp__worker_start offered = {.gateways = 0};
    arcp_buf row = arcp_buf_secret_init();
    arcp_error error = {0};
    arcp_status status = ARCP_OK;
    if (worker != NULL && worker->is_local) { /* a remote one has rows of its own */
        status = arcp__local_worker_write_row(runtime, job, &row, &error);
    }
    if (status == ARCP_OK && worker != NULL &&
        !arcp__worker_peer_add(worker->peer, arcp_span_cstr(job->id), job)) {
        status = arcp_error_set(&error, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK && worker != NULL) {
        status = offer_gateways(runtime, worker, job, &offered, &error);
    }
    if (status == ARCP_OK) {
        arcp__worker_message order = {.kind = ARCP__WORKER_START, .body = line};
        job->live->user = job;
        offered.job = arcp_span_cstr(job->id);
        offered.agent = arcp_span_cstr(job->agent_text);
        offered.row = arcp_buf_span(&row);
        offered.deadline_ms = deadline_ms(runtime, job);
        if (row.size == 0) {
            set_terms(runtime, job, &offered);
        }
        order.start = offered;
        tell(job, &order);
        if (worker != NULL && !worker->is_local) {
            note_lack_of_gateways(runtime, job);
        }
    } else {
        fail_start(runtime, job, status, arcp_span_cstr(error.message));
    }
    arcp_wipe(job->live->numbers->gateway_key, sizeof job->live->numbers->gateway_key);
    arcp_buf_fini(&row);
}

static void send_line(void *agent, uint64_t at, uint64_t item, arcp_span line)
{
    const arcp__job *job = agent;
    tell(job, &(arcp__worker_message){.kind = ARCP__WORKER_LINE,
                                      .line = {arcp_span_cstr(job->id), at, item},
                                      .body = line});
}

static void kill_program(void *agent, bool at_once)
{
    const arcp__job *job = agent;
    tell(job, &(arcp__worker_message){.kind = ARCP__WORKER_KILL,
                                      .kill = {arcp_span_cstr(job->id), at_once}});
}

/* A plain program reads no lines. */
static void cancel(void *agent, uint64_t at, uint64_t item, arcp_span line)
{
    arcp__agent_gateway_cancel(arcp__worker_gateway_of(agent));
    send_line(agent, at, item, line);
    if (agent_of(agent)->spec.is_plain) {
        kill_program(agent, false);
    }
}

static void pause_program(void *agent, bool paused)
{
    const arcp__job *job = agent;
    arcp__worker_message message = {.kind = paused ? ARCP__WORKER_PAUSE : ARCP__WORKER_RESUME};
    message.pause.job = arcp_span_cstr(job->id); /* of both kinds */
    tell(job, &message);
}

static void revoke_lease(void *agent, arcp_status code)
{
    const arcp__job *job = agent;
    arcp__agent_gateway_revoke(arcp__worker_gateway_of(job), code);
    tell(job, &(arcp__worker_message){
                  .kind = ARCP__WORKER_REVOKE,
                  .revoke = {arcp_span_cstr(job->id), arcp_span_cstr(arcp_status_name(code))}});
}

static void hold_stored(void *agent, arcp_span call_id)
{
    arcp__agent_gateway_hold_stored(arcp__worker_gateway_of(agent), call_id);
}

static void settle(void *agent, const arcp__settle_sink *sink)
{
    arcp__agent_gateway_settle(arcp__worker_gateway_of(agent), sink);
    arcp__worker_gateway_close(agent);
}

static void use(void *agent, arcp__agent_usage *out)
{
    const arcp__job *job = agent;
    const joined_worker *worker = worker_of(job);
    arcp__worker_usage_row row;
    if (worker != NULL && arcp__worker_peer_usage(worker->peer, arcp_span_cstr(job->id), &row)) {
        *out = (arcp__agent_usage){row.pid, row.cpu_ms, row.memory_bytes};
    }
}

static void forget(void *agent)
{
    arcp__job *job = agent;
    const joined_worker *worker = worker_of(job);
    job->live->user = NULL;
    if (worker != NULL) {
        arcp__worker_peer_forget(worker->peer, arcp_span_cstr(job->id));
    }
}

const arcp__agent_host_ops arcp__worker_jobs_host = {
    .start = start,
    .line = send_line,
    .cancel = cancel,
    .kill = kill_program,
    .pause = pause_program,
    .revoke = revoke_lease,
    .hold_stored = hold_stored,
    .settle = settle,
    .usage = use,
    .forget = forget,
};
