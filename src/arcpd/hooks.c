#include "arcpd/hooks.h"

#include <stdio.h>

#include "arcpd/arcpd.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "setup/setup.h"

/* A response is read this far, so that the connection can be used again; its status decides. */
#define RESPONSE_BYTES_MAX 16384u
#define WHY_MAX            160u

/* One attempt. */
struct arcp__hook_delivery {
    arcp__hook_delivery *previous, *next;
    arcp__hook_sender *sender;
    arcp_runtime *runtime;
    uint64_t id;
    uint64_t timeout_ms;
    arcp_buf body;
    arcp__web_call *call; /* of a hook with url */
    unsigned status;      /* of its response; 0: none yet */
    size_t received;
    arcp__agent_process *process; /* of a hook with command */
    uv_timer_t timer;             /* of a hook with command: its time limit */
    bool has_timer, is_late;
};

/* ---- the end of an attempt ---- */

static void free_delivery(arcp__hook_delivery *delivery)
{
    arcp_buf_fini(&delivery->body);
    arcp__free(delivery);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free_delivery(handle->data);
}

/* It is reported already, or not any more. */
static void drop(arcp__hook_delivery *delivery)
{
    DL_DELETE2(delivery->sender->under_way, delivery, previous, next);
    arcp__agent_process_free(delivery->process);
    if (delivery->call != NULL) {
        delivery->sender->ops->cancel(delivery->call);
    }
    if (delivery->has_timer) {
        uv_close((uv_handle_t *)&delivery->timer, on_timer_closed);
    } else {
        free_delivery(delivery);
    }
}

/* `why` is empty: it was delivered. */
static void finish(arcp__hook_delivery *delivery, const char *why)
{
    arcp_runtime *runtime = delivery->runtime;
    const uint64_t id = delivery->id;
    drop(delivery);
    arcp__runtime_notified(runtime, id, why[0] == '\0' ? ARCP_OK : ARCP_E_IO, arcp_span_cstr(why));
}

/* ---- by HTTP ---- */

static void finish_response(arcp__hook_delivery *delivery)
{
    char why[WHY_MAX] = "";
    const unsigned status = delivery->status;
    if (status / 100 != 2) {
        (void)snprintf(why, sizeof why, "it answered with status %u%s", status,
                       status / 100 == 3 ? ", and redirects are not followed" : "");
    }
    finish(delivery, why);
}

static void on_head(void *user, const arcp__web_client_head *head)
{
    arcp__hook_delivery *delivery = user;
    delivery->status = head->status;
}

static bool on_body(void *user, arcp_span piece)
{
    arcp__hook_delivery *delivery = user;
    delivery->received += piece.size;
    if (delivery->received > RESPONSE_BYTES_MAX) {
        finish_response(delivery);
    }
    return true;
}

static void on_done(void *user, const arcp__web_client_end *end)
{
    arcp__hook_delivery *delivery = user;
    delivery->call = NULL;
    if (delivery->status != 0) {
        finish_response(delivery);
    } else {
        char why[WHY_MAX];
        (void)snprintf(why, sizeof why, "it %s",
                       end->problem == NULL ? "did not answer" : end->problem);
        finish(delivery, why);
    }
}

/* The lines of the request's head, each with a NUL. */
static bool write_headers(const arcp__hook_target *target, arcp_span body, arcp_buf *out)
{
    bool is_signed = true;
    arcp_buf_append_cstr(out, "content-type: application/json");
    arcp_buf_append_byte(out, '\0');
    if (target->secret.size != 0) {
        arcp_buf_append_cstr(out, "arcp-signature: ");
        is_signed = arcp__hook_sign(arcp_buf_span(&target->secret),
                                    arcp__clock_now().wall_ns / ARCP_NS_PER_SEC, body, out);
        arcp_buf_append_byte(out, '\0');
    }
    return is_signed && !out->failed;
}

