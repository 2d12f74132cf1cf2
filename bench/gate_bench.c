/* The whole gate, on a lease of five capabilities with four patterns each, and what is done
 * with whole leases: reading, comparing, deriving, narrowing. */
#include <stdlib.h>

#include <arcp/lease_subset.h>

#include "harness.h"

static const char lease_text[] =
    "{\"fs.read\":[\"/data/**\",\"/srv/reports/*.csv\",\"/etc/hosts\",\"/home/*/public/**\"],"
    "\"fs.write\":[\"/tmp/**\",\"/data/out/**\",\"/var/log/agent-*.log\",\"/srv/cache/*\"],"
    "\"net.fetch\":[\"https://api.example.com/**\",\"https://*.example.org/v1/**\","
    "\"s3://reports/**.csv\",\"https://h/*\"],"
    "\"tool.call\":[\"web.*\",\"fs.read\",\"search\",\"summarise.**\"],"
    "\"model.use\":[\"gpt-4*\",\"claude-3-5-*\",\"tier-fast/*\",\"local/**\"]}";

static const char child_text[] =
    "{\"fs.read\":[\"/data/in/**\",\"/etc/hosts\"],\"fs.write\":[\"/tmp/x/*\",\"/data/out/a\"],"
    "\"net.fetch\":[\"https://api.example.com/v1/**\",\"s3://reports/2026/*.csv\"],"
    "\"tool.call\":[\"web.search\",\"summarise.pdf\"],"
    "\"model.use\":[\"gpt-4o-mini\",\"local/**\"]}";

typedef struct gate_state {
    arcp_lease *lease;
    arcp_lease *child;
    arcp_authority *plain;
    arcp_authority *limited; /* with a budget and an expiry */
    arcp_target_scratch scratch;
} gate_state;

static const arcp_time now = {1, 1};

static arcp_lease *parse(const char *text, const char *constraints)
{
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    if (arcp_lease_parse(arcp_span_cstr(text), arcp_span_cstr(constraints), NULL, &lease, &err) !=
        ARCP_OK) {
        abort();
    }
    return lease;
}

static arcp_authority *authority_of(const arcp_lease *lease)
{
    const arcp_authority_options options = arcp_authority_options_init();
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    if (arcp_authority_new(lease, &options, &authority, &err) != ARCP_OK) {
        abort();
    }
    return authority;
}

static void ask(const arcp_authority *authority, gate_state *state, arcp_span capability,
                arcp_span target, bool expected, uint64_t iterations)
{
    uint64_t allowed = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_decision decision;
        allowed += arcp_authorize(authority, now, capability, target, &state->scratch, &decision);
    }
    if (allowed != (expected ? iterations : 0)) {
        abort();
    }
}

#define QUESTION(name, holder, capability, target, expected)                                       \
    static void name(void *user, uint64_t iterations)                                              \
    {                                                                                              \
        gate_state *state = user;                                                                  \
        ask(state->holder, state, ARCP_SPAN_LITERAL(capability), ARCP_SPAN_LITERAL(target),        \
            expected, iterations);                                                                 \
    }

/* Paths and URLs of 60 bytes. */
QUESTION(path_hit, plain, "fs.read", "/data/2026/05/13/customers/europe/reports/weekly/summary.txt",
         true)
QUESTION(path_miss, plain, "fs.read",
         "/date/2026/05/13/customers/europe/reports/weekly/summary.txt", false)
QUESTION(path_dots, plain, "fs.read", "/data/./2026//05/13/../13/customers/europe/reports/week.txt",
         true)
QUESTION(url_hit, plain, "net.fetch",
         "https://api.example.com/v1/customers/42/orders?page=7&size=50", true)
QUESTION(url_miss, plain, "net.fetch",
         "https://api.example.net/v1/customers/42/orders?page=7&size=50", false)
QUESTION(tool_hit, plain, "tool.call", "web.search", true)
QUESTION(tool_miss, plain, "tool.call", "shell.exec", false)
QUESTION(model_hit, plain, "model.use", "claude-3-5-sonnet-20241022", true)
QUESTION(absent, plain, "agent.delegate", "pdf-renderer@1.0.0", false)
QUESTION(limited_tool_hit, limited, "tool.call", "web.search", true)

/* One question of each capability in turn. */
static void ask_all(void *user, bool expected, uint64_t iterations)
{
    static const struct {
        const char *capability;
        const char *hit;
        const char *miss;
    } questions[] = {
        {"fs.read", "/home/alice/public/reports/2026/summary.txt", "/home/alice/.ssh/id_ed25519"},
        {"fs.write", "/var/log/agent-7.log", "/var/log/auth.log"},
        {"net.fetch", "https://eu.example.org/v1/orders?page=7",
         "https://eu.example.org.evil.net/v1/orders?page=7"},
        {"tool.call", "summarise.pdf.short", "shell.exec"},
        {"model.use", "claude-3-5-sonnet-20241022", "llama-3-70b-instruct"},
    };
    enum { QUESTIONS = sizeof questions / sizeof *questions };
    gate_state *state = user;
    arcp_span capabilities[QUESTIONS];
    arcp_span targets[QUESTIONS];
    for (size_t i = 0; i < QUESTIONS; i++) {
        capabilities[i] = arcp_span_cstr(questions[i].capability);
        targets[i] = arcp_span_cstr(expected ? questions[i].hit : questions[i].miss);
    }
    uint64_t allowed = 0;
    size_t next = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_decision decision;
        allowed += arcp_authorize(state->plain, now, capabilities[next], targets[next],
                                  &state->scratch, &decision);
        next = next + 1 == QUESTIONS ? 0 : next + 1;
    }
    if (allowed != (expected ? iterations : 0)) {
        abort();
    }
}

