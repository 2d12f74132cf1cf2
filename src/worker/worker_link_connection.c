/* A link over a WebSocket, each message in one of its own. */
#include "worker/worker_link_parts.h"

/* The reasons of a close that the other side acts on. */
static arcp_close_code code_of(arcp_status status)
{
    return status == ARCP_OK                  ? ARCP_CLOSE_GOING_AWAY
           : status == ARCP_E_UNAUTHENTICATED ? ARCP_CLOSE_POLICY
           : status == ARCP_E_EXISTS          ? ARCP_CLOSE_TRY_AGAIN
           : status == ARCP_E_NO_MEMORY       ? ARCP_CLOSE_INTERNAL
                                              : ARCP_CLOSE_PROTOCOL_ERROR;
}

/* ---- what comes ---- */

static void on_message(void *user, arcp_connection *connection, arcp_span bytes)
{
    arcp__worker_link *link = user;
    arcp_error error = {0};
    const arcp_status status = arcp__worker_link_take(link, bytes, &error);
    if (status != ARCP_OK) {
        arcp__worker_link_end(link, status, error.message);
    }
}

static void on_drained(void *user, arcp_connection *connection, size_t written, size_t unsent)
{
    const arcp__worker_link *link = user;
    if (unsent == 0) {
        link->events.has_room(link->events.user);
    }
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    arcp__worker_link *link = user;
    arcp_connection_info info = arcp_connection_info_init();
    connection->ops->info(connection, &info);
    link->has_closed = true;
    link->is_refused = code == ARCP_CLOSE_POLICY && info.closed_by_peer;
    arcp__worker_link_end(link, ARCP_OK, reason[0] == '\0' ? NULL : reason);
}

/* ---- what goes ---- */

static void send_message(arcp__worker_link *link, const arcp__worker_message *message)
{
    arcp_buf_clear(&link->output);
    arcp__worker_message_write(message, &link->output);
    if (link->output.failed ||
        link->connection->ops->send(link->connection, arcp_buf_span(&link->output)) ==
            ARCP_E_NO_MEMORY) {
        link->connection->ops->abort(link->connection); /* `closed` follows */
    }
}

static size_t queued(const arcp__worker_link *link)
{
    return link->connection->ops->unsent(link->connection);
}

static void stop(arcp__worker_link *link, arcp_status status, const char *why)
{
    link->connection->ops->close(link->connection, code_of(status), why == NULL ? "" : why);
}

static void on_gone(void *user, arcp_connection *connection, arcp_close_code code,
                    const char *reason)
{
    connection->ops->free(connection);
}

/* After `stop` the connection needs some time for its reason to be sent, and frees itself then. */
static void close_connection(arcp__worker_link *link)
{
    const arcp_connection_callbacks callbacks = {.closed = on_gone};
    if (link->has_ended && !link->has_closed) {
        link->connection->ops->set_callbacks(link->connection, &callbacks);
    } else {
        link->connection->ops->free(link->connection);
    }
}

static const arcp__worker_way way = {
    .send = send_message, .queued = queued, .stop = stop, .close = close_connection};

void arcp__worker_link_admit(arcp__worker_link *link)
{
    if (link->connection != NULL) {
        link->connection->ops->admit(link->connection);
    }
}

arcp__worker_link *arcp__worker_link_over(arcp_connection *connection, arcp__worker_side ours,
                                          const arcp__worker_link_events *events)
{
    arcp__worker_link *link = arcp__worker_link_make(&way, ours, events);
    if (link != NULL) {
        const arcp_connection_callbacks callbacks = {
            .message = on_message, .drained = on_drained, .closed = on_closed, .user = link};
        link->connection = connection;
        connection->ops->set_callbacks(connection, &callbacks);
    }
    return link;
}
