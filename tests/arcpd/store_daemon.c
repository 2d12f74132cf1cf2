#include "arcpd/store_daemon.h"

#include "support/check.h"

void store_file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void store_check_refused(daemon_state *d, const char *text)
{
    daemon_launch(d);
    if (daemon_await(d)) {
        fail_msg("arcpd is ready, want: %s", text);
    }
    char *errors = daemon_errors(d);
    if (d->exit_status != 1 || strstr(errors, text) == NULL) {
        fail_msg("exit status %d, want 1 and \"%s\": %s", d->exit_status, text, errors);
    }
    free(errors);
}

void store_submit(wire *w, const char *id, unsigned events, unsigned bytes, const char *end)
{
    wire_send(w,
              "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"load\",\"idempotency_key\":\"%s\",\"input\":{\"events\":%u,\"bytes\":%u,\"end\":"
              "\"%s\"}}}",
              id, id, events, bytes, end);
}

void store_make(daemon_state *d, wire_session *session)
{
    wire w;
    daemon_start(d);
    wire_open(&w, d->port);
    wire_hello(&w, "t-alice", session);
    store_submit(&w, "first", 1, 10, "result");
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 3);
    wire_close(&w);
    assert_int_equal(daemon_stop(d), 0);
}
