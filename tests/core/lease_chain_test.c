/* Chains of delegations against a simple model: which requests are granted at each job, and what
 * the gate lets each job do after any job's spending. Patterns are sets of a few targets here,
 * amounts whole numbers, instants their index. */
#include "support/check.h"

#include <arcp/lease_subset.h>

#include "core/decimal.h"
#include "core/strings.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { DEPTH = 5, ROUNDS = 6000, CURRENCIES = 2, NONE = -1 };

static const char *const currencies[CURRENCIES] = {"USD", "usd"};

/* What patterns grant, as bits of `tools`; the last three stand for all others. */
static const char *const tools[] = {"t.a", "t.b", "t.c.d", "t.z", "t.z.z", "other"};
static const struct {
    const char *pattern;
    unsigned grants;
} patterns[] = {{"t.a", 1}, {"t.b", 2}, {"t.c.d", 4}, {"t.*", 11}, {"t.**", 31}, {"**", 63}};

/* In ascending order by `at`. */
static const struct {
    const char *text;
    int at;
} instants[] = {{"2025-12-31T23:59:60Z", 0},
                {"2026-01-01T00:00:00.000Z", 0},
                {"2026-01-01T00:00:10Z", 1},
                {"2026-01-01T00:00:10.0000000001Z", 2},
                {"2026-01-01T00:00:10.00000000010Z", 2},
                {"2026-01-01T00:00:10.00000000011Z", 3},
                {"2026-01-01T00:00:10.5Z", 4},
                {"2190-01-01T00:00:00Z", 5}};

/* The content of a lease. */
typedef struct request {
    unsigned grants;
    bool names_budget;
    int amounts[CURRENCIES]; /* NONE: absent */
    bool names_models;
    bool all_models; /* else none */
    int expires_at;  /* NONE: no expiry */
    arcp_lease *lease;
} request;

/* A job, as the model and as the library see it. */
typedef struct job {
    request held;
    int left[CURRENCIES]; /* of its own counters */
    arcp_authority *authority;
} job;

typedef struct chain {
    uint64_t random;
    bool models_required;
    job jobs[DEPTH];
    int depth;
} chain;

static size_t pick(chain *c, size_t bound)
{
    return random_below(&c->random, bound);
}

static void pick_tools(chain *c, request *out, arcp_lease_builder *builder)
{
    for (size_t i = pick(c, 4); i > 0; i--) {
        const size_t index = pick(c, COUNT(patterns));
        out->grants |= patterns[index].grants;
        arcp_lease_allow(builder, "tool.call", patterns[index].pattern);
    }
}

/* An amount in up to three entries. */
static void pick_amounts(chain *c, int most, request *out, arcp_lease_builder *builder)
{
    for (size_t i = 0; i < CURRENCIES; i++) {
        out->amounts[i] = NONE;
        if (pick(c, 2) == 0) {
            continue;
        }
        out->names_budget = true;
        out->amounts[i] = 0;
        for (size_t entries = 1 + pick(c, 3); entries > 0; entries--) {
            char text[32];
            const int amount = (int)pick(c, (size_t)most);
            (void)snprintf(text, sizeof text, "0.%06d", amount);
            arcp_lease_budget(builder, currencies[i], text);
            out->amounts[i] += amount;
        }
    }
    if (!out->names_budget && pick(c, 4) == 0) {
        out->names_budget = true;
        arcp_lease_allow(builder, "cost.budget", NULL);
    }
}

static request make_request(chain *c, int most)
{
    request out = {.expires_at = NONE};
    arcp_lease_builder *builder = arcp_lease_builder_new();
    assert_non_null(builder);
    pick_tools(c, &out, builder);
    pick_amounts(c, most, &out, builder);
    out.names_models = pick(c, 2) == 0;
    out.all_models = out.names_models && pick(c, 2) == 0;
    if (out.names_models) {
        arcp_lease_allow(builder, "model.use", out.all_models ? "**" : NULL);
    }
    if (pick(c, 2) == 0) {
        const size_t index = pick(c, COUNT(instants));
        out.expires_at = instants[index].at;
        arcp_lease_expires_at(builder, instants[index].text);
    }
    arcp_error err = {0};
    check_ok(arcp_lease_build(builder, &out.lease, &err), &err);
    return out;
}

/* The job that the last one makes of a lease. */
static void add_job(chain *c, request held)
{
    job *made = &c->jobs[c->depth];
    const arcp_authority *above = c->depth == 0 ? NULL : c->jobs[c->depth - 1].authority;
    *made = (job){.held = held};
    for (size_t i = 0; i < CURRENCIES; i++) {
        made->left[i] = held.amounts[i];
    }
    arcp_authority_options options = arcp_authority_options_init();
    options.parent = above;
    options.model_use_required = c->models_required;
    arcp_error err = {0};
    check_ok(arcp_authority_new(held.lease, &options, &made->authority, &err), &err);
    c->depth++;
}

/* The least that is left of a currency at the last job and above; NONE: it has no counter. */
static int available(const chain *c, size_t currency)
{
    int least = NONE;
    bool is_counted = false;
    for (int i = 0; i < c->depth; i++) {
        const job *ancestor = &c->jobs[i];
        if (ancestor->held.amounts[currency] != NONE) {
            least =
                !is_counted || ancestor->left[currency] < least ? ancestor->left[currency] : least;
            is_counted = true;
        }
    }
    return is_counted && least < 0 ? -2 : least;
}

