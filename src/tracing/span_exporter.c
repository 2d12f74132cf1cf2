/* One lock, around the queue and the figures, held for a copy of bytes; all else belongs to the
 * thread, whose loop has one timer and at most one request under way:
 *
 *   IDLE --a span--> WAITING --delay, or a full batch--> SENDING --taken, refused--> IDLE
 *                                                          |  ^
 *                                                 not now  v  |  pause
 *                                                         PAUSED
 *
 * Closing sends at once what is left, and gives up at its deadline, or before a pause that
 * would end after it. */
#include "tracing/span_exporter.h"

#include <stdio.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/digits.h"
#include "base/random.h"
#include "base/thread.h"
#include "core/otlp.h"
#include "http/http_client.h"
#include "http/http_template.h"
#include "tracing/span_queue.h"
#include "json/json.h"

#define PAUSE_MAX_MS       30000u
#define RETRY_AFTER_MAX_MS 300000u

typedef enum state { IDLE, WAITING, SENDING, PAUSED, DONE } state;

typedef struct exporter {
    arcp__span_exporter base;
    arcp__span_exporter_options options;
    pthread_t thread;

    pthread_mutex_t lock; /* for what follows */
    arcp__span_queue queue;
    arcp__span_exporter_stats stats; /* without queued_bytes */
    bool must_stop;
    uint64_t flush_ms;

    /* The thread's own. */
    uv_loop_t loop;
    uv_async_t wake; /* any thread may send it */
    uv_timer_t timer, deadline;
    arcp__http_client *client;
    arcp_buf headers; /* each with its NUL; secret: the collector's keys */
    state state;
    unsigned failures; /* of the batch at hand */
    uint64_t deadline_ms;
    bool is_flushing;
    bool is_over; /* nothing is sent any more; the timer ends it */
} exporter;

/* ---- what became of a batch ---- */

static void settle(exporter *self, size_t exported, size_t dropped, const char *why)
{
    bool fails = why != NULL;
    (void)pthread_mutex_lock(&self->lock);
    bool changed = fails != self->stats.is_failing;
    self->stats.is_failing = fails;
    self->stats.exported += exported;
    self->stats.dropped += dropped;
    if (exported != 0 || dropped != 0) {
        arcp__span_queue_release(&self->queue);
    }
    (void)pthread_mutex_unlock(&self->lock);
    if (changed) {
        self->options.changed(self->options.user, why);
    }
}

/* Drops what is left, and lets the loop end. */
static void finish(exporter *self)
{
    if (self->state == DONE) {
        return;
    }
    self->state = DONE;
    (void)pthread_mutex_lock(&self->lock);
    self->stats.dropped += self->queue.count;
    arcp_buf_clear(&self->queue.spans);
    self->queue = (arcp__span_queue){.spans = self->queue.spans};
    (void)pthread_mutex_unlock(&self->lock);
    arcp__http_client_free(self->client);
    self->client = NULL;
    uv_close((uv_handle_t *)&self->wake, NULL);
    uv_close((uv_handle_t *)&self->timer, NULL);
    uv_close((uv_handle_t *)&self->deadline, NULL);
}

/* ---- sending ---- */

static void go_on(exporter *self);
static void on_timer(uv_timer_t *timer);

/* Later: the client is not freed from inside its own answer. */
static void finish_soon(exporter *self)
{
    self->is_over = true;
    (void)uv_timer_start(&self->timer, on_timer, 0, 0);
}

static uint64_t pause_ms(const exporter *self, uint64_t retry_after_sec)
{
    uint64_t pause = self->options.retry_ms;
    uint32_t random = 0;
    for (unsigned at = 1; at < self->failures && pause < PAUSE_MAX_MS; at++) {
        pause *= 2;
    }
    pause = pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
    /* Not in step with others that lost the same collector. */
    arcp__random(&random, sizeof(random));
    pause = pause / 2 + random % (pause / 2 + 1);
    uint64_t asked =
        retry_after_sec < RETRY_AFTER_MAX_MS / 1000 ? retry_after_sec * 1000 : RETRY_AFTER_MAX_MS;
    return pause > asked ? pause : asked;
}

static void pause_batch(exporter *self, uint64_t retry_after_sec, const char *why)
{
    self->failures++;
    self->state = PAUSED;
    settle(self, 0, 0, why);
    uint64_t pause = pause_ms(self, retry_after_sec);
    if (self->is_flushing && uv_now(&self->loop) + pause >= self->deadline_ms) {
        finish_soon(self);
        return;
    }
    (void)uv_timer_start(&self->timer, on_timer, pause, 0);
}

