/* The lines of net.fetch: which of them a proxy in front of an empty network can enforce.
 *
 * It sees names, ports and TLS's server name; of http also each request, and of https the requests
 * only when it terminates TLS. A pattern is granted as far as these decide it. */
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/url_pattern.h"
#include "sandbox/sandbox_parts.h"

/* A host that is this machine: inside, the port is taken by a listener, and outside it is dialled
 * on the host. */
static bool is_loopback(arcp_span host)
{
    return arcp_span_equal_cstr(host, "localhost") || arcp_span_equal_cstr(host, "[::1]") ||
           (arcp_span_starts_with(host, ARCP_SPAN_LITERAL("127.")) &&
            arcp__url_is_all(host, "0123456789."));
}

static bool ends_open(arcp_span pattern)
{
    return pattern.size >= 2 && pattern.data[pattern.size - 1] == '*' &&
           pattern.data[pattern.size - 2] == '*';
}

/* Whether the pattern grants every path of each host that it matches. Behind two stars in the
 * authority other bytes than stars may be part of a path. */
static bool grants_whole_hosts(arcp_span pattern, const arcp__url_parts *parts)
{
    size_t stars = 0;
    while (stars < pattern.size && pattern.data[stars] != '*') {
        stars++;
    }
    return parts->is_spanning
               ? ends_open(pattern) && arcp__url_is_all(arcp_span_from(pattern, stars), "*")
               : parts->is_whole;
}

void arcp__sandbox_read_url(arcp__sandbox_compile *compile, arcp_span pattern)
{
    const arcp__url_parts parts = arcp__url_take_apart(pattern);
    if (parts.kind != ARCP__URL_OPAQUE && grants_whole_hosts(pattern, &parts)) {
        arcp__sandbox_add_host(compile, pattern);
    }
}

/* Whether lines that grant whole hosts grant all that the pattern does. */
static bool is_within_whole_hosts(arcp__sandbox_compile *compile, arcp_span pattern)
{
    bool is_within = false;
    const arcp_status status =
        arcp__glob_is_within(ARCP__CAPABILITY_NET_FETCH, pattern, compile->hosts,
                             compile->host_count, &compile->work, &is_within);
    compile->has_failed = compile->has_failed || status == ARCP_E_NO_MEMORY;
    return status == ARCP_OK && is_within;
}

static arcp__sandbox_line judge_tls(arcp__sandbox_compile *compile, arcp_span pattern,
                                    const arcp__url_parts *parts)
{
    if (parts->is_whole && !parts->is_spanning) {
        return parts->is_any_port         ? ARCP__SANDBOX_UNDER(NAME, PORTS)
               : is_loopback(parts->host) ? ARCP__SANDBOX_EXACT(NAME, LOOPBACK)
                                          : ARCP__SANDBOX_EXACT(NAME, TLS_CLOSED);
    }
    if (compile->request->tls_terminate) {
        return parts->is_any_port ? ARCP__SANDBOX_UNDER(TERMINATE, PORTS)
                                  : ARCP__SANDBOX_EXACT(TERMINATE, TERMINATE);
    }
    if (parts->is_spanning && ends_open(pattern)) {
        return arcp__url_is_all(parts->host, "*") ? ARCP__SANDBOX_UNDER(NAME, PORTS)
                                                  : ARCP__SANDBOX_UNDER(NAME, WHOLE_HOSTS);
    }
    if (!is_within_whole_hosts(compile, pattern)) {
        return ARCP__SANDBOX_REFUSED(NEEDS_TERMINATE);
    }
    return parts->is_any_port ? ARCP__SANDBOX_UNDER(NAME, PORTS)
                              : ARCP__SANDBOX_EXACT(NAME, TLS_CLOSED);
}

/* A tunnel that is not looked into; what is sent on the ports of the web is always looked at. */
static arcp__sandbox_line judge_opaque(const arcp__url_parts *parts)
{
    if (!parts->is_whole || parts->is_spanning) {
        return ARCP__SANDBOX_REFUSED(WHOLE_NEEDED);
    }
    if (parts->port == 0 || parts->is_any_port) {
        return ARCP__SANDBOX_REFUSED(PORT_NEEDED);
    }
    return parts->port == ARCP__URL_PORT_HTTP || parts->port == ARCP__URL_PORT_HTTPS
               ? ARCP__SANDBOX_UNDER(TUNNEL, OPAQUE_WEB)
               : ARCP__SANDBOX_EXACT(TUNNEL, OPAQUE);
}

/* The scheme has a wildcard. */
static arcp__sandbox_line judge_wild(const arcp__sandbox_compile *compile, arcp_span pattern)
{
    static const char *const schemes[] = {"http://", "https://", "ws://", "wss://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (arcp__glob_reaches(ARCP__TARGET_URL, pattern, arcp_span_cstr(schemes[i]))) {
            return compile->request->tls_terminate ? ARCP__SANDBOX_UNDER(TERMINATE, WEB_ONLY)
                                                   : ARCP__SANDBOX_UNDER(NAME, WEB_ONLY);
        }
    }
    return ARCP__SANDBOX_REFUSED(SCHEME_NEEDED);
}

