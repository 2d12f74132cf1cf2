#include "arcpd/config_agents.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/launcher_plan.h"

static arcp_status env_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                              const yaml_node_t *value)
{
    arcp__config_agent *agent = into;
    char *text = NULL;
    if (key.size == 0 || memchr(key.data, '=', key.size) != NULL) {
        return arcp__yaml_refuse(r, value, path, "a variable needs a name without '='");
    }
    arcp_status status = arcp__yaml_text(r, value, path, &text);
    arcp_buf pair = ARCP_BUF_INIT;
    if (status == ARCP_OK) {
        arcp_buf_append(&pair, key);
        if (text != NULL) { /* a name alone passes our own value */
            arcp_buf_append_byte(&pair, '=');
            arcp_buf_append_cstr(&pair, text);
        }
        arcp_buf_append_byte(&pair, '\0');
        status = pair.failed ? arcp__yaml_no_memory(r)
                             : arcp__text_list_add(&agent->env, pair.data, r->err);
    }
    arcp_buf_fini(&pair);
    arcp__free(text);
    return status;
}

static arcp_status add_limit(arcp__yaml_reader *r, arcp__config_agent *agent, const char *name,
                             const char *text, arcp_error *why)
{
    arcp_buf written = ARCP_BUF_INIT;
    arcp_launch_limit limit;
    arcp_status status = arcp__launch_limit_parse(name, text, &limit, why);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_launch_limit *limits =
        arcp__realloc_array(agent->limits, agent->limit_count + 1, sizeof(*limits));
    if (limits == NULL) {
        return arcp__yaml_no_memory(r);
    }
    agent->limits = limits;
    limits[agent->limit_count++] = limit;
    arcp_buf_append_format(&written, "%s: \"%s\"%c", name, text, '\0');
    status = written.failed ? arcp__yaml_no_memory(r)
                            : arcp__text_list_add(&agent->limit_texts, written.data, r->err);
    arcp_buf_fini(&written);
    return status;
}

static arcp_status limit_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp_error why = {0};
    char *text = NULL;
    char *name = arcp__copy_cstr(key.data, key.size);
    arcp_status status =
        name == NULL ? arcp__yaml_no_memory(r) : arcp__yaml_text(r, value, path, &text);
    if (status == ARCP_OK) {
        status = add_limit(r, into, name, text == NULL ? "" : text, &why);
        status =
            why.status == ARCP_E_USAGE ? arcp__yaml_refuse(r, value, path, why.message) : status;
    }
    arcp__free(name);
    arcp__free(text);
    return status;
}

static const arcp__yaml_field agent_fields[] = {
    {"name", ARCP__YAML_TEXT, offsetof(arcp__config_agent, name), 0, 0},
    {"version", ARCP__YAML_TEXT, offsetof(arcp__config_agent, version), 0, 0},
    {"user", ARCP__YAML_TEXT, offsetof(arcp__config_agent, user), 0, 0},
    {"cwd", ARCP__YAML_TEXT, offsetof(arcp__config_agent, cwd), 0, 0},
    {"command", ARCP__YAML_TEXTS, offsetof(arcp__config_agent, command), 0, 0},
    {"default", ARCP__YAML_BOOL, offsetof(arcp__config_agent, is_default), 0, 0},
    {"stderr_in_errors", ARCP__YAML_BOOL, offsetof(arcp__config_agent, stderr_in_errors), 0, 0},
    {"warm", ARCP__YAML_COUNT, offsetof(arcp__config_agent, warm), 0, 0},
    {"max_jobs", ARCP__YAML_COUNT, offsetof(arcp__config_agent, max_jobs), 0, 0},
};

static arcp_status read_mode(arcp__yaml_reader *r, const yaml_node_t *value, const char *path,
                             bool *is_plain)
{
    char *mode = NULL;
    arcp_status status = arcp__yaml_text(r, value, path, &mode);
    *is_plain = mode != NULL && strcmp(mode, "plain") == 0;
    if (status == ARCP_OK && !*is_plain && (mode == NULL || strcmp(mode, "arcp") != 0)) {
        status = arcp__yaml_refuse(r, value, path, "must be arcp or plain");
    }
    arcp__free(mode);
    return status;
}

static arcp_status agent_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp__config_agent *agent = into;
    if (arcp_span_equal_cstr(key, "env")) {
        return arcp__yaml_members(r, value, path, env_member, agent);
    }
    if (arcp_span_equal_cstr(key, "rlimits")) {
        return arcp__yaml_members(r, value, path, limit_member, agent);
    }
    if (arcp_span_equal_cstr(key, "mode")) {
        return read_mode(r, value, path, &agent->is_plain);
    }
    arcp_status status = arcp__yaml_field_read(
        r, agent_fields, ARCP__YAML_FIELD_COUNT(agent_fields), agent, key, path, value);
    return status == ARCP_OK && agent->cwd != NULL && agent->cwd[0] != '/'
               ? arcp__yaml_refuse(r, value, path,
                                   "must be an absolute path, or null for a fresh directory")
               : status;
}

static bool same_text(const char *a, const char *b)
{
    return arcp_span_equal(arcp_span_cstr(a), arcp_span_cstr(b));
}

/* The last one would win: two that say the same are a slip of the pen. */
static arcp_status check_against_others(arcp__yaml_reader *r, const char *path,
                                        const yaml_node_t *node, const arcp__config_agent *agent)
{
    for (const arcp__config_agent *other = r->config->agents; other < agent; other++) {
        if (!same_text(agent->name, other->name)) {
            continue;
        }
        if (same_text(agent->version, other->version)) {
            return arcp__yaml_refuse(r, node, path,
                                     "an agent of this name and version stands above");
        }
        if (agent->is_default && other->is_default) {
            return arcp__yaml_refuse(r, node, path,
                                     "another version of this agent is the default already");
        }
    }
    return ARCP_OK;
}

arcp_status arcp__yaml_agent_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config *config = r->config;
    arcp__config_agent *agents =
        arcp__realloc_array(config->agents, config->agent_count + 1, sizeof(*agents));
    if (agents == NULL) {
        return arcp__yaml_no_memory(r);
    }
    config->agents = agents;
    arcp__config_agent *agent = &agents[config->agent_count++];
    *agent = (arcp__config_agent){0};
    arcp_status status = arcp__yaml_members(r, node, path, agent_member, agent);
    if (status == ARCP_OK && (agent->name == NULL || agent->command.count == 0)) {
        status = arcp__yaml_refuse(r, node, path, "needs name and command (a list of words)");
    }
    return status == ARCP_OK ? check_against_others(r, path, node, agent) : status;
}
