#include "story/engine_rig.h"

#include "support/check.h"

#include <arcp/sys/store.h>

#include "base/alloc.h"
#include "story/rig_text.h"

static void fake_random(void *user, void *out, size_t size)
{
    engine_rig *rig = user;
    unsigned char *bytes = out;
    for (size_t i = 0; i < size; i++) {
        rig->random_state = rig->random_state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (unsigned char)(rig->random_state >> 33);
    }
}

/* ---- store ---- */

static void on_done(void *user, uint64_t batch_id, arcp_status status, const arcp_error *err)
{
    engine_rig *rig = user;
    (void)err;
    rig->batches_under_way--;
    arcp__engine_committed(rig->engine, rig->now, batch_id, status);
}

static void on_read(void *user, uint64_t read_id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    const engine_rig *rig = user;
    (void)err;
    arcp__engine_read_done(rig->engine, rig->now, read_id, status, first, records, count);
}

static void on_scan(void *user, uint64_t read_id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    engine_rig *rig = user;
    arcp_error error = {0};
    (void)err;
    assert_true(status == ARCP_OK || status == ARCP_E_NO_MEMORY);
    for (size_t i = 0; i < count && !rig->has_no_memory; i++) {
        const arcp_status row = arcp__engine_restore_row(rig->engine, (arcp_store_table)read_id,
                                                         rows[i].key, rows[i].value, &error);
        rig->has_no_memory = row == ARCP_E_NO_MEMORY;
        if (!rig->has_no_memory) {
            check_ok(row, &error);
        }
    }
    rig->has_no_memory = rig->has_no_memory || status != ARCP_OK;
    rig->scans -= last || status != ARCP_OK ? 1 : 0;
}

/* ---- the configuration of each new engine ---- */

static void register_agents(engine_rig *rig)
{
    static const struct {
        const char *name;
        const char *version;
    } agents[] = {{"echo", ""}, {"work", "1.0.0"}, {"work", "2.0.0"}};
    for (size_t i = rig->lacks_echo ? 1 : 0; i < sizeof agents / sizeof agents[0]; i++) {
        arcp_error error = {0};
        arcp__agent_registration agent = {.name = arcp_span_cstr(agents[i].name),
                                          .version = arcp_span_cstr(agents[i].version),
                                          .worker = arcp_span_cstr(rig->worker),
                                          .max_jobs = rig->max_jobs,
                                          .refuses = rig->refuses,
                                          .host = rig};
        arcp_status status = arcp__engine_register_agent(rig->engine, &agent, &error);
        if (status == ARCP_E_NO_MEMORY) {
            status = arcp__engine_register_agent(rig->engine, &agent, &error);
        }
        check_ok(status, &error);
    }
}

static void add_profile(engine_rig *rig, size_t index)
{
    arcp_error error = {0};
    arcp__peer_profile_rule rule = {
        .client_glob = arcp_span_cstr(rig->profiles[index].client),
        .principal_glob = arcp_span_cstr(rig->profiles[index].principal),
        .profile = arcp_span_cstr(rig->profiles[index].name),
    };
    check_ok(arcp__engine_add_peer_profile(rig->engine, &rule, &error), &error);
}

void rig_profile(engine_rig *rig, const char *client, const char *principal, const char *name)
{
    assert_true(rig->profile_count < 8);
    const size_t index = rig->profile_count++;
    (void)snprintf(rig->profiles[index].client, sizeof rig->profiles[index].client, "%s", client);
    (void)snprintf(rig->profiles[index].principal, sizeof rig->profiles[index].principal, "%s",
                   principal);
    (void)snprintf(rig->profiles[index].name, sizeof rig->profiles[index].name, "%s", name);
    add_profile(rig, index);
}

