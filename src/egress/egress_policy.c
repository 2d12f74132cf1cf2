#include "egress/egress_policy.h"

#include <stdio.h>

#include "base/alloc.h"
#include "core/glob_pattern.h"
#include "core/lease.h"
#include "core/url_pattern.h"
#include "egress/egress_names.h"

/* The most work for one question about a whole host, some milliseconds: a lease may have patterns
 * that make it long, and others' connections wait meanwhile. Ordinary ones need less than 100. */
#define WORK_MAX UINT64_C(500000)

static const char reason_reserved[] = "names below .arcp belong to the runtime's own gateways";
static const char reason_not_a_path[] = "the request's target is not a path";
static const char reason_part[] = "the lease grants only a part of this host, and TLS stays closed";
static const char reason_opaque[] = "no pattern of the lease grants all of this host and port";

/* A pattern of net.fetch. */
typedef struct pattern_line {
    arcp_span text; /* the lease's */
    arcp__url_parts parts;
    arcp_span host; /* without a port */
} pattern_line;

struct arcp__egress_policy {
    arcp_authority *authority;
    const arcp_span *model_hosts;
    size_t model_host_count;
    char url[ARCP_TARGET_BYTES_MAX + 2]; /* one byte more than a target may have, and a NUL */
    size_t url_size;
    arcp_target_scratch scratch;
    arcp_span *near; /* `count`: scratch for some of the lines */
    size_t count;
    pattern_line lines[];
};

/* `host` without a port, or what stands for one. */
static arcp_span without_port(arcp_span host)
{
    size_t size = 0;
    const char end = host.size > 0 && host.data[0] == '[' ? ']' : ':';
    while (size < host.size && host.data[size] != end) {
        size++;
    }
    return arcp_span_first(host, end == ']' ? size + 1 : size);
}

arcp_status arcp__egress_policy_new(const arcp_authority *authority, arcp__egress_policy **out,
                                    arcp_error *err)
{
    const arcp__lease_capability *granted =
        arcp__lease_find(arcp_authority_lease(authority), ARCP__CAPABILITY_NET_FETCH,
                         ARCP_SPAN_LITERAL("net.fetch"));
    const size_t count = granted == NULL ? 0 : granted->count;
    arcp__egress_policy *policy = arcp__alloc(sizeof *policy + count * sizeof *policy->lines);
    arcp_span *near = arcp__alloc_array(count + 1, sizeof *near);
    if (policy == NULL || near == NULL) {
        arcp__free(policy);
        arcp__free(near);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the policy of a sandbox");
    }
    policy->authority = arcp_authority_ref(authority);
    policy->near = near;
    policy->count = count;
    for (size_t i = 0; i < count; i++) {
        pattern_line *line = &policy->lines[i];
        line->text = granted->patterns[i];
        line->parts = arcp__url_take_apart(line->text);
        line->host = without_port(line->parts.host);
    }
    *out = policy;
    return ARCP_OK;
}

void arcp__egress_policy_set_models(arcp__egress_policy *policy, const arcp_span *hosts,
                                    size_t count)
{
    policy->model_hosts = hosts;
    policy->model_host_count = count;
}

void arcp__egress_policy_free(arcp__egress_policy *policy)
{
    if (policy != NULL) {
        arcp_authority_unref(policy->authority);
        arcp__free(policy->near);
        arcp__free(policy);
    }
}

/* Why no lease grants the place; NULL: a lease may. */
static const char *reason_against(const arcp__egress_policy *policy, const arcp__egress_target *at)
{
    char port[sizeof ":65535"];
    (void)snprintf(port, sizeof port, ":%u", (unsigned)at->port);
    if (arcp__egress_name_is_reserved(at->host)) {
        return reason_reserved;
    }
    for (size_t i = 0; i < policy->model_host_count; i++) {
        const arcp_span host = without_port(policy->model_hosts[i]);
        const arcp_span rest = arcp_span_from(policy->model_hosts[i], host.size);
        if (arcp_span_equal(host, at->host) &&
            (rest.size == 0 || arcp_span_equal_cstr(rest, port))) {
            return ARCP__EGRESS_REASON_MODEL;
        }
    }
    return NULL;
}

