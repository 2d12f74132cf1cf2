/* `arcp doctor --config FILE`: for each agent of an arcpd, whether a sandbox of this host could run
 * it with the leases that its policies allow at most. Only the keys that matter here are read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <arcp/enforce.h>

#include "arcp/run.h"
#include "arcp/setup_file.h"
#include "base/alloc.h"
#include "config/config.h"
#include "core/name_glob.h"
#include "json/json_put.h"

/* ---- the configuration ---- */

typedef struct agent {
    char *name;
    char *cwd; /* NULL: a directory of the job */
    arcp__text_list command;
    bool is_unconfined;
    arcp__text_list base;
    int protect; /* arcp_protect */
    int min;     /* arcp_enforce_min */
    int tls;     /* arcp_enforce_tls */
    uint64_t pids, warm;
    int mode;    /* in the order of agent_modes */
    char *lease; /* of served processes: JSON; NULL: an empty one */
    bool has_no_gateways;
} agent;

typedef struct policy {
    char *agent;     /* a glob; NULL: every agent */
    char *max_lease; /* JSON; NULL: none */
} policy;

/* The group enforce. */
typedef struct enforcement {
    bool is_off;
    arcp__text_list base, may_be_advisory;
    int min; /* arcp_enforce_min */
    int tls; /* arcp_enforce_tls */
    uint64_t scratch_bytes, pids;
    bool allows_direct_models;
} enforcement;

typedef struct listing {
    arcp__setup setup; /* must be first */
    enforcement enforce;
    agent *agents;
    size_t agent_count;
    policy *policies;
    size_t policy_count;
    arcp__arena arena;
    arcp__sandbox_request common; /* hosts of models, in the arena */
} listing;

static arcp_status skip(arcp__yaml_reader *r, const char *group, void *owner, arcp_span key)
{
    return ARCP_OK;
}

static const arcp__config_others others = {.read = skip};

static const char *const modes[] = {"on", "off", NULL};
static const char *const yes_or_no[] = {"true", "false", NULL};
static const char *const agent_modes[] = {"arcp", "plain", "serve", NULL};
enum { MODE_ARCP, MODE_PLAIN, MODE_SERVE };
static const char *const protects[] = {"true", "strict", "false", NULL};
/* In the order of arcp_enforce_min, and of arcp_enforce_tls. */
static const char *const minimums[] = {"null", "exact", "under", "advisory", NULL};
static const char *const tls_kinds[] = {"null", "tunnel", "terminate", NULL};

static const arcp__config_row agent_rows[] = {
    {ARCP__CONFIG_ROW("name", text, agent, name)},
    {ARCP__CONFIG_ROW("cwd", text, agent, cwd)},
    {ARCP__CONFIG_LIST("command", list, agent, command.items, command.count,
                       &arcp__config_text_item)},
    {ARCP__CONFIG_ROW("mode", word, agent, mode), .words = agent_modes},
    {ARCP__CONFIG_ROW("lease", json, agent, lease)},
    {ARCP__CONFIG_ROW("warm", number, agent, warm)},
    {ARCP__CONFIG_ROW("confine", word, agent, is_unconfined), .words = yes_or_no},
    {ARCP__CONFIG_LIST("base", list, agent, base.items, base.count, &arcp__config_text_item)},
    {ARCP__CONFIG_ROW("protect", word, agent, protect), .words = protects},
    {ARCP__CONFIG_ROW("min", word, agent, min), .words = minimums},
    {ARCP__CONFIG_ROW("tls", word, agent, tls), .words = tls_kinds},
    {ARCP__CONFIG_ROW("pids", number, agent, pids)},
    {ARCP__CONFIG_ROW("gateways", word, agent, has_no_gateways), .words = yes_or_no},
};
static const arcp__config_row enforce_rows[] = {
    {ARCP__CONFIG_ROW("mode", word, enforcement, is_off), .words = modes},
    {ARCP__CONFIG_LIST("base", list, enforcement, base.items, base.count, &arcp__config_text_item)},
    {ARCP__CONFIG_LIST("may_be_advisory", list, enforcement, may_be_advisory.items,
                       may_be_advisory.count, &arcp__config_text_item),
     .maximum = ARCP__SANDBOX_EXEMPT_MAX, .item_name = "capabilities"},
    {ARCP__CONFIG_ROW("min", word, enforcement, min), .words = minimums},
    {ARCP__CONFIG_ROW("tls", word, enforcement, tls), .words = tls_kinds},
    {ARCP__CONFIG_ROW("scratch_bytes", number, enforcement, scratch_bytes)},
    {ARCP__CONFIG_ROW("pids", number, enforcement, pids), .maximum = UINT32_MAX},
    {ARCP__CONFIG_ROW("allow_direct_models", flag, enforcement, allows_direct_models)},
};
static const arcp__config_row policy_rows[] = {
    {ARCP__CONFIG_ROW("agent", text, policy, agent)},
    {ARCP__CONFIG_ROW("max_lease", json, policy, max_lease)},
};
#define FIELDS(its_rows)                                                                           \
    {                                                                                              \
        .rows = (its_rows), .count = sizeof(its_rows) / sizeof *(its_rows), .others = &others      \
    }
