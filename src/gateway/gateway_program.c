#include "gateway/gateway_program.h"

#include <stdio.h>
#include <string.h>

#include "json/json_put.h"

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

static void write_endpoint(arcp_json_writer *writer, const char *name,
                           const arcp__gateway_endpoint *endpoint)
{
    if (endpoint->url[0] != '\0') {
        arcp__put_object(writer, name);
        arcp__put_cstr(writer, "url", endpoint->url);
        arcp__put_cstr(writer, "key", endpoint->key);
        arcp_json_end_object(writer);
    }
}

void arcp__gateway_write_clients(const arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                                 arcp_buf *text, const char **name, arcp_span *content)
{
    const arcp__gateway_endpoint *mcp = &endpoints[ARCP__GATEWAY_MCP];
    if (mcp->url[0] == '\0') {
        return;
    }
    /* Neither the URL nor the key has a character that JSON escapes. */
    arcp_buf_append_format(text,
                           "{\"mcpServers\": {\"arcp\": {\"type\": \"http\", \"url\": \"%s\", "
                           "\"headers\": {\"Authorization\": \"Bearer %s\"}}}}\n",
                           mcp->url, mcp->key);
    *name = ".mcp.json";
    *content = arcp_buf_span(text);
}

void arcp__gateway_write_start(const arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                               arcp_span line, arcp_buf *out)
{
    /* The engine's line ends with the payload's brace and its own. */
    arcp_buf_append(out, arcp_span_first(line, line.size - 2));
    arcp_buf_append_cstr(out, ",\"endpoints\":");
    arcp_json_writer writer = arcp__put_begin(out);
    write_endpoint(&writer, "llm", &endpoints[ARCP__GATEWAY_LLM]);
    write_endpoint(&writer, "mcp", &endpoints[ARCP__GATEWAY_MCP]);
    arcp_json_end_object(&writer);
    arcp_buf_append_cstr(out, "}}");
}

void arcp__gateway_set_endpoints(arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                                 unsigned kinds, const char *url, arcp_span key)
{
    static const char *const sandbox_urls[ARCP__GATEWAY_KINDS] = {"http://llm.arcp",
                                                                  "http://mcp.arcp"};
    const arcp_span shown = url == NULL ? arcp_span_cstr(ARCP__GATEWAY_SANDBOX_KEY) : key;
    for (unsigned i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        arcp__gateway_endpoint *endpoint = &endpoints[i];
        *endpoint = (arcp__gateway_endpoint){.url = ""};
        if ((kinds & 1U << i) != 0) {
            (void)snprintf(endpoint->url, sizeof endpoint->url, "%s",
                           url == NULL ? sandbox_urls[i] : url);
            (void)snprintf(endpoint->key, sizeof endpoint->key, "%.*s", (int)shown.size,
                           shown.data);
        }
    }
}