/* ---- URLs ---- */

/* The beginning of a URL. */
typedef struct url_origin {
    const char *scheme;
    const arcp__egress_target *at;
    bool has_port;
} url_origin;

/* Adds bytes to the URL, as many as there is room for: one that is cut off is too long for the
 * gate. */
static void add(arcp__egress_policy *policy, arcp_span bytes)
{
    const arcp_span part = arcp_span_first(bytes, sizeof policy->url - 1 - policy->url_size);
    if (part.size > 0) {
        memcpy(policy->url + policy->url_size, part.data, part.size);
        policy->url_size += part.size;
    }
}

/* Makes the URL of an origin and a path. Returns the size of the origin. */
static size_t make_url(arcp__egress_policy *policy, const url_origin *from, arcp_span path)
{
    policy->url_size = 0;
    add(policy, arcp_span_cstr(from->scheme));
    add(policy, ARCP_SPAN_LITERAL("://"));
    add(policy, from->at->host);
    if (from->has_port) {
        char port[sizeof ":65535"];
        (void)snprintf(port, sizeof port, ":%u", (unsigned)from->at->port);
        add(policy, arcp_span_cstr(port));
    }
    const size_t size = policy->url_size;
    add(policy, path);
    return size;
}

static arcp_span url_of(const arcp__egress_policy *policy)
{
    return arcp_span_make(policy->url, policy->url_size);
}

/* Asks the gate for the URL that was made. */
static bool ask(arcp__egress_policy *policy, arcp_time now, arcp__egress_decision *out)
{
    memset(out, 0, sizeof *out);
    const bool is_allowed = arcp_authorize(policy->authority, now, ARCP_SPAN_LITERAL("net.fetch"),
                                           url_of(policy), &policy->scratch, &out->gate);
    out->url = out->gate.canonical.size > 0 ? out->gate.canonical : url_of(policy);
    out->code =
        out->gate.reason == ARCP_DENY_NO_MATCH ? ARCP__EGRESS_NO_PATTERN : ARCP__EGRESS_REFUSED;
    out->reason = arcp_deny_reason_text(out->gate.reason);
    return is_allowed;
}

/* Denies what the gate may have allowed. */
static bool refuse(arcp__egress_decision *out, arcp__egress_denial_code code, const char *reason)
{
    out->is_allowed = false;
    out->names_host = false;
    out->path = arcp_span_make(NULL, 0);
    if (out->gate.allowed || out->gate.code == ARCP_OK || out->gate.reason == ARCP_DENY_NO_MATCH) {
        out->gate.allowed = false;
        out->gate.code = ARCP_E_PERMISSION_DENIED;
        out->gate.reason = ARCP_DENY_NO_MATCH;
        out->gate.pattern = arcp_span_make(NULL, 0);
        out->code = code;
        out->reason = reason;
    }
    return false;
}

/* ---- requests ---- */

static bool is_named(const arcp__egress_policy *policy, arcp_span host, arcp_span url)
{
    for (size_t i = 0; i < policy->count; i++) {
        const pattern_line *line = &policy->lines[i];
        if (arcp_span_equal(line->host, host) &&
            arcp__glob_matches_alone(ARCP__TARGET_URL, line->text, url)) {
            return true;
        }
    }
    return false;
}

static bool ask_request(arcp__egress_policy *policy, arcp_time now, const url_origin *from,
                        arcp_span path, arcp__egress_decision *out)
{
    const size_t size = make_url(policy, from, path);
    if (!ask(policy, now, out)) {
        return false;
    }
    /* Nothing that the path contains may have become another host. */
    const arcp_span canonical = out->gate.canonical;
    const arcp_span kept = arcp_span_from(canonical, size);
    if (!arcp_span_starts_with(canonical, arcp_span_first(url_of(policy), size)) ||
        !arcp_span_starts_with(kept, ARCP_SPAN_LITERAL("/"))) {
        return refuse(out, ARCP__EGRESS_REFUSED, reason_not_a_path);
    }
    out->is_allowed = true;
    out->path = kept;
    out->names_host = is_named(policy, from->at->host, canonical);
    return true;
}

