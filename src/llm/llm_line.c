/* A line exists while one of its calls waits or holds. Its calls are asked in their order each time
 * something changes: a call comes, settles, or leaves, or a tick. */
#include "llm/llm_line.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "core/decimal.h"

/* A reservation may be refused while another thread makes one that is refused itself. */
#define TRIES 3

typedef struct arcp__llm_line {
    const void *top;         /* the key: the topmost budget, or the caller without one */
    arcp__llm_hold *waiting; /* in their order */
    size_t members;          /* calls that wait or hold */
    uint64_t retry_ms;       /* when the first call is asked again; UINT64_MAX: not by time */
    struct arcp__llm_line *prev, *next;
    UT_hash_handle hh;
} line;

struct arcp__llm_lines {
    line *by_top;
    arcp__llm_hold *decided;
    size_t waiting;
};

arcp_status arcp__llm_lines_new(arcp__llm_lines **out, arcp_error *err)
{
    arcp__llm_lines *lines = arcp__alloc(sizeof *lines);
    if (lines == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = lines;
    return ARCP_OK;
}

void arcp__llm_lines_free(arcp__llm_lines *lines)
{
    assert(lines == NULL || lines->by_top == NULL);
    arcp__free(lines);
}

/* ---- amounts ---- */

/* Less than zero: out of range, which no budget pays. */
static arcp__units amount_of(const arcp__llm_demand *demand, uint64_t limit)
{
    arcp__units units = 0;
    if (__builtin_mul_overflow(arcp__decimal_units(demand->per_token), (arcp__units)limit,
                               &units) ||
        __builtin_add_overflow(units, arcp__decimal_units(demand->input), &units)) {
        return -1;
    }
    return units;
}

static bool pays(arcp__units amount, const arcp__llm_demand *demand, uint64_t limit)
{
    const arcp__units cost = amount_of(demand, limit);
    return cost >= 0 && cost <= amount;
}

/* The largest limit that an amount pays for, which pays for `least`. */
static uint64_t limit_for(arcp__units amount, const arcp__llm_demand *demand, uint64_t least,
                          uint64_t most)
{
    const arcp__units price = arcp__decimal_units(demand->per_token);
    if (pays(amount, demand, most) || price == 0) {
        return most;
    }
    const arcp__units limit = (amount - arcp__decimal_units(demand->input)) / price;
    return limit > (arcp__units)least ? (uint64_t)limit : least;
}

/* What would remain in the chain if all holds were given back. */
static arcp__units free_amount(const arcp_budget *budget, arcp_span currency)
{
    arcp__units least = arcp__decimal_units((arcp_decimal){UINT64_MAX, INT64_MAX});
    for (; budget != NULL; budget = arcp_budget_parent(budget)) {
        for (size_t i = 0; i < arcp_budget_count(budget); i++) {
            if (arcp_span_equal(arcp_budget_currency(budget, i), currency)) {
                const arcp__units here = arcp__decimal_units(arcp_budget_initial(budget, i)) -
                                         arcp__decimal_units(arcp_budget_spent(budget, i));
                least = here < least ? here : least;
            }
        }
    }
    return least;
}

static arcp__units remaining_amount(const arcp_budget *budget, arcp_span currency)
{
    arcp_decimal remaining = ARCP_DECIMAL_ZERO;
    return arcp_budget_available(budget, currency, &remaining) ? arcp__decimal_units(remaining) : 0;
}

/* ---- one call ---- */

/* Holds the amounts for this limit in all currencies, or in none. */
static bool reserve(arcp__llm_hold *hold, uint64_t limit)
{
    for (size_t i = 0; i < hold->demand_count; i++) {
        const arcp__units units = amount_of(&hold->demands[i], limit);
        const arcp_decimal amount = arcp__decimal_of(units);
        if (units < 0 || !arcp_budget_reserve(hold->budget, hold->demands[i].currency, amount)) {
            hold->currency = hold->demands[i].currency;
            while (i-- > 0) {
                arcp_budget_unreserve(hold->budget, hold->demands[i].currency, hold->held[i]);
            }
            return false;
        }
        hold->held[i] = amount;
    }
    return true;
}

/* Whether the budget could pay for the least call if nothing was held. */
static bool can_ever_pay(arcp__llm_hold *hold)
{
    for (size_t i = 0; i < hold->demand_count; i++) {
        const arcp__units amount = free_amount(hold->budget, hold->demands[i].currency);
        if (!pays(amount, &hold->demands[i], hold->limit_min)) {
            hold->currency = hold->demands[i].currency;
            return false;
        }
    }
    return true;
}

/* The limit that what remains pays for, if waiting cannot make it larger; 0: it can, or what
 * remains does not pay for the least call. Only for a call that can_ever_pay. */
static bool limit_without_wait(const arcp__llm_hold *hold, uint64_t *out)
{
    uint64_t now = hold->limit_max;
    uint64_t later = hold->limit_max;
    for (size_t i = 0; i < hold->demand_count; i++) {
        const arcp__llm_demand *demand = &hold->demands[i];
        const arcp__units remaining = remaining_amount(hold->budget, demand->currency);
        if (!pays(remaining, demand, hold->limit_min)) {
            return false;
        }
        now = limit_for(remaining, demand, hold->limit_min, now);
        later =
            limit_for(free_amount(hold->budget, demand->currency), demand, hold->limit_min, later);
    }
    *out = now;
    return now >= later;
}

typedef enum decision { GRANTED, EXHAUSTED, WAITS_FOR_MONEY, WAITS_FOR_CALLS } decision;

static decision decide(arcp__llm_hold *hold)
{
    if (!can_ever_pay(hold)) {
        return EXHAUSTED;
    }
    if (hold->caller->under_way >= hold->calls_max) {
        return WAITS_FOR_CALLS;
    }
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t limit = hold->limit_max;
        if (reserve(hold, limit) || (limit_without_wait(hold, &limit) && reserve(hold, limit))) {
            hold->limit = limit;
            return GRANTED;
        }
    }
    return WAITS_FOR_MONEY;
}