static arcp_status post(arcp__hook_delivery *delivery, const arcp__hook_target *target,
                        arcp_error *err)
{
    static const arcp__web_call_events events = {on_head, on_body, on_done};
    arcp_buf headers = arcp_buf_init();
    const arcp_span body = arcp_buf_span(&delivery->body);
    arcp_status status = write_headers(target, body, &headers)
                             ? ARCP_OK
                             : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    if (status == ARCP_OK) {
        const arcp__web_client_request request = {.method = "POST",
                                                  .url = target->url.data,
                                                  .headers = arcp_buf_span(&headers),
                                                  .ca_file = target->ca_file,
                                                  .body = body,
                                                  .total_ms = target->timeout_ms,
                                                  .events = &events,
                                                  .user = delivery};
        status =
            delivery->sender->ops->send(delivery->sender->client, &request, &delivery->call, err);
    }
    arcp_buf_fini(&headers);
    return status;
}

/* ---- by a command ---- */

static void on_started(void *user, arcp_status status, const char *why)
{
    arcp__hook_delivery *delivery = user;
    if (status != ARCP_OK) {
        char text[WHY_MAX];
        (void)snprintf(text, sizeof text, "the command cannot be started: %s", why);
        finish(delivery, text);
    }
}

static void on_log(void *user, arcp_span line)
{
    (void)user;
    (void)line;
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span stderr_tail)
{
    arcp__hook_delivery *delivery = user;
    char why[WHY_MAX] = "";
    while (stderr_tail.size != 0 && stderr_tail.data[stderr_tail.size - 1] == '\n') {
        stderr_tail.size--;
    }
    const char *last =
        stderr_tail.size == 0 ? NULL : memrchr(stderr_tail.data, '\n', stderr_tail.size);
    const arcp_span shown =
        last == NULL ? stderr_tail
                     : arcp_span_from(stderr_tail, (size_t)(last - stderr_tail.data) + 1);
    if (delivery->is_late) {
        (void)snprintf(why, sizeof why, "the command did not exit within %llu ms",
                       (unsigned long long)delivery->timeout_ms);
    } else if (end->by_signal || end->code != 0) {
        (void)snprintf(why, sizeof why, "the command ended with %s %d%s%.*s",
                       end->by_signal ? "signal" : "status", end->code, shown.size == 0 ? "" : ": ",
                       (int)shown.size, shown.size == 0 ? "" : shown.data);
    }
    finish(delivery, why);
}

static void on_late(uv_timer_t *timer)
{
    arcp__hook_delivery *delivery = timer->data;
    delivery->is_late = true;
    arcp__agent_process_kill(delivery->process);
}

static arcp_status run(arcp__hook_delivery *delivery, const arcp__hook_target *target,
                       arcp_error *err)
{
    const arcp__agent_process_callbacks callbacks = {
        .started = on_started, .log = on_log, .exited = on_exited, .user = delivery};
    arcp__environment environment = {0};
    arcp__environment_base(&environment, NULL);
    const arcp__process_spec spec = {.argv = (const char *const *)target->argv,
                                     .env = (const char *const *)environment.pairs,
                                     .line_bytes_max = RESPONSE_BYTES_MAX};
    arcp_status status = environment.failed
                             ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : arcp__agent_process_start(delivery->sender->processes, &spec,
                                                         &callbacks, &delivery->process, err);
    arcp__environment_fini(&environment);
    if (status == ARCP_OK) {
        status = arcp__agent_process_write_last(delivery->process, arcp_buf_span(&delivery->body));
    }
    if (status == ARCP_OK) {
        (void)uv_timer_init(delivery->sender->loop, &delivery->timer);
        delivery->timer.data = delivery;
        delivery->has_timer = true;
        (void)uv_timer_start(&delivery->timer, on_late, target->timeout_ms, 0);
    }
    return status;
}

/* ---- the sender ---- */

