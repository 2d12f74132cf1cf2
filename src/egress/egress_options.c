/* The lists of hosts in options, and which hosts are those of model providers. */
#include <stdio.h>

#include "egress/egress.h"
#include "egress/egress_address.h"
#include "egress/egress_head.h"

static bool are_equal(const arcp_span *a, size_t a_count, const arcp_span *b, size_t b_count)
{
    if (a_count != b_count) {
        return false;
    }
    for (size_t i = 0; i < a_count; i++) {
        if (!arcp_span_equal(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

bool arcp__egress_options_equal(const arcp__egress_options *a, const arcp__egress_options *b)
{
    return a->idle_ms == b->idle_ms && a->head_ms == b->head_ms &&
           are_equal(a->private_hosts, a->private_host_count, b->private_hosts,
                     b->private_host_count) &&
           are_equal(a->model_hosts, a->model_host_count, b->model_hosts, b->model_host_count);
}

/* NULL when out of memory. */
static arcp_span *copy_hosts(arcp__arena *arena, const arcp_span *from, size_t count)
{
    arcp_span *hosts = arcp__arena_take(arena, (count + 1) * sizeof *hosts);
    for (size_t i = 0; hosts != NULL && i < count; i++) {
        hosts[i] = arcp__arena_copy(arena, from[i]);
        if (hosts[i].data == NULL) {
            return NULL;
        }
    }
    return hosts;
}

bool arcp__egress_options_copy(arcp__arena *arena, const arcp__egress_options *from,
                               arcp__egress_options *out)
{
    *out = *from;
    out->private_hosts = copy_hosts(arena, from->private_hosts, from->private_host_count);
    out->model_hosts = copy_hosts(arena, from->model_hosts, from->model_host_count);
    return out->private_hosts != NULL && out->model_hosts != NULL;
}

/* ---- hosts of model providers ---- */

#define HOSTS_MAX 3 /* of a URL: the spellings of this machine */

/* HOST[:PORT] of a URL of http or https, without a user. */
static arcp_span authority_of(arcp_span url, uint16_t *port)
{
    const bool has_tls = arcp_span_starts_with(url, ARCP_SPAN_LITERAL("https://"));
    arcp_span rest = arcp_span_from(url, has_tls ? sizeof "https://" - 1 : sizeof "http://" - 1);
    size_t size = 0;
    *port = has_tls ? 443 : 80;
    while (size < rest.size && rest.data[size] != '/') {
        size++;
    }
    rest = arcp_span_first(rest, size);
    while (size > 0 && rest.data[size - 1] != '@') {
        size--;
    }
    return arcp_span_from(rest, size);
}

static bool add_hosts(arcp__arena *arena, arcp_span url, arcp_span *hosts, size_t *count)
{
    arcp__egress_host host;
    uint16_t port = 0;
    const arcp_span authority = authority_of(url, &port);
    if (!arcp__egress_host_parse(authority, &host, &port)) {
        return true;
    }
    const arcp_span name = arcp_span_cstr(host.text);
    if (!arcp__egress_host_is_loopback(name)) {
        hosts[*count] = arcp__arena_copy(arena, name);
        return hosts[(*count)++].data != NULL;
    }
    for (size_t i = 0; i < HOSTS_MAX; i++) {
        char text[sizeof "127.0.0.1:65535"];
        const arcp_span spelling = arcp__egress_host_spelling(name, i);
        (void)snprintf(text, sizeof text, "%.*s:%u", (int)spelling.size, spelling.data,
                       (unsigned)port);
        hosts[*count] = arcp__arena_copy(arena, arcp_span_cstr(text));
        if (hosts[(*count)++].data == NULL) {
            return false;
        }
    }
    return true;
}

bool arcp__egress_model_hosts(arcp__arena *arena, const char *const *urls, arcp_span **hosts,
                              size_t *count)
{
    size_t url_count = 0;
    while (urls != NULL && urls[url_count] != NULL) {
        url_count++;
    }
    *count = 0;
    *hosts = arcp__arena_take(arena, (url_count * HOSTS_MAX + 1) * sizeof **hosts);
    bool is_done = *hosts != NULL;
    for (size_t i = 0; i < url_count && is_done; i++) {
        is_done = add_hosts(arena, arcp_span_cstr(urls[i]), *hosts, count);
    }
    return is_done;
}
