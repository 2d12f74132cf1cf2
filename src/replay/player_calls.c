/* Each call of a trace, repeated on the player's engine with what its record has. */
#include "replay/player.h"

#include <string.h>

#include "base/alloc.h"

/* A copy with an end of string that lives as long as the player; NULL: there is none. */
const char *arcp__player_keep(arcp__player *p, arcp_span text)
{
    if (text.data == NULL) {
        return NULL;
    }
    char *copy = arcp__arena_take(&p->arena, text.size + 1);
    if (copy == NULL) {
        p->has_no_memory = true;
        return "";
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return copy;
}

static void read_settings(arcp__recording_fields *fields, arcp_settings *out)
{
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text)                           \
    out->group##_##key = arcp__recording_number(fields);
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)                                      \
    out->group##_##key = (uint32_t)arcp__recording_number(fields);
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
}

static const char *const *read_cstrs(arcp__player *p, arcp__recording_fields *fields, size_t *count)
{
    const uint64_t wanted = arcp__recording_number(fields);
    const bool is_possible = wanted <= fields->rest.size; /* a byte each at least */
    const size_t size = is_possible ? (size_t)wanted : 0;
    const char **texts = arcp__arena_take(&p->arena, (size + 1) * sizeof *texts);
    fields->is_wrong = fields->is_wrong || !is_possible;
    p->has_no_memory = p->has_no_memory || texts == NULL;
    *count = texts == NULL ? 0 : size;
    for (size_t i = 0; i < *count; i++) {
        texts[i] = arcp__player_keep(p, arcp__recording_text(fields));
        fields->is_wrong = fields->is_wrong || texts[i] == NULL;
    }
    return texts;
}

static void read_terms(arcp__player *p, arcp__recording_fields *fields,
                       arcp__credential_options *out)
{
    arcp_provisioner_terms *terms = arcp__arena_take(&p->arena, sizeof *terms);
    if (terms == NULL) {
        p->has_no_memory = true;
        return;
    }
    *terms = (arcp_provisioner_terms){.struct_size = sizeof *terms};
    terms->agents = read_cstrs(p, fields, &terms->agent_count);
    const bool has_models = arcp__recording_number(fields) != 0;
    terms->models = read_cstrs(p, fields, &terms->model_count);
    terms->models = has_models ? terms->models : NULL;
    terms->currency = arcp__player_keep(p, arcp__recording_text(fields));
    terms->enforces = (unsigned)arcp__recording_number(fields);
    out->terms = terms;
}

/* Whether all of a record was read. */
bool arcp__player_is_read(arcp__player *p, const arcp__recording_fields *more)
{
    if (more->is_wrong || more->rest.size != 0) {
        arcp__player_end_damaged(p, "it has other fields than a call of this build");
        return false;
    }
    return true;
}

static bool has_settings(arcp__player *p, const arcp__recording_fields *more,
                         const arcp_settings *settings)
{
    if (!arcp__player_is_read(p, more)) {
        return false;
    }
    if (!arcp__settings_are_valid(settings)) {
        arcp__player_end_damaged(p, "a setting is out of its range");
        return false;
    }
    return true;
}

static void begin(arcp__player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp__engine_options options = {.now = call->now};
    arcp__engine_free(p->engine);
    p->engine = NULL;
    p->link_count = 0;
    p->restore_is_over = p->row_has_failed = false;
    options.runtime_name = arcp__player_keep(p, arcp__recording_text(&more));
    options.runtime_version = arcp__player_keep(p, arcp__recording_text(&more));
    read_settings(&more, &options.settings);
    options.store_is_durable = arcp__recording_number(&more) != 0;
    options.work_directory = arcp__arena_copy(&p->arena, arcp__recording_text(&more));
    options.worker_keep_sec = arcp__recording_number(&more);
    options.makes_spans = arcp__recording_number(&more) != 0;
    options.has_no_log = arcp__recording_number(&more) != 0;
    const bool has_admit = arcp__recording_number(&more) != 0;
    options.credentials.provisioner = arcp__player_keep(p, arcp__recording_text(&more));
    const uint64_t provisioner_can = arcp__recording_number(&more);
    options.credentials.can_measure = (provisioner_can & 1) != 0;
    options.credentials.can_keep = (provisioner_can & 2) != 0;
    arcp__player_set_functions(p, &options, arcp__recording_number(&more) != 0, has_admit);
    if (arcp__recording_number(&more) != 0) {
        read_terms(p, &more, &options.credentials);
    }
    if (!has_settings(p, &more, &options.settings)) {
        return;
    }
    arcp__recorder_attach(p->recorder, &options);
    if (arcp__engine_new(&options, &p->engine, NULL) != ARCP_OK) {
        arcp__player_end_damaged(p, "the engine cannot be made from it");
    }
}