static arcp__sandbox_line judge_parts(arcp__sandbox_compile *compile, arcp_span pattern,
                                      const arcp__url_parts *parts)
{
    switch (parts->kind) {
    case ARCP__URL_PLAIN:
        return parts->is_any_port         ? ARCP__SANDBOX_UNDER(HTTP, PORTS)
               : is_loopback(parts->host) ? ARCP__SANDBOX_EXACT(HTTP, LOOPBACK)
                                          : ARCP__SANDBOX_EXACT(HTTP, NONE);
    case ARCP__URL_TLS:
        return judge_tls(compile, pattern, parts);
    case ARCP__URL_OPAQUE:
        return judge_opaque(parts);
    case ARCP__URL_ANY:
        /* What is learnt of a command is each request, although all of them are allowed. */
        return compile->request->origin == ARCP__SANDBOX_ORIGIN_LEARN &&
                       compile->request->tls_terminate
                   ? ARCP__SANDBOX_UNDER(TERMINATE, WEB_ONLY)
                   : ARCP__SANDBOX_UNDER(NAME, WEB_ONLY);
    case ARCP__URL_WILD:
        break;
    }
    return judge_wild(compile, pattern);
}

/* What the host and the port leave of a line that can be enforced. */
static arcp__sandbox_line limit(arcp__sandbox_compile *compile, const arcp__url_parts *parts,
                                arcp__sandbox_line line)
{
    const arcp__sandbox_note host = arcp__sandbox_judge_host(parts);
    arcp__sandbox_note note = ARCP__SANDBOX_NOTE_NONE;
    if (host == ARCP__SANDBOX_NOTE_HOST_PROXY) {
        note = host;
    } else if (host != ARCP__SANDBOX_NOTE_NONE) {
        line = ARCP__SANDBOX_REFUSED(NONE);
        line.note = host;
        return line;
    }
    /* Both are the first ports of any network, so that there is room for them. */
    (void)arcp__sandbox_add_port(compile, ARCP__URL_PORT_HTTP);
    (void)arcp__sandbox_add_port(compile, ARCP__URL_PORT_HTTPS);
    if (parts->port != 0 && !arcp__sandbox_add_port(compile, (uint16_t)parts->port)) {
        note = ARCP__SANDBOX_NOTE_PROXY_ONLY;
    }
    if (note != ARCP__SANDBOX_NOTE_NONE && line.verdict == ARCP__SANDBOX_VERDICT_EXACT) {
        line.verdict = ARCP__SANDBOX_VERDICT_UNDER;
        line.note = note;
    }
    return line;
}

/* Level landlock: nothing listens where the program connects to, so that it must ask the proxy,
 * for whatever port. A note about what else a line loses stays. */
static arcp__sandbox_line limit_to_proxy(arcp__sandbox_compile *compile,
                                         const arcp__url_parts *parts, arcp__sandbox_line line)
{
    const arcp__sandbox_note host = arcp__sandbox_judge_host(parts);
    if (host != ARCP__SANDBOX_NOTE_NONE && host != ARCP__SANDBOX_NOTE_HOST_PROXY) {
        line = ARCP__SANDBOX_REFUSED(NONE);
        line.note = host;
        return line;
    }
    compile->draft.has_proxy = true;
    if (line.verdict == ARCP__SANDBOX_VERDICT_EXACT || line.note == ARCP__SANDBOX_NOTE_PORTS) {
        line.verdict = ARCP__SANDBOX_VERDICT_UNDER;
        line.note = ARCP__SANDBOX_NOTE_BY_PROXY;
    }
    return line;
}

/* Whether the sandbox can have a network: of its own, or by a proxy. */
static bool has_network(const arcp__sandbox_compile *compile)
{
    const arcp__sandbox_abilities *abilities = &compile->request->abilities;
    return compile->draft.level == ARCP__SANDBOX_LEVEL_FULL
               ? abilities->values[ARCP__SANDBOX_ABILITY_EGRESS] != 0
               : compile->draft.level == ARCP__SANDBOX_LEVEL_LANDLOCK &&
                     compile->request->origin != ARCP__SANDBOX_ORIGIN_LEARN &&
                     arcp__sandbox_has_proxy(abilities);
}

/* One of model_hosts. */
typedef struct model_place {
    arcp_span host;
    uint32_t port; /* 0: each */
} model_place;

static model_place read_place(arcp_span text)
{
    model_place place = {.host = text};
    size_t digits = text.size;
    while (digits > 0 && text.data[digits - 1] >= '0' && text.data[digits - 1] <= '9') {
        digits--;
    }
    if (digits > 1 && digits < text.size && text.data[digits - 1] == ':') {
        place.host = arcp_span_first(text, digits - 1);
        for (size_t i = digits; i < text.size; i++) {
            place.port = place.port * 10 + (uint32_t)(text.data[i] - '0');
        }
    }
    return place;
}

