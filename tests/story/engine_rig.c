#include "story/engine_rig.h"

#include "support/check.h"

#include <arcp/sys/store.h>

#include "base/alloc.h"

static void fake_random(void *user, void *out, size_t size)
{
    engine_rig *rig = user;
    unsigned char *bytes = out;
    for (size_t at = 0; at < size; at++) {
        rig->random_state = rig->random_state * 6364136223846793005u + 1442695040888963407u;
        bytes[at] = (unsigned char)(rig->random_state >> 33);
    }
}

static void push(rig_text **list, rig_text **newest, arcp_span text)
{
    rig_text *added = arcp__alloc(sizeof(*added) + text.size + 1);
    if (added == NULL) { /* a test that makes one allocation fail does not mean this one */
        added = arcp__alloc(sizeof(*added) + text.size + 1);
    }
    assert_non_null(added);
    memcpy(added->text, text.data == NULL ? "" : text.data, text.size);
    added->size = text.size;
    if (*list == NULL) {
        *list = added;
    } else {
        (*newest)->next = added;
    }
    *newest = added;
}

static char *take(rig_text **list)
{
    rig_text *first = *list;
    if (first == NULL) {
        return NULL;
    }
    char *copy = arcp__copy_cstr(first->text, first->size);
    if (copy == NULL) {
        copy = arcp__copy_cstr(first->text, first->size);
    }
    *list = first->next;
    arcp__free(first);
    return copy;
}