/* Reads the members of a row as arcpd reads them from its configuration. */
static void add_policy(engine_rig *rig, const char *row)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_limits limits = arcp_json_limits_init();
    arcp_error error = {0};
    arcp_buf lease = arcp_buf_init();
    arcp_lease *ceiling = NULL;
    check_ok(arcp_json_scan(&json, arcp_span_cstr(row), &limits, &error), &error);
    const arcp_json_ref names[] = {
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("principal")),
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("agent")),
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("max_lease")),
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("max_budget")),
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("max_lifetime_sec"))};
    arcp__policy policy = {.principal_glob = ARCP_SPAN_LITERAL("*"),
                           .agent_glob = ARCP_SPAN_LITERAL("*")};
    arcp_span *const globs[] = {&policy.principal_glob, &policy.agent_glob};
    for (int i = 0; i < 2; i++) {
        if (names[i] != ARCP_JSON_ABSENT) {
            const arcp_span text = arcp_json_raw(&json, names[i]);
            *globs[i] = arcp_span_make(text.data + 1, text.size - 2);
        }
    }
    /* The ceiling is one lease: max_lease without its closing brace, and the budget. */
    const arcp_span patterns =
        names[2] == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("{}") : arcp_json_raw(&json, names[2]);
    arcp_buf_append(&lease, arcp_span_first(patterns, patterns.size - 1));
    if (names[3] != ARCP_JSON_ABSENT) {
        arcp_buf_append_cstr(&lease, patterns.size > 2 ? ",\"cost.budget\":" : "\"cost.budget\":");
        arcp_buf_append(&lease, arcp_json_raw(&json, names[3]));
    }
    arcp_buf_append_byte(&lease, '}');
    check_ok(
        arcp_lease_parse(arcp_buf_span(&lease), arcp_span_make(NULL, 0), NULL, &ceiling, &error),
        &error);
    (void)arcp_json_u64(&json, names[4], &policy.max_lifetime_sec);
    policy.ceiling = ceiling;
    policy.leaves_others_open = names[2] == ARCP_JSON_ABSENT;
    const arcp_json_ref spend = arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("spend"));
    arcp_lease *amounts = NULL;
    if (spend != ARCP_JSON_ABSENT) {
        check_ok(arcp_lease_parse(arcp_json_raw(&json, spend), arcp_span_make(NULL, 0), NULL,
                                  &amounts, &error),
                 &error);
    }
    policy.spend = amounts;
    check_ok(arcp__engine_add_policy(rig->engine, &policy, &error), &error);
    arcp_lease_unref(ceiling);
    arcp_lease_unref(amounts);
    arcp_buf_fini(&lease);
    arcp__json_fini(&json);
}

void rig_policy(engine_rig *rig, const char *row)
{
    assert_true(rig->policy_count < 8);
    rig->policies[rig->policy_count] = arcp__copy_cstr(row, strlen(row));
    add_policy(rig, rig->policies[rig->policy_count++]);
}

void rig_schedules(engine_rig *rig, const arcp__schedule_options *options, size_t count)
{
    arcp_error error = {0};
    rig->schedules = options;
    rig->schedule_count = count;
    check_ok(arcp__engine_set_schedules(rig->engine, rig->now, options, count, &error), &error);
    rig_run(rig);
}

void rig_hooks(engine_rig *rig, const arcp__hook_options *options, size_t count)
{
    rig->hooks = options;
    rig->hook_count = count;
    arcp__engine_set_hooks(rig->engine, rig->now, options, count);
    rig_run(rig);
}

/* ---- start and stop ---- */

static void restore_rows(engine_rig *rig)
{
    static const arcp_store_table tables[] = {ARCP_STORE_SESSIONS,    ARCP_STORE_JOBS,
                                              ARCP_STORE_IDEMPOTENCY, ARCP_STORE_SUBSCRIPTIONS,
                                              ARCP_STORE_CREDENTIALS, ARCP_STORE_SCHEDULES,
                                              ARCP_STORE_OUTBOX,      ARCP_STORE_META};
    arcp_error error = {0};
    arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .user = rig};
    rig->store->ops->set_callbacks(rig->store, &callbacks);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        check_ok(rig->store->ops->scan(rig->store, tables[i], tables[i], arcp_span_make(NULL, 0),
                                       &error),
                 &error);
        rig->scans++;
    }
    while (rig->scans != 0) {
        (void)rig->store->ops->poll(rig->store);
    }
}

