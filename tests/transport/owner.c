#include "transport/owner.h"

uint32_t frame_sum(uint32_t sum, arcp_span frame)
{
    for (size_t i = 0; i < frame.size; i++) {
        sum = sum * 31 + (unsigned char)frame.data[i];
    }
    return sum * 31 + 257;
}

static void on_message(void *user, arcp_connection *connection, arcp_span frame)
{
    owner *o = user;
    assert_ptr_equal(connection, o->connection);
    assert_false(o->in_call);
    assert_false(o->closed);
    o->messages++;
    o->message_bytes += frame.size;
    o->last_size = frame.size;
    o->sum = frame_sum(o->sum, frame);
    if (o->keep) {
        arcp_buf_append(&o->log, frame);
        arcp_buf_append_byte(&o->log, '|');
    }
    if (o->on_message != NULL) {
        o->on_message(o, frame);
    }
}

static void on_drained(void *user, arcp_connection *connection, size_t written, size_t unsent)
{
    owner *o = user;
    assert_ptr_equal(connection, o->connection);
    assert_false(o->in_call);
    assert_false(o->closed);
    assert_true(written > 0);
    o->drains++;
    o->written += written;
    assert_int_equal(unsent, owner_unsent(o));
    assert_int_equal(o->written + unsent, o->accepted);
    if (o->on_drained != NULL) {
        o->on_drained(o);
    }
}

static void on_input_over(void *user, arcp_connection *connection)
{
    owner *o = user;
    assert_ptr_equal(connection, o->connection);
    assert_false(o->in_call);
    assert_false(o->closed);
    o->input_overs++;
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    owner *o = user;
    assert_ptr_equal(connection, o->connection);
    assert_false(o->in_call);
    assert_false(o->closed);
    arcp_connection_info info = arcp_connection_info_init();
    connection->ops->info(connection, &info);
    o->closed = true;
    o->code = code;
    o->closed_by_peer = info.closed_by_peer;
    snprintf(o->reason, sizeof o->reason, "%s", reason);
    if (o->on_closed != NULL) {
        o->on_closed(o);
    }
}

void owner_take(owner *o, arcp_connection *connection)
{
    assert_null(o->connection);
    o->connection = connection;
    arcp_connection_callbacks callbacks = {
        on_message, on_drained, o->wants_input_over ? on_input_over : NULL, on_closed, o};
    connection->ops->set_callbacks(connection, &callbacks);
}

void owner_fini(owner *o)
{
    owner_release(o);
    arcp_buf_fini(&o->log);
}

arcp_status owner_send(owner *o, arcp_span frame)
{
    o->in_call = true;
    const arcp_status status = o->connection->ops->send(o->connection, frame);
    o->in_call = false;
    if (status == ARCP_OK) {
        o->accepted += frame.size;
    }
    return status;
}

void owner_send_text(owner *o, const char *text)
{
    assert_int_equal(owner_send(o, arcp_span_cstr(text)), ARCP_OK);
}

#define CALL(self, call)                                                                           \
    do {                                                                                           \
        (self)->in_call = true;                                                                    \
        (self)->connection->ops->call;                                                             \
        (self)->in_call = false;                                                                   \
    } while (0)

void owner_flush(owner *o)
{
    CALL(o, flush(o->connection));
}

void owner_pause(owner *o)
{
    CALL(o, pause(o->connection));
}

void owner_resume(owner *o)
{
    CALL(o, resume(o->connection));
}

void owner_close(owner *o, arcp_close_code code, const char *reason)
{
    CALL(o, close(o->connection, code, reason));
}

void owner_abort(owner *o)
{
    CALL(o, abort(o->connection));
}

void owner_release(owner *o)
{
    if (o->connection != NULL) {
        arcp_connection *connection = o->connection;
        o->in_call = true;
        connection->ops->free(connection);
        o->in_call = false;
        o->connection = NULL;
    }
}

size_t owner_unsent(const owner *o)
{
    return o->connection->ops->unsent(o->connection);
}
