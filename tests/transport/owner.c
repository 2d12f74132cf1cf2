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
    owner *self = user;
    assert_ptr_equal(connection, self->connection);
    assert_false(self->in_call);
    assert_false(self->closed);
    self->messages++;
    self->message_bytes += frame.size;
    self->last_size = frame.size;
    self->sum = frame_sum(self->sum, frame);
    if (self->keep) {
        arcp_buf_append(&self->log, frame);
        arcp_buf_append_byte(&self->log, '|');
    }
    if (self->on_message != NULL) {
        self->on_message(self, frame);
    }
}

static void on_drained(void *user, arcp_connection *connection, size_t written, size_t unsent)
{
    owner *self = user;
    assert_ptr_equal(connection, self->connection);
    assert_false(self->in_call);
    assert_false(self->closed);
    assert_true(written > 0);
    self->drains++;
    self->written += written;
    assert_int_equal(unsent, owner_unsent(self));
    assert_int_equal(self->written + unsent, self->accepted);
    if (self->on_drained != NULL) {
        self->on_drained(self);
    }
}

static void on_input_over(void *user, arcp_connection *connection)
{
    owner *self = user;
    assert_ptr_equal(connection, self->connection);
    assert_false(self->in_call);
    assert_false(self->closed);
    self->input_overs++;
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    owner *self = user;
    assert_ptr_equal(connection, self->connection);
    assert_false(self->in_call);
    assert_false(self->closed);
    arcp_connection_info info = arcp_connection_info_init();
    connection->ops->info(connection, &info);
    self->closed = true;
    self->code = code;
    self->closed_by_peer = info.closed_by_peer;
    snprintf(self->reason, sizeof self->reason, "%s", reason);
    if (self->on_closed != NULL) {
        self->on_closed(self);
    }
}

void owner_take(owner *self, arcp_connection *connection)
{
    assert_null(self->connection);
    self->connection = connection;
    arcp_connection_callbacks callbacks = {
        on_message, on_drained, self->wants_input_over ? on_input_over : NULL, on_closed, self};
    connection->ops->set_callbacks(connection, &callbacks);
}

void owner_fini(owner *self)
{
    owner_release(self);
    arcp_buf_fini(&self->log);
}

arcp_status owner_send(owner *self, arcp_span frame)
{
    self->in_call = true;
    arcp_status status = self->connection->ops->send(self->connection, frame);
    self->in_call = false;
    if (status == ARCP_OK) {
        self->accepted += frame.size;
    }
    return status;
}

void owner_send_text(owner *self, const char *text)
{
    assert_int_equal(owner_send(self, arcp_span_cstr(text)), ARCP_OK);
}

#define CALL(self, call)                                                                           \
    do {                                                                                           \
        (self)->in_call = true;                                                                    \
        (self)->connection->ops->call;                                                             \
        (self)->in_call = false;                                                                   \
    } while (0)

void owner_flush(owner *self)
{
    CALL(self, flush(self->connection));
}

void owner_pause(owner *self)
{
    CALL(self, pause(self->connection));
}

void owner_resume(owner *self)
{
    CALL(self, resume(self->connection));
}

void owner_close(owner *self, arcp_close_code code, const char *reason)
{
    CALL(self, close(self->connection, code, reason));
}

void owner_abort(owner *self)
{
    CALL(self, abort(self->connection));
}

void owner_release(owner *self)
{
    if (self->connection != NULL) {
        arcp_connection *connection = self->connection;
        self->in_call = true;
        connection->ops->free(connection);
        self->in_call = false;
        self->connection = NULL;
    }
}

size_t owner_unsent(const owner *self)
{
    return self->connection->ops->unsent(self->connection);
}