/* ---- a line ---- */

static void leave(arcp__llm_lines *lines, line *from)
{
    if (--from->members == 0) {
        HASH_DEL(lines->by_top, from);
        arcp__free(from);
    }
}

/* The call does not wait any more. */
static void set_decided(arcp__llm_lines *lines, arcp__llm_hold *hold, arcp__llm_hold_state state)
{
    DL_DELETE(hold->line->waiting, hold);
    lines->waiting--;
    hold->state = state;
    hold->is_listed = true;
    DL_APPEND(lines->decided, hold);
}

static void refuse(arcp__llm_lines *lines, arcp__llm_hold *hold, arcp__llm_line_reason reason)
{
    line *at = hold->line;
    hold->reason = reason;
    set_decided(lines, hold, ARCP__LLM_HOLD_REFUSED);
    hold->line = NULL;
    leave(lines, at);
}

/* Asks the calls in their order, up to the first that waits for money. The caller keeps the line
 * from being freed. */
static void serve(arcp__llm_lines *lines, line *at, uint64_t now_ms)
{
    arcp__llm_hold *next = NULL;
    bool is_blocked = false;
    at->retry_ms = UINT64_MAX;
    for (arcp__llm_hold *hold = at->waiting; hold != NULL; hold = next) {
        next = hold->next;
        const decision found = is_blocked ? WAITS_FOR_MONEY : decide(hold);
        if (found == GRANTED) {
            hold->caller->under_way++;
            set_decided(lines, hold, ARCP__LLM_HOLD_HELD);
        } else if (found == EXHAUSTED) {
            refuse(lines, hold, ARCP__LLM_LINE_EXHAUSTED);
        } else if (now_ms >= hold->deadline_ms) {
            if (found == WAITS_FOR_CALLS) {
                hold->currency = arcp_span_make(NULL, 0);
            }
            refuse(lines, hold, ARCP__LLM_LINE_BUSY);
        } else if (found == WAITS_FOR_MONEY) {
            is_blocked = true;
            at->retry_ms = now_ms + ARCP__LLM_LINE_RETRY_MS;
        }
    }
}

static void serve_and_leave(arcp__llm_lines *lines, line *at, uint64_t now_ms)
{
    serve(lines, at, now_ms);
    leave(lines, at);
}

/* The line of a call, which counts as its member; NULL: out of memory. */
static line *enter(arcp__llm_lines *lines, const arcp__llm_ask *ask)
{
    const void *top = ask->caller;
    for (const arcp_budget *at = ask->budget; at != NULL; at = arcp_budget_parent(at)) {
        top = at;
    }
    line *found = NULL;
    HASH_FIND(hh, lines->by_top, &top, sizeof top, found);
    if (found == NULL) {
        found = arcp__alloc(sizeof *found);
        if (found == NULL) {
            return NULL;
        }
        found->top = top;
        found->retry_ms = UINT64_MAX;
        HASH_ADD(hh, lines->by_top, top, sizeof found->top, found);
        if (!ARCP__HASH_ADDED(found)) {
            arcp__free(found);
            return NULL;
        }
    }
    found->members++;
    return found;
}

/* ---- the functions of the header ---- */

