#include "runtime/worker_links.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "core/name_glob.h"
#include "runtime/agent_gateway.h"
#include "stream/local_socket.h"

typedef arcp__joined_worker joined_worker;

/* Links of this machine that are open at the same time, joined or not; a worker has one. */
#define LOCAL_LINKS_MAX ((size_t)2 * ARCP__LOCAL_WORKERS_MAX)
/* When the runtime leaves: what workers and the peers of connections have to close their ends. */
#define LEAVE_MS ((uint64_t)600)
/* The least that a worker keeps of a job before it waits, and the most of all jobs. */
#define UNKEPT_BYTES       UINT64_C(8388608)
#define UNKEPT_TOTAL_BYTES UINT64_C(268435456)
/* Of job.start, beside the frame with its input. */
#define START_BYTES UINT64_C(1048576)

static int64_t boot_now_ns(void)
{
    return arcp__clock_ns(CLOCK_BOOTTIME);
}

/* ---- the end of a link ---- */

static void on_timer(uv_timer_t *timer);

static void arm(arcp__worker_links *links)
{
    int64_t due_ns = ARCP_TIME_NEVER;
    const joined_worker *worker = NULL;
    if (links->is_leaving) {
        return;
    }
    DL_FOREACH (links->open, worker) {
        const int64_t other_ns = arcp__worker_peer_due(worker->peer);
        due_ns = other_ns < due_ns ? other_ns : due_ns;
    }
    if (due_ns == ARCP_TIME_NEVER) {
        (void)uv_timer_stop(&links->timer);
        return;
    }
    const int64_t left_ns = due_ns - boot_now_ns();
    uv_update_time(links->runtime->loop);
    (void)uv_timer_start(
        &links->timer, on_timer,
        left_ns <= 0 ? 0 : (uint64_t)((left_ns + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS), 0);
}

static void free_worker(joined_worker *worker)
{
    arcp__worker_links *links = worker->links;
    if (worker->has_joined) {
        HASH_DEL(links->joined, worker);
        links->remote_count -= worker->is_local ? 0 : 1;
    }
    DL_DELETE(links->open, worker);
    arcp__worker_link_close(worker->link);
    arcp__worker_peer_free(worker->peer);
    arcp__free(worker);
}

static void close_link(joined_worker *worker)
{
    arcp_runtime *runtime = worker->links->runtime;
    const bool was_there = worker->has_joined && !worker->links->is_leaving;
    if (was_there) {
        arcp__shards_of_worker(runtime, arcp__joined_life(worker), arcp__engine_worker_away);
    }
    if (was_there && worker->is_local) {
        arcp__local_worker_changed(runtime->worker);
    }
    free_worker(worker);
}

static void on_ended(void *user, const char *why)
{
    joined_worker *worker = user;
    const arcp__worker_links *links = worker->links;
    if ((worker->is_local || worker->has_joined) && !worker->is_foreign && !links->is_leaving) {
        arcp__runtime_log(links->runtime, NULL, ARCP_LOG_WARN,
                          "the link to the worker %s has ended: %s",
                          worker->has_joined ? worker->name : "of this machine",
                          why == NULL ? "the worker has closed it" : why);
    }
    close_link(worker);
    (void)uv_async_send(&links->runtime->wake); /* the runtime may wait for it to stop */
}

/* The worker gets the reason. */
static void refuse_link(joined_worker *worker, arcp_status status, const char *why)
{
    arcp__worker_link_refuse(worker->link, status, why);
    on_ended(worker, why);
}

static void on_timer(uv_timer_t *timer)
{
    arcp__worker_links *links = timer->data;
    if (links->runtime->is_dirty) {
        arcp__runtime_drive(links->runtime); /* answers go before `kept` */
    }
    if (links->is_leaving) {
        return;
    }
    for (joined_worker *worker = links->open, *next = NULL; worker != NULL; worker = next) {
        arcp_error error = {0};
        next = worker->next;
        if (arcp__worker_peer_tick(worker->peer, boot_now_ns(), &error) != ARCP_OK) {
            refuse_link(worker, error.status, error.message);
        }
    }
    arm(links);
}

static arcp_status on_message(void *user, const arcp__worker_message *message, arcp_error *err)
{
    const joined_worker *worker = user;
    if (worker->peer == NULL) {
        return ARCP_OK; /* the worker keeps it for the next runtime */
    }
    const arcp_status status = arcp__worker_peer_receive(worker->peer, boot_now_ns(), message, err);
    arm(worker->links);
    return status;
}

static void on_room(void *user)
{
}

static void on_send(void *user, const arcp__worker_message *message)
{
    arcp__worker_link_send(((const joined_worker *)user)->link, message);
}

/* ---- hello ---- */

static bool is_name(arcp_span text)
{
    bool is_valid = text.size != 0 && text.size <= ARCP__WORKER_ID_MAX;
    for (size_t i = 0; is_valid && i < text.size; i++) {
        const char byte = text.data[i];
        is_valid = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                   (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.';
    }
    return is_valid;
}

/* The token and the name of a worker of another machine. */
static arcp_status check_remote(const joined_worker *worker, const arcp__worker_hello *hello,
                                const arcp__worker_token **token, arcp_error *err)
{
    const arcp__worker_links *links = worker->links;
    *token = arcp__worker_tokens_find(links->tokens, hello->token);
    if (*token == NULL) {
        return arcp_error_set(err, ARCP_E_UNAUTHENTICATED, "its token is not valid");
    }
    if (arcp_span_equal(hello->name, arcp__local_worker_name) ||
        !arcp__name_glob_matches((*token)->name, hello->name)) {
        return arcp_error_set(err, ARCP_E_UNAUTHENTICATED, "its token is not for the name %.*s",
                              (int)hello->name.size, hello->name.data);
    }
    return ARCP_OK;
}

/* Whether another life of its name may take its place, or has. */
static bool is_to_drain(const joined_worker *worker, const joined_worker *older,
                        const arcp__worker_hello *hello)
{
    return hello->drains_ms != 0 || (older != NULL && older->is_draining) ||
           (worker->is_local &&
            arcp__local_worker_is_outdated(worker->links->runtime->worker, hello));
}

/* The name may be taken, by another life or by an older link of this one, which is closed. */
static arcp_status make_room(joined_worker *worker, const arcp__worker_hello *hello,
                             arcp_error *err)
{
    const arcp__worker_links *links = worker->links;
    const joined_worker *other = arcp__worker_links_named(links, hello->name);
    joined_worker *older = NULL;
    HASH_FIND(hh, links->joined, hello->instance.data, hello->instance.size, older);
    worker->is_draining = is_to_drain(worker, older, hello);
    if (older != NULL && !arcp_span_equal_cstr(hello->name, older->name)) {
        return arcp_error_set(err, ARCP_E_EXISTS, "instance_in_use");
    }
    if (other != NULL && other != older && !other->is_draining && !worker->is_draining) {
        return arcp_error_set(err, ARCP_E_EXISTS, "name_in_use");
    }
    if (older == NULL && !worker->is_local && links->remote_count >= ARCP__REMOTE_WORKERS_MAX) {
        return arcp_error_set(err, ARCP_E_EXISTS, "%u workers are connected, the most that can be",
                              ARCP__REMOTE_WORKERS_MAX);
    }
    if (worker->is_local && !arcp__local_worker_lives(links->runtime->worker, hello->instance)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "it does not hold its lock");
    }
    if (older != NULL) {
        close_link(older);
    }
    return ARCP_OK;
}

/* Every shard may have jobs for the worker. They answer the same, because it joins all of them. */
static bool joins_all(arcp_runtime *runtime, const arcp__worker_intro *intro)
{
    bool is_taken = true;
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        is_taken =
            arcp__engine_worker_joins(shard->engine, arcp__input_now(shard), intro) && is_taken;
    }
    return is_taken;
}

