#include "transport/web_names.h"

#include "base/alloc.h"
#include "web/head.h"

bool arcp__web_origin_parse(arcp_span text, arcp__web_origin *out)
{
    const arcp_span http = ARCP_SPAN_LITERAL("http://");
    const arcp_span https = ARCP_SPAN_LITERAL("https://");
    *out = (arcp__web_origin){0};
    if (arcp__web_equal(arcp_span_first(text, https.size), https)) {
        out->secure = true;
        text = arcp_span_from(text, https.size);
    } else if (arcp__web_equal(arcp_span_first(text, http.size), http)) {
        text = arcp_span_from(text, http.size);
    } else {
        return false;
    }
    if (!arcp__authority_parse(text, false, &out->authority)) {
        return false;
    }
    if (!out->authority.has_port) {
        out->authority.has_port = true;
        out->authority.port = out->secure ? 443 : 80;
    }
    return true;
}

static arcp_status read_hosts(arcp__web_names *names, const char *const *hosts, size_t count,
                              arcp_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(hosts[i], "*") == 0) {
            names->any_host = true;
        } else if (!arcp__authority_parse(arcp_span_cstr(hosts[i]), false,
                                          &names->hosts[names->host_count])) {
            return arcp_error_set(err, ARCP_E_USAGE, "\"%s\" is no host name or HOST:PORT",
                                  hosts[i]);
        } else {
            names->host_count++;
        }
    }
    return ARCP_OK;
}

static arcp_status read_origins(arcp__web_names *names, const char *const *origins, size_t count,
                                arcp_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(origins[i], "*") == 0) {
            names->any_origin = true;
        } else if (!arcp__web_origin_parse(arcp_span_cstr(origins[i]),
                                           &names->origins[names->origin_count])) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "\"%s\" is no origin: want http://HOST[:PORT] or https://HOST",
                                  origins[i]);
        } else {
            names->origin_count++;
        }
    }
    return ARCP_OK;
}

arcp_status arcp__web_names_init(arcp__web_names *names, const char *const *hosts,
                                 size_t host_count, const char *const *origins, size_t origin_count,
                                 arcp_error *err)
{
    *names = (arcp__web_names){0};
    if (host_count > 0) {
        names->hosts = arcp__alloc_array(host_count, sizeof(*names->hosts));
    }
    if (origin_count > 0) {
        names->origins = arcp__alloc_array(origin_count, sizeof(*names->origins));
    }
    if ((host_count > 0 && names->hosts == NULL) || (origin_count > 0 && names->origins == NULL)) {
        arcp__web_names_fini(names);
        arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the host lists");
        return ARCP_E_NO_MEMORY;
    }
    arcp_status status = read_hosts(names, hosts, host_count, err);
    if (status == ARCP_OK) {
        status = read_origins(names, origins, origin_count, err);
    }
    if (status != ARCP_OK) {
        arcp__web_names_fini(names);
    }
    return status;
}

void arcp__web_names_fini(arcp__web_names *names)
{
    arcp__free(names->hosts);
    arcp__free(names->origins);
    *names = (arcp__web_names){0};
}

void arcp__web_names_bind(arcp__web_names *names, const arcp__authority *self, bool loopback,
                          bool secure)
{
    names->self = *self;
    names->loopback = loopback;
    names->secure = secure;
}

static bool same_host(const arcp__authority *a, const arcp__authority *b)
{
    return a->kind == b->kind && strcmp(a->host, b->host) == 0;
}

/* The listener's own name, one in the list, or a loopback name on a loopback listener. */
static bool is_ours(const arcp__web_names *names, const arcp__authority *host, uint16_t port)
{
    if (same_host(host, &names->self) || (names->loopback && arcp__authority_is_loopback(host))) {
        return true;
    }
    for (size_t i = 0; i < names->host_count; i++) {
        const arcp__authority *entry = &names->hosts[i];
        if (same_host(entry, host) && (!entry->has_port || entry->port == port)) {
            return true;
        }
    }
    return false;
}

bool arcp__web_names_allow_host(const arcp__web_names *names, arcp_span text, bool *valid)
{
    arcp__authority host;
    *valid = arcp__authority_parse(text, false, &host);
    if (!*valid) {
        return false;
    }
    if (names->any_host || (names->host_count == 0 && !names->loopback)) {
        return true;
    }
    uint16_t port = host.has_port ? host.port : names->secure ? 443 : 80;
    return is_ours(names, &host, port);
}

/* The origin of a page that came from this very host and port. A listener on a wildcard
 * address does not know its names, unless they are in the list. */
static bool is_own_origin(const arcp__web_names *names, const arcp__web_origin *origin)
{
    return origin->secure == names->secure && origin->authority.port == names->self.port &&
           is_ours(names, &origin->authority, origin->authority.port);
}

bool arcp__web_names_allow_origin(const arcp__web_names *names, arcp_span text)
{
    arcp__web_origin origin;
    if (!arcp__web_origin_parse(text, &origin)) {
        return false; /* "null" too: a sandboxed page, which can be anybody's */
    }
    if (names->any_origin || is_own_origin(names, &origin)) {
        return true;
    }
    for (size_t i = 0; i < names->origin_count; i++) {
        const arcp__web_origin *entry = &names->origins[i];
        if (entry->secure == origin.secure && same_host(&entry->authority, &origin.authority) &&
            entry->authority.port == origin.authority.port) {
            return true;
        }
    }
    return false;
}
