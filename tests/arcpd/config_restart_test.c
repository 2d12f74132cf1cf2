/* Which settings a reload does not change, and how it names those that need a restart. */
#include "arcpd/config.h"
#include "support/check.h"

#include "support/failing_alloc.h"

#define FRAME_BYTES_MAX 8388608u

static void read_config(arcp__config *config, const char *text)
{
    arcp_error error = {0};
    arcp__config_init(config);
    check_ok(arcp__config_read_text(config, "test.yaml", arcp_span_cstr(text), &error), &error);
}

typedef struct reload {
    arcp__config running, fresh;
    arcp_buf changes;
} reload;

static void reload_to(reload *r, const char *text)
{
    arcp_buf_clear(&r->changes);
    read_config(&r->fresh, text);
    arcp__config_keep_started(&r->fresh, &r->running, FRAME_BYTES_MAX, &r->changes, NULL);
    arcp__config_fini(&r->running);
    r->running = r->fresh;
}

static void reload_begin(reload *r, const char *from, const char *to)
{
    *r = (reload){.changes = arcp_buf_init()};
    read_config(&r->running, from);
    reload_to(r, to);
}

static void reload_end(reload *r)
{
    arcp__config_fini(&r->running);
    arcp_buf_fini(&r->changes);
}

#define POOL                                                                                       \
    "credentials:\n  provisioner: static\n  endpoint: https://e\n  values: [hush-one, hush-two]\n"
#define UPSTREAM(headers, more)                                                                    \
    "credentials:\n  provisioner: http\n  endpoint: https://e\n  http:\n"                          \
    "    issue: {url: https://u/i, headers: {" headers                                             \
    "}, response: {value: /v}}\n    revoke: {url: https://u/r, body: {id: hush-id}}\n" more

static const struct {
    const char *from, *to, *changes;
} rows[] = {
    {"", "", ""},
    {"store: \"memory:\"\n", "", "store (from \"memory:\" to null)"},
    {"listen: [ws://127.0.0.1:1/arcp]\n",
     "listen: [ws://127.0.0.1:1/arcp, ws://127.0.0.1:2/arcp]\n",
     "listen (from [\"ws://127.0.0.1:1/arcp\"] to "
     "[\"ws://127.0.0.1:1/arcp\", \"ws://127.0.0.1:2/arcp\"])"},
    {"hosts: [a]\norigins: [https://a]\n", "hosts: [b]\norigins: []\n",
     "origins (from [\"https://a\"] to []), hosts (from [\"a\"] to [\"b\"])"},
    {"tls: {certificate: /c, key: /k}\n", "tls: {certificate: /d, key: /l}\n",
     "tls.certificate (from \"/c\" to \"/d\"), tls.key (from \"/k\" to \"/l\")"},
    {"", "http: {listen: '127.0.0.1:9'}\n", "http.listen (from null to \"127.0.0.1:9\")"},
    {"audit: {path: a}\n", "audit: {path: b, sync_ms: 5}\n", "audit.path (from \"a\" to \"b\")"},
    {"", "tracing: {otlp: {endpoint: 'http://c', queue_bytes: 65536}}\n",
     "tracing.otlp.endpoint (from null to \"http://c/v1/traces\"), "
     "tracing.otlp.queue_bytes (from 4194304 to 65536)"},
    {"tracing: {otlp: {endpoint: 'http://c', headers: {A: hush}}}\n",
     "tracing: {otlp: {endpoint: 'http://c', headers: {A: hush-hush}}}\n",
     "tracing.otlp.headers (values not shown)"},
    {"tracing: {otlp: {endpoint: 'http://c', headers: {A: hush}}}\n",
     "tracing: {otlp: {endpoint: 'http://c', headers: {B: hush}}}\n",
     "tracing.otlp.headers (from {A: \"***\"} to {B: \"***\"})"},
    {"", POOL, "credentials.provisioner (from none to static)"},
    {POOL, "", "credentials.provisioner (from static to none)"},
    {POOL, UPSTREAM("", ""), "credentials.provisioner (from static to http)"},
    {POOL,
     "credentials:\n  provisioner: static\n  endpoint: https://e\n  values: [hush-one, hush-3]\n",
     "credentials.values (values not shown)"},
    {UPSTREAM("A: hush", ""),
     "credentials:\n  provisioner: http\n  endpoint: https://e\n  http:\n"
     "    issue: {url: https://u/j, headers: {A: ssh}, response: {value: /v}}\n"
     "    revoke: {url: https://u/r, body: {id: other}}\n",
     "credentials.http.issue.url (from \"https://u/i\" to \"https://u/j\"), "
     "credentials.http.issue.headers (values not shown), "
     "credentials.http.revoke.body (values not shown)"},
    {UPSTREAM("", ""), UPSTREAM("", "    rotate: {url: https://u/o}\n"),
     "credentials.http.rotate.url (from null to \"https://u/o\")"},
    {UPSTREAM("", "    rotate: {url: https://u/o}\n"), UPSTREAM("", ""),
     "credentials.http.rotate.url (from \"https://u/o\" to null)"},
    {POOL "  errors: [{code: PERMISSION_DENIED, status: 403}]\n",
     POOL "  errors: [{code: PERMISSION_DENIED, status: 401},\n"
          "    {code: BUDGET_EXHAUSTED, contains: 'a: b'}]\n",
     "credentials.errors[0] (from {code: PERMISSION_DENIED, status: 403} to "
     "{code: PERMISSION_DENIED, status: 401}), credentials.errors[1] (from null to "
     "{code: BUDGET_EXHAUSTED, contains: \"a: b\"})"},
    {"", "limits: {frame_bytes: 8388609}\n", "limits.frame_bytes (from 8388608 to 8388609)"},
    /* Settings that a reload applies are not named. */
    {"tokens: [{token: hush, principal: a}]\n",
     "tokens: [{token: hush-hush, principal: b}]\njwt: [{algorithm: HS256, key_file: /s}]\n"
     "no_auth: true\npolicy: [{agent: a}]\npeer_profiles: [{principal: a, profile: go}]\n"
     "agents: [{name: a, command: [x], env: {A: hush}}]\nlimits: {frame_bytes: 8388608}\n"
     "credentials: {rotate_sec: 60}\naudit: {sync_ms: 5}\nlog: {level: debug, format: json}\n",
     ""},
};