static arcp_status join(joined_worker *worker, const arcp__worker_hello *hello,
                        const arcp__worker_token *token, arcp_error *err)
{
    arcp__worker_links *links = worker->links;
    arcp_runtime *runtime = links->runtime;
    arcp__worker_agent *agents = NULL;
    memcpy(worker->name, hello->name.data, hello->name.size);
    memcpy(worker->instance, hello->instance.data, hello->instance.size);
    arcp__worker_intro intro = {
        .life = {hello->name, hello->instance},
        .version = hello->version,
        .boot_id = hello->boot_id,
        .pid = hello->pid,
        .drains_ms = worker->is_draining && hello->drains_ms == 0 ? 1 : hello->drains_ms};
    if (token != NULL) {
        intro.capacity = arcp__worker_places(hello, token);
        const arcp_status status = arcp__worker_write_offers(worker, hello, &agents, err);
        if (status != ARCP_OK) {
            return status;
        }
        intro.agents = agents;
        intro.work = hello->work;
        intro.agent_count = hello->offer_count;
        intro.allowed = (const char *const *)token->agents;
        intro.allowed_count = token->agent_count;
    }
    const bool is_taken = joins_all(runtime, &intro);
    arcp__free(agents);
    if (!is_taken) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "its instance is not valid");
    }
    HASH_ADD_STR(links->joined, instance, worker);
    if (!ARCP__HASH_ADDED(worker)) {
        arcp__shards_of_worker(runtime, intro.life, arcp__engine_worker_away);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    worker->pid = hello->pid;
    (void)snprintf(worker->program, sizeof worker->program, "%.*s", (int)hello->program.size,
                   hello->program.size == 0 ? "" : hello->program.data);
    worker->has_joined = true;
    if (worker->is_local) {
        arcp__local_worker_joined(runtime->worker, hello);
    } else {
        links->remote_count++;
        memcpy(worker->token_hash, token->hash, sizeof worker->token_hash);
        arcp__worker_link_admit(worker->link);
    }
    return ARCP_OK;
}