/* Sends a batch, or ends. */
static void on_timer(uv_timer_t *timer)
{
    exporter *self = timer->data;
    const arcp__otlp_attribute resource[] = {
        {.name = "service.name", .text = arcp_span_cstr(self->options.service_name)},
        {.name = "service.version", .text = arcp_span_cstr(self->options.version)},
    };
    arcp__http_message message = {.method = "POST", .headers = arcp_buf_secret_init()};
    if (self->is_over) {
        finish(self);
        return;
    }
    (void)pthread_mutex_lock(&self->lock);
    const bool has_batch = self->queue.taken_count != 0 ||
                           arcp__span_queue_take(&self->queue, (size_t)self->options.batch_bytes);
    arcp__otlp_request_begin(resource, 2, self->options.version, &message.body);
    arcp__span_queue_format(&self->queue, &message.body);
    arcp__otlp_request_end(&message.body);
    (void)pthread_mutex_unlock(&self->lock);
    self->state = SENDING;
    arcp_buf_append(&message.url, arcp_span_cstr(self->options.url));
    arcp_buf_append_byte(&message.url, '\0');
    arcp_buf_append(&message.headers, arcp_buf_span(&self->headers));
    if (!has_batch || message.url.failed || message.headers.failed || message.body.failed) {
        arcp__http_message_fini(&message);
        pause_batch(self, 0, "there is no memory for spans");
    } else if (arcp__http_client_send(self->client, &message, NULL) != ARCP_OK) {
        pause_batch(self, 0, "there is no memory for spans");
    }
}

/* How many spans of a batch the collector refused, as a 2xx answer says it. */
static size_t rejected_of(arcp_span body)
{
    const arcp_json_limits limits = {16, 64, 65536};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_init();
    uint64_t count = 0;
    if (arcp_json_scan(&json, body, &limits, NULL) == ARCP_OK) {
        arcp_json_ref partial =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("partialSuccess"));
        arcp_json_ref ref = arcp_json_member(&json, partial, ARCP_SPAN_LITERAL("rejectedSpans"));
        /* 64 bits are written as text. */
        (void)arcp__digits_parse(arcp_json_string(&json, ref, &scratch), &count);
        if (arcp_json_is(&json, ref, ARCP_JSON_NUMBER)) {
            (void)arcp_json_u64(&json, ref, &count);
        }
    }
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
    return (size_t)count;
}

static void on_answer(void *user, const arcp__http_answer *answer)
{
    exporter *self = user;
    char why[96];
    size_t count = self->queue.taken_count; /* only this thread changes it */
    int status = answer->result == ARCP__HTTP_ANSWERED ? answer->status : 0;
    (void)snprintf(why, sizeof(why), "the collector answered %d", status);
    if (status == 0 || status == 429 || status == 502 || status == 503 || status == 504) {
        pause_batch(self, answer->retry_after_sec, status == 0 ? answer->problem : why);
        return;
    }
    self->failures = 0;
    self->state = IDLE;
    if (status >= 200 && status < 300) {
        size_t rejected = rejected_of(answer->body);
        rejected = rejected < count ? rejected : count;
        settle(self, count - rejected, rejected,
               rejected == 0 ? NULL : "the collector refused some spans");
    } else {
        settle(self, 0, count, why);
    }
    go_on(self);
}

/* ---- the thread ---- */

/* From IDLE or WAITING. */
static void go_on(exporter *self)
{
    (void)pthread_mutex_lock(&self->lock);
    size_t waiting = arcp__span_queue_waiting(&self->queue);
    (void)pthread_mutex_unlock(&self->lock);
    if (waiting == 0) {
        if (self->is_flushing) {
            finish_soon(self);
        }
    } else if (self->is_flushing || waiting >= self->options.batch_bytes) {
        /* Not from inside: an answer's handler goes on in the client. */
        self->state = WAITING;
        (void)uv_timer_start(&self->timer, on_timer, 0, 0);
    } else if (self->state == IDLE) {
        self->state = WAITING;
        (void)uv_timer_start(&self->timer, on_timer, self->options.delay_ms, 0);
    }
}

static void on_deadline(uv_timer_t *timer)
{
    finish(timer->data);
}

static void on_wake(uv_async_t *async)
{
    exporter *self = async->data;
    (void)pthread_mutex_lock(&self->lock);
    const bool must_stop = self->must_stop;
    const uint64_t flush_ms = self->flush_ms;
    (void)pthread_mutex_unlock(&self->lock);
    if (must_stop && !self->is_flushing) {
        self->is_flushing = true;
        uv_update_time(&self->loop);
        self->deadline_ms = uv_now(&self->loop) + flush_ms;
        (void)uv_timer_start(&self->deadline, on_deadline, flush_ms, 0);
        if (self->state == PAUSED && !self->is_over) {
            (void)uv_timer_start(&self->timer, on_timer, 0, 0);
        }
    }
    if (self->state == IDLE || self->state == WAITING) {
        go_on(self);
    }
}

