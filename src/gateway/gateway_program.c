#include "gateway/gateway_program.h"

#include <string.h>

/* The variable's value; empty: it is not set. */
static arcp_span find(const arcp__environment *environment, const char *name)
{
    const size_t size = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->pairs[i], name, size) == 0 && environment->pairs[i][size] == '=') {
            return arcp_span_cstr(environment->pairs[i] + size + 1);
        }
    }
    return arcp_span_make(NULL, 0);
}

static void set_absent(arcp__environment *environment, const char *name, const char *first,
                       const char *second)
{
    arcp_buf value = arcp_buf_secret_init();
    if (find(environment, name).data == NULL) {
        arcp_buf_append_format(&value, "%s%s", first, second);
        environment->failed = environment->failed || value.failed;
        arcp__environment_set(environment, name, arcp_buf_span(&value));
    }
    arcp_buf_fini(&value);
}

/* The host of a URL of ours, without its port. */
static arcp_span host_of(const char *url)
{
    arcp_span host = arcp_span_cstr(strstr(url, "://") + 3);
    const size_t bracket = host.data[0] == '[' ? strcspn(host.data, "]") : 0;
    return arcp_span_first(host, bracket + strcspn(host.data + bracket, ":/"));
}

/* Adds the host of a URL to a list of hosts that need no proxy. */
static void add_host(arcp__environment *environment, const char *name, const char *url)
{
    const arcp_span before = find(environment, name);
    const arcp_span host = host_of(url);
    arcp_buf value = arcp_buf_init();
    arcp_buf_append(&value, before);
    if (before.size != 0) {
        arcp_buf_append_byte(&value, ',');
    }
    arcp_buf_append(&value, host);
    environment->failed = environment->failed || value.failed;
    arcp__environment_set(environment, name, arcp_buf_span(&value));
    arcp_buf_fini(&value);
}

void arcp__gateway_set_environment(const arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                                   arcp__environment *environment)
{
    const arcp__gateway_endpoint *llm = &endpoints[ARCP__GATEWAY_LLM];
    const arcp__gateway_endpoint *mcp = &endpoints[ARCP__GATEWAY_MCP];
    if (llm->url[0] != '\0') {
        set_absent(environment, "OPENAI_BASE_URL", llm->url, "/v1");
        set_absent(environment, "OPENAI_API_KEY", llm->key, "");
        set_absent(environment, "ANTHROPIC_BASE_URL", llm->url, "");
        set_absent(environment, "ANTHROPIC_API_KEY", llm->key, "");
        set_absent(environment, "ARCP_LLM_URL", llm->url, "");
        add_host(environment, "NO_PROXY", llm->url);
        add_host(environment, "no_proxy", llm->url);
    }
    if (mcp->url[0] != '\0') {
        set_absent(environment, "ARCP_MCP_URL", mcp->url, "");
        set_absent(environment, "ARCP_MCP_KEY", mcp->key, "");
        if (strcmp(mcp->url, llm->url) != 0) {
            add_host(environment, "NO_PROXY", mcp->url);
            add_host(environment, "no_proxy", mcp->url);
        }
    }
}
