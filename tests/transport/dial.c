#include "transport/dial.h"

static void on_connected(void *user, arcp_connection *connection)
{
    dial *d = user;
    assert_false(d->connected || d->failed);
    d->connected = true;
    d->owner.keep = true;
    owner_take(&d->owner, connection);
}

static void on_failed(void *user, const arcp_error *err)
{
    dial *d = user;
    assert_false(d->connected || d->failed);
    d->failed = true;
    d->err = *err;
}

void dial_begin(dial *d, test_loop *test, const char *url, const arcp_connect_options *options)
{
    memset(d, 0, sizeof *d);
    arcp_connect_callbacks callbacks = {on_connected, on_failed, d};
    arcp_error err = {0};
    check_ok(arcp_connect(&test->loop, url, options, &callbacks, &d->connector, &err), &err);
    assert_false(d->connected || d->failed); /* never during the call */
}

void dial_wait(dial *d, test_loop *test)
{
    run_until(test, d->connected || d->failed);
}

void dial_expect_failure(dial *d, test_loop *test, arcp_status status, const char *message)
{
    dial_wait(d, test);
    if (!d->failed || d->err.status != status || strstr(d->err.message, message) == NULL) {
        fail_msg("got %s: \"%s\", want \"%s\"", arcp_status_name(d->err.status), d->err.message,
                 message);
    }
}

void dial_fini(dial *d)
{
    owner_fini(&d->owner);
}