void arcp__llm_hold_ask(arcp__llm_lines *lines, arcp__llm_hold *hold, const arcp__llm_ask *ask,
                        uint64_t now_ms)
{
    assert(hold->state == ARCP__LLM_HOLD_NONE && ask->demand_count <= ARCP__LLM_CURRENCIES_MAX &&
           ask->limit_min <= ask->limit && ask->calls_max != 0);
    void *user = hold->user;
    *hold = (arcp__llm_hold){.state = ARCP__LLM_HOLD_WAITING,
                             .user = user,
                             .caller = ask->caller,
                             .limit_max = ask->limit,
                             .limit_min = ask->limit_min,
                             .calls_max = ask->calls_max};
    hold->budget = ask->budget == NULL ? NULL : arcp_budget_ref(ask->budget);
    for (size_t i = 0; i < ask->demand_count; i++) {
        if (arcp_budget_counts(ask->budget, ask->demands[i].currency)) {
            hold->demands[hold->demand_count++] = ask->demands[i];
        }
    }
    if (__builtin_add_overflow(now_ms, ask->wait_ms, &hold->deadline_ms)) {
        hold->deadline_ms = UINT64_MAX;
    }
    line *at = enter(lines, ask);
    hold->line = at;
    if (at == NULL) {
        hold->state = ARCP__LLM_HOLD_REFUSED;
        hold->reason = ARCP__LLM_LINE_NO_MEMORY;
        hold->is_listed = true;
        DL_APPEND(lines->decided, hold);
        return;
    }
    at->members++; /* until it has been served */
    DL_APPEND(at->waiting, hold);
    lines->waiting++;
    /* A call behind others is refused at once, too, if waiting is of no use. */
    if (at->waiting != hold && !can_ever_pay(hold)) {
        refuse(lines, hold, ARCP__LLM_LINE_EXHAUSTED);
    }
    serve_and_leave(lines, at, now_ms);
}

arcp__llm_hold *arcp__llm_lines_take(arcp__llm_lines *lines)
{
    arcp__llm_hold *hold = lines->decided;
    if (hold != NULL) {
        DL_DELETE(lines->decided, hold);
        hold->is_listed = false;
    }
    return hold;
}

/* Ends the hold; its line is served if others can go on. */
static void end(arcp__llm_lines *lines, arcp__llm_hold *hold, uint64_t now_ms)
{
    line *at = hold->line;
    if (hold->is_listed) {
        DL_DELETE(lines->decided, hold);
    }
    if (hold->state == ARCP__LLM_HOLD_WAITING) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): utlist knows its neighbours */
        DL_DELETE(at->waiting, hold);
        lines->waiting--;
    }
    hold->caller->under_way -= hold->state == ARCP__LLM_HOLD_HELD;
    hold->state = ARCP__LLM_HOLD_NONE;
    hold->is_listed = false;
    hold->line = NULL;
    arcp_budget_unref(hold->budget);
    hold->budget = NULL;
    if (at != NULL) {
        serve_and_leave(lines, at, now_ms);
    }
}

size_t arcp__llm_hold_settle(arcp__llm_lines *lines, arcp__llm_hold *hold,
                             const arcp_decimal *costs, arcp_budget_report *reports,
                             size_t reports_max, uint64_t now_ms)
{
    assert(hold->state == ARCP__LLM_HOLD_HELD);
    size_t count = 0;
    for (size_t i = 0; i < hold->demand_count; i++) {
        count += arcp_budget_settle(hold->budget, hold->demands[i].currency, hold->held[i],
                                    costs[i], reports + count, reports_max - count);
    }
    end(lines, hold, now_ms);
    return count;
}

void arcp__llm_hold_cancel(arcp__llm_lines *lines, arcp__llm_hold *hold, uint64_t now_ms)
{
    if (hold->state == ARCP__LLM_HOLD_NONE) {
        return;
    }
    for (size_t i = 0; i < hold->demand_count && hold->state == ARCP__LLM_HOLD_HELD; i++) {
        arcp_budget_unreserve(hold->budget, hold->demands[i].currency, hold->held[i]);
    }
    end(lines, hold, now_ms);
}

uint64_t arcp__llm_lines_due_ms(const arcp__llm_lines *lines)
{
    uint64_t due_ms = UINT64_MAX;
    for (const line *at = lines->by_top; at != NULL; at = at->hh.next) {
        due_ms = at->retry_ms < due_ms ? at->retry_ms : due_ms;
        for (const arcp__llm_hold *hold = at->waiting; hold != NULL; hold = hold->next) {
            due_ms = hold->deadline_ms < due_ms ? hold->deadline_ms : due_ms;
        }
    }
    return due_ms;
}

void arcp__llm_lines_tick(arcp__llm_lines *lines, uint64_t now_ms)
{
    line *next = NULL;
    for (line *at = lines->by_top; at != NULL; at = next) {
        at->members++;
        serve(lines, at, now_ms);
        next = at->hh.next;
        leave(lines, at);
    }
}

size_t arcp__llm_lines_waiting(const arcp__llm_lines *lines)
{
    return lines->waiting;
}

size_t arcp__llm_lines_count(const arcp__llm_lines *lines)
{
    return HASH_COUNT(lines->by_top);
}