static void all_hit(void *user, uint64_t iterations)
{
    ask_all(user, true, iterations);
}

static void all_miss(void *user, uint64_t iterations)
{
    ask_all(user, false, iterations);
}

static void read_lease(void *user, uint64_t iterations)
{
    (void)user;
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_lease_unref(parse(lease_text, ""));
    }
}

static void subset(void *user, uint64_t iterations)
{
    const gate_state *state = user;
    for (uint64_t i = 0; i < iterations; i++) {
        bool is_subset = false;
        if (arcp_lease_is_subset(state->child, state->lease, &is_subset, NULL) != ARCP_OK ||
            !is_subset) {
            abort();
        }
    }
}

static void no_subset(void *user, uint64_t iterations)
{
    const gate_state *state = user;
    arcp_subset_violation violation = arcp_subset_violation_init();
    for (uint64_t i = 0; i < iterations; i++) {
        bool is_subset = true;
        if (arcp_lease_is_subset(state->lease, state->child, &is_subset, &violation) != ARCP_OK ||
            is_subset) {
            abort();
        }
    }
    arcp_subset_violation_fini(&violation);
}

static void derive(void *user, uint64_t iterations)
{
    const gate_state *state = user;
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_lease *derived = NULL;
        arcp_error err = {0};
        if (arcp_lease_derive(state->limited, state->child, &derived, &err) != ARCP_OK) {
            abort();
        }
        arcp_lease_unref(derived);
    }
}

static void narrow(void *user, uint64_t iterations)
{
    const gate_state *state = user;
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_lease *narrowed = NULL;
        arcp_error err = {0};
        if (arcp_lease_narrow(state->lease, state->child, false, &narrowed, NULL, &err) !=
            ARCP_OK) {
            abort();
        }
        arcp_lease_unref(narrowed);
    }
}

/* The lease once more, with a budget and an expiry. */
static arcp_authority *limited_authority(void)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, lease_text);
    text.size--;
    arcp_buf_append_cstr(&text, ",\"cost.budget\":[\"USD:5\"]}");
    arcp_buf_append_byte(&text, '\0');
    const arcp_lease *lease = parse(text.data, "{\"expires_at\":\"2200-01-01T00:00:00Z\"}");
    arcp_authority *authority = authority_of(lease);
    arcp_lease_unref(lease);
    arcp_buf_fini(&text);
    return authority;
}

int main(int argc, char **argv)
{
    static gate_state state;
    state.lease = parse(lease_text, "");
    state.child = parse(child_text, "");
    state.plain = authority_of(state.lease);
    state.limited = limited_authority();
    const bench_case cases[] = {
        {"gate/5 capabilities x 4/hit", NULL, all_hit, &state, 0, NULL, 0},
        {"gate/5 capabilities x 4/miss", "gate/5 capabilities x 4/hit", all_miss, &state, 0, NULL,
         0},
        {"gate/tool/hit", NULL, tool_hit, &state, 0, NULL, 0},
        {"gate/tool/miss", "gate/tool/hit", tool_miss, &state, 0, NULL, 0},
        {"gate/tool/hit with budget and expiry", "gate/tool/hit", limited_tool_hit, &state, 0, NULL,
         0},
        {"gate/model/hit", "gate/tool/hit", model_hit, &state, 0, NULL, 0},
        {"gate/absent capability", "gate/tool/hit", absent, &state, 0, NULL, 0},
        {"gate/path of 60 bytes/hit", "gate/tool/hit", path_hit, &state, 0, NULL, 0},
        {"gate/path of 60 bytes/miss", "gate/tool/hit", path_miss, &state, 0, NULL, 0},
        {"gate/path of 60 bytes/not canonical", "gate/tool/hit", path_dots, &state, 0, NULL, 0},
        {"gate/url of 60 bytes/hit", "gate/tool/hit", url_hit, &state, 0, NULL, 0},
        {"gate/url of 60 bytes/miss", "gate/tool/hit", url_miss, &state, 0, NULL, 0},
        {"lease/parse and compile 5 x 4", NULL, read_lease, &state, 0, NULL, 0},
        {"lease/subset 5 x 2 in 5 x 4", NULL, subset, &state, 0, NULL, 0},
        {"lease/no subset, with witness", NULL, no_subset, &state, 0, NULL, 0},
        {"lease/derive 5 x 2 under 5 x 4", NULL, derive, &state, 0, NULL, 0},
        {"lease/narrow 5 x 4 by 5 x 2", NULL, narrow, &state, 0, NULL, 0},
    };
    const int status = bench_main(argc, argv, "gate", cases, sizeof cases / sizeof *cases);
    arcp_authority_unref(state.plain);
    arcp_authority_unref(state.limited);
    arcp_lease_unref(state.lease);
    arcp_lease_unref(state.child);
    return status;
}