static void *run(void *user)
{
    exporter *self = user;
    (void)uv_run(&self->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- for everybody ---- */

static bool add(arcp__span_exporter *base, arcp_span span)
{
    exporter *self = (exporter *)base;
    (void)pthread_mutex_lock(&self->lock);
    size_t before = arcp__span_queue_waiting(&self->queue);
    bool added = arcp__span_queue_add(&self->queue, span);
    size_t after = arcp__span_queue_waiting(&self->queue);
    self->stats.dropped += added ? 0 : 1;
    (void)pthread_mutex_unlock(&self->lock);
    size_t full = (size_t)self->options.batch_bytes;
    if (added && (before == 0 || (before < full && after >= full))) {
        (void)uv_async_send(&self->wake);
    }
    return added;
}

static void get_stats(arcp__span_exporter *base, arcp__span_exporter_stats *out)
{
    exporter *self = (exporter *)base;
    (void)pthread_mutex_lock(&self->lock);
    *out = self->stats;
    out->queued_bytes = self->queue.spans.size;
    (void)pthread_mutex_unlock(&self->lock);
}

static void free_memory(exporter *self)
{
    arcp_buf_fini(&self->headers);
    arcp_buf_fini(&self->queue.spans);
    (void)pthread_mutex_destroy(&self->lock);
    arcp__free(self);
}

static void close_exporter(arcp__span_exporter *base, uint64_t flush_ms,
                           arcp__span_exporter_stats *last)
{
    exporter *self = (exporter *)base;
    (void)pthread_mutex_lock(&self->lock);
    self->must_stop = true;
    self->flush_ms = flush_ms;
    (void)pthread_mutex_unlock(&self->lock);
    (void)uv_async_send(&self->wake);
    (void)pthread_join(self->thread, NULL);
    get_stats(base, last);
    (void)uv_loop_close(&self->loop);
    free_memory(self);
}

/* ---- life ---- */

static arcp_status add_header(exporter *self, const char *text, arcp_error *err)
{
    const arcp_provision_request nobody = {.struct_size = sizeof(nobody)};
    arcp__template header;
    bool names_key = false; /* of a credential: there is none */
    arcp_error why = {0};
    arcp_status status = arcp__template_init(&header, text, ARCP__TEMPLATE_HEADER, &why);
    if (status == ARCP_OK && !header.is_constant) {
        status =
            arcp_error_set(&why, ARCP_E_USAGE, "only {env:NAME} and {file:PATH} may stand here");
    }
    size_t from = self->headers.size;
    if (status == ARCP_OK && !arcp__template_expand(&header, &nobody, &names_key, &self->headers)) {
        status = arcp_error_set(&why, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t at = from; status == ARCP_OK && at < self->headers.size; at++) {
        if ((unsigned char)self->headers.data[at] < 0x20) {
            status = arcp_error_set(&why, ARCP_E_USAGE, "a header is one line");
        }
    }
    arcp_buf_append_byte(&self->headers, '\0');
    arcp__template_fini(&header);
    return status == ARCP_OK ? ARCP_OK
                             : arcp_error_set(err, status, "tracing.otlp.headers: %s", why.message);
}

static arcp_status set_up(exporter *self, arcp_error *err)
{
    const arcp__http_client_options client = {.loop = &self->loop,
                                              .peer = "the collector",
                                              .timeout_ms = self->options.timeout_ms,
                                              .connections = 1,
                                              .ca_file = self->options.ca_file,
                                              .keeps_connections = true,
                                              .done = on_answer,
                                              .user = self};
    arcp_status status = add_header(self, "Content-Type: application/json", err);
    for (size_t at = 0; status == ARCP_OK && at < self->options.header_count; at++) {
        status = add_header(self, self->options.headers[at], err);
    }
    if (status == ARCP_OK && self->headers.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK) {
        status = arcp__http_client_new(&client, &self->client, err);
    }
    if (status == ARCP_OK && arcp__thread_start(&self->thread, "arcp-tracing", run, self) != 0) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "no thread for spans");
    }
    return status;
}

ARCP_API arcp_status arcp__span_exporter_new(const arcp__span_exporter_options *options,
                                             arcp__span_exporter **out, arcp_error *err);

arcp_status arcp__span_exporter_new(const arcp__span_exporter_options *options,
                                    arcp__span_exporter **out, arcp_error *err)
{
    static const arcp__span_exporter_ops ops = {add, get_stats, close_exporter};
    exporter *self = arcp__alloc(sizeof(*self));
    if (self == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    self->base.ops = &ops;
    self->options = *options;
    self->headers.secret = true;
    self->queue.bytes_max = (size_t)options->queue_bytes;
    (void)pthread_mutex_init(&self->lock, NULL);
    if (uv_loop_init(&self->loop) != 0) {
        free_memory(self);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "no loop for spans");
    }
    (void)uv_async_init(&self->loop, &self->wake, on_wake);
    (void)uv_timer_init(&self->loop, &self->timer);
    (void)uv_timer_init(&self->loop, &self->deadline);
    self->wake.data = self;
    self->timer.data = self;
    self->deadline.data = self;
    arcp_status status = set_up(self, err);
    if (status != ARCP_OK) {
        finish(self);
        (void)uv_run(&self->loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&self->loop);
        free_memory(self);
        return status;
    }
    *out = &self->base;
    return ARCP_OK;
}
