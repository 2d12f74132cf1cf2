/* One lock guards the queue and the statistics, and is held only while bytes are copied. Everything
 * else belongs to the thread, whose loop has one timer and at most one request in progress:
 *
 *   IDLE --a span--> WAITING --delay, or a full batch--> SENDING --accepted, refused--> IDLE
 *                                                          |  ^
 *                                           to be retried  v  |  pause
 *                                                         PAUSED
 *
 * Closing sends the remaining spans at once, and gives up at its deadline, or before a pause that
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

typedef struct otlp_exporter {
    arcp__span_exporter base;
    arcp__span_exporter_options options;
    pthread_t thread;

    pthread_mutex_t lock; /* guards the members up to flush_ms */
    arcp__span_queue queue;
    arcp__span_exporter_stats stats; /* without queued_bytes */
    bool must_stop;
    uint64_t flush_ms;

    /* Used by the thread only. */
    uv_loop_t loop;
    uv_async_t wake; /* may be sent by any thread */
    uv_timer_t timer, deadline;
    arcp__http_client *client;
    arcp_buf headers; /* each with its NUL; secret: the collector's keys */
    state state;
    unsigned failures; /* of the current batch */
    uint64_t deadline_ms;
    bool is_flushing;
    bool is_over; /* nothing more is sent; the timer will end the loop */
} otlp_exporter;

/* ---- the outcome of a batch ---- */

static void settle(otlp_exporter *exporter, size_t exported, size_t dropped, const char *why)
{
    const bool fails = why != NULL;
    (void)pthread_mutex_lock(&exporter->lock);
    const bool changed = fails != exporter->stats.is_failing;
    exporter->stats.is_failing = fails;
    exporter->stats.exported += exported;
    exporter->stats.dropped += dropped;
    if (exported != 0 || dropped != 0) {
        arcp__span_queue_release(&exporter->queue);
    }
    (void)pthread_mutex_unlock(&exporter->lock);
    if (changed) {
        exporter->options.changed(exporter->options.user, why);
    }
}

/* Drops the remaining spans, and lets the loop end. */
static void finish(otlp_exporter *exporter)
{
    if (exporter->state == DONE) {
        return;
    }
    exporter->state = DONE;
    (void)pthread_mutex_lock(&exporter->lock);
    exporter->stats.dropped += exporter->queue.count;
    arcp_buf_clear(&exporter->queue.spans);
    exporter->queue = (arcp__span_queue){.spans = exporter->queue.spans};
    (void)pthread_mutex_unlock(&exporter->lock);
    arcp__http_client_free(exporter->client);
    exporter->client = NULL;
    uv_close((uv_handle_t *)&exporter->wake, NULL);
    uv_close((uv_handle_t *)&exporter->timer, NULL);
    uv_close((uv_handle_t *)&exporter->deadline, NULL);
}

/* ---- sending ---- */

static void schedule(otlp_exporter *exporter);
static void on_timer(uv_timer_t *timer);

/* Finishes in the next turn, because the client must not be freed inside its own callback. */
static void finish_later(otlp_exporter *exporter)
{
    exporter->is_over = true;
    (void)uv_timer_start(&exporter->timer, on_timer, 0, 0);
}

static uint64_t pause_ms(const otlp_exporter *exporter, uint64_t retry_after_sec)
{
    uint64_t pause = exporter->options.retry_ms;
    uint32_t random = 0;
    for (unsigned i = 1; i < exporter->failures && pause < PAUSE_MAX_MS; i++) {
        pause *= 2;
    }
    pause = pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
    /* Randomised, so that clients of one collector do not retry at the same time. */
    arcp__random(&random, sizeof random);
    pause = pause / 2 + random % (pause / 2 + 1);
    const uint64_t requested =
        retry_after_sec < RETRY_AFTER_MAX_MS / 1000 ? retry_after_sec * 1000 : RETRY_AFTER_MAX_MS;
    return pause > requested ? pause : requested;
}

static void pause_batch(otlp_exporter *exporter, uint64_t retry_after_sec, const char *why)
{
    exporter->failures++;
    exporter->state = PAUSED;
    settle(exporter, 0, 0, why);
    const uint64_t pause = pause_ms(exporter, retry_after_sec);
    if (exporter->is_flushing && uv_now(&exporter->loop) + pause >= exporter->deadline_ms) {
        finish_later(exporter);
        return;
    }
    (void)uv_timer_start(&exporter->timer, on_timer, pause, 0);
}

