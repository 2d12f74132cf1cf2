/* Every struct of options, at every size that a program may have compiled it with (docs/decisions/
 * 0010): shorter ones are taken, longer ones and those that no release has are refused. The program
 * links what a program links that is both a client and a runtime. */
#include "support/check.h"

#include <string.h>
#include <unistd.h>

#include <uv.h>

#include <arcp/client.h>
#include <arcp/gate.h>
#include <arcp/runtime.h>
#include <arcp/watch.h>

#define BYTES_MAX 512

static struct {
    uv_loop_t loop;
    arcp_runtime *runtime;
    arcp_client *client; /* on the loop; its server does not exist */
    arcp_lease *lease;
} f;

/* Passes the struct to its function, and frees the object that this made. */
typedef arcp_status (*hand_in_fn)(const void *options, arcp_error *err);

static arcp_status admission(const void *options, arcp_error *err)
{
    arcp_admission *made = NULL;
    const arcp_status status = arcp_admission_new(options, &made, err);
    arcp_admission_unref(made);
    return status;
}

static arcp_status launcher(const void *options, arcp_error *err)
{
    arcp_launcher *made = NULL;
    const arcp_status status = arcp_launcher_new_direct(options, &made, err);
    arcp_launcher_free(made);
    return status;
}

static arcp_status sandbox_launcher(const void *options, arcp_error *err)
{
    arcp_launcher *made = NULL;
    const arcp_status status = arcp_launcher_new_sandbox(options, &made, err);
    arcp_launcher_free(made);
    return status;
}

static arcp_status listening(const void *options, arcp_error *err)
{
    const arcp_listener_callbacks callbacks = {NULL, NULL, NULL};
    arcp_listener *made = NULL;
    const arcp_status status =
        arcp_listen_websocket(&f.loop, "ws://127.0.0.1:0/arcp", options, &callbacks, &made, err);
    if (status == ARCP_OK) {
        made->ops->close(made);
    }
    return status;
}

static arcp_status connecting(const void *options, arcp_error *err)
{
    const arcp_connect_callbacks callbacks = {NULL, NULL, NULL};
    arcp_connector *made = NULL;
    const arcp_status status =
        arcp_connect(&f.loop, "ws://127.0.0.1:1/", options, &callbacks, &made, err);
    if (status == ARCP_OK) {
        arcp_connector_cancel(made);
    }
    return status;
}

static arcp_status pipes(const void *options, arcp_error *err)
{
    int ends[2];
    arcp_connection *made = NULL;
    assert_int_equal(pipe(ends), 0);
    const arcp_status status = arcp_open_stdio(&f.loop, ends[0], ends[1], options, &made, err);
    if (status == ARCP_OK) {
        made->ops->free(made);
    } else {
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    return status;
}

static arcp_status memory(const void *options, arcp_error *err)
{
    arcp_connection *made[2] = {NULL, NULL};
    const arcp_status status = arcp_memory_pair(&f.loop, options, &made[0], &made[1], err);
    if (status == ARCP_OK) {
        made[0]->ops->free(made[0]);
        made[1]->ops->free(made[1]);
    }
    return status;
}

static arcp_status serving(const void *options, arcp_error *err)
{
    arcp_connection *made[2] = {NULL, NULL};
    assert_int_equal(arcp_memory_pair(&f.loop, NULL, &made[0], &made[1], err), ARCP_OK);
    const arcp_status status = arcp_runtime_serve(f.runtime, made[0], options, err);
    made[1]->ops->free(made[1]);
    return status;
}

static arcp_status runtime(const void *options, arcp_error *err)
{
    arcp_runtime *made = NULL;
    const arcp_status status = arcp_runtime_new(&f.loop, options, &made, err);
    arcp_runtime_free(made);
    return status;
}

static arcp_status agent(const void *options, arcp_error *err)
{
    return arcp_runtime_register(f.runtime, options, err);
}

static arcp_status process_agent(const void *options, arcp_error *err)
{
    return arcp_runtime_register_process(f.runtime, options, err);
}

static arcp_status policy(const void *options, arcp_error *err)
{
    return arcp_runtime_add_policy(f.runtime, options, err);
}

static arcp_status jwt(const void *options, arcp_error *err)
{
    arcp_token_verifier *made = NULL;
    const arcp_status status = arcp_token_verifier_new_jwt(options, &made, err);
    arcp_token_verifier_free(made);
    return status;
}

static arcp_status authority(const void *options, arcp_error *err)
{
    arcp_authority *made = NULL;
    const arcp_status status = arcp_authority_new(f.lease, options, &made, err);
    arcp_authority_unref(made);
    return status;
}

static arcp_status lease_limits(const void *options, arcp_error *err)
{
    arcp_lease *made = NULL;
    const arcp_status status =
        arcp_lease_parse(arcp_span_cstr("{}"), arcp_span_make(NULL, 0), options, &made, err);
    arcp_lease_unref(made);
    return status;
}

static void ignore_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    (void)user;
    (void)client;
    (void)event;
}

