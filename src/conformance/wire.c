#include "conformance/conformance.h"

#include <string.h>
#include <uv.h>

#include <arcp/sys/transport.h>

#include "base/alloc.h"

/* What a runtime that does not read may leave with us. */
#define UNSENT_MAX ((size_t)64 * 1024 * 1024)

typedef struct frame {
    struct frame *next;
    arcp_buf text;
} frame;

struct arcp__wire {
    const char *url, *ca_file;
    uint64_t wait_ms;
    uv_loop_t loop;
    uv_timer_t timer;
    uint64_t deadline_ms; /* of the loop's clock */
    bool is_late;
};

struct arcp__wire_end {
    arcp__wire *wire;
    arcp_connection *connection; /* NULL: not yet, or over */
    bool has_failed;             /* while connecting */
    bool is_closed;
    bool lacks_memory;
    int close_code;
    arcp_error why; /* of either */
    frame *first, **last;
};

arcp__wire *arcp__wire_new(const char *url, const char *ca_file, uint64_t wait_ms)
{
    arcp__wire *wire = arcp__alloc(sizeof(*wire));
    if (wire == NULL) {
        return NULL;
    }
    wire->url = url;
    wire->ca_file = ca_file;
    wire->wait_ms = wait_ms;
    if (uv_loop_init(&wire->loop) != 0) {
        arcp__free(wire);
        return NULL;
    }
    (void)uv_timer_init(&wire->loop, &wire->timer);
    return wire;
}

void arcp__wire_free(arcp__wire *wire)
{
    if (wire == NULL) {
        return;
    }
    uv_close((uv_handle_t *)&wire->timer, NULL);
    /* Connections that were dropped free themselves in the loop. */
    (void)uv_run(&wire->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&wire->loop);
    arcp__free(wire);
}

/* ---- waiting ---- */

static void on_late(uv_timer_t *timer)
{
    arcp__wire *wire = timer->data;
    wire->is_late = true;
}

void arcp__wire_begin(arcp__wire *wire)
{
    uv_update_time(&wire->loop);
    wire->deadline_ms = uv_now(&wire->loop) + wire->wait_ms;
}

/* Turns the loop until the end has news, or until the deadline. */
static void wait_for(arcp__wire *wire, bool (*has_news)(const arcp__wire_end *end),
                     const arcp__wire_end *end)
{
    uv_update_time(&wire->loop);
    uint64_t now_ms = uv_now(&wire->loop);
    wire->is_late = now_ms >= wire->deadline_ms;
    wire->timer.data = wire;
    (void)uv_timer_start(&wire->timer, on_late, wire->is_late ? 0 : wire->deadline_ms - now_ms, 0);
    while (!has_news(end) && !wire->is_late) {
        (void)uv_run(&wire->loop, UV_RUN_ONCE);
    }
    (void)uv_timer_stop(&wire->timer);
}

/* ---- what a connection says ---- */

static void on_message(void *user, arcp_connection *connection, arcp_span text)
{
    arcp__wire_end *end = user;
    frame *added = arcp__alloc(sizeof(*added));
    if (added != NULL) {
        arcp_buf_append(&added->text, text);
    }
    if (added == NULL || added->text.failed) {
        arcp__free(added);
        end->lacks_memory = true;
        return;
    }
    *end->last = added;
    end->last = &added->next;
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    arcp__wire_end *end = user;
    end->is_closed = true;
    end->close_code = (int)code;
    (void)arcp_error_set(&end->why, ARCP_E_CLOSED, "the runtime closed the connection (%d%s%s)",
                         (int)code, reason[0] == '\0' ? "" : ": ", reason);
    end->connection = NULL;
    connection->ops->release(connection);
}

static void on_connected(void *user, arcp_connection *connection)
{
    arcp__wire_end *end = user;
    const arcp_connection_callbacks callbacks = {
        .message = on_message, .closed = on_closed, .user = end};
    end->connection = connection;
    connection->ops->set_callbacks(connection, &callbacks);
}

static void on_failed(void *user, const arcp_error *err)
{
    arcp__wire_end *end = user;
    end->has_failed = true;
    end->why = *err;
}

/* ---- the calls ---- */

static bool is_connected_or_not(const arcp__wire_end *end)
{
    return end->connection != NULL || end->has_failed || end->is_closed;
}

static bool has_frame(const arcp__wire_end *end)
{
    return end->first != NULL || end->is_closed || end->lacks_memory;
}

arcp_status arcp__wire_open(arcp__wire *wire, arcp__wire_end **out, arcp_error *err)
{
    arcp_connect_options options = ARCP_CONNECT_OPTIONS_INIT;
    arcp_connect_callbacks own = {.connected = on_connected, .failed = on_failed};
    arcp_connector *connector = NULL;
    arcp__wire_end *end = arcp__alloc(sizeof(*end));
    if (end == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    end->wire = wire;
    end->last = &end->first;
    own.user = end;
    options.ca_file = wire->ca_file;
    arcp_status status = arcp_connect(&wire->loop, wire->url, &options, &own, &connector, err);
    if (status == ARCP_OK) {
        wait_for(wire, is_connected_or_not, end);
        if (end->connection == NULL && !end->has_failed && !end->is_closed) {
            arcp_connector_cancel(connector);
            status = arcp_error_set(err, ARCP_E_DEADLINE, "no connection came about in time");
        } else if (end->connection == NULL) {
            *err = end->why;
            status = end->why.status;
        }
    }
    if (status != ARCP_OK) {
        arcp__wire_drop(end);
        return status;
    }
    *out = end;
    return ARCP_OK;
}

void arcp__wire_drop(arcp__wire_end *end)
{
    if (end == NULL) {
        return;
    }
    if (end->connection != NULL) {
        end->connection->ops->flush(end->connection);
        end->connection->ops->release(end->connection);
    }
    while (end->first != NULL) {
        frame *first = end->first;
        end->first = first->next;
        arcp_buf_fini(&first->text);
        arcp__free(first);
    }
    arcp__free(end);
}

arcp_status arcp__wire_send(arcp__wire_end *end, arcp_span text, arcp_error *err)
{
    if (end->connection == NULL) {
        *err = end->why;
        return end->why.status;
    }
    if (end->connection->ops->unsent(end->connection) > UNSENT_MAX) {
        return arcp_error_set(err, ARCP_E_LIMIT, "the runtime does not read what it is sent");
    }
    arcp_status status = end->connection->ops->send(end->connection, text);
    if (status != ARCP_OK) {
        return arcp_error_set(err, status, "a frame could not be sent");
    }
    end->connection->ops->flush(end->connection);
    return ARCP_OK;
}

arcp_status arcp__wire_next(arcp__wire_end *end, arcp_buf *out, arcp_error *err)
{
    arcp_buf_clear(out);
    wait_for(end->wire, has_frame, end);
    if (end->first != NULL && !end->wire->is_late) {
        frame *first = end->first;
        end->first = first->next;
        if (end->first == NULL) {
            end->last = &end->first;
        }
        arcp_buf_fini(out);
        *out = first->text;
        arcp__free(first);
        return ARCP_OK;
    }
    if (end->lacks_memory) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (end->is_closed && end->first == NULL) {
        *err = end->why;
        return end->why.status;
    }
    return arcp_error_set(err, ARCP_E_DEADLINE, "it did not come within %llu ms",
                          (unsigned long long)end->wire->wait_ms);
}

int arcp__wire_close_code(arcp__wire_end *end)
{
    wait_for(end->wire, has_frame, end);
    return end->first == NULL ? end->close_code : 0;
}
