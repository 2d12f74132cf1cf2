/* The text of a plan: what is written is read again, and nothing else is read. */
#include "support/check.h"

#include "core/lease_text.h"
#include "sandbox/sandbox_rig.h"

static const char lease_text[] =
    "{\"fs.read\":[\"/srv/**\",\"/data/*.csv\",\"/a\\u0001\\\"\\\\/**\"],\"fs.write\":[\"/srv/b\"],"
    "\"net.fetch\":[\"https://h:8443/**\"],\"model.use\":[\"m\"]}";

/* The text of a plan with a little of everything. */
static void encode_sample(arcp_buf *out)
{
    static const arcp_span own[] = {{"/srv/own", 8}, {"/home/u/\xc3\xa9", 10}};
    arcp_lease *lease = lease_of(lease_text, "{\"expires_at\":\"2100-01-01T00:00:00Z\"}");
    arcp__sandbox_request request = rig_request(lease);
    request.own = own;
    request.own_count = 2;
    request.cwd_is_fresh = true;
    request.abilities.values[ARCP__SANDBOX_ABILITY_EGRESS] = 1;
    arcp__sandbox_plan *plan = rig_plan(&request);
    arcp__sandbox_plan_encode(plan, out);
    assert_int_equal(arcp_buf_status(out), ARCP_OK);
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    arcp_buf text = arcp_buf_init();
    arcp_buf again = arcp_buf_init();
    arcp__sandbox_plan *read = NULL;
    arcp_error err = {0};
    encode_sample(&text);
    check_ok(arcp__sandbox_plan_decode(arcp_buf_span(&text), &read, &err), &err);
    assert_int_equal(read->level, ARCP__SANDBOX_LEVEL_FULL);
    assert_int_equal(read->lease_line_count, 7);
    assert_int_equal(read->abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK], 7);
    assert_string_equal(read->fresh.data, "/job");
    assert_int_equal(read->port_count, 3);
    arcp__sandbox_plan_encode(read, &again);
    assert_true(arcp_span_equal(arcp_buf_span(&text), arcp_buf_span(&again)));
    arcp__sandbox_plan_free(read);
    arcp_buf_fini(&text);
    arcp_buf_fini(&again);
}

/* A text in which one part is replaced, and a word of the message that refuses it. */
static const struct {
    const char *part;
    const char *by;
    const char *message;
} faults[] = {
    {"{\"version\":1", "{\"version\":2", "version"},
    {"\"version\":1,", "", "version"},
    {"\"origin\":\"job\"", "\"origin\":\"jobs\"", "origin"},
    {"\"origin\":\"job\"", "\"origin\":null", "origin"},
    {"\"level\":\"full\"", "\"level\":7", "level"},
    {"\"min\":\"advisory\"", "\"min\":\"refused\"", "min"},
    {"\"cwd\":\"/job\"", "\"cwd\":\"job\"", "cwd"},
    {"\"cwd\":\"/job\"", "\"cwd\":\"\"", "cwd"},
    {"\"cwd\":\"/job\"", "\"cwd\":\"/a/../job\"", "cwd"},
    {"\"cwd\":\"/job\"", "\"cwd\":\"/job/\"", "cwd"},
    {"\"cwd\":\"/job\"", "\"cwd\":\"/job\\u0000\"", "cwd"},
    {"\"tmp\":\"/tmp\"", "\"tmp\":[]", "tmp"},
    {"\"broker\":true", "\"broker\":1", "broker"},
    {"\"broker\":true", "\"broker\":true,\"hide\":1", "hide"},
    {"\"broker\":true", "\"broker\":true,\"hide\":false", "spelling"},
    {"\"broker\":true", "\"broker\":true,\"report\":0", "report"},
    {"\"broker\":true", "\"broker\":true,\"report\":true", "spelling"},
    {"\"pids\":64", "\"pids\":4294967296", "pids"},
    {"\"pids\":64", "\"pids\":6.4e1", "spelling"},
    {"\"memory_bytes\":0", "\"memory_bytes\":-1", "memory_bytes"},
    {"\"cpu_percent\":0", "\"cpu_percent\":4294967296", "cpu_percent"},
    {"\"by_cgroup\":0", "\"by_cgroup\":8", "by_cgroup"},
    {"\"lease_lines\":7", "\"lease_lines\":99", "lease_lines"},
    {"\"refused_line\":0", "\"refused_line\":7", "refused_line"},
    {"\"verdict\":\"exact\"", "\"verdict\":\"good\"", "verdict"},
    {"\"mechanism\":\"directory\"", "\"mechanism\":\"magic\"", "mechanism"},
    {"\"note\":\"none\"", "\"note\":\"\"", "note"},
    {"\"kind\":\"base\"", "\"kind\":\"basement\"", "kind"},
    {"\"target\":\"/bin\"", "\"target\":\"bin\"", "target"},
    {"\"target\":\"/bin\"", "\"target\":\"/zzz\"", "sorted"},
    {"\"target\":\"/bin\"", "\"target\":\"/bin\",\"more\":1", "spelling"},
    {"\"writable\":false", "\"writable\":0", "writable"},
    {"\"rights\":\"rx\"", "\"rights\":\"xr\"", "spelling"},
    {"\"rights\":\"rx\"", "\"rights\":\"rxz\"", "spelling"},
    {"\"file\":false", "\"file\":\"no\"", "file"},
    {"\"class\":\"base\"", "\"class\":\"us\"", "class"},
    {"\"path\":\"/bin\"", "\"path\":\"/zzz\"", "sorted"},
    {"\"reads\":[", "\"reads\":[\"\",", "reads"},
    {"\"reads\":[", "\"reads\":[7,", "reads"},
    {"\"reads\":[", "\"reads\":{\"a\":[", "offset"},
    {"\"own\":[", "\"own\":[\"x\",", "own"},
    {"\"ports\":[80", "\"ports\":[0", "ports"},
    {"\"ports\":[80", "\"ports\":[65536", "ports"},
    {"\"ports\":[80", "\"ports\":[80,80", "ports"},
    {"\"proxy\":false", "\"proxy\":0", "proxy"},
    {"\"proxy\":false", "\"proxy\":true", "proxy"}, /* of level full */
    {"\"abilities\":{", "\"ability\":{", "abilities"},
    {"\"userns\":1", "\"userns\":3", "userns"},
    {"\"userns\":1,", "", "spelling"},
    {",\"own\":", ", \"own\":", "spelling"},
};