static void note_refusal(const joined_worker *worker, const char *why)
{
    arcp_runtime *runtime = worker->links->runtime;
    const arcp__refusal refusal = {
        .peer = worker->peer_name, .rule = ARCP__REFUSAL_OF_WORKER, .is_audited = true};
    arcp__runtime_refused(runtime, &refusal, why);
}

static void on_foreign(void *user, const arcp__worker_hello *hello)
{
    joined_worker *worker = user;
    worker->is_foreign =
        worker->is_local && is_name(hello->instance) &&
        arcp_span_equal(hello->name, arcp__local_worker_name) &&
        arcp__local_worker_take_foreign(worker->links->runtime->worker, hello, worker->peer_pid);
}

void arcp__worker_links_drain(joined_worker *worker)
{
    arcp_runtime *runtime = worker->links->runtime;
    worker->is_draining = true;
    arcp__shards_of_worker(runtime, arcp__joined_life(worker), arcp__engine_worker_drains);
    arcp__worker_link_send(worker->link, &(arcp__worker_message){.kind = ARCP__WORKER_DRAIN});
    arcp__runtime_log(runtime, NULL, ARCP_LOG_INFO,
                      "the worker %s drains: process %llu, with %zu jobs", worker->name,
                      (unsigned long long)worker->pid, arcp__worker_peer_jobs(worker->peer));
    if (worker->is_local) {
        arcp__local_worker_changed(runtime->worker);
    }
}

static arcp_status on_hello(void *user, const arcp__worker_hello *hello,
                            arcp__worker_welcome *welcome, arcp_error *err)
{
    joined_worker *worker = user;
    arcp_runtime *runtime = worker->links->runtime;
    const uint64_t line_bytes = runtime->hosting.line_bytes_max;
    const arcp__worker_token *token = NULL;
    arcp_status status = ARCP_OK;
    if (!is_name(hello->name) || !is_name(hello->instance)) {
        status = arcp_error_set(err, ARCP_E_INVALID_REQUEST, "its name or instance is not valid");
    } else if (!worker->is_local) {
        status = check_remote(worker, hello, &token, err);
    } else if (!arcp_span_equal(hello->name, arcp__local_worker_name)) {
        status =
            arcp_error_set(err, ARCP_E_INVALID_REQUEST, "this is not the worker of this machine");
    }
    if (status == ARCP_OK) {
        status = make_room(worker, hello, err);
    }
    if (status == ARCP_OK) {
        status = join(worker, hello, token, err);
    }
    if (status != ARCP_OK) {
        if (!worker->is_local) {
            note_refusal(worker, err->message);
        }
        return status;
    }
    arcp__runtime_log(runtime, NULL, ARCP_LOG_INFO, "a worker has joined: process %llu, %s%s%s",
                      (unsigned long long)hello->pid, worker->name, worker->is_local ? "" : " at ",
                      worker->peer_name);
    *welcome = (arcp__worker_welcome){
        .store = arcp_span_cstr(runtime->store_id),
        .keep_ms = runtime->workers.keep_sec * 1000,
        .grace_ms = runtime->workers.grace_sec * 1000,
        .line_bytes = runtime->workers.frame_bytes + line_bytes + START_BYTES,
        .agent_line_bytes = line_bytes,
        .unkept_bytes = 2 * line_bytes < UNKEPT_BYTES ? UNKEPT_BYTES : 2 * line_bytes,
        .unkept_total_bytes = UNKEPT_TOTAL_BYTES,
        .gateways_url = arcp_span_cstr(arcp__worker_gateways_url(runtime, worker->is_local)),
    };
    return ARCP_OK;
}

