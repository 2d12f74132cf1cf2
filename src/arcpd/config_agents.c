#include "arcpd/config_agents.h"

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

static arcp_status agent_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    arcp__config_agent *agent = into;
    const struct {
        const char *key;
        char **text;
    } texts[] = {{"name", &agent->name}, {"version", &agent->version}, {"user", &agent->user}};
    for (size_t at = 0; at < sizeof(texts) / sizeof(texts[0]); at++) {
        if (arcp_span_equal_cstr(key, texts[at].key)) {
            return arcp__yaml_text(r, value, path, texts[at].text);
        }
    }
    if (arcp_span_equal_cstr(key, "cwd")) {
        arcp_status status = arcp__yaml_text(r, value, path, &agent->cwd);
        if (status == ARCP_OK && agent->cwd != NULL && agent->cwd[0] != '/') {
            status = arcp__yaml_refuse(r, value, path,
                                       "must be an absolute path, or null for a fresh directory");
        }
        return status;
    }
    if (arcp_span_equal_cstr(key, "command")) {
        return arcp__yaml_texts(r, value, path, &agent->command);
    }
    if (arcp_span_equal_cstr(key, "default")) {
        return arcp__yaml_bool(r, value, path, &agent->is_default);
    }
    if (arcp_span_equal_cstr(key, "stderr_in_errors")) {
        return arcp__yaml_bool(r, value, path, &agent->stderr_in_errors);
    }
    if (arcp_span_equal_cstr(key, "warm")) {
        return arcp__yaml_count(r, value, path, &agent->warm);
    }
    if (arcp_span_equal_cstr(key, "max_jobs")) {
        return arcp__yaml_count(r, value, path, &agent->max_jobs);
    }
    if (arcp_span_equal_cstr(key, "env")) {
        return arcp__yaml_members(r, value, path, env_member, agent);
    }
    if (arcp_span_equal_cstr(key, "rlimits")) {
        return arcp__yaml_members(r, value, path, limit_member, agent);
    }
    if (arcp_span_equal_cstr(key, "mode")) {
        char *mode = NULL;
        arcp_status status = arcp__yaml_text(r, value, path, &mode);
        bool is_plain = mode != NULL && strcmp(mode, "plain") == 0;
        if (status == ARCP_OK && !is_plain && (mode == NULL || strcmp(mode, "arcp") != 0)) {
            status = arcp__yaml_refuse(r, value, path, "must be arcp or plain");
        }
        agent->is_plain = is_plain;
        arcp__free(mode);
        return status;
    }
    return ARCP_E_NOT_FOUND;
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