/* False when memory ran out: then the runtime's owner would start it again. */
static bool try_engine(engine_rig *rig)
{
    arcp_error error = {0};
    arcp__engine_options options = {
        .runtime_name = "rig",
        .runtime_version = "1",
        .settings = rig->settings,
        .random = fake_random,
        .random_user = rig,
        .store_is_durable = !rig->is_volatile,
        .makes_spans = rig->makes_spans,
        .has_no_log = rig->has_no_log,
        .work_directory = ARCP_SPAN_LITERAL("/work"),
        .credentials = rig->credentials,
        .now = rig->now,
    };
    rig->has_no_memory = false;
    if (rig->prepare != NULL) {
        rig->prepare(rig->prepare_user, &options);
    }
    const arcp_status status = arcp__engine_new(&options, &rig->engine, &error);
    if (status == ARCP_E_NO_MEMORY) {
        return false;
    }
    check_ok(status, &error);
    register_agents(rig);
    if (rig->hook_count != 0) { /* before jobs end, as arcpd does */
        arcp__engine_set_hooks(rig->engine, rig->now, rig->hooks, rig->hook_count);
    }
    for (size_t i = 0; i < rig->policy_count; i++) {
        add_policy(rig, rig->policies[i]); /* before a queued job starts, as arcpd does */
    }
    restore_rows(rig);
    if (!rig->has_no_memory) {
        arcp__engine_restore_done(rig->engine, rig->now);
        rig_run(rig);
        const arcp_status restored = arcp__engine_restore_status(rig->engine, &error);
        rig->has_no_memory = restored == ARCP_E_NO_MEMORY || restored == ARCP_E_IO;
        if (!rig->has_no_memory && restored != ARCP_OK && rig->refusal != NULL) {
            *rig->refusal = error;
            return true;
        }
        if (!rig->has_no_memory && restored != ARCP_OK) {
            fail_msg("%s: %s", arcp_status_name(restored), error.message);
        }
    }
    if (rig->has_no_memory) {
        arcp__engine_free(rig->engine);
        return false;
    }
    assert_true(rig->is_dead || arcp__engine_is_restored(rig->engine));
    rig_check_page_keys(rig, true);
    for (size_t i = 0; i < rig->profile_count; i++) {
        add_profile(rig, i); /* after restoring the sessions, as arcpd does */
    }
    if (rig->schedule_count != 0) {
        rig_schedules(rig, rig->schedules, rig->schedule_count);
    }
    return true;
}

void rig_check_page_keys(engine_rig *rig, bool is_valid)
{
    const arcp__page_key *next = NULL;
    for (const arcp__page_key *key = rig->is_dead || rig->keeps_keys_unchecked
                                         ? NULL
                                         : arcp__engine_page_key_next(rig->engine, NULL);
         key != NULL; key = next) {
        arcp__page_key_facts facts;
        next = arcp__engine_page_key_next(rig->engine, key);
        arcp__page_key_look(key, &facts);
        arcp__engine_page_key_checked(rig->engine, rig->now, facts.hash, is_valid);
    }
}

static void make_engine(engine_rig *rig)
{
    bool is_made = false;
    for (int attempt = 0; attempt < 2 && !is_made; attempt++) {
        is_made = try_engine(rig);
    }
    if (!is_made) {
        fail_msg("the engine cannot be started");
    }
}

void rig_begin(engine_rig *rig, const arcp_settings *settings)
{
    *rig = (engine_rig){.random_state = 42, .link = {.is_local = true}};
    rig->now = (arcp_time){INT64_C(1767225600) * ARCP_NS_PER_SEC, 1000 * ARCP_NS_PER_SEC};
    if (settings != NULL) {
        rig->settings = *settings;
    } else {
        arcp__settings_default(&rig->settings);
    }
}

void rig_open(engine_rig *rig)
{
    arcp_error error = {0};
    if (rig->store == NULL) {
        check_ok(arcp_store_open_memory(&rig->store, &error), &error);
    }
    make_engine(rig);
}

void rig_start(engine_rig *rig, const arcp_settings *settings)
{
    rig_begin(rig, settings);
    rig_open(rig);
}

void rig_reload(engine_rig *rig)
{
    arcp__engine_clear_agents(rig->engine);
    register_agents(rig);
    rig_run(rig);
}

static void forget_peers(engine_rig *rig)
{
    for (size_t i = 0; i < RIG_CLIENTS_MAX; i++) {
        rig->clients[i].link = NULL;
        rig_text_clear(&rig->clients[i].frames);
        rig_text_clear(&rig->clients[i].waiting);
    }
    for (size_t i = 0; i < rig->agent_count; i++) {
        rig_text_clear(&rig->agents[i].lines);
    }
    rig->agent_count = 0;
}

void rig_stop(engine_rig *rig)
{
    forget_peers(rig);
    rig->store->ops->close(rig->store);
    arcp__engine_free(rig->engine);
    while (rig->policy_count != 0) {
        arcp__free(rig->policies[--rig->policy_count]);
    }
    rig_text_clear(&rig->audit_records);
    rig_text_clear(&rig->spans);
}

/* The memory store applies a batch when it is submitted, so batches are not lost here. Tests that
 * need a lost batch set hold_store before. */
void rig_restart(engine_rig *rig)
{
    forget_peers(rig);
    while (!rig->hold_store && rig->store->ops->poll(rig->store)) {
    }
    arcp__engine_free(rig->engine);
    rig->is_dead = false;
    rig->hold_store = rig->is_stepping = false;
    rig->batches_under_way = 0;
    rig->now.wall_ns += ARCP_NS_PER_SEC;
    rig->now.mono_ns += ARCP_NS_PER_SEC;
    make_engine(rig);
}