static void set_settings(arcp__player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp_settings settings = {0};
    read_settings(&more, &settings);
    if (has_settings(p, &more, &settings)) {
        arcp__engine_set_settings(p->engine, &settings);
    }
}

static void set_audit_failing(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_set_audit_failing(p->engine, call->numbers[0] != 0);
}

static void set_gateway_keys(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_set_gateway_keys(p->engine, call->numbers[0] != 0);
}

/* ---- agents, policies and profiles ---- */

/* The status is compared, as an outcome. */
static void ignore(arcp_status status)
{
    (void)status;
}

static void register_agent(arcp__player *p, const arcp__recording_call *call)
{
    const arcp__agent_registration agent = {.name = call->texts[0],
                                            .version = call->texts[1],
                                            .cwd = call->texts[2],
                                            .worker = call->texts[3],
                                            .host = p, /* it has one, which only its owner uses */
                                            .is_default = call->numbers[0] != 0,
                                            .is_unconfined = call->numbers[1] != 0,
                                            .max_jobs = (size_t)call->numbers[2],
                                            .refuses = (call->numbers[3] & 1U) != 0,
                                            .has_no_cwd = (call->numbers[3] & 2U) != 0};
    ignore(arcp__engine_register_agent(p->engine, &agent, NULL));
}

static void clear_agents(arcp__player *p, const arcp__recording_call *call)
{
    (void)call;
    arcp__engine_clear_agents(p->engine);
}

static void add_policy(arcp__player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp_lease_limits limits = arcp_lease_limits_init();
    limits.patterns_max = SIZE_MAX;
    limits.bytes_max = SIZE_MAX;
    arcp_lease *ceiling = NULL;
    arcp_lease *spend = NULL;
    arcp__policy policy = {.principal_glob = arcp__recording_text(&more),
                           .agent_glob = arcp__recording_text(&more)};
    policy.leaves_others_open = arcp__recording_number(&more) != 0;
    policy.max_lifetime_sec = arcp__recording_number(&more);
    const arcp_span lease = arcp__recording_text(&more);
    const arcp_span constraints = arcp__recording_text(&more);
    const arcp_span daily = arcp__recording_text(&more);
    if (!arcp__player_is_read(p, &more)) {
        return;
    }
    if ((lease.size != 0 &&
         arcp_lease_parse(lease, constraints, &limits, &ceiling, NULL) != ARCP_OK) ||
        (daily.size != 0 &&
         arcp_lease_parse(daily, arcp_span_make(NULL, 0), &limits, &spend, NULL) != ARCP_OK)) {
        arcp__player_end_damaged(p, "the lease of a policy cannot be read");
        arcp_lease_unref(ceiling);
        return;
    }
    policy.ceiling = ceiling;
    policy.spend = spend;
    ignore(arcp__engine_add_policy(p->engine, &policy, NULL));
    arcp_lease_unref(ceiling);
    arcp_lease_unref(spend);
}

static void clear_policies(arcp__player *p, const arcp__recording_call *call)
{
    (void)call;
    arcp__engine_clear_policies(p->engine);
}

static void add_peer_profile(arcp__player *p, const arcp__recording_call *call)
{
    const arcp__peer_profile_rule rule = {
        .client_glob = call->texts[0], .principal_glob = call->texts[1], .profile = call->texts[2]};
    ignore(arcp__engine_add_peer_profile(p->engine, &rule, NULL));
}

static void clear_peer_profiles(arcp__player *p, const arcp__recording_call *call)
{
    (void)call;
    arcp__engine_clear_peer_profiles(p->engine);
}

