/* The provisioner `http`, loaded as arcpd loads it, against a real server that answers well,
 * badly, late, twice or not at all. */
#include "provisioner/http_provisioner.h"

#include "provisioner/provision_rig.h"
#include "provisioner/stand_in.h"
#include "support/check.h"

#include <dlfcn.h>

typedef struct fixture {
    provision_rig rig;
    stand_in upstream;
    char generate[128], remove[128], info[128];
    arcp__http_provisioner_options options;
    void *module;
} fixture;

static const int gone[] = {404};
static const arcp__upstream_rule rules[] = {{400, "budget_exceeded", ARCP_E_BUDGET_EXHAUSTED}};
static const char *const headers[] = {"Authorization: Bearer {env:ARCP_TEST_GATEWAY_KEY}",
                                      "X-Job: {job_id}"};

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    *state = f;
    (void)setenv("ARCP_TEST_GATEWAY_KEY", "sk-master", 1);
    provision_rig_begin(&f->rig);
    stand_in_start(&f->upstream, &f->rig.loop);
    (void)snprintf(f->generate, sizeof f->generate, "http://127.0.0.1:%u/key/generate",
                   f->upstream.port);
    (void)snprintf(f->remove, sizeof f->remove, "http://127.0.0.1:%u/key/delete", f->upstream.port);
    (void)snprintf(f->info, sizeof f->info, "http://127.0.0.1:%u/key/info?key={id}",
                   f->upstream.port);
    f->options = (arcp__http_provisioner_options){
        .loop = &f->rig.loop,
        .upstream = {.terms = {.struct_size = sizeof f->options.upstream.terms},
                     .endpoint = "https://gw.example/v1",
                     .profile = "openai",
                     .error_rules = rules,
                     .error_rule_count = 1},
        .timeout_ms = 5000,
        .connections = 4,
        .gone = gone,
        .gone_count = 1,
    };
    f->options.requests[ARCP__HTTP_ISSUE] = (arcp__http_request){
        .url = f->generate,
        .body = "{\"key_alias\":\"{alias}\",\"max_budget\":\"{budget}\",\"models\":\"{models}\","
                "\"duration\":\"{ttl_sec}s\",\"metadata\":{\"job\":\"{job_id}\",\"n\":1}}",
        .headers = headers,
        .header_count = 2,
        .pointers = {[ARCP__HTTP_VALUE] = "/key", [ARCP__HTTP_ID] = "/nested/0/a~1b"}};
    f->options.requests[ARCP__HTTP_REVOKE] =
        (arcp__http_request){.url = f->remove,
                             .body = "{\"key_aliases\":[\"{alias}\"]}",
                             .headers = headers,
                             .header_count = 1};
    f->options.requests[ARCP__HTTP_USAGE] =
        (arcp__http_request){.url = f->info, .pointers = {[ARCP__HTTP_SPENT] = "/info/spend"}};
    f->module = dlopen(ARCP_BINARY_DIR "/modules/arcp-provisioner-http.so", RTLD_NOW | RTLD_LOCAL);
    if (f->module == NULL) {
        fail_msg("%s", dlerror());
    }
    return 0;
}

static arcp_status make(fixture *f, arcp_error *err)
{
    arcp__http_provisioner_new_fn new_fn = NULL;
    arcp_provisioner *made = NULL;
    void *symbol = dlsym(f->module, ARCP__HTTP_PROVISIONER_SYMBOL);
    assert_non_null(symbol);
    memcpy(&new_fn, &symbol, sizeof new_fn);
    const arcp_status status = new_fn(&f->options, &made, err);
    if (status == ARCP_OK) {
        provision_rig_take(&f->rig, made);
    }
    return status;
}

static void start(fixture *f)
{
    arcp_error error = {0};
    check_ok(make(f, &error), &error);
}

static int teardown(void **state)
{
    fixture *f = *state;
    stand_in_close(&f->upstream);
    provision_rig_end(&f->rig);
    uv_mutex_destroy(&f->upstream.lock);
    assert_int_equal(dlclose(f->module), 0);
    free(f);
    return 0;
}

static const provision_answer *ask(fixture *f, provision_verb verb)
{
    return provision_rig_call(&f->rig, verb, (arcp_provision_request){0});
}

/* ---- issue ---- */

