#include "runtime/shards_rig.h"

#include "base/alloc.h"

/* ---- stores ---- */

static arcp_store *inner_of(arcp_store *store)
{
    return ((broken_store *)store)->inner;
}

static void set_callbacks(arcp_store *store, const arcp_store_callbacks *callbacks)
{
    inner_of(store)->ops->set_callbacks(inner_of(store), callbacks);
}

static arcp_status submit(arcp_store *store, const arcp_store_batch *batch, arcp_error *err)
{
    return ((broken_store *)store)->is_broken
               ? arcp_error_set(err, ARCP_E_IO, "the disk is gone")
               : inner_of(store)->ops->submit(inner_of(store), batch, err);
}

static arcp_status read_stream(arcp_store *store, uint64_t id, arcp_span stream, uint64_t from,
                               size_t count_max, size_t bytes_max, arcp_error *err)
{
    return inner_of(store)->ops->read(inner_of(store), id, stream, from, count_max, bytes_max, err);
}

static arcp_status scan(arcp_store *store, uint64_t id, arcp_store_table table, arcp_span prefix,
                        arcp_error *err)
{
    return inner_of(store)->ops->scan(inner_of(store), id, table, prefix, err);
}

static bool poll_store(arcp_store *store)
{
    return inner_of(store)->ops->poll(inner_of(store));
}

static void stats(arcp_store *store, arcp_store_stats *out)
{
    inner_of(store)->ops->stats(inner_of(store), out);
}

static void close_store(arcp_store *store)
{
    inner_of(store)->ops->close(inner_of(store));
}

static const arcp_store_ops store_ops = {.struct_size = sizeof(arcp_store_ops),
                                         .name = "broken",
                                         .durable = true,
                                         .set_callbacks = set_callbacks,
                                         .submit = submit,
                                         .read = read_stream,
                                         .scan = scan,
                                         .poll = poll_store,
                                         .stats = stats,
                                         .close = close_store};

/* ---- peers ---- */

static void on_message(void *user, arcp_connection *connection, arcp_span frame)
{
    shards_peer *p = user;
    (void)connection;
    arcp_buf_append(&p->frames, frame);
    arcp_buf_append_byte(&p->frames, '\n');
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    shards_peer *p = user;
    (void)code;
    (void)reason;
    connection->ops->free(connection);
    p->connection = NULL;
    p->closed = true;
}

bool shards_rig_has(const shards_peer *p, const char *word)
{
    return p->frames.size != 0 &&
           memmem(p->frames.data, p->frames.size, word, strlen(word)) != NULL;
}

/* The value of a member that is a text, in the last frame that has it. */
void shards_rig_get(const shards_peer *p, const char *member, char out[128])
{
    char begin[64];
    const char *at = p->frames.data;
    const char *end = at + p->frames.size;
    const int size = snprintf(begin, sizeof begin, "\"%s\":\"", member);
    out[0] = '\0';
    while ((at = memmem(at, (size_t)(end - at), begin, (size_t)size)) != NULL) {
        at += size;
        const char *quote = memchr(at, '"', (size_t)(end - at));
        assert_non_null(quote);
        (void)snprintf(out, 128, "%.*s", (int)(quote - at), at);
    }
}

void shards_rig_send(const shards_peer *p, const char *frame)
{
    assert_int_equal(p->connection->ops->send(p->connection, arcp_span_cstr(frame)), ARCP_OK);
    p->connection->ops->flush(p->connection);
}

shards_peer *shards_rig_connect(shards_rig *r, unsigned index, const arcp_serve_options *options)
{
    shards_peer *p = &r->peers[index];
    arcp_connection *served = NULL;
    arcp_error error = {0};
    arcp_buf_fini(&p->frames);
    *p = (shards_peer){.closed = false};
    check_ok(arcp_memory_pair(&r->loop, NULL, &p->connection, &served, &error), &error);
    const arcp_connection_callbacks callbacks = {
        .message = on_message, .closed = on_closed, .user = p};
    p->connection->ops->set_callbacks(p->connection, &callbacks);
    assert_int_equal(arcp_runtime_serve(r->runtime, served, options, NULL), ARCP_OK);
    return p;
}

/* `more`: members of the hello's payload. */
shards_peer *shards_rig_hello(shards_rig *r, unsigned index, const char *token, const char *more)
{
    char frame[600];
    shards_peer *p = shards_rig_connect(r, index, NULL);
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                   "\"client\":{\"name\":\"t\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\","
                   "\"token\":\"%s\"},\"capabilities\":{\"features\":[\"list_jobs\",\"subscribe\"]}"
                   "%s}}",
                   token, more);
    shards_rig_send(p, frame);
    return p;
}