static const arcp__config_fields agent_fields = FIELDS(agent_rows);
static const arcp__config_fields policy_fields = FIELDS(policy_rows);
static const arcp__config_fields enforce_fields = FIELDS(enforce_rows);
static const arcp__config_row agent_item = {
    .type = &arcp__config_group, .size = sizeof(agent), .fields = &agent_fields};
static const arcp__config_row policy_item = {
    .type = &arcp__config_group, .size = sizeof(policy), .fields = &policy_fields};
static const arcp__config_row rows[] = {
    {.key = "models", .type = &arcp__config_group, .fields = &arcp__setup_models},
    {.key = "tools", .type = &arcp__config_group, .fields = &arcp__setup_tools},
    {ARCP__CONFIG_ROW("enforce", group, listing, enforce), .fields = &enforce_fields},
    {ARCP__CONFIG_LIST("agents", list, listing, agents, agent_count, &agent_item)},
    {ARCP__CONFIG_LIST("policy", list, listing, policies, policy_count, &policy_item)},
};
static const arcp__config_fields fields = FIELDS(rows);

static arcp_status read_file(const char *path, listing *out, arcp_error *err)
{
    arcp__config_places places = {NULL, NULL, 0};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "--config %.200s: %s", path, strerror(errno));
    }
    arcp__yaml_reader r = {.root = out, .places = &places, .name = path, .err = err};
    const arcp_status status = arcp__config_stream_read(&r, &fields, file);
    (void)fclose(file);
    arcp__config_places_fini(&places);
    return status;
}

/* ---- agents ---- */

/* The result for an agent under one policy, or under none. */
typedef struct finding {
    const char *agent;
    size_t policy;                  /* its index + 1; 0: no policy has a ceiling for the agent */
    bool is_of_processes;           /* the lease is that of its served processes */
    bool is_bare;                   /* it is not confined, and runs anyway */
    const arcp__sandbox_plan *plan; /* NULL: `why` there is none */
    const char *why;
} finding;

/* Whether the pattern is one of a directory with all that is in it, and `path` is this directory or
 * in it. */
static bool is_tree_with(arcp_span pattern, arcp_span path)
{
    const arcp_span tail = ARCP_SPAN_LITERAL("/**");
    if (!arcp_span_ends_with(pattern, tail)) {
        return false;
    }
    const arcp_span tree = arcp_span_first(pattern, pattern.size - tail.size);
    return arcp_span_starts_with(path, tree) &&
           (path.size == tree.size || path.data[tree.size] == '/');
}

/* Whether the line lets the agent write to a directory that holds what its command needs. In a
 * larger directory this stays read-only for the agent itself at level full, but not for others that
 * have the same line. */
static bool holds_base(const arcp__sandbox_plan *plan, const arcp__sandbox_line *line)
{
    if (!arcp_span_equal_cstr(line->capability, "fs.write") ||
        line->verdict == ARCP__SANDBOX_VERDICT_REFUSED) {
        return false;
    }
    bool holds = line->note == ARCP__SANDBOX_NOTE_BASE_INSIDE ||
                 line->note == ARCP__SANDBOX_NOTE_BASE_WRITABLE;
    for (size_t i = plan->lease_line_count; i < plan->line_count; i++) {
        holds = holds || (arcp_span_equal_cstr(plan->lines[i].capability, "base") &&
                          is_tree_with(line->pattern, plan->lines[i].pattern));
    }
    return holds;
}

static void append_line(const char *word, const arcp__sandbox_line *line, const char *why,
                        arcp_buf *out)
{
    arcp_buf_append_format(out, "  %s ", word);
    arcp__append_safe(out, line->capability, 128);
    arcp_buf_append_byte(out, ' ');
    arcp__append_safe(out, line->pattern, 512);
    arcp_buf_append_format(out, "%s%s\n", why[0] == '\0' ? "" : ": ", why);
}