/* [arcp:9.8.3-2] [arcp:9.8.3-3] [arcp:9.8.3-4] [arcp:11-2] */
static void limits_become_the_request_and_the_answer_a_value(void **state)
{
    fixture *f = *state;
    const arcp_span models[] = {ARCP_SPAN_LITERAL("a"), ARCP_SPAN_LITERAL("b\"c")};
    start(f);
    const provision_answer *answer = provision_rig_call(
        &f->rig, PROVISION_ISSUE,
        (arcp_provision_request){.budget = ARCP_SPAN_LITERAL("2.5"),
                                 .models = models,
                                 .model_count = 2,
                                 .has_models = true,
                                 .ttl_sec = 60,
                                 .traceparent = ARCP_SPAN_LITERAL("00-11-22-01")});
    assert_int_equal(answer->outcome, ARCP_PROVISION_DONE);
    assert_string_equal(answer->value, f->upstream.keys[0].value);
    assert_string_equal(answer->upstream_id, "tok-000001");
    assert_string_equal(answer->endpoint, "https://gw.example/v1");
    assert_string_equal(answer->profile, "openai");
    assert_string_equal(
        f->upstream.keys[0].request,
        "{\"key_alias\":\"cred_1\",\"max_budget\":2.5,\"models\":[\"a\",\"b\\\"c\"],"
        "\"duration\":\"60s\",\"metadata\":{\"job\":\"job_1\",\"n\":1}}");
    assert_non_null(strstr(f->upstream.head, "Authorization: Bearer sk-master"));
    assert_non_null(strstr(f->upstream.head, "X-Job: job_1"));
    assert_non_null(strstr(f->upstream.head, "traceparent: 00-11-22-01"));
}

static void members_that_a_job_lacks_are_omitted(void **state)
{
    fixture *f = *state;
    start(f);
    assert_int_equal(ask(f, PROVISION_ISSUE)->outcome, ARCP_PROVISION_DONE);
    assert_string_equal(f->upstream.keys[0].request,
                        "{\"key_alias\":\"cred_1\",\"metadata\":{\"job\":\"job_1\",\"n\":1}}");
}

static void an_issue_in_doubt_is_reported_as_unknown(void **state)
{
    static const struct {
        stand_in_mode mode;
        arcp_provision_outcome outcome;
        arcp_status status;
    } rows[] = {
        {STAND_IN_FAILS, ARCP_PROVISION_UNKNOWN, ARCP_E_INTERNAL_ERROR},
        {STAND_IN_REFUSES, ARCP_PROVISION_REFUSED, ARCP_E_INTERNAL_ERROR},
        {STAND_IN_IS_EXHAUSTED, ARCP_PROVISION_REFUSED, ARCP_E_BUDGET_EXHAUSTED},
        {STAND_IN_STALLS, ARCP_PROVISION_UNKNOWN, ARCP_E_INTERNAL_ERROR},
        {STAND_IN_CLOSES_BEFORE, ARCP_PROVISION_UNKNOWN, ARCP_E_INTERNAL_ERROR},
        {STAND_IN_CLOSES_AFTER, ARCP_PROVISION_UNKNOWN, ARCP_E_INTERNAL_ERROR},
        {STAND_IN_GARBAGE, ARCP_PROVISION_UNKNOWN, ARCP_E_INTERNAL_ERROR},
    };
    fixture *f = *state;
    f->options.timeout_ms = 300;
    start(f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        f->upstream.mode = rows[i].mode;
        const provision_answer *answer = ask(f, PROVISION_ISSUE);
        if (answer->outcome != rows[i].outcome || answer->status != rows[i].status) {
            fail_msg("mode %d: outcome %d, status %d", (int)rows[i].mode, (int)answer->outcome,
                     (int)answer->status);
        }
        assert_null(strstr(answer->message, STAND_IN_PREFIX));
    }
}

static void a_repeated_response_is_not_taken_for_another_request(void **state)
{
    fixture *f = *state;
    char aliases[8][16];
    start(f);
    f->upstream.mode = STAND_IN_TWICE;
    for (int i = 0; i < 8; i++) {
        (void)snprintf(aliases[i], sizeof aliases[i], "cred_%d", i + 10);
        const provision_answer *answer =
            provision_rig_call(&f->rig, PROVISION_ISSUE,
                               (arcp_provision_request){.alias = arcp_span_cstr(aliases[i])});
        assert_string_equal(answer->value, f->upstream.keys[i].value);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(
            provision_rig_call(&f->rig, PROVISION_REVOKE,
                               (arcp_provision_request){.alias = arcp_span_cstr(aliases[i])})
                ->outcome,
            ARCP_PROVISION_DONE);
        assert_false(f->upstream.keys[i].is_live);
    }
    assert_int_equal(f->upstream.generate_calls, 8);
}