/* `payload`: an object. */
void shards_rig_request(const shards_peer *p, const char *type, const char *payload)
{
    static unsigned number;
    char frame[600];
    char session[128];
    shards_rig_get(p, "session_id", session);
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"r%u\",\"session_id\":\"%s\",\"type\":\"%s\","
                   "\"payload\":%s}",
                   number++, session, type, payload);
    shards_rig_send(p, frame);
}

/* ---- the rig ---- */

/* The token is the principal, but for some. */
static void let_in(void *user, arcp_token_request *request)
{
    arcp_token_response response = arcp_token_response_init();
    const arcp_span token = arcp_token_request_token(request);
    (void)user;
    response.status = arcp_span_equal_cstr(token, "wrong") ? ARCP_E_UNAUTHENTICATED : ARCP_OK;
    response.principal = token;
    arcp_token_request_respond(request, &response);
}

static void echo(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("\"done\""));
}

static void wait_for_the_test(arcp_agent_call *call, void *user)
{
    ((shards_rig *)user)->held = call;
}

void shards_rig_lose_patience(uv_timer_t *timer)
{
    ((shards_rig *)timer->data)->timed_out = true;
}

void shards_rig_prepare(shards_rig *r, size_t shards)
{
    arcp_error error = {0};
    *r = (shards_rig){.options = arcp_runtime_options_init()};
    assert_int_equal(uv_loop_init(&r->loop), 0);
    assert_int_equal(uv_timer_init(&r->loop, &r->patience), 0);
    r->patience.data = r;
    arcp__settings_default(&r->settings);
    arcp_settings_fit_memory(&r->settings);
    r->options.settings = &r->settings;
    r->setup.stores = r->of_setup;
    r->setup.store_count = shards;
    for (size_t i = 0; i < shards; i++) {
        r->stores[i].store.ops = &store_ops;
        r->of_setup[i] = &r->stores[i].store;
        check_ok(arcp_store_open_memory(&r->stores[i].inner, &error), &error);
    }
}

void shards_rig_open(shards_rig *r)
{
    arcp_error error = {0};
    arcp_token_verifier *verifier = NULL;
    arcp_agent agent = arcp_agent_init();
    check_ok(arcp__runtime_new_with_setup(&r->loop, &r->options, &r->setup, &r->runtime, &error),
             &error);
    check_ok(arcp_token_verifier_new_callback(let_in, NULL, NULL, &verifier, &error), &error);
    check_ok(arcp_runtime_set_token_verifiers(r->runtime, &verifier, 1, &error), &error);
    agent.kind = ARCP_AGENT_NON_BLOCKING;
    agent.name = "echo";
    agent.run = echo;
    check_ok(arcp_runtime_register(r->runtime, &agent, &error), &error);
    agent.name = "wait";
    agent.run = wait_for_the_test;
    agent.user = r;
    check_ok(arcp_runtime_register(r->runtime, &agent, &error), &error);
}

void shards_rig_start(shards_rig *r, size_t shards)
{
    shards_rig_prepare(r, shards);
    shards_rig_open(r);
}

void shards_rig_close(shards_rig *r)
{
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        if (r->peers[i].connection != NULL) {
            r->peers[i].connection->ops->free(r->peers[i].connection);
        }
        arcp_buf_fini(&r->peers[i].frames);
    }
    uv_close((uv_handle_t *)&r->patience, NULL);
    (void)uv_run(&r->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&r->loop), 0);
}

static void on_stopped(void *user)
{
    ((shards_rig *)user)->stopped = true;
}

void shards_rig_stop(shards_rig *r)
{
    arcp_runtime_stop(r->runtime, on_stopped, r);
    shards_rig_until(r, r->stopped);
    arcp_runtime_free(r->runtime);
    shards_rig_close(r);
}

arcp__shard *shards_rig_shard(const shards_rig *r, const char *principal)
{
    return arcp__shard_of_principal(r->runtime, arcp_span_cstr(principal));
}

uint64_t shards_rig_sessions(const arcp__shard *shard)
{
    arcp__engine_stats figures;
    arcp__engine_get_stats(shard->engine, &figures);
    return figures.sessions;
}

/* A principal in another shard than that one, and one in the same. */
void shards_rig_find(const shards_rig *r, const char *than, bool is_same, char out[16])
{
    unsigned number = 0;
    do {
        (void)snprintf(out, 16, "other-%u", number++);
    } while ((shards_rig_shard(r, out) == shards_rig_shard(r, than)) != is_same);
}