static void clear(rig_text **list)
{
    for (char *text = take(list); text != NULL; text = take(list)) {
        arcp__free(text);
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
    engine_rig *rig = user;
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
    for (size_t at = 0; at < count && !rig->has_no_memory; at++) {
        arcp_status row = arcp__engine_restore_row(rig->engine, (arcp_store_table)read_id,
                                                   rows[at].key, rows[at].value, &error);
        rig->has_no_memory = row == ARCP_E_NO_MEMORY;
        if (!rig->has_no_memory) {
            check_ok(row, &error);
        }
    }
    rig->has_no_memory = rig->has_no_memory || status != ARCP_OK;
    rig->scans -= last || status != ARCP_OK ? 1 : 0;
}

/* ---- effects ---- */

static rig_client *client_of(engine_rig *rig, const void *user)
{
    return &rig->clients[(const rig_client *)user - rig->clients];
}

static rig_agent *agent_by_job(engine_rig *rig, const arcp__job *job)
{
    for (size_t at = rig->agent_count; at > 0; at--) {
        if (rig->agents[at - 1].job == job && !rig->agents[at - 1].forgotten) {
            return &rig->agents[at - 1];
        }
    }
    return NULL;
}

static void start_agent(engine_rig *rig, const arcp__effect *effect)
{
    assert_true(rig->agent_count < RIG_AGENTS_MAX);
    rig_agent *agent = &rig->agents[rig->agent_count++];
    arcp_span id = arcp__job_id(effect->job);
    arcp_span name = arcp__job_agent(effect->job);
    *agent = (rig_agent){.job = effect->job};
    memcpy(agent->job_id, id.data, id.size);
    memcpy(agent->agent, name.data, name.size);
    push(&agent->lines, &agent->newest, effect->text);
    if (rig->hold_start) {
        agent->starting = true;
        return;
    }
    arcp__engine_agent_started(rig->engine, rig->now, effect->job,
                               rig->fail_start ? ARCP_E_IO : ARCP_OK,
                               ARCP_SPAN_LITERAL("no such file"));
}

static void authenticate(engine_rig *rig, const arcp__effect *effect)
{
    if (rig->hold_questions) {
        assert_true(rig->question_count < 8);
        rig->questions[rig->question_count++] = effect->id;
        return;
    }
    arcp_span token = effect->text;
    arcp_span prefix = ARCP_SPAN_LITERAL("t-");
    bool known = arcp_span_starts_with(token, prefix) && token.size > prefix.size;
    char name[64] = {0};
    arcp_span principal = arcp_span_first(arcp_span_from(token, prefix.size), 63);
    if (known) {
        memcpy(name, principal.data, principal.size);
    }
    arcp__engine_authenticated(rig->engine, rig->now, effect->id,
                               known ? ARCP_OK : ARCP_E_UNAUTHENTICATED, arcp_span_cstr(name),
                               rig->is_anonymous);
}

static void close_client(engine_rig *rig, rig_client *client, int code)
{
    arcp__link *link = client->link;
    client->close_code = code;
    client->link = NULL;
    if (link != NULL) {
        arcp__engine_disconnect(rig->engine, rig->now, link);
    }
}

static void take_log(engine_rig *rig, const arcp__effect *effect)
{
    if (rig->logged != NULL) {
        rig->logged(rig, effect->level, effect->text);
    }
    if (effect->level == ARCP__LOG_AUDIT) {
        rig->audits++;
        if (rig->keep_audit) {
            push(&rig->audit_records, &rig->newest_audit, effect->text);
        }
        arcp_span shown = arcp_span_first(effect->text, sizeof(rig->last_audit) - 1);
        memcpy(rig->last_audit, shown.data, shown.size);
        rig->last_audit[shown.size] = '\0';
    }
}

static void perform(engine_rig *rig, const arcp__effect *effect)
{
    rig_agent *agent = effect->job == NULL ? NULL : agent_by_job(rig, effect->job);
    arcp_error error = {0};
    switch (effect->kind) {
    case ARCP__EFFECT_SEND: {
        rig_client *client = client_of(rig, effect->link_user);
        push(&client->frames, &client->newest, effect->text);
        client->unsent += effect->text.size;
        if (!client->slow) {
            client->unsent = 0;
            arcp__engine_drained(rig->engine, rig->now, effect->link, 0);
        }
        break;
    }
    case ARCP__EFFECT_CLOSE:
        close_client(rig, client_of(rig, effect->link_user), effect->close_code);
        break;
    case ARCP__EFFECT_PAUSE_LINK:
    case ARCP__EFFECT_RESUME_LINK:
        client_of(rig, effect->link_user)->paused = effect->kind == ARCP__EFFECT_PAUSE_LINK;
        break;
    case ARCP__EFFECT_AUTHENTICATE:
        authenticate(rig, effect);
        break;
    case ARCP__EFFECT_START_AGENT:
        start_agent(rig, effect);
        break;
    case ARCP__EFFECT_AGENT_LINE:
        assert_non_null(agent);
        push(&agent->lines, &agent->newest, effect->text);
        break;
    case ARCP__EFFECT_CANCEL_AGENT:
        assert_non_null(agent);
        agent->cancelled = true;
        agent->cancels++;
        push(&agent->lines, &agent->newest, effect->text);
        break;
    case ARCP__EFFECT_KILL_AGENT:
        assert_non_null(agent);
        agent->killed = true;
        agent->kills++;
        break;
    case ARCP__EFFECT_PAUSE_AGENT:
    case ARCP__EFFECT_RESUME_AGENT:
        assert_non_null(agent);
        agent->paused = effect->kind == ARCP__EFFECT_PAUSE_AGENT;
        break;
    case ARCP__EFFECT_FORGET_AGENT:
        assert_non_null(agent);
        agent->forgotten = true;
        agent->forgets++;
        break;
    case ARCP__EFFECT_READ:
        check_ok(rig->store->ops->read(rig->store, effect->id, effect->text, effect->from,
                                       effect->count_max, effect->bytes_max, &error),
                 &error);
        break;
    case ARCP__EFFECT_PROVISION:
        if (rig->provision != NULL) {
            rig->provision(rig, &effect->provision);
        }
        break;
    case ARCP__EFFECT_LOG:
        take_log(rig, effect);
        break;
    case ARCP__EFFECT_SPAN:
        assert_true(rig->makes_spans);
        push(&rig->spans, &rig->newest_span, effect->text);
        break;
    }
}

/* False: this is where the process dies. */
static bool step(engine_rig *rig)
{
    if (rig->fuse != 0 && --rig->fuse == 0) {
        rig->is_dead = true;
    }
    return !rig->is_dead;
}

static bool submit_batches(engine_rig *rig)
{
    bool any = false;
    if (!step(rig)) {
        return false;
    }
    while (rig->batches_max == 0 || rig->batches_under_way < rig->batches_max) {
        const arcp_store_batch *batch = arcp__engine_take_batch(rig->engine);
        if (batch == NULL) {
            break;
        }
        arcp_error error = {0};
        any = true;
        if (rig->fail_store || rig->store->ops->submit(rig->store, batch, &error) != ARCP_OK) {
            arcp__engine_committed(rig->engine, rig->now, batch->id, ARCP_E_IO);
            break;
        }
        for (size_t at = 0; rig->stored != NULL && at < batch->count; at++) {
            rig->stored(rig, &batch->ops[at]);
        }
        rig->batches_under_way++;
    }
    return any;
}

static bool is_out_of_steps(const engine_rig *rig)
{
    return rig->is_stepping && rig->effects_left == 0;
}

void rig_run(engine_rig *rig)
{
    for (bool more = true; more;) {
        arcp__effect effect;
        more = false;
        arcp__engine_tick(rig->engine, rig->now);
        while (!rig->is_dead && !is_out_of_steps(rig) &&
               arcp__engine_next_effect(rig->engine, rig->now, &effect)) {
            rig->effects_left -= rig->is_stepping ? 1 : 0;
            if (rig->on_effect != NULL) {
                rig->on_effect(rig->on_effect_user, &effect);
            }
            if (step(rig)) {
                perform(rig, &effect);
            }
            more = true;
        }
        if (is_out_of_steps(rig)) {
            return;
        }
        if (!rig->hold_store && !rig->is_dead) {
            more = submit_batches(rig) || more;
            while (step(rig) && rig->store->ops->poll(rig->store)) {
                more = true;
            }
        }
        if (!more && rig->answer != NULL && step(rig)) {
            more = rig->answer(rig);
        }
        more = more && !rig->is_dead;
    }
}

/* Deadlines on the way are met at their own time. */
void rig_clock(engine_rig *rig, int64_t forward_ns)
{
    int64_t end = rig->now.mono_ns + forward_ns;
    rig_run(rig);
    for (int64_t next = arcp__engine_deadline(rig->engine); next <= end;
         next = arcp__engine_deadline(rig->engine)) {
        int64_t step = next > rig->now.mono_ns ? next - rig->now.mono_ns : 0;
        rig->now.mono_ns += step;
        rig->now.wall_ns += step;
        rig_run(rig);
    }
    rig->now.wall_ns += end - rig->now.mono_ns;
    rig->now.mono_ns = end;
    rig_run(rig);
}

/* ---- start and stop ---- */

static void register_agents(engine_rig *rig)
{
    static const struct {
        const char *name;
        const char *version;
    } agents[] = {{"echo", ""}, {"work", "1.0.0"}, {"work", "2.0.0"}};
    for (size_t at = 0; at < sizeof(agents) / sizeof(agents[0]); at++) {
        arcp_error error = {0};
        arcp__agent_registration agent = {.name = arcp_span_cstr(agents[at].name),
                                          .version = arcp_span_cstr(agents[at].version)};
        arcp_status status = arcp__engine_register_agent(rig->engine, &agent, &error);
        if (status == ARCP_E_NO_MEMORY) {
            status = arcp__engine_register_agent(rig->engine, &agent, &error);
        }
        check_ok(status, &error);
    }
}

static void add_profile(engine_rig *rig, size_t at)
{
    arcp_error error = {0};
    arcp__peer_profile_rule rule = {
        .client_glob = arcp_span_cstr(rig->profiles[at].client),
        .principal_glob = arcp_span_cstr(rig->profiles[at].principal),
        .profile = arcp_span_cstr(rig->profiles[at].name),
    };
    check_ok(arcp__engine_add_peer_profile(rig->engine, &rule, &error), &error);
}

void rig_profile(engine_rig *rig, const char *client, const char *principal, const char *name)
{
    assert_true(rig->profile_count < 8);
    size_t at = rig->profile_count++;
    (void)snprintf(rig->profiles[at].client, sizeof(rig->profiles[at].client), "%s", client);
    (void)snprintf(rig->profiles[at].principal, sizeof(rig->profiles[at].principal), "%s",
                   principal);
    (void)snprintf(rig->profiles[at].name, sizeof(rig->profiles[at].name), "%s", name);
    add_profile(rig, at);
}

/* The members of a row, as arcpd reads them from its configuration. */
static void add_policy(engine_rig *rig, const char *row)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    arcp_error error = {0};
    arcp_buf lease = ARCP_BUF_INIT;
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
    for (int at = 0; at < 2; at++) {
        if (names[at] != ARCP_JSON_ABSENT) {
            arcp_span text = arcp_json_raw(&json, names[at]);
            *globs[at] = arcp_span_make(text.data + 1, text.size - 2);
        }
    }
    /* One lease of both: max_lease without its brace, and the budget. */
    arcp_span patterns =
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
    check_ok(arcp__engine_add_policy(rig->engine, &policy, &error), &error);
    arcp_lease_unref(ceiling);
    arcp_buf_fini(&lease);
    arcp_json_fini(&json);
}