/* The lines of the ceiling that are not exact, and warnings. */
static void append_lines(const arcp__sandbox_plan *plan, arcp_buf *out)
{
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        const arcp__sandbox_line *line = &plan->lines[i];
        if (line->verdict != ARCP__SANDBOX_VERDICT_EXACT) {
            append_line(arcp__sandbox_verdict_name(line->verdict), line,
                        arcp__sandbox_note_text(line->note), out);
        }
        if (holds_base(plan, line)) {
            append_line("warning:", line, "the directory holds what the agent's command needs",
                        out);
        }
    }
}

static void append_text(const finding *f, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "agent ");
    arcp__append_safe(out, arcp_span_cstr(f->agent), 128);
    if (f->policy != 0) {
        arcp_buf_append_format(out, ", policy[%zu]", f->policy - 1);
    } else if (f->is_of_processes) {
        arcp_buf_append_cstr(out, ", its processes");
    }
    if (f->is_bare) {
        arcp_buf_append_cstr(out, ": runs, and is not confined");
    } else if (f->plan == NULL) {
        arcp_buf_append_cstr(out, ": does not run: ");
        arcp__append_safe(out, arcp_span_cstr(f->why), 512);
    } else if (f->plan->refusal == ARCP__SANDBOX_REFUSAL_LINE) {
        arcp_buf_append_format(out, ": does not run: a line is below the minimum (%s)",
                               arcp__sandbox_verdict_name(f->plan->min));
    } else if (f->plan->refusal != ARCP__SANDBOX_REFUSAL_NONE) {
        arcp_buf_append_cstr(out, ": does not run: this host cannot confine it");
    } else if (f->is_of_processes && f->plan->lease_line_count == 0) {
        arcp_buf_append_cstr(out, ": run; their lease is empty");
    } else if (f->policy == 0 && !f->is_of_processes) {
        arcp_buf_append_cstr(out, ": runs; no policy has a max_lease for it");
    } else {
        arcp_buf_append_cstr(out, ": runs: ");
        arcp__sandbox_report_counts(f->plan, out);
    }
    arcp_buf_append_byte(out, '\n');
    if (f->plan != NULL && (f->policy != 0 || f->is_of_processes)) {
        append_lines(f->plan, out);
    }
}

static void write_warnings(const arcp__sandbox_plan *plan, arcp_json_writer *writer)
{
    arcp__put_array(writer, "writes_base");
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        if (holds_base(plan, &plan->lines[i])) {
            arcp_json_write_string(writer, plan->lines[i].pattern);
        }
    }
    arcp_json_end_array(writer);
}

static void append_json(const finding *f, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "agent", f->agent);
    if (f->policy != 0) {
        arcp__put_u64(&writer, "policy", f->policy - 1);
    }
    if (f->is_of_processes) {
        arcp__put_bool(&writer, "processes", true);
    }
    arcp__put_bool(&writer, "runs",
                   f->is_bare ||
                       (f->plan != NULL && f->plan->refusal == ARCP__SANDBOX_REFUSAL_NONE));
    arcp__put_bool(&writer, "confined", !f->is_bare);
    if (f->plan != NULL && (f->policy != 0 || f->is_of_processes)) {
        arcp_buf plan = arcp_buf_init();
        arcp__sandbox_report_json(f->plan, &plan);
        arcp__put_raw(&writer, "plan", arcp_buf_span(&plan));
        write_warnings(f->plan, &writer);
        out->failed = out->failed || plan.failed;
        arcp_buf_fini(&plan);
    }
    arcp__put_text(&writer, "why", arcp_span_cstr(f->why));
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}

/* What the configuration says about the agent's sandboxes. `exempt` has room for a list. */
static arcp__sandbox_request request_of(const listing *list, const agent *a,
                                        const arcp__agents_query *query, arcp_span *exempt)
{
    static const arcp__sandbox_protect protections[] = {
        ARCP__SANDBOX_PROTECT_COMMITS, ARCP__SANDBOX_PROTECT_STRICT, ARCP__SANDBOX_PROTECT_NONE};
    static const arcp__sandbox_verdict verdicts[] = {
        ARCP__SANDBOX_VERDICT_UNDER, ARCP__SANDBOX_VERDICT_EXACT, ARCP__SANDBOX_VERDICT_UNDER,
        ARCP__SANDBOX_VERDICT_ADVISORY};
    const enforcement *enforce = &list->enforce;
    arcp__sandbox_request request = {.abilities = query->abilities,
                                     .protect = protections[a->protect]};
    arcp__sandbox_request_defaults(&request);
    request.min = verdicts[a->min != 0 ? a->min : enforce->min];
    request.tls_terminate = (a->tls != 0 ? a->tls : enforce->tls) == ARCP_ENFORCE_TLS_TERMINATE;
    const bool has_gateways = !a->has_no_gateways && a->mode != MODE_SERVE;
    request.may_be_late = a->warm != 0 && a->mode == MODE_ARCP;
    request.has_model_gateway = list->setup.models.provider_count != 0 && has_gateways;
    request.has_tool_gateway = list->setup.tools.server_count != 0 && has_gateways;
    request.model_hosts = list->common.model_hosts;
    request.model_host_count = list->common.model_host_count;
    if (enforce->scratch_bytes != 0) {
        request.limits.scratch_bytes = enforce->scratch_bytes;
    }
    if (a->pids != 0 || enforce->pids != 0) {
        request.limits.pids = (uint32_t)(a->pids != 0 ? a->pids : enforce->pids);
    }
    for (size_t i = 0; i < enforce->may_be_advisory.count; i++) {
        exempt[i] = arcp_span_cstr(enforce->may_be_advisory.items[i]);
    }
    if (enforce->may_be_advisory.count != 0) {
        request.exempt = exempt;
        request.exempt_count = enforce->may_be_advisory.count;
    }
    return request;
}

