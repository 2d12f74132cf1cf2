/* An embedded runtime with its own token verifier: here "NAME:sesame" authenticates NAME. A
 * verifier may respond later (for example after a directory lookup); without a clear response the
 * token is refused.
 * cc -o custom-auth custom-auth.c \
 *   $(pkg-config --cflags --libs libarcp-runtime libarcp-client libuv) */
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <arcp/client.h>
#include <arcp/runtime.h>

/* Accepts one password. The token is a secret: it is compared in constant time, and neither logged
 * nor kept. */
static void verify(arcp_token_verifier *verifier, arcp_token_request *request)
{
    (void)verifier;
    static const char word[] = ":sesame";
    const size_t size = sizeof word - 1;
    const arcp_span token = arcp_token_request_token(request);
    arcp_token_response response = arcp_token_response_init(); /* refuses */
    response.why = "the token does not end with the password";
    if (token.size > size) {
        unsigned difference = 0;
        for (size_t i = 0; i < size; i++) {
            difference |= (unsigned)(token.data[token.size - size + i] ^ word[i]);
        }
        if (difference == 0) {
            response.status = ARCP_OK;
            response.principal = arcp_span_make(token.data, token.size - size);
        }
    }
    arcp_token_request_respond(request, &response);
}

static void release(arcp_token_verifier *verifier)
{
    (void)verifier; /* it is static */
}

static const arcp_token_verifier_ops ops = {sizeof ops, "sesame", verify, release};
static arcp_token_verifier password_verifier = {&ops};

static void on_stopped(void *user)
{
    arcp_runtime_free(user);
}

/* Two clients connect to `url`, one after the other. */
typedef struct demo {
    arcp_runtime *runtime;
    const char *url;
    unsigned attempts;
} demo;

static void try_next(demo *d, uv_loop_t *loop);

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    demo *d = user;
    if (event->type == ARCP_CLIENT_CONNECTED) {
        printf("connected\n");
        arcp_client_close(client);
    } else if (event->type == ARCP_CLIENT_CLOSED) {
        if (event->error != NULL) {
            printf("refused: %s\n", event->error->code);
        }
        arcp_client_free(client);
        try_next(d, uv_default_loop());
    }
}

static void try_next(demo *d, uv_loop_t *loop)
{
    static const char *const tokens[] = {"alice:sesame", "alice:please"};
    if (d->attempts == sizeof tokens / sizeof tokens[0]) {
        arcp_runtime_stop(d->runtime, on_stopped, d->runtime);
        return;
    }
    arcp_client_options options = arcp_client_options_init();
    options.url = arcp_span_cstr(d->url);
    options.token = arcp_span_cstr(tokens[d->attempts++]);
    options.no_reconnect = true;
    arcp_client *client = NULL;
    arcp_error err = {0};
    if (arcp_client_connect_start(&options, loop, on_event, d, &client, &err) != ARCP_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
    }
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_token_verifier *const verifiers[] = {&password_verifier};
    demo d = {NULL, NULL, 0};
    arcp_error err = {0};
    if (arcp_runtime_new(loop, &options, &d.runtime, &err) != ARCP_OK ||
        arcp_runtime_set_token_verifiers(d.runtime, verifiers, 1, &err) != ARCP_OK ||
        arcp_runtime_listen(d.runtime, "ws://127.0.0.1:0/arcp", NULL, &d.url, &err) != ARCP_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    try_next(&d, loop);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