/* Sends a batch, or ends. */
static void on_timer(uv_timer_t *timer)
{
    otlp_exporter *exporter = timer->data;
    const arcp__otlp_attribute resource[] = {
        {.name = "service.name", .text = arcp_span_cstr(exporter->options.service_name)},
        {.name = "service.version", .text = arcp_span_cstr(exporter->options.version)},
    };
    arcp__http_message message = {.method = "POST", .headers = arcp_buf_secret_init()};
    if (exporter->is_over) {
        finish(exporter);
        return;
    }
    (void)pthread_mutex_lock(&exporter->lock);
    const bool has_batch =
        exporter->queue.taken_count != 0 ||
        arcp__span_queue_take(&exporter->queue, (size_t)exporter->options.batch_bytes);
    arcp__otlp_request_begin(resource, 2, exporter->options.version, &message.body);
    arcp__span_queue_format(&exporter->queue, &message.body);
    arcp__otlp_request_end(&message.body);
    (void)pthread_mutex_unlock(&exporter->lock);
    exporter->state = SENDING;
    arcp_buf_append(&message.url, arcp_span_cstr(exporter->options.url));
    arcp_buf_append_byte(&message.url, '\0');
    arcp_buf_append(&message.headers, arcp_buf_span(&exporter->headers));
    if (!has_batch || message.url.failed || message.headers.failed || message.body.failed) {
        arcp__http_message_fini(&message);
        pause_batch(exporter, 0, "out of memory for spans");
    } else if (arcp__http_client_send(exporter->client, &message, NULL) != ARCP_OK) {
        pause_batch(exporter, 0, "out of memory for spans");
    }
}

/* The number of spans of a batch that the collector refused, according to a 2xx response. */
static size_t rejected_of(arcp_span body)
{
    const arcp_json_limits limits = {16, 64, 65536};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_init();
    uint64_t count = 0;
    if (arcp_json_scan(&json, body, &limits, NULL) == ARCP_OK) {
        const arcp_json_ref partial =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("partialSuccess"));
        const arcp_json_ref ref =
            arcp_json_member(&json, partial, ARCP_SPAN_LITERAL("rejectedSpans"));
        /* In OTLP's JSON 64-bit integers are strings. */
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
    otlp_exporter *exporter = user;
    char why[96];
    const size_t count = exporter->queue.taken_count; /* only this thread changes it */
    const int status = answer->result == ARCP__HTTP_ANSWERED ? answer->status : 0;
    (void)snprintf(why, sizeof why, "the collector answered %d", status);
    if (status == 0 || status == 429 || status == 502 || status == 503 || status == 504) {
        pause_batch(exporter, answer->retry_after_sec, status == 0 ? answer->problem : why);
        return;
    }
    exporter->failures = 0;
    exporter->state = IDLE;
    if (status >= 200 && status < 300) {
        size_t rejected = rejected_of(answer->body);
        rejected = rejected < count ? rejected : count;
        settle(exporter, count - rejected, rejected,
               rejected == 0 ? NULL : "the collector refused some spans");
    } else {
        settle(exporter, 0, count, why);
    }
    schedule(exporter);
}

/* ---- the thread ---- */

/* Starts the timer for the next batch. Called in IDLE or WAITING. */
static void schedule(otlp_exporter *exporter)
{
    (void)pthread_mutex_lock(&exporter->lock);
    const size_t waiting = arcp__span_queue_waiting(&exporter->queue);
    (void)pthread_mutex_unlock(&exporter->lock);
    if (waiting == 0) {
        if (exporter->is_flushing) {
            finish_later(exporter);
        }
    } else if (exporter->is_flushing || waiting >= exporter->options.batch_bytes) {
        /* By the timer, because this may be called inside a callback of the client. */
        exporter->state = WAITING;
        (void)uv_timer_start(&exporter->timer, on_timer, 0, 0);
    } else if (exporter->state == IDLE) {
        exporter->state = WAITING;
        (void)uv_timer_start(&exporter->timer, on_timer, exporter->options.delay_ms, 0);
    }
}

static void on_deadline(uv_timer_t *timer)
{
    finish(timer->data);
}

static void on_wake(uv_async_t *async)
{
    otlp_exporter *exporter = async->data;
    (void)pthread_mutex_lock(&exporter->lock);
    const bool must_stop = exporter->must_stop;
    const uint64_t flush_ms = exporter->flush_ms;
    (void)pthread_mutex_unlock(&exporter->lock);
    if (must_stop && !exporter->is_flushing) {
        exporter->is_flushing = true;
        uv_update_time(&exporter->loop);
        exporter->deadline_ms = uv_now(&exporter->loop) + flush_ms;
        (void)uv_timer_start(&exporter->deadline, on_deadline, flush_ms, 0);
        if (exporter->state == PAUSED && !exporter->is_over) {
            (void)uv_timer_start(&exporter->timer, on_timer, 0, 0);
        }
    }
    if (exporter->state == IDLE || exporter->state == WAITING) {
        schedule(exporter);
    }
}