static void a_request_to_an_unreachable_upstream_had_certainly_no_effect(void **state)
{
    fixture *f = *state;
    uv_close((uv_handle_t *)&f->upstream.listener, NULL);
    (void)uv_run(&f->rig.loop, UV_RUN_NOWAIT);
    start(f);
    const provision_answer *answer = ask(f, PROVISION_ISSUE);
    assert_int_equal(answer->outcome, ARCP_PROVISION_REFUSED);
    assert_string_equal(answer->message, "the upstream cannot be reached");
    assert_int_equal(ask(f, PROVISION_REVOKE)->outcome, ARCP_PROVISION_UNKNOWN);
}

static void an_issue_is_never_sent_a_second_time(void **state)
{
    fixture *f = *state;
    start(f);
    assert_int_equal(ask(f, PROVISION_ISSUE)->outcome, ARCP_PROVISION_DONE);
    f->upstream.mode = STAND_IN_CLOSES_BEFORE; /* on what could be a kept connection */
    assert_int_equal(ask(f, PROVISION_ISSUE)->outcome, ARCP_PROVISION_UNKNOWN);
    assert_int_equal(f->upstream.generate_calls, 1);
}

/* ---- the others ---- */

static void a_revocation_is_reported_as_done_absent_or_unknown(void **state)
{
    fixture *f = *state;
    f->options.timeout_ms = 300;
    start(f);
    (void)ask(f, PROVISION_ISSUE);
    assert_int_equal(ask(f, PROVISION_REVOKE)->outcome, ARCP_PROVISION_DONE);
    assert_int_equal(f->upstream.keys[0].revoked, 1);
    assert_int_equal(ask(f, PROVISION_REVOKE)->outcome, ARCP_PROVISION_ABSENT);
    const stand_in_mode bad[] = {STAND_IN_FAILS, STAND_IN_REFUSES, STAND_IN_STALLS,
                                 STAND_IN_CLOSES_BEFORE};
    for (size_t i = 0; i < 4; i++) {
        f->upstream.mode = bad[i];
        assert_int_equal(ask(f, PROVISION_REVOKE)->outcome, ARCP_PROVISION_UNKNOWN);
    }
}

static void usage_is_an_exact_number(void **state)
{
    fixture *f = *state;
    start(f);
    const provision_answer *answer =
        provision_rig_call(&f->rig, PROVISION_USAGE,
                           (arcp_provision_request){.upstream_id = ARCP_SPAN_LITERAL("tok/1 &x")});
    assert_int_equal(answer->outcome, ARCP_PROVISION_DONE);
    assert_string_equal(answer->spent, "1.25e-1");
    assert_non_null(strstr(f->upstream.head, "GET /key/info?key=tok%2F1%20%26x HTTP"));
}

static void a_slow_upstream_delays_no_other_request(void **state)
{
    fixture *f = *state;
    f->upstream.late_ms = 200;
    start(f);
    f->upstream.mode = STAND_IN_IS_LATE;
    const uint64_t slow = provision_rig_ask(
        &f->rig, PROVISION_ISSUE, (arcp_provision_request){.alias = ARCP_SPAN_LITERAL("cred_9")});
    while (f->upstream.head[0] == '\0') {
        (void)uv_run(&f->rig.loop, UV_RUN_ONCE);
    }
    f->upstream.mode = STAND_IN_WELL;
    assert_int_equal(ask(f, PROVISION_ISSUE)->outcome, ARCP_PROVISION_DONE);
    assert_int_equal(f->rig.answers[slow].count, 0);
    assert_int_equal(provision_rig_answer(&f->rig, slow)->outcome, ARCP_PROVISION_DONE);
}

static void requests_under_way_are_given_up_with_the_provisioner(void **state)
{
    fixture *f = *state;
    start(f);
    f->upstream.mode = STAND_IN_STALLS;
    for (int i = 0; i < 8; i++) {
        (void)provision_rig_ask(&f->rig, PROVISION_ISSUE, (arcp_provision_request){0});
    }
    for (int i = 0; i < 20; i++) {
        (void)uv_run(&f->rig.loop, UV_RUN_NOWAIT);
    }
    /* teardown frees it, closes the loop and unloads the module */
}

/* ---- templates ---- */

