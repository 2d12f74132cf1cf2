/* The policy of the network: what is allowed is what the gate allows, and what is sent is what the
 * gate matched. Input: a byte of flags and one for the port; then lines: a host, the target of a
 * request, and up to four patterns. */
#include <arcp/gate.h>

#include "core/glob_pattern.h"
#include "core/url_pattern.h"
#include "egress/egress_address.h"
#include "egress/egress_names.h"
#include "egress/egress_policy.h"
#include "lines.h"

enum { PATTERNS_MAX = 4, PATTERN_BYTES_MAX = 200 };

static const uint16_t ports[] = {80, 443, 22, 8080, 1, 65535};

static arcp_authority *authority_of(arcp_span text)
{
    char pattern[PATTERN_BYTES_MAX + 1];
    arcp_span lines[PATTERNS_MAX];
    const size_t count = cut_lines(text, lines, PATTERNS_MAX);
    arcp_lease_builder *builder = arcp_lease_builder_new();
    require(builder != NULL);
    for (size_t i = 0; i < count; i++) {
        const arcp_span line = arcp_span_first(lines[i], PATTERN_BYTES_MAX);
        if (line.size > 0 && memchr(line.data, '\0', line.size) == NULL) {
            memcpy(pattern, line.data, line.size);
            pattern[line.size] = '\0';
            arcp_lease_allow(builder, "net.fetch", pattern);
        }
    }
    arcp_lease *lease = NULL;
    arcp_authority *authority = NULL;
    if (arcp_lease_build(builder, &lease, NULL) != ARCP_OK) {
        return NULL;
    }
    require(arcp_authority_new(lease, NULL, &authority, NULL) == ARCP_OK);
    arcp_lease_unref(lease);
    return authority;
}

static bool gate_allows(const arcp_authority *authority, arcp_span url)
{
    static arcp_target_scratch scratch;
    arcp_decision decision;
    return arcp_authorize(authority, (arcp_time){0, 0}, ARCP_SPAN_LITERAL("net.fetch"), url,
                          &scratch, &decision) &&
           arcp_span_equal(decision.canonical, url);
}

/* The host of a URL, and what follows its authority. */
static void check_url(const arcp__egress_target *at, const arcp__egress_decision *decision)
{
    const arcp_span origin = arcp__url_origin(decision->url);
    const arcp__url_parts parts = arcp__url_take_apart(decision->url);
    require(arcp_span_equal(parts.host, at->host));
    require(parts.port == at->port);
    const arcp_span path = arcp_span_from(decision->url, origin.size);
    require(arcp_span_starts_with(path, ARCP_SPAN_LITERAL("/")));
    require(decision->path.size == 0 || arcp_span_equal(decision->path, path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 2000) {
        return 0;
    }
    arcp_span rest = arcp_span_make((const char *)data + 2, size - 2);
    const arcp_span host = take_line(&rest);
    const arcp_span path = take_line(&rest);
    char name[ARCP__EGRESS_NAME_MAX + 1];
    char text[ARCP__EGRESS_ADDRESS_TEXT_MAX];
    arcp__egress_address address;
    arcp__egress_target at = {.port = ports[data[1] % (sizeof ports / sizeof *ports)],
                              .is_tls = (data[0] & 1) != 0};
    if (arcp__egress_address_parse(host, at.port, &address)) {
        arcp__egress_address_format(&address, text);
        at.host = arcp_span_cstr(text);
    } else if (arcp__egress_name_canonical(host, name)) {
        at.host = arcp_span_cstr(name);
    } else {
        return 0;
    }
    arcp_authority *authority = authority_of(rest);
    arcp__egress_policy *policy = NULL;
    if (authority == NULL) {
        return 0;
    }
    require(arcp__egress_policy_new(authority, &policy, NULL) == ARCP_OK);
    const arcp_time now = {0, 0};
    const arcp__egress_request request = {.is_upgrade = (data[0] & 2) != 0, .path = path};
    arcp__egress_decision decision;
    const unsigned question = data[0] >> 2 & 3;
    const bool is_allowed =
        question == 0   ? arcp__egress_decide_tunnel(policy, now, &at, &decision)
        : question == 1 ? arcp__egress_decide_opaque(policy, now, &at, &decision)
                        : arcp__egress_decide_request(policy, now, &at, &request, &decision);
    require(is_allowed == decision.is_allowed && is_allowed == decision.gate.allowed);
    require(is_allowed || (decision.path.size == 0 && decision.reason[0] != '\0'));
    if (is_allowed) {
        require(gate_allows(authority, decision.url));
        check_url(&at, &decision);
        require((decision.path.size > 0) == (question > 1));
        /* DNS answers for every name that is allowed. */
        arcp__egress_names *names = NULL;
        require(arcp__egress_names_new(arcp_authority_lease(authority), &names, NULL) == ARCP_OK);
        require(at.host.data == text || arcp__egress_names_may_reach(names, at.host));
        arcp__egress_names_free(names);
    }
    arcp__egress_policy_free(policy);
    arcp_authority_unref(authority);
    return 0;
}
