#include "http/http_peer.h"

#include "support/check.h"

#include "base/hash.h"

typedef struct peer_connection {
    struct peer_connection *previous, *next;
    uv_tcp_t tcp;
    uv_idle_t idle;
    http_peer *peer;
    arcp_buf text; /* of the current request */
    const peer_answer *answer;
    size_t sent;
    unsigned open_handles;
    bool is_closing;
} peer_connection;

typedef struct sending {
    uv_write_t write;
    char *bytes;
} sending;

static void on_closed(uv_handle_t *handle)
{
    peer_connection *connection = handle->data;
    if (--connection->open_handles != 0) {
        return;
    }
    connection->peer->open--;
    DL_DELETE2(connection->peer->list, connection, previous, next);
    arcp_buf_fini(&connection->text);
    free(connection);
}

static void close_connection(peer_connection *connection)
{
    if (!connection->is_closing) {
        connection->is_closing = true;
        uv_close((uv_handle_t *)&connection->tcp, on_closed);
        uv_close((uv_handle_t *)&connection->idle, on_closed);
    }
}

static void on_written(uv_write_t *write, int status)
{
    sending *sent = (sending *)write;
    (void)status;
    free(sent->bytes);
    free(sent);
}

/* Sends at once what the system takes; the rest is queued. */
static void write_bytes(peer_connection *connection, const char *bytes, size_t size)
{
    sending *written = calloc(1, sizeof *written);
    assert_non_null(written);
    written->bytes = malloc(size);
    assert_non_null(written->bytes);
    memcpy(written->bytes, bytes, size);
    const uv_buf_t buf = uv_buf_init(written->bytes, (unsigned)size);
    assert_int_equal(
        0, uv_write(&written->write, (uv_stream_t *)&connection->tcp, &buf, 1, on_written));
}

static void on_shut(uv_shutdown_t *shutdown, int status)
{
    peer_connection *connection = shutdown->data;
    (void)status;
    free(shutdown);
    close_connection(connection);
}

static void end_answer(peer_connection *connection)
{
    const peer_then then = connection->answer->then;
    (void)uv_idle_stop(&connection->idle);
    if (then == PEER_KEEPS) {
        connection->answer = NULL;
        arcp_buf_clear(&connection->text);
    } else if (then == PEER_CLOSES && !connection->is_closing) {
        uv_shutdown_t *shutdown = calloc(1, sizeof *shutdown);
        assert_non_null(shutdown);
        shutdown->data = connection;
        assert_int_equal(0, uv_shutdown(shutdown, (uv_stream_t *)&connection->tcp, on_shut));
    }
}

static void on_idle(uv_idle_t *idle)
{
    peer_connection *connection = idle->data;
    const peer_answer *answer = connection->answer;
    const size_t size = answer->size != 0 ? answer->size : strlen(answer->bytes);
    write_bytes(connection, answer->bytes + connection->sent, 1);
    if (++connection->sent == size) {
        end_answer(connection);
    }
}

static void respond(peer_connection *connection, const peer_answer *answer)
{
    connection->answer = answer;
    connection->sent = 0;
    if (answer->bytes == NULL) {
        end_answer(connection);
    } else if (answer->by_byte) {
        assert_int_equal(0, uv_idle_start(&connection->idle, on_idle));
    } else {
        write_bytes(connection, answer->bytes,
                    answer->size != 0 ? answer->size : strlen(answer->bytes));
        end_answer(connection);
    }
}

/* The size of the request in `text`, if it is complete up to what the answer waits for. */
static bool is_complete(const char *text, size_t size, bool at_head)
{
    const char *end = strstr(text, "\r\n\r\n");
    const char *length = strstr(text, "Content-Length: ");
    if (end == NULL) {
        return false;
    }
    const size_t body = length == NULL || at_head ? 0 : strtoul(length + 16, NULL, 10);
    return size >= (size_t)(end - text) + 4 + body;
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    peer_connection *connection = stream->data;
    http_peer *peer = connection->peer;
    if (size < 0) {
        close_connection(connection);
    } else if (size > 0) {
        const arcp_span piece = arcp_span_make(buf->base, (size_t)size);
        if (connection->text.size == 0) {
            peer->requests++;
        }
        arcp_buf_append(&peer->received, piece);
        arcp_buf_append(&connection->text, piece);
        arcp_buf_append_byte(&connection->text, '\0');
        connection->text.size--;
        const size_t last = peer->answer_count - 1;
        const peer_answer *answer =
            &peer->answers[peer->requests - 1 < last ? peer->requests - 1 : last];
        if (connection->answer == NULL &&
            is_complete(connection->text.data, connection->text.size, answer->at_head)) {
            respond(connection, answer);
        }
    }
    free(buf->base);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    (void)handle;
    *buf = uv_buf_init(malloc(size), (unsigned)size);
}

static void on_connection(uv_stream_t *listener, int status)
{
    http_peer *peer = listener->data;
    peer_connection *connection = calloc(1, sizeof *connection);
    assert_non_null(connection);
    assert_int_equal(0, status);
    connection->peer = peer;
    connection->open_handles = 2;
    (void)uv_tcp_init(listener->loop, &connection->tcp);
    (void)uv_idle_init(listener->loop, &connection->idle);
    connection->tcp.data = connection;
    connection->idle.data = connection;
    DL_APPEND2(peer->list, connection, previous, next);
    peer->connections++;
    peer->open++;
    assert_int_equal(0, uv_accept(listener, (uv_stream_t *)&connection->tcp));
    assert_int_equal(0, uv_read_start((uv_stream_t *)&connection->tcp, on_alloc, on_read));
}

void http_peer_start(http_peer *peer, uv_loop_t *loop, const peer_answer *answers, size_t count)
{
    struct sockaddr_in address;
    struct sockaddr_storage bound;
    int size = sizeof bound;
    *peer = (http_peer){.answers = answers, .answer_count = count};
    assert_int_equal(0, uv_ip4_addr("127.0.0.1", 0, &address));
    assert_int_equal(0, uv_tcp_init(loop, &peer->listener));
    peer->listener.data = peer;
    assert_int_equal(0, uv_tcp_bind(&peer->listener, (const struct sockaddr *)&address, 0));
    assert_int_equal(0, uv_listen((uv_stream_t *)&peer->listener, 64, on_connection));
    assert_int_equal(0, uv_tcp_getsockname(&peer->listener, (struct sockaddr *)&bound, &size));
    peer->port = ntohs(((const struct sockaddr_in *)&bound)->sin_port);
}

void http_peer_close_idle(http_peer *peer)
{
    peer_connection *next = NULL;
    for (peer_connection *each = peer->list; each != NULL; each = next) {
        next = each->next;
        if (each->answer == NULL) {
            close_connection(each);
        }
    }
}

void http_peer_close(http_peer *peer)
{
    for (peer_connection *each = peer->list; each != NULL; each = each->next) {
        close_connection(each);
    }
    uv_close((uv_handle_t *)&peer->listener, NULL);
}

void http_peer_forget(http_peer *peer)
{
    arcp_buf_fini(&peer->received);
}