static const arcp__hook_target *find(const arcp__hook_sender *sender, arcp_span hook)
{
    for (size_t i = 0; i < sender->set.count; i++) {
        if (arcp_span_equal_cstr(hook, sender->set.targets[i].name)) {
            return &sender->set.targets[i];
        }
    }
    return NULL;
}

void arcp__hook_sender_deliver(void *user, arcp_runtime *runtime, uint64_t id, arcp_span hook,
                               arcp_span body)
{
    arcp__hook_sender *sender = user;
    const arcp__hook_target *target = find(sender, hook);
    arcp_error error = {0};
    if (target == NULL) { /* it was configured when the notification was queued */
        arcp__runtime_notified(runtime, id, ARCP_E_IO,
                               ARCP_SPAN_LITERAL("the hook is not configured"));
        return;
    }
    arcp__hook_delivery *delivery = arcp__alloc(sizeof *delivery);
    if (delivery == NULL) {
        arcp__runtime_notified(runtime, id, ARCP_E_NO_MEMORY, ARCP_SPAN_LITERAL("out of memory"));
        return;
    }
    delivery->sender = sender;
    delivery->runtime = runtime;
    delivery->id = id;
    delivery->timeout_ms = target->timeout_ms;
    arcp_buf_append(&delivery->body, body);
    DL_APPEND2(sender->under_way, delivery, previous, next);
    const arcp_status status = delivery->body.failed
                                   ? arcp_error_set(&error, ARCP_E_NO_MEMORY, "out of memory")
                               : target->argv == NULL ? post(delivery, target, &error)
                                                      : run(delivery, target, &error);
    if (status != ARCP_OK) {
        finish(delivery, error.message[0] == '\0' ? "out of memory" : error.message);
    }
}

static arcp_status open_client(arcp__hook_sender *sender, uv_loop_t *loop, arcp_error *err)
{
    void *module = NULL; /* stays loaded until arcpd exits */
    const arcp__web_client_options options = {
        .loop = loop, .user_agent = "arcpd/" ARCP_VERSION_STRING, .keeps_connections = true};
    const arcp_status status = arcp__module_open(ARCP__WEB_CLIENT_MODULE, ARCP__WEB_CLIENT_SYMBOL,
                                                 "hooks", &module, &sender->ops, err);
    return status == ARCP_OK ? sender->ops->create(&options, &sender->client, err) : status;
}

static arcp_status open_processes(arcp__hook_sender *sender, uv_loop_t *loop, arcp_error *err)
{
    arcp__process_table_options options = {.loop = loop};
    arcp_status status = arcp_launcher_new_direct(NULL, &options.launcher, err);
    if (status == ARCP_OK) {
        status = arcp__process_table_new(&options, &sender->processes, err);
        if (status != ARCP_OK) {
            arcp_launcher_free(options.launcher);
        }
    }
    return status;
}

arcp_status arcp__hook_sender_set(arcp__hook_sender *sender, uv_loop_t *loop, arcp__hook_set *set,
                                  arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < set->count && status == ARCP_OK; i++) {
        const bool has_url = set->targets[i].argv == NULL;
        if (has_url && sender->client == NULL) {
            status = open_client(sender, loop, err);
        } else if (!has_url && sender->processes == NULL) {
            status = open_processes(sender, loop, err);
        }
    }
    if (status == ARCP_OK) {
        sender->loop = loop;
        arcp__hook_set_fini(&sender->set);
        sender->set = *set;
        *set = (arcp__hook_set){.count = 0};
    }
    return status;
}

void arcp__hook_sender_close(arcp__hook_sender *sender)
{
    while (sender->under_way != NULL) {
        drop(sender->under_way);
    }
    if (sender->client != NULL) {
        sender->ops->free(sender->client);
        sender->client = NULL;
    }
    arcp__process_table_free(sender->processes);
    sender->processes = NULL;
    arcp__hook_set_fini(&sender->set);
}