static void each_key_that_takes_a_restart_is_named_and_no_secret(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        reload r;
        reload_begin(&r, rows[row].from, rows[row].to);
        assert_false(r.changes.failed);
        arcp_buf_append_byte(&r.changes, '\0');
        if (strcmp(r.changes.data, rows[row].changes) != 0) {
            fail_msg("row %zu:\n%s\n%s", row, r.changes.data, rows[row].changes);
        }
        reload_end(&r);
    }
}

static void settings_that_need_a_restart_stay_and_are_named_at_each_reload(void **state)
{
    reload r;
    (void)state;
    reload_begin(&r, "store: \"memory:\"\n" POOL, "store: sqlite:/a\nshutdown: {grace_sec: 7}\n");
    assert_string_equal(r.running.store, "memory:");
    assert_int_equal(r.running.credentials.kind, ARCP__PROVISIONER_STATIC);
    assert_int_equal(r.running.settings.shutdown_grace_sec, 7);
    const size_t size = r.changes.size;
    assert_true(size != 0);
    reload_to(&r, "store: sqlite:/a\nshutdown: {grace_sec: 8}\n");
    assert_int_equal(r.changes.size, size);
    reload_to(&r, "store: \"memory:\"\n" POOL);
    assert_int_equal(r.changes.size, 0);
    reload_end(&r);
}

static void a_list_stays_whole(void **state)
{
    reload r;
    (void)state;
    reload_begin(&r, UPSTREAM("", "    gone: [404]\n"),
                 UPSTREAM("", "    gone: [410, 404, 403]\n"));
    assert_int_equal(r.running.credentials.http.gone_count, 1);
    assert_int_equal(r.running.credentials.http.gone[0], 404);
    arcp_buf_append_byte(&r.changes, '\0');
    assert_string_equal(r.changes.data, "credentials.http.gone (from [404] to [410, 404, 403])");
    reload_to(&r, UPSTREAM("", ""));
    arcp_buf_append_byte(&r.changes, '\0');
    assert_string_equal(r.changes.data, "credentials.http.gone (from [404] to [404, 410])");
    reload_end(&r);
}

static void frames_can_become_smaller_and_as_large_again_as_at_the_start(void **state)
{
    reload r;
    (void)state;
    reload_begin(&r, "", "limits: {frame_bytes: 131072}\n");
    assert_int_equal(r.running.settings.limits_frame_bytes, 131072);
    assert_int_equal(r.changes.size, 0);
    reload_to(&r, "limits: {frame_bytes: 8388608}\n");
    assert_int_equal(r.running.settings.limits_frame_bytes, FRAME_BYTES_MAX);
    assert_int_equal(r.changes.size, 0);
    reload_to(&r, "limits: {frame_bytes: 8388609}\n");
    assert_int_equal(r.running.settings.limits_frame_bytes, FRAME_BYTES_MAX);
    assert_true(r.changes.size != 0);
    reload_end(&r);
}

static void
without_memory_the_same_settings_stay_and_the_list_of_changes_is_marked_incomplete(void **state)
{
    (void)state;
    for (size_t nth = 1;; nth++) {
        reload r = {.changes = arcp_buf_init()};
        read_config(&r.running, "store: \"memory:\"\n");
        read_config(&r.fresh, "store: sqlite:/a\n" POOL);
        failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        arcp__config_keep_started(&r.fresh, &r.running, FRAME_BYTES_MAX, &r.changes, NULL);
        const bool was_refused = failing_alloc_disarm();
        assert_string_equal(r.fresh.store, "memory:");
        assert_string_equal(r.running.store, "sqlite:/a");
        assert_int_equal(r.changes.failed, was_refused);
        arcp__config_fini(&r.fresh);
        reload_end(&r);
        if (!was_refused) {
            assert_true(nth > 4);
            return;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_that_takes_a_restart_is_named_and_no_secret),
        cmocka_unit_test(settings_that_need_a_restart_stay_and_are_named_at_each_reload),
        cmocka_unit_test(a_list_stays_whole),
        cmocka_unit_test(frames_can_become_smaller_and_as_large_again_as_at_the_start),
        cmocka_unit_test(
            without_memory_the_same_settings_stay_and_the_list_of_changes_is_marked_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
