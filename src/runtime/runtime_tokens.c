/* The engine's questions about tokens, and who answers them. */
#include "base/clock.h"
#include "runtime/runtime_state.h"

#define QUESTIONS_DEFAULT 1024u

static void on_answered(void *user, uint64_t auth_id, arcp_status status, arcp_span principal,
                        bool is_anonymous)
{
    const arcp_runtime *runtime = user;
    arcp__engine_authenticated(runtime->engine, arcp__clock_now(), auth_id, status, principal,
                               is_anonymous);
}

static void on_refused(void *user, const char *peer, const char *why, bool is_trouble)
{
    const arcp_runtime *runtime = user;
    const arcp__refusal refusal = {.peer = peer, .rule = "bearer token", .is_trouble = is_trouble};
    arcp__engine_refused(runtime->engine, arcp__clock_now(), &refusal, why);
}

static void on_wake(void *user)
{
    arcp_runtime *runtime = user;
    (void)uv_async_send(&runtime->wake);
}

arcp__authenticator *arcp__runtime_authenticator_new(arcp_runtime *runtime, size_t questions_max)
{
    const arcp__authenticator_owner owner = {
        .answered = on_answered, .refused = on_refused, .wake = on_wake, .user = runtime};
    return arcp__authenticator_new(&owner, questions_max == 0 ? QUESTIONS_DEFAULT : questions_max);
}

void arcp__runtime_authenticate(const arcp__runtime_link *link, uint64_t auth_id, arcp_span token)
{
    arcp_connection_info info = {0};
    link->connection->ops->info(link->connection, &info);
    arcp__authenticator_ask(link->runtime->authenticator, auth_id, token,
                            info.peer == NULL ? "a peer" : info.peer, arcp__clock_now().wall_ns);
}

arcp_status arcp_runtime_set_token_verifiers(arcp_runtime *runtime,
                                             arcp_token_verifier *const *verifiers, size_t count,
                                             arcp_error *err)
{
    return arcp__authenticator_set(runtime->authenticator, verifiers, count, err);
}