void rig_policy(engine_rig *rig, const char *row)
{
    assert_true(rig->policy_count < 8);
    rig->policies[rig->policy_count] = arcp__copy_cstr(row, strlen(row));
    add_policy(rig, rig->policies[rig->policy_count++]);
}

/* False when memory ran out: whoever looks after the runtime starts it again. */
static bool try_engine(engine_rig *rig)
{
    static const arcp_store_table tables[] = {ARCP_STORE_SESSIONS, ARCP_STORE_JOBS,
                                              ARCP_STORE_IDEMPOTENCY, ARCP_STORE_SUBSCRIPTIONS,
                                              ARCP_STORE_CREDENTIALS};
    arcp_error error = {0};
    arcp__engine_options options = {
        .runtime_name = "rig",
        .runtime_version = "1",
        .settings = rig->settings,
        .random = fake_random,
        .random_user = rig,
        .store_is_durable = !rig->is_volatile,
        .makes_spans = rig->makes_spans,
        .work_directory = ARCP_SPAN_LITERAL("/work"),
        .credentials = rig->credentials,
        .now = rig->now,
    };
    rig->has_no_memory = false;
    arcp_status status = arcp__engine_new(&options, &rig->engine, &error);
    if (status == ARCP_E_NO_MEMORY) {
        return false;
    }
    check_ok(status, &error);
    register_agents(rig);
    arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .user = rig};
    rig->store->ops->set_callbacks(rig->store, &callbacks);
    for (size_t at = 0; at < sizeof(tables) / sizeof(tables[0]); at++) {
        check_ok(rig->store->ops->scan(rig->store, tables[at], tables[at], arcp_span_make(NULL, 0),
                                       &error),
                 &error);
        rig->scans++;
    }
    while (rig->scans != 0) {
        (void)rig->store->ops->poll(rig->store);
    }
    if (!rig->has_no_memory) {
        arcp__engine_restore_done(rig->engine, rig->now);
        rig_run(rig);
        arcp_status restored = arcp__engine_restore_status(rig->engine, &error);
        rig->has_no_memory = restored == ARCP_E_NO_MEMORY || restored == ARCP_E_IO;
        if (!rig->has_no_memory && restored != ARCP_OK) {
            fail_msg("%s: %s", arcp_status_name(restored), error.message);
        }
    }
    if (rig->has_no_memory) {
        arcp__engine_free(rig->engine);
        return false;
    }
    assert_true(rig->is_dead || arcp__engine_is_restored(rig->engine));
    for (size_t at = 0; at < rig->profile_count; at++) {
        add_profile(rig, at); /* as arcpd does: when the sessions are there already */
    }
    for (size_t at = 0; at < rig->policy_count; at++) {
        add_policy(rig, rig->policies[at]);
    }
    return true;
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
        arcp_settings_default(&rig->settings);
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