/* The bases of every agent and of this one; a NULL ends them. NULL when out of memory. */
static const char **bases_of(const listing *list, const agent *a)
{
    const arcp__text_list *const lists[] = {&list->enforce.base, &a->base};
    const char **bases = arcp__alloc_array(lists[0]->count + lists[1]->count + 1, sizeof *bases);
    size_t next = 0;
    for (size_t i = 0; i < 2 && bases != NULL; i++) {
        for (size_t j = 0; j < lists[i]->count; j++) {
            bases[next++] = lists[i]->items[j];
        }
    }
    return bases;
}

/* Compiles the plan for a ceiling of jobs or, with `of_processes`, for the lease of served
 * processes, and appends what is found. */
static void examine(const listing *list, const agent *a, const char *ceiling, size_t policy_number,
                    bool of_processes, const arcp__agents_query *query, arcp_buf *out)
{
    const bool is_shared = a->mode == MODE_SERVE && !of_processes;
    arcp_lease *lease = NULL;
    arcp__sandbox_plan *plan = NULL;
    arcp_error err = {0};
    arcp_span exempt[ARCP__SANDBOX_EXEMPT_MAX];
    const bool is_bare = list->enforce.is_off || a->is_unconfined;
    const char **bases = bases_of(list, a);
    arcp_status status = bases == NULL
                             ? arcp_error_set(&err, ARCP_E_NO_MEMORY, "out of memory")
                             : arcp_lease_parse(arcp_span_cstr(ceiling), arcp_span_make(NULL, 0),
                                                NULL, &lease, &err);
    if (status == ARCP_OK && !is_bare) {
        arcp__sandbox_request request = request_of(list, a, query, exempt);
        request.is_shared = is_shared;
        const arcp__agent_query asked = {.lease = lease,
                                         .cwd = is_shared ? "/" : a->cwd,
                                         .command = (const char *const *)a->command.items,
                                         .request = &request,
                                         .bases = bases};
        status = arcp__agent_plan(&asked, &plan, &err);
    }
    const finding f = {.agent = a->name,
                       .policy = policy_number,
                       .is_of_processes = of_processes,
                       .is_bare = is_bare && status == ARCP_OK,
                       .plan = plan,
                       .why = status == ARCP_OK ? NULL : err.message};
    (query->is_json ? append_json : append_text)(&f, out);
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
    arcp__free(bases);
}

arcp_status arcp__doctor_agents(const arcp__agents_query *query, arcp_buf *out, arcp_error *err)
{
    listing list = {.agents = NULL};
    arcp_status status = read_file(query->path, &list, err);
    if (status == ARCP_OK) {
        status = arcp__setup_model_hosts(&list.setup, list.enforce.allows_direct_models,
                                         &list.arena, &list.common, err);
    }
    for (size_t i = 0; i < list.agent_count && status == ARCP_OK; i++) {
        const agent *a = &list.agents[i];
        bool has_ceiling = false;
        if (a->name != NULL && a->mode == MODE_SERVE) {
            examine(&list, a, a->lease == NULL ? "{}" : a->lease, 0, true, query, out);
        }
        for (size_t j = 0; a->name != NULL && j < list.policy_count; j++) {
            const policy *p = &list.policies[j];
            if (p->max_lease != NULL &&
                (p->agent == NULL || arcp__name_glob_matches(p->agent, arcp_span_cstr(a->name)))) {
                has_ceiling = true;
                examine(&list, a, p->max_lease, j + 1, false, query, out);
            }
        }
        if (a->name != NULL && !has_ceiling) {
            examine(&list, a, "{}", 0, false, query, out);
        }
    }
    arcp__config_fields_fini(&fields, &list);
    arcp__arena_fini(&list.arena);
    return status;
}