/* ---- new links ---- */

/* NULL when out of memory. */
static joined_worker *new_worker(arcp__worker_links *links, arcp__worker_link_events *events)
{
    arcp__worker_peer_owner owner = {.send = on_send, .hello = on_hello, .foreign = on_foreign};
    joined_worker *worker = arcp__alloc(sizeof *worker);
    if (worker == NULL) {
        return NULL;
    }
    worker->links = links;
    arcp__worker_jobs_fill_owner(&owner);
    owner.user = worker;
    *events = (arcp__worker_link_events){
        .message = on_message, .has_room = on_room, .ended = on_ended, .user = worker};
    worker->peer = arcp__worker_peer_new(&owner, boot_now_ns());
    if (worker->peer == NULL) {
        arcp__free(worker);
        return NULL;
    }
    return worker;
}

static void begin(joined_worker *worker)
{
    arcp__worker_links *links = worker->links;
    arcp__worker_link_set_line_bytes(worker->link, links->runtime->hosting.line_bytes_max + 1);
    DL_APPEND(links->open, worker);
    arm(links);
}

static void drop(joined_worker *worker)
{
    if (worker != NULL) {
        arcp__worker_peer_free(worker->peer);
        arcp__free(worker);
    }
}

void arcp__worker_links_serve(arcp__worker_links *links, int fd)
{
    arcp__worker_link_events events;
    arcp_error error = {0};
    size_t count = 0;
    const joined_worker *other = NULL;
    DL_FOREACH (links->open, other) {
        count += other->is_local ? 1 : 0;
    }
    pid_t pid = 0;
    if (count >= LOCAL_LINKS_MAX || !arcp__local_socket_is_ours(fd, &pid)) {
        (void)close(fd);
        return;
    }
    joined_worker *worker = new_worker(links, &events);
    const arcp_status status =
        worker == NULL ? arcp_error_set(&error, ARCP_E_NO_MEMORY, "out of memory")
                       : arcp__worker_link_new(links->runtime->loop, fd, ARCP__WORKER_SIDE_RUNTIME,
                                               &events, &worker->link, &error);
    if (status != ARCP_OK) {
        arcp__runtime_log(links->runtime, NULL, ARCP_LOG_ERROR, "a worker cannot be served: %s",
                          error.message);
        drop(worker);
        (void)close(fd);
        return;
    }
    worker->is_local = true;
    worker->peer_pid = pid;
    begin(worker);
}

size_t arcp__runtime_worker_bytes_max(const arcp_runtime *runtime)
{
    const size_t line_bytes = runtime->hosting.line_bytes_max + 1;
    return ARCP__WORKER_HEAD_MAX + 1 +
           (line_bytes < ARCP__WORKER_BODY_MAX ? ARCP__WORKER_BODY_MAX : line_bytes + 1);
}

void arcp__runtime_serve_worker(arcp_runtime *runtime, arcp_connection *connection)
{
    arcp_connection_info info = arcp_connection_info_init();
    arcp__worker_link_events events;
    arcp__worker_links *links = runtime->worker_links;
    joined_worker *worker =
        links == NULL || links->tokens == NULL ? NULL : new_worker(links, &events);
    if (worker != NULL) {
        worker->link = arcp__worker_link_over(connection, ARCP__WORKER_SIDE_RUNTIME, &events);
    }
    if (worker == NULL || worker->link == NULL) {
        drop(worker);
        connection->ops->free(connection);
        return;
    }
    connection->ops->info(connection, &info);
    (void)snprintf(worker->peer_name, sizeof worker->peer_name, "%s", info.peer);
    begin(worker);
}

