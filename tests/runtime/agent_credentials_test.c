/* Credentials that callback agents get for upstreams (§9.8), before and after a rotation. */
#include "provisioner/static_provisioner.h"
#include "runtime/runtime_rig.h"

#include "support/check.h"

static runtime_rig rig;
static char store_url[96], key_file[96], used_file[96];

static const char *const agents[] = {"keen"};
static const char *const values[] = {"hush-1", "hush-2", "hush-3", "hush-4", "hush-5",
                                     "hush-6", "hush-7", "hush-8", "hush-9"};
#define VALUES (sizeof values / sizeof values[0])

/* A provisioner that forwards to another one and makes its results invalid. */
typedef struct damager {
    arcp_provisioner base;
    arcp_provisioner *inner;
    arcp_provisioner_callbacks inner_callbacks;
    size_t struct_size;
    int outcome;
} damager;

static damager between;

static void damage(void *user, const arcp_provision_result *result)
{
    const damager *d = user;
    arcp_provision_result damaged = *result;
    damaged.struct_size = d->struct_size;
    damaged.outcome = (arcp_provision_outcome)d->outcome;
    d->inner_callbacks.done(d->inner_callbacks.user, &damaged);
}

static void damager_set_callbacks(arcp_provisioner *base,
                                  const arcp_provisioner_callbacks *callbacks)
{
    damager *d = (damager *)base;
    const arcp_provisioner_callbacks own = {.done = damage, .user = d};
    d->inner_callbacks = *callbacks;
    d->inner->ops->set_callbacks(d->inner, &own);
}

static arcp_status damager_issue(arcp_provisioner *base, const arcp_provision_request *request,
                                 arcp_error *err)
{
    arcp_provisioner *inner = ((damager *)base)->inner;
    return inner->ops->issue(inner, request, err);
}

static arcp_status damager_revoke(arcp_provisioner *base, const arcp_provision_request *request,
                                  arcp_error *err)
{
    arcp_provisioner *inner = ((damager *)base)->inner;
    return inner->ops->revoke(inner, request, err);
}

static void damager_free(arcp_provisioner *base)
{
    arcp_provisioner *inner = ((damager *)base)->inner;
    inner->ops->free(inner);
}

static arcp_provisioner *put_between(arcp_provisioner *inner, const damager *how)
{
    static const arcp_provisioner_ops ops = {.struct_size = sizeof ops,
                                             .name = "damager",
                                             .set_callbacks = damager_set_callbacks,
                                             .issue = damager_issue,
                                             .revoke = damager_revoke,
                                             .free = damager_free};
    between = *how;
    between.base = (arcp_provisioner){.ops = &ops, .terms = inner->terms};
    between.inner = inner;
    return &between.base;
}

static int start_with(uint64_t rotate_sec, const damager *how)
{
    arcp_error error = {0};
    arcp_settings settings;
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp__settings_default(&settings);
    settings.credentials_rotate_sec = rotate_sec;
    runtime_rig_begin(&rig);
    (void)snprintf(store_url, sizeof store_url, "sqlite:%s/db", rig.directory);
    (void)snprintf(key_file, sizeof key_file, "%s/key", rig.directory);
    (void)snprintf(used_file, sizeof used_file, "%s/used", rig.directory);
    const arcp__static_provisioner_options provisioner = {
        .loop = &rig.loop,
        .upstream = {.terms = {.struct_size = sizeof provisioner.upstream.terms,
                               .agents = agents,
                               .agent_count = 1},
                     .endpoint = "https://gw.example/v1",
                     .scheme = "bearer",
                     .profile = "openai"},
        .values = values,
        .value_count = VALUES,
        .used_file = used_file,
    };
    check_ok(arcp__static_provisioner_new(&provisioner, &options.provisioner, &error), &error);
    if (how != NULL) {
        options.provisioner = put_between(options.provisioner, how);
    }
    check_ok(arcp_store_open(store_url, &options.store, &error), &error);
    options.settings = &settings;
    options.credential_key_file = key_file;
    runtime_rig_open(&rig, &options);
    return 0;
}

static int start(uint64_t rotate_sec)
{
    return start_with(rotate_sec, NULL);
}

static int set_up(void **state)
{
    (void)state;
    return start(0);
}

static int set_up_with_rotation(void **state)
{
    (void)state;
    return start(1);
}

static int tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    return 0;
}

/* What the agent saw, for the test's thread after the job. */
typedef struct seen {
    char first[512], second[512];
    uv_sem_t is_rotated;
} seen;