/* ---- links ---- */

/* A link, with the number that the recorder gives to it; false: out of memory. */
static arcp__played_link *add_link(arcp__player *p)
{
    arcp__played_link **links =
        arcp__make_room(p->links, p->link_count, &p->link_capacity, sizeof *links);
    arcp__played_link *link = arcp__arena_take(&p->arena, sizeof *link);
    p->links = links == NULL ? p->links : links;
    if (links == NULL || link == NULL) {
        p->has_no_memory = true;
        return NULL;
    }
    *link = (arcp__played_link){0};
    p->links[p->link_count++] = link;
    return link;
}

static void open_link(arcp__player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp__link_options options = {.is_local = arcp__recording_number(&more) != 0};
    options.is_encrypted = arcp__recording_number(&more) != 0;
    options.waited_ms = (uint32_t)arcp__recording_number(&more);
    options.role = (arcp_role)arcp__recording_number(&more);
    options.principal = arcp__recording_text(&more);
    options.peer = arcp__player_keep(p, arcp__recording_text(&more));
    if (arcp__player_is_read(p, &more)) {
        p->restore_is_over = true;
        options.user = add_link(p); /* effects have it */
        (void)arcp__engine_connect(p->engine, call->now, &options);
    }
}

/* The link that a call names. */
static arcp__link *link_of(arcp__player *p, const arcp__recording_call *call)
{
    arcp__link *link = arcp__recorder_link(p->recorder, call->link);
    if (link == NULL) {
        arcp__player_end_damaged(p, "it names a link that there is not");
    }
    return link;
}

static void receive(arcp__player *p, const arcp__recording_call *call)
{
    arcp__link *link = link_of(p, call);
    if (link != NULL) {
        arcp__player_link(p, call->link)->is_paused =
            !arcp__engine_receive(p->engine, call->now, link, call->texts[0]);
    }
}

static void frame_took(arcp__player *p, const arcp__recording_call *call)
{
    arcp__link *link = link_of(p, call);
    if (link != NULL) {
        (void)arcp__engine_frame_took(p->engine, call->now, link, (int64_t)call->numbers[0]);
    }
}

static void takes_frames(arcp__player *p, const arcp__recording_call *call)
{
    arcp__link *link = link_of(p, call);
    if (link != NULL) {
        arcp__player_link(p, call->link)->is_paused = !arcp__engine_takes_frames(p->engine, link);
    }
}

static void drained(arcp__player *p, const arcp__recording_call *call)
{
    arcp__link *link = link_of(p, call);
    if (link != NULL) {
        arcp__engine_drained(p->engine, call->now, link, (size_t)call->numbers[0]);
    }
}

static void input_over(arcp__player *p, const arcp__recording_call *call)
{
    arcp__link *link = link_of(p, call);
    if (link != NULL) {
        arcp__engine_input_over(p->engine, call->now, link);
    }
}

static void close_link(arcp__player *p, const arcp__recording_call *call)
{
    arcp__link *link = link_of(p, call);
    if (link != NULL) {
        arcp__engine_disconnect(p->engine, call->now, link);
    }
}

static void authenticated(arcp__player *p, const arcp__recording_call *call)
{
    arcp__authentication result = {.status = (arcp_status)call->numbers[1],
                                   .principal = call->texts[0],
                                   .is_anonymous = (call->numbers[2] & 1) != 0,
                                   .role = (arcp_role)(call->numbers[2] >> 1),
                                   .origin.expires_wall_ns = (int64_t)call->numbers[3]};
    if (call->texts[1].size == sizeof result.origin.hash) {
        memcpy(result.origin.hash, call->texts[1].data, call->texts[1].size);
    }
    arcp__engine_authenticated(p->engine, call->now, call->numbers[0], &result);
}

static void recheck_roles(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_recheck_roles(p->engine, call->now);
}

