/* `arcp doctor --config FILE`: for each agent of an arcpd, whether a sandbox of this host could run
 * it with the leases that its policies allow at most. Only the keys that matter here are read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arcp/run.h"
#include "config/config.h"
#include "core/name_glob.h"
#include "json/json_put.h"

/* ---- the configuration ---- */

typedef struct agent {
    char *name;
    char *cwd; /* NULL: a directory of the job */
    arcp__text_list command;
} agent;

typedef struct policy {
    char *agent;     /* a glob; NULL: every agent */
    char *max_lease; /* JSON; NULL: none */
} policy;

typedef struct listing {
    agent *agents;
    size_t agent_count;
    policy *policies;
    size_t policy_count;
} listing;

static arcp_status skip(arcp__yaml_reader *r, const char *group, void *owner, arcp_span key)
{
    return ARCP_OK;
}

static const arcp__config_others others = {.read = skip};

static const arcp__config_row agent_rows[] = {
    {ARCP__CONFIG_ROW("name", text, agent, name)},
    {ARCP__CONFIG_ROW("cwd", text, agent, cwd)},
    {ARCP__CONFIG_LIST("command", list, agent, command.items, command.count,
                       &arcp__config_text_item)},
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
static const arcp__config_row agent_item = {
    .type = &arcp__config_group, .size = sizeof(agent), .fields = &agent_fields};
static const arcp__config_row policy_item = {
    .type = &arcp__config_group, .size = sizeof(policy), .fields = &policy_fields};
static const arcp__config_row rows[] = {
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
    const arcp__sandbox_plan *plan; /* NULL: `why` there is none */
    const char *why;
} finding;

static void append_text(const finding *f, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "agent ");
    arcp__append_safe(out, arcp_span_cstr(f->agent), 128);
    if (f->policy != 0) {
        arcp_buf_append_format(out, ", policy[%zu]", f->policy - 1);
    }
    if (f->plan == NULL) {
        arcp_buf_append_cstr(out, ": does not run: ");
        arcp__append_safe(out, arcp_span_cstr(f->why), 512);
    } else if (f->plan->refusal != ARCP__SANDBOX_REFUSAL_NONE) {
        arcp_buf_append_cstr(out, ": does not run");
    } else if (f->policy == 0) {
        arcp_buf_append_cstr(out, ": runs; no policy has a max_lease for it");
    } else {
        arcp_buf_append_cstr(out, ": runs: ");
        arcp__sandbox_report_counts(f->plan, out);
    }
    arcp_buf_append_byte(out, '\n');
}

static void append_json(const finding *f, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "agent", f->agent);
    if (f->policy != 0) {
        arcp__put_u64(&writer, "policy", f->policy - 1);
    }
    arcp__put_bool(&writer, "runs",
                   f->plan != NULL && f->plan->refusal == ARCP__SANDBOX_REFUSAL_NONE);
    if (f->plan != NULL && f->policy != 0) {
        arcp_buf plan = arcp_buf_init();
        arcp__sandbox_report_json(f->plan, &plan);
        arcp__put_raw(&writer, "plan", arcp_buf_span(&plan));
        out->failed = out->failed || plan.failed;
        arcp_buf_fini(&plan);
    }
    arcp__put_text(&writer, "why", arcp_span_cstr(f->why));
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}

/* Compiles the plan for a ceiling, and appends what is found. */
static void examine(const agent *a, const char *ceiling, size_t policy_number,
                    const arcp__agents_query *query, arcp_buf *out)
{
    arcp_lease *lease = NULL;
    arcp__sandbox_plan *plan = NULL;
    arcp_error err = {0};
    arcp_status status =
        arcp_lease_parse(arcp_span_cstr(ceiling), arcp_span_make(NULL, 0), NULL, &lease, &err);
    if (status == ARCP_OK) {
        arcp__sandbox_request request = {.abilities = query->abilities,
                                         .protect = ARCP__SANDBOX_PROTECT_COMMITS};
        arcp__sandbox_request_defaults(&request);
        const arcp__agent_query asked = {.lease = lease,
                                         .cwd = a->cwd,
                                         .command = (const char *const *)a->command.items,
                                         .request = &request};
        status = arcp__agent_plan(&asked, &plan, &err);
    }
    const finding f = {a->name, policy_number, plan, status == ARCP_OK ? NULL : err.message};
    (query->is_json ? append_json : append_text)(&f, out);
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
}

arcp_status arcp__doctor_agents(const arcp__agents_query *query, arcp_buf *out, arcp_error *err)
{
    listing list = {.agents = NULL};
    const arcp_status status = read_file(query->path, &list, err);
    for (size_t i = 0; i < list.agent_count && status == ARCP_OK; i++) {
        const agent *a = &list.agents[i];
        bool has_ceiling = false;
        for (size_t j = 0; a->name != NULL && j < list.policy_count; j++) {
            const policy *p = &list.policies[j];
            if (p->max_lease != NULL &&
                (p->agent == NULL || arcp__name_glob_matches(p->agent, arcp_span_cstr(a->name)))) {
                has_ceiling = true;
                examine(a, p->max_lease, j + 1, query, out);
            }
        }
        if (a->name != NULL && !has_ceiling) {
            examine(a, "{}", 0, query, out);
        }
    }
    arcp__config_fields_fini(&fields, &list);
    return status;
}