static void an_invalid_template_is_refused_with_the_reason(void **state)
{
    fixture *f = *state;
    static const char *const no_env[] = {"X: {env:ARCP_TEST_NO_SUCH}"};
    arcp_error error = {0};
    f->options.requests[ARCP__HTTP_ISSUE].body = "{\"a\":\"{nothing}\"}";
    assert_int_equal(make(f, &error), ARCP_E_USAGE);
    assert_string_equal(error.message, "credentials.http.issue.body: unknown variable {nothing}");
    f->options.requests[ARCP__HTTP_ISSUE].body = NULL;
    f->options.requests[ARCP__HTTP_REVOKE].headers = no_env;
    assert_int_equal(make(f, &error), ARCP_E_USAGE);
    assert_string_equal(error.message, "credentials.http.revoke.headers: the environment variable "
                                       "ARCP_TEST_NO_SUCH is not set");
}

static void a_key_that_would_be_truncated_is_refused(void **state)
{
    fixture *f = *state;
    char path[] = "/tmp/arcp-key-XXXXXX";
    char header[64];
    char long_path[1100];
    char message[160];
    const char *const headers_with_file[] = {header};
    arcp_error error = {0};
    const int file = mkstemp(path);
    assert_true(file >= 0);
    (void)snprintf(header, sizeof header, "X: {file:%s}", path);
    f->options.requests[ARCP__HTTP_REVOKE].headers = headers_with_file;
    f->options.requests[ARCP__HTTP_REVOKE].header_count = 1;
    assert_int_equal(ftruncate(file, 0), 0);
    for (size_t size = 4096; size <= 4097; size++) {
        char key[4097];
        memset(key, 'k', sizeof key);
        assert_int_equal(pwrite(file, key, size, 0), (ssize_t)size);
        if (size == 4096) {
            check_ok(make(f, &error), &error);
        } else {
            (void)snprintf(message, sizeof message,
                           "credentials.http.revoke.headers: %s has more than 4096 bytes", path);
            assert_int_equal(make(f, &error), ARCP_E_USAGE);
            assert_string_equal(error.message, message);
        }
    }
    assert_int_equal(close(file), 0);
    assert_int_equal(unlink(path), 0);
    f->options.requests[ARCP__HTTP_REVOKE].headers = headers;
    memset(long_path, 'p', sizeof long_path);
    (void)snprintf(long_path, sizeof long_path, "http://h/{file:/%01024d}", 0);
    f->options.requests[ARCP__HTTP_REVOKE].url = long_path;
    assert_int_equal(make(f, &error), ARCP_E_USAGE);
    assert_string_equal(error.message, "credentials.http.revoke.url: {file:/"
                                       "0000000000000000000000000000000000000000000000000000000000"
                                       "...}: the name must have at most 1023 bytes");
    (void)setenv("ARCP_TEST_GATEWAY_KEY", "a\nb", 1);
    f->options.requests[ARCP__HTTP_REVOKE].url = "http://h/{env:ARCP_TEST_GATEWAY_KEY}";
    f->options.requests[ARCP__HTTP_ISSUE].headers = NULL;
    f->options.requests[ARCP__HTTP_ISSUE].header_count = 0;
    f->options.requests[ARCP__HTTP_REVOKE].header_count = 0;
    assert_int_equal(make(f, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "may not contain control characters"));
}

static void nothing_slips_into_a_header_or_out_of_a_string(void **state)
{
    fixture *f = *state;
    arcp_error error = {0};
    start(f);
    arcp_provision_request request = {.struct_size = sizeof request,
                                      .call_id = 60,
                                      .alias = ARCP_SPAN_LITERAL("cred_1"),
                                      .job_id = ARCP_SPAN_LITERAL("x\r\nX-Evil: 1")};
    const arcp_provisioner_ops *ops = f->rig.provisioner->ops;
    assert_int_equal(ops->issue(f->rig.provisioner, &request, &error), ARCP_E_IO);
    const provision_answer *answer = provision_rig_call(
        &f->rig, PROVISION_REVOKE,
        (arcp_provision_request){.alias = ARCP_SPAN_LITERAL("a\"],\"all\":[\"b")});
    assert_int_equal(answer->outcome, ARCP_PROVISION_ABSENT);
}

/* After an issue in doubt only the alias is known. An upstream that is asked to revoke "" revokes
 * nothing, or everything, and reports success. */
