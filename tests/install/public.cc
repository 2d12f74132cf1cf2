// The public headers as a C++17 program uses them: every header, every init function, a lease,
// JSON, settings, and a job of an embedded runtime. cxx.sh compiles it and writes headers.inc and
// inits.inc from what is there.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <uv.h>

#include "headers.inc"

namespace
{

void check(bool is_good, const char *what)
{
    if (!is_good) {
        std::fprintf(stderr, "FAIL %s\n", what);
        std::exit(1);
    }
}

void check_ok(arcp_status status, const arcp_error &err)
{
    check(status == ARCP_OK, err.message);
}

std::string text_of(arcp_span span)
{
    return std::string(span.data, span.size);
}

// A struct that begins with its size has it.
template <typename T>
auto check_size(const T &value, const char *name) -> decltype(value.struct_size, void())
{
    check(value.struct_size == sizeof(T), name);
}
void check_size(...)
{
}

void call_every_init()
{
#define INIT(type, init) check_size(init(), #type);
#include "inits.inc"
#undef INIT
    check(arcp_client_options_init().features ==
              (ARCP_FEATURES_ALL & ~ARCP_FEATURE_BIT(ARCP_FEATURE_PAGE_KEY)),
          "a default of arcp_client_options");
    check(arcp_authority_options_init().model_use_required, "a default of arcp_authority_options");
}

void check_lease()
{
    arcp_error err = {};
    arcp_lease *lease = nullptr;
    arcp_authority *authority = nullptr;
    arcp_target_scratch scratch;
    arcp_decision decision;
    const arcp_time now = {0, 0};
    check_ok(arcp_lease_parse(ARCP_SPAN_LITERAL("{\"fs.read\":[\"/srv/**\"]}"), arcp_span(),
                              nullptr, &lease, &err),
             err);
    check_ok(arcp_authority_new(lease, nullptr, &authority, &err), err);
    check(arcp_authorize(authority, now, ARCP_SPAN_LITERAL("fs.read"),
                         ARCP_SPAN_LITERAL("/srv/data.txt"), &scratch, &decision),
          "what the lease allows");
    check(!arcp_authorize(authority, now, ARCP_SPAN_LITERAL("fs.read"),
                          ARCP_SPAN_LITERAL("/srv/../etc/passwd"), &scratch, &decision) &&
              decision.reason == ARCP_DENY_NO_MATCH,
          "what it does not");
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
}

void check_values()
{
    arcp_error err = {};
    arcp_buf scratch = arcp_buf_init();
    arcp_json *json = arcp_json_new();
    check_ok(arcp_json_scan(json, ARCP_SPAN_LITERAL("{\"a\":\"b\\u0063\"}"), nullptr, &err), err);
    const arcp_json_ref member = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("a"));
    check(arcp_json_is(json, member, ARCP_JSON_STRING) &&
              text_of(arcp_json_string(json, member, &scratch)) == "bc",
          "a member of scanned JSON");
    arcp_json_free(json);
    arcp_buf_fini(&scratch);

    char value[ARCP_SETTING_VALUE_MAX];
    arcp_settings *settings = arcp_settings_new();
    check_ok(arcp_settings_set(settings, "limits.json_depth", "7", &err), err);
    check_ok(arcp_settings_get(settings, "limits.json_depth", value, &err), err);
    check(std::string(value) == "7", "a setting");
    arcp_settings_free(settings);

    arcp_decimal less = ARCP_DECIMAL_ZERO;
    arcp_decimal more = ARCP_DECIMAL_ZERO;
    check_ok(arcp_decimal_parse(ARCP_SPAN_LITERAL("0.1"), &less, &err), err);
    check_ok(arcp_decimal_parse(ARCP_SPAN_LITERAL("100000000000000000000"), &more, &err), err);
    check(arcp_decimal_compare(less, more) < 0, "decimals");
}

// ---- a runtime on a thread of its own ----

struct host {
    uv_loop_t loop;
    uv_async_t stop;
    arcp_runtime *runtime;
    const char *url;
};

void greet(arcp_agent_call *call, void *)
{
    arcp_agent_succeed(call, arcp_json_raw(arcp_agent_start(call), arcp_agent_input(call)));
}

void on_stop(uv_async_t *stop)
{
    host *h = static_cast<host *>(stop->data);
    uv_close(reinterpret_cast<uv_handle_t *>(stop), nullptr);
    arcp_runtime_stop(
        h->runtime, [](void *user) { arcp_runtime_free(static_cast<arcp_runtime *>(user)); },
        h->runtime);
}

void begin(host *h)
{
    arcp_error err = {};
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_agent agent = arcp_agent_init();
    arcp_token_verifier *verifier = nullptr;
    options.name = "cxx";
    agent.name = "echo";
    agent.run = greet;
    check(uv_loop_init(&h->loop) == 0 && uv_async_init(&h->loop, &h->stop, on_stop) == 0, "a loop");
    h->stop.data = h;
    check_ok(arcp_runtime_new(&h->loop, &options, &h->runtime, &err), err);
    check_ok(arcp_token_verifier_new_anonymous(&verifier, &err), err);
    check_ok(arcp_runtime_set_token_verifiers(h->runtime, &verifier, 1, &err), err);
    check_ok(arcp_runtime_register(h->runtime, &agent, &err), err);
    check_ok(arcp_runtime_listen(h->runtime, "ws://127.0.0.1:0/arcp", nullptr, &h->url, &err), err);
}

void check_job()
{
    host h = {};
    arcp_error err = {};
    arcp_buf result = arcp_buf_init();
    begin(&h);
    std::thread loop([&h] { (void)uv_run(&h.loop, UV_RUN_DEFAULT); });
    check_ok(arcp_client_run(h.url, "token", "echo", "{\"n\":1}", &result, &err), err);
    check(text_of(arcp_buf_span(&result)) == "{\"n\":1}", "the result of a job");
    (void)uv_async_send(&h.stop);
    loop.join();
    check(uv_loop_close(&h.loop) == 0, "the loop's end");
    arcp_buf_fini(&result);
}

} // namespace

int main()
{
    call_every_init();
    check_lease();
    check_values();
    check_job();
    std::puts("used from C++17");
    return 0;
}