static void forget_everybody(engine_rig *rig)
{
    for (size_t at = 0; at < RIG_CLIENTS_MAX; at++) {
        rig->clients[at].link = NULL;
        clear(&rig->clients[at].frames);
    }
    for (size_t at = 0; at < rig->agent_count; at++) {
        clear(&rig->agents[at].lines);
    }
    rig->agent_count = 0;
}

void rig_stop(engine_rig *rig)
{
    forget_everybody(rig);
    rig->store->ops->close(rig->store);
    arcp__engine_free(rig->engine);
    while (rig->policy_count != 0) {
        arcp__free(rig->policies[--rig->policy_count]);
    }
    while (rig->audit_records != NULL) {
        rig_text *first = rig->audit_records;
        rig->audit_records = first->next;
        arcp__free(first);
    }
    while (rig->spans != NULL) {
        rig_text *first = rig->spans;
        rig->spans = first->next;
        arcp__free(first);
    }
}

/* Batches that were taken and not polled are as good as never written: the memory store
 * applies them at submit, so tests that need a lost batch set hold_store before. */
void rig_restart(engine_rig *rig)
{
    forget_everybody(rig);
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

/* ---- clients ---- */

rig_client *rig_find(engine_rig *rig, const char *name)
{
    for (size_t at = 0; at < RIG_CLIENTS_MAX; at++) {
        rig_client *client = &rig->clients[at];
        if (client->name[0] == '\0') {
            (void)snprintf(client->name, sizeof(client->name), "%s", name);
        }
        if (strcmp(client->name, name) == 0) {
            return client;
        }
    }
    fail_msg("too many clients");
    return NULL;
}

rig_client *rig_connect(engine_rig *rig, const char *name)
{
    rig_client *client = rig_find(rig, name);
    clear(&client->frames);
    client->close_code = 0;
    client->unsent = 0;
    client->slow = client->paused = false;
    arcp__link_options options = rig->link;
    options.user = client;
    client->link = arcp__engine_connect(rig->engine, rig->now, &options);
    if (client->link == NULL) {
        client->link = arcp__engine_connect(rig->engine, rig->now, &options);
    }
    assert_non_null(client->link);
    return client;
}

void rig_send(engine_rig *rig, rig_client *client, const char *frame)
{
    if (rig->is_dead) {
        return;
    }
    assert_non_null(client->link);
    arcp__engine_receive(rig->engine, rig->now, client->link, arcp_span_cstr(frame));
    rig_run(rig);
}

void rig_drop(engine_rig *rig, rig_client *client)
{
    arcp__link *link = client->link;
    client->link = NULL;
    if (link != NULL) {
        arcp__engine_disconnect(rig->engine, rig->now, link);
    }
    clear(&client->frames);
    rig_run(rig);
}

char *rig_take(rig_client *client)
{
    return take(&client->frames);
}

char *rig_read(engine_rig *rig, rig_client *client)
{
    char *frame = take(&client->frames);
    if (frame != NULL && client->slow && client->link != NULL) {
        size_t size = strlen(frame);
        client->unsent -= size < client->unsent ? size : client->unsent;
        arcp__engine_drained(rig->engine, rig->now, client->link, client->unsent);
        rig_run(rig);
    }
    return frame;
}

/* ---- agents ---- */

rig_agent *rig_agent_of(engine_rig *rig, const char *job_id)
{
    for (size_t at = rig->agent_count; at > 0; at--) {
        if (strcmp(rig->agents[at - 1].job_id, job_id) == 0) {
            return &rig->agents[at - 1];
        }
    }
    return NULL;
}

rig_agent *rig_agent_last(engine_rig *rig)
{
    for (size_t at = rig->agent_count; at > 0; at--) {
        if (!rig->agents[at - 1].forgotten) {
            return &rig->agents[at - 1];
        }
    }
    return NULL;
}

void rig_agent_started(engine_rig *rig, rig_agent *agent)
{
    if (agent->starting && !agent->forgotten) {
        agent->starting = false;
        arcp__engine_agent_started(rig->engine, rig->now, agent->job,
                                   rig->fail_start ? ARCP_E_IO : ARCP_OK,
                                   ARCP_SPAN_LITERAL("no such file"));
    }
    rig_run(rig);
}

void rig_agent_says(engine_rig *rig, rig_agent *agent, const char *line)
{
    if (!agent->forgotten && !rig->is_dead) {
        arcp__engine_agent_line(rig->engine, rig->now, agent->job, arcp_span_cstr(line));
    }
    rig_run(rig);
}

char *rig_agent_take(rig_agent *agent)
{
    return take(&agent->lines);
}

void rig_agent_exits(engine_rig *rig, rig_agent *agent, bool by_signal, int code)
{
    arcp__agent_exit exit = {.by_signal = by_signal, .code = code};
    if (!agent->forgotten) {
        arcp__engine_agent_exited(rig->engine, rig->now, agent->job, &exit);
    }
    rig_run(rig);
}
