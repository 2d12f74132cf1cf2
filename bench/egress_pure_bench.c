/* What the network of a sandbox decides, without its sockets: answers of DNS, requests, tunnels,
 * and the first bytes of TLS. */
#include <stdio.h>
#include <stdlib.h>

#include <arcp/gate.h>

#include "egress/egress_dns.h"
#include "egress/egress_hello.h"
#include "egress/egress_policy.h"
#include "harness.h"

typedef struct sample {
    arcp_authority *authority;
    arcp__egress_names *names;
    arcp__egress_policy *policy;
    const char *host;
} sample;

static void require(arcp_status status, const arcp_error *err)
{
    if (status != ARCP_OK) {
        fprintf(stderr, "egress_pure_bench: %s\n", err->message);
        exit(1);
    }
}

/* A query for an address. */
static size_t make_query(const char *name, char out[ARCP__EGRESS_DNS_MESSAGE_MAX])
{
    static const char header[12] = {0, 1, 1, 0, 0, 1};
    static const char tail[5] = {0, 0, 1, 0, 1};
    size_t size = sizeof header;
    memcpy(out, header, sizeof header);
    while (*name != '\0') {
        const size_t label = strcspn(name, ".");
        out[size++] = (char)label;
        memcpy(out + size, name, label);
        size += label;
        name += label + (name[label] == '.' ? 1 : 0);
    }
    memcpy(out + size, tail, sizeof tail);
    return size + sizeof tail;
}

static void answer(void *state, uint64_t iterations)
{
    const sample *s = state;
    char query[ARCP__EGRESS_DNS_MESSAGE_MAX];
    const size_t size = make_query(s->host, query);
    arcp__egress_dns_answer out;
    for (uint64_t i = 0; i < iterations; i++) {
        arcp__egress_dns_respond(s->names, arcp_span_make(query, size), &out);
        bench_keep(out.size);
    }
}

static void request(void *state, uint64_t iterations)
{
    const sample *s = state;
    const arcp__egress_target at = {arcp_span_cstr(s->host), 80, false};
    const arcp__egress_request asked = {.path = ARCP_SPAN_LITERAL("/v1/things?page=2")};
    arcp__egress_decision out;
    for (uint64_t i = 0; i < iterations; i++) {
        bench_keep(arcp__egress_decide_request(s->policy, (arcp_time){0, 0}, &at, &asked, &out));
    }
}

static void tunnel(void *state, uint64_t iterations)
{
    const sample *s = state;
    const arcp__egress_target at = {arcp_span_cstr(s->host), 443, false};
    arcp__egress_decision out;
    for (uint64_t i = 0; i < iterations; i++) {
        bench_keep(arcp__egress_decide_tunnel(s->policy, (arcp_time){0, 0}, &at, &out));
    }
}

/* A hello of 517 bytes, as browsers send it: most of it is padding. */
static void hello(void *state, uint64_t iterations)
{
    static const char head[] = "\x16\3\1\2\0\1\0\1\xfc\3\3";
    static const char middle[] = "\0\0\4\x13\1\x13\2\1\0";
    static const char name[] = "\0\0\0\x14\0\x12\0\0\x0f"
                               "api.example.com";
    char bytes[517] = {0};
    size_t size = sizeof head - 1;
    memcpy(bytes, head, size);
    size += 32;
    memcpy(bytes + size, middle, sizeof middle - 1);
    size += sizeof middle - 1;
    const size_t extensions = sizeof bytes - size - 2;
    bytes[size++] = (char)(extensions >> 8);
    bytes[size++] = (char)extensions;
    memcpy(bytes + size, name, sizeof name - 1);
    size += sizeof name - 1;
    const size_t padding = sizeof bytes - size - 4;
    bytes[size + 1] = 21;
    bytes[size + 2] = (char)(padding >> 8);
    bytes[size + 3] = (char)padding;
    arcp__egress_hello out;
    for (uint64_t i = 0; i < iterations; i++) {
        const arcp__egress_hello_result result =
            arcp__egress_hello_read(arcp_span_make(bytes, sizeof bytes), &out);
        if (result != ARCP__EGRESS_HELLO_NAMED) {
            fprintf(stderr, "egress_pure_bench: the hello is not read\n");
            exit(1);
        }
    }
    bench_keep(state);
}

/* A lease of `count` patterns, a number between a beginning and an end, and what asks about it. */
static sample make(const char *begin, const char *end, unsigned count, const char *host)
{
    sample s = {.host = host};
    arcp_error err = {0};
    arcp_lease *lease = NULL;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    for (unsigned i = 0; i < count; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "%s%u%s", begin, i, end);
        arcp_lease_allow(builder, "net.fetch", text);
    }
    require(arcp_lease_build(builder, &lease, &err), &err);
    require(arcp_authority_new(lease, NULL, &s.authority, &err), &err);
    require(arcp__egress_names_new(lease, &s.names, &err), &err);
    require(arcp__egress_policy_new(s.authority, &s.policy, &err), &err);
    arcp_lease_unref(lease);
    return s;
}

static void free_sample(sample *s)
{
    arcp__egress_names_free(s->names);
    arcp__egress_policy_free(s->policy);
    arcp_authority_unref(s->authority);
}

int main(int argc, char **argv)
{
    sample s[] = {
        make("*://h", ".example.org/**", 20, "h19.example.org"),
        make("http*://*.d", ".example.org/**", 1000, "h.d999.example.org"),
        make("https://*.d", ".example.org/**", 1000, "not.granted.example.org"),
        make("https://h/*", "*/**", 1000, "h"),
    };
    const bench_case cases[] = {
        {.name = "egress/dns, 20 lines", .run = answer, .state = &s[0]},
        {.name = "egress/dns, 1000 lines with wildcards", .run = answer, .state = &s[1]},
        {.name = "egress/dns, 1000 lines, NXDOMAIN", .run = answer, .state = &s[2]},
        {.name = "egress/request, 20 lines", .run = request, .state = &s[0]},
        {.name = "egress/request, 1000 lines with wildcards", .run = request, .state = &s[1]},
        {.name = "egress/decide tunnel, 20 lines", .run = tunnel, .state = &s[0]},
        {.name = "egress/decide tunnel, 1000 lines with wildcards", .run = tunnel, .state = &s[1]},
        {.name = "egress/decide tunnel, 1000 lines of one host", .run = tunnel, .state = &s[3]},
        {.name = "egress/hello, 517 bytes", .run = hello, .state = s},
    };
    const int status = bench_main(argc, argv, "the network of sandboxes, without its sockets",
                                  cases, sizeof cases / sizeof *cases);
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
        free_sample(&s[i]);
    }
    return status;
}