static void *run(void *user)
{
    otlp_exporter *exporter = user;
    (void)uv_run(&exporter->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- operations ---- */

static bool add(arcp__span_exporter *base, arcp_span span)
{
    otlp_exporter *exporter = (otlp_exporter *)base;
    (void)pthread_mutex_lock(&exporter->lock);
    const size_t before = arcp__span_queue_waiting(&exporter->queue);
    const bool added = arcp__span_queue_add(&exporter->queue, span);
    const size_t after = arcp__span_queue_waiting(&exporter->queue);
    exporter->stats.dropped += added ? 0 : 1;
    (void)pthread_mutex_unlock(&exporter->lock);
    const size_t full = (size_t)exporter->options.batch_bytes;
    if (added && (before == 0 || (before < full && after >= full))) {
        (void)uv_async_send(&exporter->wake);
    }
    return added;
}

static void get_stats(arcp__span_exporter *base, arcp__span_exporter_stats *out)
{
    otlp_exporter *exporter = (otlp_exporter *)base;
    (void)pthread_mutex_lock(&exporter->lock);
    *out = exporter->stats;
    out->queued_bytes = exporter->queue.spans.size;
    (void)pthread_mutex_unlock(&exporter->lock);
}

static void free_memory(otlp_exporter *exporter)
{
    arcp_buf_fini(&exporter->headers);
    arcp_buf_fini(&exporter->queue.spans);
    (void)pthread_mutex_destroy(&exporter->lock);
    arcp__free(exporter);
}

static void close_exporter(arcp__span_exporter *base, uint64_t flush_ms,
                           arcp__span_exporter_stats *last)
{
    otlp_exporter *exporter = (otlp_exporter *)base;
    (void)pthread_mutex_lock(&exporter->lock);
    exporter->must_stop = true;
    exporter->flush_ms = flush_ms;
    (void)pthread_mutex_unlock(&exporter->lock);
    (void)uv_async_send(&exporter->wake);
    (void)pthread_join(exporter->thread, NULL);
    get_stats(base, last);
    (void)uv_loop_close(&exporter->loop);
    free_memory(exporter);
}

/* ---- creation ---- */

static arcp_status add_header(otlp_exporter *exporter, const char *text, arcp_error *err)
{
    const arcp_provision_request none = {.struct_size = sizeof none};
    arcp__template header;
    bool names_key = false; /* not used: there is no credential */
    arcp_error why = {0};
    arcp_status status = arcp__template_init(&header, text, ARCP__TEMPLATE_HEADER, &why);
    if (status == ARCP_OK && !header.is_constant) {
        status =
            arcp_error_set(&why, ARCP_E_USAGE, "only {env:NAME} and {file:PATH} are allowed here");
    }
    const size_t from = exporter->headers.size;
    if (status == ARCP_OK &&
        !arcp__template_expand(&header, &none, &names_key, &exporter->headers)) {
        status = arcp_error_set(&why, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = from; status == ARCP_OK && i < exporter->headers.size; i++) {
        if ((unsigned char)exporter->headers.data[i] < 0x20) {
            status = arcp_error_set(&why, ARCP_E_USAGE, "a header must be one line");
        }
    }
    arcp_buf_append_byte(&exporter->headers, '\0');
    arcp__template_fini(&header);
    return status == ARCP_OK ? ARCP_OK
                             : arcp_error_set(err, status, "tracing.otlp.headers: %s", why.message);
}

static arcp_status set_up(otlp_exporter *exporter, arcp_error *err)
{
    const arcp__http_client_options client = {.loop = &exporter->loop,
                                              .peer = "the collector",
                                              .timeout_ms = exporter->options.timeout_ms,
                                              .connections = 1,
                                              .ca_file = exporter->options.ca_file,
                                              .keeps_connections = true,
                                              .done = on_answer,
                                              .user = exporter};
    arcp_status status = add_header(exporter, "Content-Type: application/json", err);
    for (size_t i = 0; status == ARCP_OK && i < exporter->options.header_count; i++) {
        status = add_header(exporter, exporter->options.headers[i], err);
    }
    if (status == ARCP_OK && exporter->headers.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK) {
        status = arcp__http_client_new(&client, &exporter->client, err);
    }
    if (status == ARCP_OK &&
        arcp__thread_start(&exporter->thread, "arcp-tracing", run, exporter) != 0) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "cannot create a thread for spans");
    }
    return status;
}

ARCP_API arcp_status arcp__span_exporter_new(const arcp__span_exporter_options *options,
                                             arcp__span_exporter **out, arcp_error *err);

arcp_status arcp__span_exporter_new(const arcp__span_exporter_options *options,
                                    arcp__span_exporter **out, arcp_error *err)
{
    static const arcp__span_exporter_ops ops = {add, get_stats, close_exporter};
    otlp_exporter *exporter = arcp__alloc(sizeof *exporter);
    if (exporter == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    exporter->base.ops = &ops;
    exporter->options = *options;
    exporter->headers.secret = true;
    exporter->queue.bytes_max = (size_t)options->queue_bytes;
    (void)pthread_mutex_init(&exporter->lock, NULL);
    if (uv_loop_init(&exporter->loop) != 0) {
        free_memory(exporter);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "cannot create a loop for spans");
    }
    (void)uv_async_init(&exporter->loop, &exporter->wake, on_wake);
    (void)uv_timer_init(&exporter->loop, &exporter->timer);
    (void)uv_timer_init(&exporter->loop, &exporter->deadline);
    exporter->wake.data = exporter;
    exporter->timer.data = exporter;
    exporter->deadline.data = exporter;
    const arcp_status status = set_up(exporter, err);
    if (status != ARCP_OK) {
        finish(exporter);
        (void)uv_run(&exporter->loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&exporter->loop);
        free_memory(exporter);
        return status;
    }
    *out = &exporter->base;
    return ARCP_OK;
}