static void a_text_with_one_fault_is_refused(void **state)
{
    (void)state;
    arcp_buf text = arcp_buf_init();
    encode_sample(&text);
    const char *good = arcp_buf_cstr(&text);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *at = strstr(good, faults[i].part);
        if (at == NULL) {
            fail_msg("%s is not in %s", faults[i].part, good);
            return;
        }
        arcp_buf bad = arcp_buf_init();
        arcp_buf_append(&bad, arcp_span_make(good, (size_t)(at - good)));
        arcp_buf_append_cstr(&bad, faults[i].by);
        arcp_buf_append_cstr(&bad, at + strlen(faults[i].part));
        arcp__sandbox_plan *read = NULL;
        arcp_error err = {0};
        const arcp_status status = arcp__sandbox_plan_decode(arcp_buf_span(&bad), &read, &err);
        if (status != ARCP_E_INVALID_REQUEST || read != NULL ||
            (strcmp(faults[i].message, "offset") == 0
                 ? err.offset == ARCP_NO_OFFSET
                 : strstr(err.message, faults[i].message) == NULL)) {
            fail_msg("%s: %s", faults[i].by, err.message);
        }
        arcp_buf_fini(&bad);
    }
    arcp_buf_fini(&text);
}

/* A plan whose proxy nothing would limit is not carried out. */
static void a_proxy_needs_what_limits_it(void **state)
{
    (void)state;
    static const arcp__sandbox_ability needed[] = {
        ARCP__SANDBOX_ABILITY_PROXY,       ARCP__SANDBOX_ABILITY_LANDLOCK,
        ARCP__SANDBOX_ABILITY_PIDFD_GETFD, ARCP__SANDBOX_ABILITY_NOTIFY,
        ARCP__SANDBOX_ABILITY_VM_READ,     ARCP__SANDBOX_ABILITY_COUNT};
    static const uint16_t ports[] = {80};
    arcp_lease *lease = lease_of("{\"net.fetch\":[\"https://h/**\"]}", "");
    arcp__sandbox_request request = rig_request(lease);
    rig_without(&request, "userns");
    arcp__sandbox_plan *plan = rig_plan(&request);
    assert_true(plan->has_proxy);
    for (size_t i = 0; i <= sizeof needed / sizeof needed[0]; i++) {
        arcp__sandbox_plan changed = *plan;
        arcp__sandbox_plan *read = NULL;
        arcp_buf text = arcp_buf_init();
        arcp_error err = {0};
        bool is_whole = false;
        if (i == sizeof needed / sizeof needed[0]) {
            changed.ports = ports;
            changed.port_count = 1;
        } else if (needed[i] == ARCP__SANDBOX_ABILITY_COUNT) {
            is_whole = true;
        } else {
            changed.abilities.values[needed[i]] =
                needed[i] == ARCP__SANDBOX_ABILITY_LANDLOCK ? 3 : 0;
        }
        arcp__sandbox_plan_encode(&changed, &text);
        assert_int_equal(arcp__sandbox_plan_decode(arcp_buf_span(&text), &read, &err),
                         is_whole ? ARCP_OK : ARCP_E_INVALID_REQUEST);
        assert_true(is_whole || strstr(err.message, "proxy") != NULL);
        arcp__sandbox_plan_free(read);
        arcp_buf_fini(&text);
    }
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
}