bool arcp__egress_decide_request(arcp__egress_policy *policy, arcp_time now,
                                 const arcp__egress_target *at, const arcp__egress_request *request,
                                 arcp__egress_decision *out)
{
    static const char *const schemes[2][2] = {{"http", "ws"}, {"https", "wss"}};
    const char *const *of = schemes[at->is_tls ? 1 : 0];
    const uint16_t fallback = at->is_tls ? ARCP__URL_PORT_HTTPS : ARCP__URL_PORT_HTTP;
    const bool is_default = at->port == fallback;
    url_origin from = {.scheme = of[0], .at = at, .has_port = !is_default};
    const char *against = reason_against(policy, at);
    if (against != NULL || !arcp_span_starts_with(request->path, ARCP_SPAN_LITERAL("/"))) {
        (void)make_url(policy, &from, ARCP_SPAN_LITERAL("/"));
        (void)ask(policy, now, out);
        return refuse(out, ARCP__EGRESS_REFUSED, against != NULL ? against : reason_not_a_path);
    }
    for (size_t scheme = 0; scheme <= (request->is_upgrade ? 1 : 0); scheme++) {
        for (size_t port = is_default ? 0 : 1; port <= 1; port++) {
            from = (url_origin){.scheme = of[scheme], .at = at, .has_port = port == 1};
            if (ask_request(policy, now, &from, request->path, out)) {
                return true;
            }
        }
    }
    /* What is reported is the URL as people write it. */
    from =
        (url_origin){.scheme = of[request->is_upgrade ? 1 : 0], .at = at, .has_port = !is_default};
    return ask_request(policy, now, &from, request->path, out);
}

/* ---- whole hosts ---- */

/* Whether lines grant all of the origin, which has this host; with `is_named` only those that write
 * the host out. */
static bool grants_all(arcp__egress_policy *policy, arcp_span origin, arcp_span host, bool is_named)
{
    size_t count = 0;
    for (size_t i = 0; i < policy->count; i++) {
        const pattern_line *line = &policy->lines[i];
        if ((is_named ? arcp_span_equal(line->host, host)
                      : arcp__url_may_have_host(&line->parts, host)) &&
            arcp__glob_reaches(ARCP__TARGET_URL, line->text, origin)) {
            policy->near[count++] = line->text;
        }
    }
    arcp__lease_work work = {.left = WORK_MAX};
    return count > 0 && arcp__url_grants_all(policy->near, count, origin, &work);
}

/* Whether a line may grant some URLs of the host by TLS. */
static bool grants_a_part(const arcp__egress_policy *policy, arcp_span host)
{
    for (size_t i = 0; i < policy->count; i++) {
        const arcp__url_kind kind = policy->lines[i].parts.kind;
        if (kind != ARCP__URL_PLAIN && kind != ARCP__URL_OPAQUE &&
            arcp__url_may_have_host(&policy->lines[i].parts, host) &&
            arcp__glob_reaches_host(policy->lines[i].text, host)) {
            return true;
        }
    }
    return false;
}

static bool ask_tunnel(arcp__egress_policy *policy, arcp_time now, const url_origin *from,
                       arcp__egress_decision *out)
{
    const size_t size = make_url(policy, from, ARCP_SPAN_LITERAL("/"));
    /* Of a host that is not canonical no URL can be matched, and no URLs are part of any lease: the
     * proof below would succeed. */
    if (!ask(policy, now, out) || !arcp_span_equal(out->gate.canonical, url_of(policy))) {
        return false;
    }
    const arcp_span origin = arcp_span_make(policy->url, size);
    out->names_host = grants_all(policy, origin, from->at->host, true);
    out->is_allowed = out->names_host || grants_all(policy, origin, from->at->host, false);
    return out->is_allowed;
}

