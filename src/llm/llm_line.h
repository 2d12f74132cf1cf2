/* Holds of model calls on budgets, and the line in which calls wait for them.
 *
 *   ask ──> WAITING ──> HELD ── settle or cancel ──> NONE
 *              │   └──> REFUSED ── cancel ─────────> NONE
 *              └── cancel ─────────────────────────> NONE
 *
 * A call holds the most that it can cost at its job's budget and at all ancestors before it is
 * sent. All jobs under one topmost budget have one line, first come first served, because they
 * compete for the same amounts:
 *
 *   - The full amount remains: the call holds it.
 *   - Waiting can give it no more than remains now, because nothing that other calls hold is in its
 *     way: its limit of output is set to what remains.
 *   - Else it waits for other calls to settle, and calls behind it wait, too; after `wait_ms` it is
 *     refused (BUSY).
 *   - What would remain if all holds were given back does not pay for the input and the least
 *     output: it is refused at once (EXHAUSTED).
 *
 * A call whose job has `calls_max` calls under way waits for one of these; calls of other jobs pass
 * it. Holds of other parts of the program on the same budgets are not known here: while calls wait,
 * tick is due every ARCP__LLM_LINE_RETRY_MS.
 *
 * No I/O, no clock: `now_ms` is the time. Lines and holds belong to one thread; the budgets may be
 * used by others. */
#ifndef ARCP_LLM_LLM_LINE_H
#define ARCP_LLM_LLM_LINE_H

#include <arcp/budget.h>

#define ARCP__LLM_CURRENCIES_MAX 16
#define ARCP__LLM_LINE_RETRY_MS  100

typedef struct arcp__llm_lines arcp__llm_lines;

/* What a call can cost at most in one currency: input + per_token * limit. */
typedef struct arcp__llm_demand {
    arcp_span currency; /* borrowed until the hold has ended */
    arcp_decimal input;
    arcp_decimal per_token; /* of its limit of output: for all answers */
} arcp__llm_demand;

/* The calls of a job; zero at first. Lives as long as its calls. */
typedef struct arcp__llm_caller {
    size_t under_way; /* calls that hold */
} arcp__llm_caller;

typedef struct arcp__llm_ask {
    arcp_budget *budget; /* NULL: nothing is held */
    arcp__llm_caller *caller;
    const arcp__llm_demand *demands; /* those without a counter in the chain are ignored */
    size_t demand_count;             /* at most ARCP__LLM_CURRENCIES_MAX */
    uint64_t limit;                  /* of output; 0: there is none */
    uint64_t limit_min;              /* less is not worth a call; at most `limit` */
    size_t calls_max;                /* of the job, at once; 1 or more */
    uint64_t wait_ms;
} arcp__llm_ask;

typedef enum arcp__llm_hold_state {
    ARCP__LLM_HOLD_NONE,
    ARCP__LLM_HOLD_WAITING,
    ARCP__LLM_HOLD_HELD,
    ARCP__LLM_HOLD_REFUSED
} arcp__llm_hold_state;

typedef enum arcp__llm_line_reason {
    ARCP__LLM_LINE_EXHAUSTED, /* the budget cannot pay for the call */
    ARCP__LLM_LINE_BUSY,      /* calls under way hold what it needs, or are as many as allowed */
    ARCP__LLM_LINE_NO_MEMORY
} arcp__llm_line_reason;

/* A call's place in a line, and what it holds. Zero at first; embedded in the call. */
typedef struct arcp__llm_hold {
    arcp__llm_hold_state state;
    arcp__llm_line_reason reason; /* of REFUSED */
    arcp_span currency;           /* in which it was EXHAUSTED or BUSY; empty: in none */
    uint64_t limit;               /* of HELD: the limit to be sent */
    void *user;                   /* the caller's */

    /* Of llm_line.c. */
    struct arcp__llm_line *line;
    struct arcp__llm_hold *prev, *next; /* in the line, or among the decided */
    arcp_budget *budget;                /* a reference */
    arcp__llm_caller *caller;
    uint64_t limit_max, limit_min;
    size_t calls_max;
    uint64_t deadline_ms;
    bool is_listed; /* among the decided */
    size_t demand_count;
    arcp__llm_demand demands[ARCP__LLM_CURRENCIES_MAX];
    arcp_decimal held[ARCP__LLM_CURRENCIES_MAX];
} arcp__llm_hold;

ARCP_MUST_CHECK arcp_status arcp__llm_lines_new(arcp__llm_lines **out, arcp_error *err);
/* No hold may be left. NULL is accepted. */
void arcp__llm_lines_free(arcp__llm_lines *lines);

/* Puts a call in NONE into its line. The decision is taken from arcp__llm_lines_take. */
void arcp__llm_hold_ask(arcp__llm_lines *lines, arcp__llm_hold *hold, const arcp__llm_ask *ask,
                        uint64_t now_ms);

/* The next call that is HELD or REFUSED since it asked; NULL: none. */
arcp__llm_hold *arcp__llm_lines_take(arcp__llm_lines *lines);

/* Ends a hold that is HELD with what the call really cost: one amount for each of hold->demands, in
 * their order. Returns the number of reports (arcp_budget_settle), whose budgets live as long as
 * the job's. */
size_t arcp__llm_hold_settle(arcp__llm_lines *lines, arcp__llm_hold *hold,
                             const arcp_decimal *costs, arcp_budget_report *reports,
                             size_t reports_max, uint64_t now_ms);

/* Ends a hold in any state without a cost. */
void arcp__llm_hold_cancel(arcp__llm_lines *lines, arcp__llm_hold *hold, uint64_t now_ms);

/* When tick is due; UINT64_MAX: not at all. */
uint64_t arcp__llm_lines_due_ms(const arcp__llm_lines *lines);
/* Refuses calls that have waited for too long, and asks the budgets again. */
void arcp__llm_lines_tick(arcp__llm_lines *lines, uint64_t now_ms);

/* Calls that wait; of a line that is not needed any more nothing is left. */
size_t arcp__llm_lines_waiting(const arcp__llm_lines *lines);
size_t arcp__llm_lines_count(const arcp__llm_lines *lines);

#endif
