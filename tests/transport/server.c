#include "transport/server.h"

static void on_accepted(void *user, arcp_connection *connection)
{
    server *s = user;
    assert_true(s->accepted < SERVER_OWNERS_MAX);
    s->owners[s->accepted].keep = true;
    owner_take(&s->owners[s->accepted], connection);
    s->accepted++;
    if (s->closes_when_accepted) {
        server_close_listener(s);
    }
}

static void on_refused(void *user, const char *peer, int status, const char *why)
{
    server *s = user;
    assert_non_null(strchr(peer, ':'));
    s->refused++;
    s->refused_status = status;
    snprintf(s->refused_why, sizeof s->refused_why, "%s", why);
    if (s->closes_when_refused) {
        server_close_listener(s);
    }
}

arcp_admission *server_admission(arcp_admission_limits limits)
{
    arcp_admission *admission = NULL;
    arcp_error err = {0};
    limits.struct_size = sizeof limits;
    if (limits.pending_timeout_ms == 0) {
        limits.pending_timeout_ms = 2 * TEST_PATIENCE_MS;
    }
    check_ok(arcp_admission_new(&limits, &admission, &err), &err);
    return admission;
}

void server_open(server *s, const char *url, arcp_listen_options options)
{
    memset(s, 0, sizeof *s);
    test_loop_init(&s->test);
    arcp_error err = {0};
    arcp_listener_callbacks callbacks = {on_accepted, on_refused, s};
    check_ok(arcp_listen_websocket(&s->test.loop, url == NULL ? "ws://127.0.0.1:0/arcp" : url,
                                   &options, &callbacks, &s->listener, &err),
             &err);
    arcp_admission_unref(options.admission);
    s->url = s->listener->ops->url(s->listener);
}

void server_close_listener(server *s)
{
    if (s->listener != NULL) {
        s->listener->ops->close(s->listener);
        s->listener = NULL;
    }
}

void server_fini(server *s)
{
    for (size_t i = 0; i < s->accepted; i++) {
        owner_fini(&s->owners[i]);
    }
    server_close_listener(s);
    test_loop_fini(&s->test);
}