static bool model_grants(const chain *c, const request *wanted)
{
    const request *held = &c->jobs[c->depth - 1].held;
    bool is_within = (wanted->grants & ~held->grants) == 0;
    for (size_t i = 0; i < CURRENCIES; i++) {
        const bool may_ask = held->amounts[i] != NONE || !held->names_budget;
        is_within = is_within &&
                    (wanted->amounts[i] == NONE ||
                     (may_ask && available(c, i) != NONE && wanted->amounts[i] <= available(c, i)));
    }
    const bool holds_models = held->names_models ? held->all_models : !c->models_required;
    is_within = is_within && (!wanted->all_models || holds_models);
    return is_within && (wanted->expires_at == NONE || held->expires_at == NONE ||
                         wanted->expires_at <= held->expires_at);
}

/* The child's amount after that. */
static request inherit(const chain *c, request wanted, arcp_lease *derived)
{
    const request *held = &c->jobs[c->depth - 1].held;
    wanted.lease = derived;
    wanted.expires_at = wanted.expires_at == NONE ? held->expires_at : wanted.expires_at;
    if (held->names_models && !wanted.names_models) {
        wanted.names_models = true;
        wanted.all_models = false;
    }
    return wanted;
}

/* Requests a child of the last job; returns whether it was made. */
static bool delegate(chain *c)
{
    request wanted = make_request(c, 40);
    arcp_lease *derived = NULL;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    const arcp_status status =
        arcp_lease_derive(c->jobs[c->depth - 1].authority, wanted.lease, &derived, &err);
    if (status != (model_grants(c, &wanted) ? ARCP_OK : ARCP_E_LEASE_SUBSET_VIOLATION)) {
        arcp_lease_format(wanted.lease, &details);
        arcp_lease_format(c->jobs[c->depth - 1].held.lease, &details);
        fail_msg("%s: %.*s", err.message, (int)details.size, details.data);
    }
    if (status == ARCP_OK) {
        add_job(c, inherit(c, wanted, derived));
    }
    arcp_buf_fini(&details);
    arcp_lease_unref(wanted.lease);
    return status == ARCP_OK;
}

static void spend(chain *c)
{
    const int index = (int)pick(c, (size_t)c->depth);
    const size_t currency = pick(c, CURRENCIES);
    const int amount = (int)pick(c, 30);
    const arcp_decimal units = arcp__decimal_of((arcp__units)amount * 1000000000000);
    (void)arcp_budget_spend(arcp_authority_budget(c->jobs[index].authority),
                            arcp_span_cstr(currencies[currency]), units, NULL, 0);
    for (int i = 0; i <= index; i++) {
        c->jobs[i].left[currency] -= amount;
    }
}

static arcp_status model_decides(const chain *c, int index, bool is_covered, bool is_expired)
{
    if (is_expired) {
        return ARCP_E_LEASE_EXPIRED;
    }
    for (int i = 0; i <= index; i++) {
        for (size_t k = 0; k < CURRENCIES; k++) {
            if (c->jobs[i].held.amounts[k] != NONE && c->jobs[i].left[k] <= 0) {
                return ARCP_E_BUDGET_EXHAUSTED;
            }
        }
    }
    return is_covered ? ARCP_OK : ARCP_E_PERMISSION_DENIED;
}

static arcp_status gate_decides(const chain *c, int index, const char *capability,
                                const char *target, arcp_time now)
{
    static arcp_target_scratch scratch;
    arcp_decision decision;
    const bool allowed = arcp_authorize(c->jobs[index].authority, now, arcp_span_cstr(capability),
                                        arcp_span_cstr(target), &scratch, &decision);
    assert_int_equal(allowed, decision.code == ARCP_OK);
    return decision.code;
}

/* At two times: before every expiry, and at 10.5 s, where those before it and at it are over. */
static void check_gates(const chain *c)
{
    const int64_t half_past_ten = INT64_C(1767225610500000000);
    const arcp_time times[] = {{0, 0}, {half_past_ten, 0}};
    for (int i = 0; i < c->depth; i++) {
        const request *held = &c->jobs[i].held;
        for (size_t t = 0; t < COUNT(times); t++) {
            const bool is_expired = t == 1 && held->expires_at != NONE && held->expires_at <= 4;
            for (size_t j = 0; j < COUNT(tools); j++) {
                assert_int_equal(gate_decides(c, i, "tool.call", tools[j], times[t]),
                                 model_decides(c, i, (held->grants >> j & 1) != 0, is_expired));
            }
            const bool may_use = held->names_models ? held->all_models : !c->models_required;
            assert_int_equal(gate_decides(c, i, "model.use", "m", times[t]),
                             model_decides(c, i, may_use, is_expired));
        }
    }
}

static void chains_of_delegations_agree_with_the_model(void **state)
{
    (void)state;
    size_t granted = 0;
    size_t refused = 0;
    size_t deep = 0;
    chain c = {.random = 7};
    for (int round = 0; round < ROUNDS; round++) {
        c.depth = 0;
        c.models_required = pick(&c, 2) == 0;
        add_job(&c, make_request(&c, 400));
        for (int step = 0; step < 40 && c.depth < DEPTH; step++) {
            if (pick(&c, 8) == 0) {
                spend(&c);
                check_gates(&c);
            }
            const bool is_granted = delegate(&c);
            granted += is_granted;
            refused += !is_granted;
        }
        check_gates(&c);
        deep += c.depth == DEPTH;
        while (c.depth > 0) {
            c.depth--;
            arcp_authority_unref(c.jobs[c.depth].authority);
            arcp_lease_unref(c.jobs[c.depth].held.lease);
        }
    }
    assert_true(granted > ROUNDS && refused > ROUNDS && deep > ROUNDS / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_delegations_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