static void refused(arcp__player *p, const arcp__recording_call *call)
{
    const arcp__refusal refusal = {.peer = arcp__player_keep(p, call->texts[0]),
                                   .rule = arcp__player_keep(p, call->texts[1]),
                                   .code = (int)call->numbers[0],
                                   .is_audited = call->numbers[1] != 0,
                                   .is_logged = call->numbers[2] != 0,
                                   .is_trouble = call->numbers[3] != 0};
    arcp__engine_refused(p->engine, call->now, &refusal, arcp__player_keep(p, call->texts[2]));
}

/* ---- the store ---- */

static void restore_row(arcp__player *p, const arcp__recording_call *call)
{
    p->row_has_failed = arcp__engine_restore_row(p->engine, (arcp_store_table)call->numbers[0],
                                                 call->texts[0], call->texts[1], NULL) != ARCP_OK;
}

static void restore_done(arcp__player *p, const arcp__recording_call *call)
{
    p->restore_is_over = true;
    arcp__engine_restore_done(p->engine, call->now);
}

static void read_done(arcp__player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    const uint64_t count = call->numbers[3];
    arcp_span *records =
        count > more.rest.size ? NULL : arcp__alloc_array((size_t)count + 1, sizeof *records);
    if (records == NULL) {
        arcp__player_end_damaged(p, "it has fewer records than it says");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        records[i] = arcp__recording_text(&more);
    }
    if (arcp__player_is_read(p, &more)) {
        arcp__engine_read_done(p->engine, call->now, call->numbers[0],
                               (arcp_status)call->numbers[1], call->numbers[2], records,
                               (size_t)count);
    }
    arcp__free(records);
}

static void take_batch(arcp__player *p, const arcp__recording_call *call)
{
    (void)call;
    (void)arcp__engine_take_batch(p->engine);
}

static void committed(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_committed(p->engine, call->now, call->numbers[0], (arcp_status)call->numbers[1]);
}

/* ---- credentials ---- */

static void provision_request(arcp__player *p, const arcp__recording_call *call)
{
    arcp_provision_request request;
    (void)arcp__engine_provision_request(p->engine, call->numbers[0], &request);
}

static void provision_sent(arcp__player *p, const arcp__recording_call *call)
{
    (void)call;
    arcp__engine_provision_sent(p->engine);
}

static void provisioned(arcp__player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp_provision_result result = {.struct_size = sizeof result};
    result.call_id = arcp__recording_number(&more);
    result.outcome = (arcp_provision_outcome)arcp__recording_number(&more);
    result.status = (arcp_status)arcp__recording_number(&more);
    result.lifetime_sec = arcp__recording_number(&more);
    result.replaced = arcp__recording_number(&more) != 0;
    result.message = arcp__player_keep(p, arcp__recording_text(&more));
    arcp_span *const texts[] = {&result.upstream_id, &result.value,   &result.scheme,
                                &result.endpoint,    &result.profile, &result.spent};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i] = arcp__recording_text(&more);
    }
    if (arcp__player_is_read(p, &more)) {
        arcp__engine_provisioned(p->engine, call->now, &result);
    }
}

/* ---- time and effects ---- */

static void tick(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_tick(p->engine, call->now);
}

static void shut_down(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_shutdown(p->engine, call->now, call->numbers[0] != 0);
}

static void next_effect(arcp__player *p, const arcp__recording_call *call)
{
    arcp__effect effect;
    if (!arcp__engine_next_effect(p->engine, call->now, &effect)) {
        return;
    }
    if (effect.kind == ARCP__EFFECT_PROVISION) {
        p->provision_id = effect.id;
    } else if (effect.kind == ARCP__EFFECT_RESUME_LINK && effect.link_user != NULL) {
        ((arcp__played_link *)effect.link_user)->is_paused = false;
    }
}

static void next_line(arcp__player *p, const arcp__recording_call *call)
{
    arcp__effect effect;
    (void)call;
    (void)arcp__engine_next_line(p->engine, &effect);
}

static void next_forgotten(arcp__player *p, const arcp__recording_call *call)
{
    arcp__effect effect;
    (void)call;
    (void)arcp__engine_next_forgotten(p->engine, &effect);
}

static void end_foreign(arcp__player *p, const arcp__recording_call *call)
{
    (void)call;
    arcp__player_end_foreign(p);
}