bool arcp__egress_decide_tunnel(arcp__egress_policy *policy, arcp_time now,
                                const arcp__egress_target *at, arcp__egress_decision *out)
{
    static const char *const schemes[] = {"https", "wss"};
    const bool is_default = at->port == ARCP__URL_PORT_HTTPS;
    const char *against = reason_against(policy, at);
    url_origin from;
    for (size_t i = 0; against == NULL && i < sizeof schemes / sizeof *schemes; i++) {
        for (size_t port = is_default ? 0 : 1; port <= 1; port++) {
            from = (url_origin){.scheme = schemes[i], .at = at, .has_port = port == 1};
            if (ask_tunnel(policy, now, &from, out)) {
                return true;
            }
        }
    }
    from = (url_origin){.scheme = schemes[0], .at = at, .has_port = !is_default};
    (void)make_url(policy, &from, ARCP_SPAN_LITERAL("/"));
    (void)ask(policy, now, out);
    out->is_part = against == NULL && grants_a_part(policy, at->host);
    return against != NULL || out->is_part
               ? refuse(out, ARCP__EGRESS_REFUSED, against != NULL ? against : reason_part)
               : refuse(out, ARCP__EGRESS_NO_PATTERN, arcp_deny_reason_text(ARCP_DENY_NO_MATCH));
}

/* ---- other protocols ---- */

/* Whether the line alone grants all of the host and port that the URL has. */
static bool is_opaque_grant(const pattern_line *line, arcp_span url)
{
    return line->parts.kind == ARCP__URL_OPAQUE && line->parts.is_whole &&
           !line->parts.is_spanning && !line->parts.is_any_port &&
           arcp__glob_matches_alone(ARCP__TARGET_URL, line->text, url);
}

static bool ask_opaque(arcp__egress_policy *policy, arcp_time now, const pattern_line *line,
                       const url_origin *from, arcp__egress_decision *out)
{
    char scheme[ARCP__EGRESS_NAME_MAX];
    if (line->parts.scheme.size >= sizeof scheme) {
        return false;
    }
    memcpy(scheme, line->parts.scheme.data, line->parts.scheme.size);
    scheme[line->parts.scheme.size] = '\0';
    url_origin written = *from;
    written.scheme = scheme;
    (void)make_url(policy, &written, ARCP_SPAN_LITERAL("/"));
    if (!is_opaque_grant(line, url_of(policy)) || !ask(policy, now, out)) {
        return false;
    }
    out->is_allowed = true;
    out->names_host = is_named(policy, from->at->host, out->url);
    return true;
}

bool arcp__egress_decide_opaque(arcp__egress_policy *policy, arcp_time now,
                                const arcp__egress_target *at, arcp__egress_decision *out)
{
    const char *against = reason_against(policy, at);
    for (size_t i = 0; against == NULL && i < policy->count; i++) {
        const pattern_line *line = &policy->lines[i];
        if (line->parts.kind != ARCP__URL_OPAQUE || line->parts.port != at->port) {
            continue;
        }
        const url_origin with = {.at = at, .has_port = true};
        const url_origin without = {.at = at, .has_port = false};
        if (ask_opaque(policy, now, line, &with, out) ||
            (at->port == ARCP__URL_PORT_SSH && arcp_span_equal_cstr(line->parts.scheme, "ssh") &&
             ask_opaque(policy, now, line, &without, out))) {
            return true;
        }
    }
    /* The report has no scheme: a connection of an unknown protocol has none. */
    const url_origin from = {.scheme = "tcp", .at = at, .has_port = true};
    const size_t size = make_url(policy, &from, ARCP_SPAN_LITERAL("/"));
    (void)ask(policy, now, out);
    const size_t begin = sizeof "tcp://" - 1;
    out->url = arcp_span_make(policy->url + begin, size - begin);
    return against != NULL ? refuse(out, ARCP__EGRESS_REFUSED, against)
                           : refuse(out, ARCP__EGRESS_NO_PATTERN, reason_opaque);
}