static arcp_status client(const void *options, arcp_error *err)
{
    arcp_client *made = NULL;
    const arcp_status status =
        arcp_client_connect_start(options, &f.loop, ignore_event, NULL, &made, err);
    arcp_client_free(made);
    return status;
}

static void ignore_reply(void *user, arcp_client *asked, const arcp_reply *reply)
{
    (void)user;
    (void)asked;
    (void)reply;
}

static arcp_status submitting(const void *options, arcp_error *err)
{
    return arcp_client_submit_start(f.client, options, ignore_reply, NULL, err);
}

static arcp_status subscribing(const void *options, arcp_error *err)
{
    return arcp_client_subscribe_start(f.client, options, ignore_reply, NULL, err);
}

static arcp_status listing(const void *options, arcp_error *err)
{
    return arcp_client_list_start(f.client, options, ignore_reply, NULL, err);
}

static arcp_status watching(const void *options, arcp_error *err)
{
    return arcp_client_watch_start(f.client, options, ignore_reply, NULL, err);
}

static void nothing(arcp_agent_call *call, void *user)
{
    (void)user;
    arcp_agent_succeed(call, arcp_span_make(NULL, 0));
}

static void tear_down_on_loop(void)
{
    arcp_client_free(f.client);
    arcp_runtime_free(f.runtime);
    assert_int_equal(uv_run(&f.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f.loop), 0);
    arcp_lease_unref(f.lease);
}

static void set_up_on_loop(void)
{
    arcp_error err = {0};
    arcp_client_options options = arcp_client_options_init();
    const arcp_runtime_options of_runtime = arcp_runtime_options_init();
    options.url = arcp_span_cstr("ws://127.0.0.1:1/");
    assert_int_equal(uv_loop_init(&f.loop), 0);
    check_ok(arcp_runtime_new(&f.loop, &of_runtime, &f.runtime, &err), &err);
    check_ok(arcp_client_connect_start(&options, &f.loop, ignore_event, NULL, &f.client, &err),
             &err);
    check_ok(lease_limits(NULL, &err), &err);
    check_ok(arcp_lease_parse(arcp_span_cstr("{}"), arcp_span_make(NULL, 0), NULL, &f.lease, &err),
             &err);
}

/* A copy of the first `given` bytes with `size` as its struct_size. The block ends where the struct
 * does, so that memory checkers see a read beyond it. */
static void *copy_of(const void *whole, size_t given, size_t size)
{
    void *copy = malloc(given);
    assert_non_null(copy);
    memcpy(copy, whole, given);
    memcpy(copy, &size, sizeof size);
    return copy;
}

static void check_sizes(const char *type, const void *whole, size_t size, hand_in_fn hand_in)
{
    char bytes[BYTES_MAX] = {0};
    arcp_error err = {0};
    print_message("  %s: %zu bytes\n", type, size);
    assert_true(size + 8 <= sizeof bytes && size % sizeof(size_t) == 0);
    memcpy(bytes, whole, size);
    check_ok(hand_in(whole, &err), &err);
    /* A shorter struct may be refused because it lacks members, but not because of its size. */
    for (size_t given = size - sizeof(size_t); given > sizeof(size_t); given -= sizeof(size_t)) {
        void *shorter = copy_of(bytes, given, given);
        err = (arcp_error){0};
        const arcp_status status = hand_in(shorter, &err);
        assert_true(status == ARCP_OK || status == ARCP_E_USAGE ||
                    status == ARCP_E_INVALID_REQUEST);
        assert_null(strstr(err.message, "struct_size"));
        free(shorter);
    }
    const size_t refused[] = {0,       1, sizeof(size_t), size - 1, size + 1, size + sizeof(size_t),
                              SIZE_MAX};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        void *other = copy_of(bytes, size + 8, refused[i]);
        err = (arcp_error){0};
        assert_int_equal(hand_in(other, &err), ARCP_E_USAGE);
        assert_ptr_equal(strstr(err.message, type), err.message);
        assert_non_null(strstr(err.message, "struct_size"));
        free(other);
    }
}