static void a_revocation_that_would_name_nothing_is_not_sent(void **state)
{
    static const struct {
        const char *url_rest;
        const char *body;
        bool is_sent;
    } rows[] = {
        {"/{id}", NULL, false},
        {"?v={value}", NULL, false},
        {"", "{\"key_aliases\":[\"{id}\"]}", false},
        {"", "{\"key_aliases\":[\"{alias}-{id}\"]}", false},
        {"", "{\"key_aliases\":[\"{alias}\"],\"id\":\"{id}\"}", true},
        {"", "{\"key_aliases\":[\"{job_id}\"]}", true},
    };
    fixture *f = *state;
    char url[256];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const unsigned before = f->upstream.delete_calls;
        (void)snprintf(url, sizeof url, "%s%s", f->remove, rows[i].url_rest);
        f->options.requests[ARCP__HTTP_REVOKE].url = url;
        f->options.requests[ARCP__HTTP_REVOKE].body = rows[i].body;
        start(f);
        arcp_error error = {0};
        arcp_provision_request request = {.struct_size = sizeof request,
                                          .call_id = 50 + i,
                                          .alias = ARCP_SPAN_LITERAL("cred_1"),
                                          .job_id = ARCP_SPAN_LITERAL("job_1")};
        if (rows[i].is_sent) {
            assert_int_equal(ask(f, PROVISION_REVOKE)->outcome, ARCP_PROVISION_ABSENT);
        } else {
            const arcp_status status =
                f->rig.provisioner->ops->revoke(f->rig.provisioner, &request, &error);
            assert_int_equal(status, ARCP_E_IO);
            assert_non_null(strstr(error.message, "revoke"));
        }
        assert_int_equal(f->upstream.delete_calls - before, rows[i].is_sent ? 1 : 0);
        f->rig.provisioner->ops->free(f->rig.provisioner);
        f->rig.provisioner = NULL;
    }
}

static void no_name_is_a_step_upwards_in_a_url(void **state)
{
    fixture *f = *state;
    char url[256];
    (void)snprintf(url, sizeof url, "%s/{principal}/keys", f->generate);
    f->options.requests[ARCP__HTTP_ISSUE].url = url;
    start(f);
    static const char *const names[] = {".", ".."};
    for (size_t i = 0; i < 2; i++) {
        arcp_error error = {0};
        arcp_provision_request request = {.struct_size = sizeof request,
                                          .call_id = 60,
                                          .alias = ARCP_SPAN_LITERAL("cred_1"),
                                          .job_id = ARCP_SPAN_LITERAL("job_1"),
                                          .principal = arcp_span_cstr(names[i])};
        assert_int_equal(f->rig.provisioner->ops->issue(f->rig.provisioner, &request, &error),
                         ARCP_E_IO);
    }
    (void)provision_rig_call(&f->rig, PROVISION_ISSUE,
                             (arcp_provision_request){.principal = ARCP_SPAN_LITERAL("../a")});
    assert_non_null(strstr(f->upstream.head, "POST /key/generate/..%2Fa/keys HTTP"));
}

/* It is read again with each request; {b} would have been removed from it silently. */
static void a_key_that_looks_like_a_template_is_refused_at_the_start(void **state)
{
    fixture *f = *state;
    arcp_error error = {0};
    (void)setenv("ARCP_TEST_GATEWAY_KEY", "a{b}c", 1);
    assert_int_equal(make(f, &error), ARCP_E_USAGE);
    assert_string_equal(error.message, "credentials.http.issue.headers: the value of "
                                       "{env:ARCP_TEST_GATEWAY_KEY} may not contain {...}");
    (void)setenv("ARCP_TEST_GATEWAY_KEY", "a\nX-Evil: 1", 1);
    assert_int_equal(make(f, &error), ARCP_E_USAGE);
    assert_string_equal(error.message,
                        "credentials.http.issue.headers: the value of {env:ARCP_TEST_GATEWAY_KEY} "
                        "may not contain control characters");
    (void)setenv("ARCP_TEST_GATEWAY_KEY", "a{B}{\"c", 1);
    check_ok(make(f, &error), &error);
}

#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        t(limits_become_the_request_and_the_answer_a_value),
        t(members_that_a_job_lacks_are_omitted),
        t(an_issue_in_doubt_is_reported_as_unknown),
        t(a_repeated_response_is_not_taken_for_another_request),
        t(a_request_to_an_unreachable_upstream_had_certainly_no_effect),
        t(an_issue_is_never_sent_a_second_time),
        t(a_revocation_is_reported_as_done_absent_or_unknown),
        t(usage_is_an_exact_number),
        t(a_slow_upstream_delays_no_other_request),
        t(requests_under_way_are_given_up_with_the_provisioner),
        t(an_invalid_template_is_refused_with_the_reason),
        t(a_key_that_would_be_truncated_is_refused),
        t(nothing_slips_into_a_header_or_out_of_a_string),
        t(a_revocation_that_would_name_nothing_is_not_sent),
        t(no_name_is_a_step_upwards_in_a_url),
        t(a_key_that_looks_like_a_template_is_refused_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