static void a_refused_line_is_one_of_the_lease(void **state)
{
    (void)state;
    arcp_lease *lease = lease_of("{}", "");
    const arcp__sandbox_request request = rig_request(lease);
    arcp__sandbox_plan *plan = rig_plan(&request);
    arcp__sandbox_plan refused = *plan;
    refused.refusal = ARCP__SANDBOX_REFUSAL_LINE;
    arcp_buf text = arcp_buf_init();
    arcp__sandbox_plan_encode(&refused, &text);
    arcp__sandbox_plan *read = NULL;
    arcp_error err = {0};
    assert_int_equal(arcp__sandbox_plan_decode(arcp_buf_span(&text), &read, &err),
                     ARCP_E_INVALID_REQUEST);
    assert_non_null(strstr(err.message, "refusal"));
    arcp_buf_fini(&text);
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
}

static void a_text_that_ends_early_is_refused(void **state)
{
    (void)state;
    arcp_buf text = arcp_buf_init();
    encode_sample(&text);
    for (size_t size = 0; size < text.size; size += 1 + size / 50) {
        arcp__sandbox_plan *read = NULL;
        arcp_error err = {0};
        assert_int_equal(
            arcp__sandbox_plan_decode(arcp_span_first(arcp_buf_span(&text), size), &read, &err),
            ARCP_E_INVALID_REQUEST);
    }
    arcp_buf_fini(&text);
}

/* ---- requests ---- */

static const arcp_span root[] = {{"/", 1}};
static const arcp_span relative[] = {{"x", 1}};
static const arcp_span within_cwd[] = {{"/home/u/code"
                                        "/x",
                                        14}};
static const arcp_span not_utf8[] = {{"/\xff", 2}};

static void refuse(const char *name, const arcp__sandbox_request *request)
{
    arcp__sandbox_plan *plan = NULL;
    arcp_error err = {0};
    if (arcp__sandbox_plan_new(request, &plan, &err) != ARCP_E_USAGE || plan != NULL) {
        fail_msg("%s is accepted", name);
    }
    assert_true(err.message[0] != '\0');
}

static void a_request_that_is_not_canonical_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"", "x", "/a/", "/a//b", "/a/./b", "/..", "/a/../b"};
    arcp_lease *lease = lease_of("{}", "");
    arcp__sandbox_request request = rig_request(lease);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        request.cwd = arcp_span_cstr(paths[i]);
        refuse(paths[i], &request);
    }
    request = rig_request(lease);
    request.home = relative[0];
    refuse("home", &request);
    request = rig_request(lease);
    request.scratch = root[0];
    refuse("scratch", &request);
    request = rig_request(lease);
    request.bases = root;
    request.base_count = 1;
    refuse("a base of the whole tree", &request);
    request.bases = not_utf8;
    refuse("a base that is not UTF-8", &request);
    request = rig_request(lease);
    request.own = root;
    request.own_count = 1;
    refuse("an own path of the whole tree", &request);
    request.own = within_cwd;
    request.cwd_is_fresh = true;
    refuse("an own path in the fresh directory", &request);
    request = rig_request(lease);
    request.cwd = root[0];
    request.cwd_is_fresh = true;
    refuse("a fresh root", &request);
    request = rig_request(lease);
    request.min = ARCP__SANDBOX_VERDICT_REFUSED;
    refuse("a minimum of refused", &request);
    request = rig_request(lease);
    request.exempt_count = ARCP__SANDBOX_EXEMPT_MAX + 1;
    refuse("too many exempt capabilities", &request);
    arcp_lease_unref(lease);
}

static void the_most_exempt_capabilities_are_accepted(void **state)
{
    (void)state;
    arcp_span exempt[ARCP__SANDBOX_EXEMPT_MAX];
    for (size_t i = 0; i < ARCP__SANDBOX_EXEMPT_MAX; i++) {
        exempt[i] = ARCP_SPAN_LITERAL("tool.call");
    }
    exempt[ARCP__SANDBOX_EXEMPT_MAX - 1] = ARCP_SPAN_LITERAL("model.use");
    arcp_lease *lease = lease_of("{\"model.use\":[\"m\"]}", "");
    arcp__sandbox_request request = rig_request(lease);
    request.min = ARCP__SANDBOX_VERDICT_EXACT;
    request.exempt = exempt;
    request.exempt_count = ARCP__SANDBOX_EXEMPT_MAX;
    arcp__sandbox_plan *plan = rig_plan(&request);
    assert_int_equal(plan->refusal, ARCP__SANDBOX_REFUSAL_NONE);
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_text_with_one_fault_is_refused),
        cmocka_unit_test(a_proxy_needs_what_limits_it),
        cmocka_unit_test(a_refused_line_is_one_of_the_lease),
        cmocka_unit_test(a_text_that_ends_early_is_refused),
        cmocka_unit_test(a_request_that_is_not_canonical_is_refused),
        cmocka_unit_test(the_most_exempt_capabilities_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