static void (*const calls[ARCP__CALL_LINK])(arcp__player *p, const arcp__recording_call *call) = {
    [ARCP__CALL_BEGIN] = begin,
    [ARCP__CALL_SET_SETTINGS] = set_settings,
    [ARCP__CALL_SET_AUDIT_FAILING] = set_audit_failing,
    [ARCP__CALL_SET_GATEWAY_KEYS] = set_gateway_keys,
    [ARCP__CALL_REGISTER_AGENT] = register_agent,
    [ARCP__CALL_CLEAR_AGENTS] = clear_agents,
    [ARCP__CALL_ADD_POLICY] = add_policy,
    [ARCP__CALL_CLEAR_POLICIES] = clear_policies,
    [ARCP__CALL_SET_SCHEDULES] = arcp__player_set_schedules,
    [ARCP__CALL_SET_HOOKS] = arcp__player_set_hooks,
    [ARCP__CALL_NOTIFIED] = arcp__player_notified,
    [ARCP__CALL_ADD_PEER_PROFILE] = add_peer_profile,
    [ARCP__CALL_CLEAR_PEER_PROFILES] = clear_peer_profiles,
    [ARCP__CALL_CONNECT] = open_link,
    [ARCP__CALL_RECEIVE] = receive,
    [ARCP__CALL_FRAME_TOOK] = frame_took,
    [ARCP__CALL_TAKES_FRAMES] = takes_frames,
    [ARCP__CALL_DRAINED] = drained,
    [ARCP__CALL_INPUT_OVER] = input_over,
    [ARCP__CALL_DISCONNECT] = close_link,
    [ARCP__CALL_AUTHENTICATED] = authenticated,
    [ARCP__CALL_REFUSED] = refused,
    [ARCP__CALL_OWNER_ANSWERED] = arcp__player_owner_answered,
    [ARCP__CALL_PAGE_KEY_CHECKED] = arcp__player_page_key_checked,
    [ARCP__CALL_RECHECK_ROLES] = recheck_roles,
    [ARCP__CALL_RESTORE_ROW] = restore_row,
    [ARCP__CALL_RESTORE_DONE] = restore_done,
    [ARCP__CALL_READ_DONE] = read_done,
    [ARCP__CALL_TAKE_BATCH] = take_batch,
    [ARCP__CALL_COMMITTED] = committed,
    [ARCP__CALL_AGENT_GOT] = arcp__player_agent_got,
    [ARCP__CALL_SET_WORKER_DIRECTORY] = arcp__player_set_worker_directory,
    [ARCP__CALL_WORKER_JOINS] = arcp__player_worker_joins,
    [ARCP__CALL_WORKER_CLAIMS] = arcp__player_worker_claims,
    [ARCP__CALL_WORKER_READY] = arcp__player_worker_ready,
    [ARCP__CALL_WORKER_AWAY] = arcp__player_worker_away,
    [ARCP__CALL_WORKER_LOST] = arcp__player_worker_lost,
    [ARCP__CALL_WORKER_TOO_OLD] = arcp__player_worker_too_old,
    [ARCP__CALL_WORKER_DRAINS] = arcp__player_worker_drains,
    [ARCP__CALL_AGENT_REFUSED] = arcp__player_agent_refused,
    [ARCP__CALL_PROVISION_REQUEST] = provision_request,
    [ARCP__CALL_PROVISION_SENT] = provision_sent,
    [ARCP__CALL_PROVISIONED] = provisioned,
    [ARCP__CALL_TICK] = tick,
    [ARCP__CALL_SHUTDOWN] = shut_down,
    [ARCP__CALL_NEXT_EFFECT] = next_effect,
    [ARCP__CALL_NEXT_LINE] = next_line,
    [ARCP__CALL_NEXT_FORGOTTEN] = next_forgotten,
    [ARCP__CALL_FOREIGN] = end_foreign,
};

void arcp__player_call(arcp__player *p, const arcp__recording_call *call)
{
    p->provision_id = 0; /* an effect is valid until the next call */
    if (call->kind >= ARCP__CALL_AGENT_STARTED && call->kind <= ARCP__CALL_AGENT_DENIED) {
        arcp__player_agent_call(p, call);
    } else {
        calls[call->kind](p, call);
    }
}