static void shorter_structs_are_taken_and_all_others_refused(void **state)
{
    (void)state;
    static const char *const command[] = {"/bin/true", NULL};
    const arcp_admission_limits an_admission = arcp_admission_limits_init();
    const arcp_direct_launcher_options a_launcher = arcp_direct_launcher_options_init();
    const arcp_sandbox_launcher_options a_sandbox = arcp_sandbox_launcher_options_init();
    const arcp_listen_options a_listener = arcp_listen_options_init();
    const arcp_connect_options a_connector = arcp_connect_options_init();
    const arcp_stdio_options a_pipe = arcp_stdio_options_init();
    const arcp_memory_options a_pair = arcp_memory_options_init();
    const arcp_serve_options a_service = arcp_serve_options_init();
    const arcp_runtime_options a_runtime = arcp_runtime_options_init();
    const arcp_policy a_policy = arcp_policy_init();
    const arcp_authority_options an_authority = arcp_authority_options_init();
    const arcp_lease_limits some_limits = arcp_lease_limits_init();
    const arcp_list_options a_list = arcp_list_options_init();
    arcp_agent an_agent = arcp_agent_init();
    arcp_process_agent a_process = arcp_process_agent_init();
    arcp_jwt_options a_key = arcp_jwt_options_init();
    arcp_client_options a_client = arcp_client_options_init();
    arcp_submit_options a_submit = arcp_submit_options_init();
    arcp_subscribe_options a_subscription = arcp_subscribe_options_init();
    arcp_watch_options a_watch = arcp_watch_options_init();
    an_agent.name = a_process.name = "late";
    an_agent.run = nothing;
    a_process.command = command;
    a_key.key = arcp_span_cstr("0123456789abcdef0123456789abcdef");
    a_client.url = arcp_span_cstr("ws://127.0.0.1:1/");
    a_submit.agent = arcp_span_cstr("late");
    a_subscription.job_id = arcp_span_cstr("job_1");
    a_watch.jobs = true;
    const struct {
        const char *type;
        const void *whole;
        size_t size;
        hand_in_fn hand_in;
    } rows[] = {
        {"arcp_admission_limits", &an_admission, sizeof an_admission, admission},
        {"arcp_direct_launcher_options", &a_launcher, sizeof a_launcher, launcher},
        {"arcp_sandbox_launcher_options", &a_sandbox, sizeof a_sandbox, sandbox_launcher},
        {"arcp_listen_options", &a_listener, sizeof a_listener, listening},
        {"arcp_connect_options", &a_connector, sizeof a_connector, connecting},
        {"arcp_stdio_options", &a_pipe, sizeof a_pipe, pipes},
        {"arcp_memory_options", &a_pair, sizeof a_pair, memory},
        {"arcp_serve_options", &a_service, sizeof a_service, serving},
        {"arcp_runtime_options", &a_runtime, sizeof a_runtime, runtime},
        {"arcp_policy", &a_policy, sizeof a_policy, policy},
        {"arcp_authority_options", &an_authority, sizeof an_authority, authority},
        {"arcp_lease_limits", &some_limits, sizeof some_limits, lease_limits},
        {"arcp_list_options", &a_list, sizeof a_list, listing},
        {"arcp_agent", &an_agent, sizeof an_agent, agent},
        {"arcp_process_agent", &a_process, sizeof a_process, process_agent},
        {"arcp_jwt_options", &a_key, sizeof a_key, jwt},
        {"arcp_client_options", &a_client, sizeof a_client, client},
        {"arcp_submit_options", &a_submit, sizeof a_submit, submitting},
        {"arcp_subscribe_options", &a_subscription, sizeof a_subscription, subscribing},
        {"arcp_watch_options", &a_watch, sizeof a_watch, watching},
    };
    set_up_on_loop();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_sizes(rows[i].type, rows[i].whole, rows[i].size, rows[i].hand_in);
    }
    tear_down_on_loop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shorter_structs_are_taken_and_all_others_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