/* All of the loopback's hosts are this machine. */
static bool is_same_host(arcp_span a, arcp_span b)
{
    return arcp_span_equal(a, b) || (is_loopback(a) && is_loopback(b));
}

/* Whether connections by the pattern may lead to the place. */
static bool meets_models(arcp_span pattern, const arcp__url_parts *parts, const model_place *models)
{
    const bool is_one_port = (parts->kind == ARCP__URL_PLAIN || parts->kind == ARCP__URL_TLS ||
                              parts->kind == ARCP__URL_OPAQUE) &&
                             parts->port != 0 && !parts->is_any_port && !parts->is_spanning;
    return (is_same_host(parts->host, models->host) ||
            (arcp__url_may_have_host(parts, models->host) &&
             arcp__glob_reaches_host(pattern, models->host))) &&
           (models->port == 0 || !is_one_port || parts->port == models->port);
}

/* Whether all that the pattern grants is at the host. */
static bool is_all_at(const arcp__url_parts *parts, const model_place *models)
{
    const arcp_span rest = arcp_span_from(parts->host, models->host.size);
    return !parts->is_spanning && (is_same_host(parts->host, models->host) ||
                                   (arcp_span_starts_with(parts->host, models->host) &&
                                    arcp_span_starts_with(rest, ARCP_SPAN_LITERAL(":")) &&
                                    parts->is_any_port && models->port == 0));
}

/* What a line grants without the hosts whose models are called by the gateway. */
static arcp__sandbox_line leave_out_models(const arcp__sandbox_compile *compile, arcp_span pattern,
                                           const arcp__url_parts *parts, arcp__sandbox_line line)
{
    const arcp__sandbox_request *request = compile->request;
    for (size_t i = 0; i < request->model_host_count; i++) {
        const model_place models = read_place(request->model_hosts[i]);
        if (!meets_models(pattern, parts, &models)) {
            continue;
        }
        if (is_all_at(parts, &models)) {
            return ARCP__SANDBOX_REFUSED(MODEL_HOST);
        }
        if (line.verdict == ARCP__SANDBOX_VERDICT_EXACT) {
            line.verdict = ARCP__SANDBOX_VERDICT_UNDER;
            line.note = ARCP__SANDBOX_NOTE_MODEL_HOSTS;
        }
    }
    return line;
}

static arcp__sandbox_line judge(arcp__sandbox_compile *compile, arcp_span pattern)
{
    if (arcp__sandbox_is_dead(compile, ARCP__CAPABILITY_NET_FETCH, pattern)) {
        return ARCP__SANDBOX_EXACT(NONE, DEAD);
    }
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_NONE) {
        return ARCP__SANDBOX_REFUSED(LEVEL);
    }
    const bool is_full = compile->draft.level == ARCP__SANDBOX_LEVEL_FULL;
    if (!has_network(compile)) {
        return is_full ? ARCP__SANDBOX_REFUSED(NO_EGRESS) : ARCP__SANDBOX_REFUSED(NO_NAMESPACE_NET);
    }
    const arcp__url_parts parts = arcp__url_take_apart(pattern);
    const arcp__sandbox_line line =
        leave_out_models(compile, pattern, &parts, judge_parts(compile, pattern, &parts));
    return line.verdict == ARCP__SANDBOX_VERDICT_REFUSED ? line
           : is_full                                     ? limit(compile, &parts, line)
                                                         : limit_to_proxy(compile, &parts, line);
}

void arcp__sandbox_add_network(arcp__sandbox_compile *compile)
{
    /* What comes late can be a lease with lines of net.fetch. */
    const bool has_gateways = compile->request->has_model_gateway ||
                              compile->request->has_tool_gateway || compile->draft.is_late;
    if ((compile->request->origin == ARCP__SANDBOX_ORIGIN_JOB && !has_gateways) ||
        !has_network(compile)) {
        return;
    }
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_FULL) {
        (void)arcp__sandbox_add_port(compile, ARCP__URL_PORT_HTTP);
        (void)arcp__sandbox_add_port(compile, ARCP__URL_PORT_HTTPS);
    } else if (compile->request->origin == ARCP__SANDBOX_ORIGIN_RUN || has_gateways) {
        compile->draft.has_proxy = true;
    }
}

void arcp__sandbox_judge_url(arcp__sandbox_compile *compile, uint32_t at)
{
    arcp__sandbox_line *line = &compile->lines[at];
    const arcp__sandbox_line verdict = judge(compile, line->pattern);
    line->verdict = verdict.verdict;
    line->mechanism = verdict.mechanism;
    line->note = verdict.note;
}

bool arcp__sandbox_terminates(const arcp__sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        if (plan->lines[i].mechanism == ARCP__SANDBOX_MECHANISM_TERMINATE) {
            return true;
        }
    }
    return false;
}