/* ---- tokens ---- */

arcp_status arcp__runtime_set_worker_tokens(arcp_runtime *runtime,
                                            const arcp__worker_token_row *rows, size_t count,
                                            arcp_error *err)
{
    arcp__worker_tokens *tokens = NULL;
    if (count == 0 && runtime->worker_links == NULL) {
        return ARCP_OK;
    }
    arcp__worker_links *links = arcp__worker_links_get(runtime);
    arcp_status status = links == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                       : arcp__runtime_find_store_id(runtime, err);
    if (status == ARCP_OK) {
        status = arcp__worker_tokens_new(rows, count, &tokens, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__worker_tokens_free(links->tokens);
    links->tokens = tokens;
    for (joined_worker *worker = links->joined, *next = NULL; worker != NULL; worker = next) {
        next = worker->hh.next;
        const arcp__worker_token *token = arcp__worker_tokens_by_hash(tokens, worker->token_hash);
        if (!worker->is_local &&
            (token == NULL ||
             !arcp__name_glob_matches(token->name, arcp_span_cstr(worker->name)))) {
            refuse_link(worker, ARCP_E_UNAUTHENTICATED, "its token is not valid any more");
        }
    }
    return ARCP_OK;
}

/* ---- the runtime leaves ---- */

static void on_left(uv_timer_t *timer)
{
    arcp__worker_links *links = timer->data;
    while (links->open != NULL) {
        close_link(links->open);
    }
    arcp__runtime_links_free(links->runtime);
    links->runtime->is_dirty = true;
    (void)uv_async_send(&links->runtime->wake);
}

static bool leave(arcp__worker_links *links)
{
    arcp_runtime *runtime = links->runtime;
    if (links->is_leaving) {
        return links->open == NULL;
    }
    links->is_leaving = true;
    arcp__local_worker_leave(runtime->worker);
    (void)uv_timer_start(&links->timer, on_left, LEAVE_MS, 0);
    joined_worker *worker = NULL;
    DL_FOREACH (links->open, worker) {
        if (worker->has_joined) {
            arcp__shards_of_worker(runtime, arcp__joined_life(worker), arcp__engine_worker_away);
            /* From now on nothing finds it, because its peer is gone. uthash knows its table.
             * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
            HASH_DEL(links->joined, worker);
            links->remote_count -= worker->is_local ? 0 : 1;
            worker->has_joined = false;
        }
        arcp__worker_peer_free(worker->peer);
        worker->peer = NULL;
        arcp__worker_link_send(worker->link, &(arcp__worker_message){.kind = ARCP__WORKER_BYE});
    }
    return links->open == NULL;
}

/* ---- all of them ---- */

arcp__worker_links *arcp__worker_links_get(arcp_runtime *runtime)
{
    if (runtime->worker_links == NULL) {
        arcp__worker_links *links = arcp__alloc(sizeof *links);
        if (links != NULL) {
            links->runtime = runtime;
            (void)uv_timer_init(runtime->loop, &links->timer);
            links->timer.data = links;
            uv_unref((uv_handle_t *)&links->timer);
            runtime->worker_links = links;
            runtime->worker_host = &arcp__worker_jobs_host;
            runtime->leave_workers = leave;
        }
    }
    return runtime->worker_links;
}

static void on_closed(uv_handle_t *handle)
{
    arcp__free(handle->data);
}

void arcp__worker_links_close(arcp_runtime *runtime)
{
    arcp__worker_links *links = runtime->worker_links;
    arcp__local_worker_free(runtime->worker);
    runtime->worker = NULL;
    runtime->worker_links = NULL;
    if (links != NULL) {
        while (links->open != NULL) {
            free_worker(links->open);
        }
        arcp__worker_tokens_free(links->tokens);
        uv_close((uv_handle_t *)&links->timer, on_closed);
    }
}