static void ask(arcp_agent_call *call, char *out, size_t size)
{
    arcp_error error = {0};
    arcp_buf text = arcp_buf_init();
    check_ok(arcp_agent_credentials(call, &text, &error), &error);
    (void)snprintf(out, size, "%.*s", (int)text.size, text.data);
    arcp_buf_fini(&text);
}

static void look_once(arcp_agent_call *call, void *user)
{
    seen *s = user;
    ask(call, s->first, sizeof s->first);
}

static void look_before_and_after(arcp_agent_call *call, void *user)
{
    seen *s = user;
    ask(call, s->first, sizeof s->first);
    assert_int_equal(arcp_agent_log(call, "info", "looked", NULL), ARCP_OK);
    uv_sem_wait(&s->is_rotated);
    ask(call, s->second, sizeof s->second);
}

static void an_agent_gets_its_job_s_credential(void **state)
{
    seen got = {.first = ""};
    (void)state;
    runtime_rig_add(&rig, "keen", ARCP_AGENT_BLOCKING, look_once, &got);
    runtime_rig_submit(&rig, "keen", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_ptr_equal(strstr(got.first, "[{\"id\":\"cred_"), got.first);
    assert_non_null(strstr(got.first, "\"scheme\":\"bearer\",\"value\":\"hush-1\",\"endpoint\":"
                                      "\"https://gw.example/v1\",\"profile\":\"openai\""));
    /* A second job gets a different value. */
    runtime_rig_submit(&rig, "keen", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_non_null(strstr(got.first, "\"value\":\"hush-2\""));
}

static void an_invalid_provisioner_result_fails_the_job(void **state)
{
    const damager rows[] = {
        {.struct_size = sizeof(arcp_provision_result), .outcome = ARCP_PROVISION_ABSENT + 1},
        {.struct_size = sizeof(arcp_provision_result), .outcome = -1},
        {.struct_size = sizeof(arcp_provision_result) - 1, .outcome = ARCP_PROVISION_DONE},
        {.struct_size = sizeof(arcp_provision_result) + 8, .outcome = ARCP_PROVISION_DONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        seen got = {.first = ""};
        (void)start_with(0, &rows[i]);
        runtime_rig_add(&rig, "keen", ARCP_AGENT_BLOCKING, look_once, &got);
        runtime_rig_submit(&rig, "keen", "");
        const char *frame = runtime_rig_wait(&rig, "\"job.error\"");
        assert_non_null(strstr(frame, "\"INTERNAL_ERROR\""));
        assert_non_null(strstr(frame, "the provisioner returned an invalid result"));
        assert_string_equal(got.first, "");
        runtime_rig_stop(&rig);
    }
}

static void an_agent_without_a_credential_has_an_empty_list(void **state)
{
    seen got = {.first = ""};
    (void)state;
    runtime_rig_add(&rig, "plain", ARCP_AGENT_BLOCKING, look_once, &got);
    runtime_rig_submit(&rig, "plain", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_string_equal(got.first, "[]");
}

static void an_agent_finds_the_new_value_after_a_rotation(void **state)
{
    seen got = {.first = ""};
    (void)state;
    assert_int_equal(uv_sem_init(&got.is_rotated, 0), 0);
    runtime_rig_add(&rig, "keen", ARCP_AGENT_BLOCKING, look_before_and_after, &got);
    runtime_rig_submit(&rig, "keen", "");
    (void)runtime_rig_wait(&rig, "\"looked\"");
    (void)runtime_rig_wait(&rig, "\"credential_rotated\""); /* a second later, whichever it is */
    uv_sem_post(&got.is_rotated);
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_non_null(strstr(got.first, "\"value\":\"hush-"));
    assert_non_null(strstr(got.second, "\"value\":\"hush-"));
    assert_string_not_equal(got.first, got.second);
    /* The id belongs to the credential and does not change with its value. */
    char id[64];
    (void)snprintf(id, sizeof id, "%.40s", strstr(got.first, "\"id\":\"cred_"));
    assert_non_null(strstr(got.second, id));
    uv_sem_destroy(&got.is_rotated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_agent_gets_its_job_s_credential, set_up, tear_down),
        cmocka_unit_test(an_invalid_provisioner_result_fails_the_job),
        cmocka_unit_test_setup_teardown(an_agent_without_a_credential_has_an_empty_list, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_agent_finds_the_new_value_after_a_rotation,
                                        set_up_with_rotation, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
