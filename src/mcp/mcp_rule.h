/* What the configuration of a server adds to the lease: prices of tools, and arguments that are
 * asked as paths or URLs. No I/O. */
#ifndef ARCP_MCP_MCP_RULE_H
#define ARCP_MCP_MCP_RULE_H

#include <arcp/gate.h>

#include "json/json.h"

/* ---- mcp_price.c ---- */

typedef struct arcp__mcp_price {
    const char *tools;  /* glob of the tools' own names */
    arcp_span currency; /* both are borrowed */
    arcp_decimal amount;
} arcp__mcp_price;

/* The first whose glob matches; NULL: the tool costs nothing. */
const arcp__mcp_price *arcp__mcp_price_find(const arcp__mcp_price *prices, size_t count,
                                            arcp_span tool);

typedef enum arcp__mcp_hold {
    ARCP__MCP_HOLD_NO_CURRENCY = 0, /* the lease has a budget, but not in the price's currency */
    ARCP__MCP_HOLD_EXHAUSTED,       /* less than the price remains */
    ARCP__MCP_HOLD_NOTHING,         /* there is no price, or the lease has no budget */
    ARCP__MCP_HOLD_RESERVED         /* to be settled */
} arcp__mcp_hold;

/* Reserves the price of a call, or NULL, before it is sent. Any thread. For EXHAUSTED `decision` is
 * the denial of `target`, which borrows it and the price's currency. */
ARCP_MUST_CHECK arcp__mcp_hold arcp__mcp_price_hold(const arcp__mcp_price *price,
                                                    const arcp_authority *authority,
                                                    arcp_span target, arcp_decision *decision);

/* Ends a reservation: the price is spent if the call was sent, whatever came of it. Returns the
 * number of reports (<arcp/budget.h>). */
size_t arcp__mcp_price_settle(const arcp__mcp_price *price, const arcp_authority *authority,
                              bool was_sent, arcp_budget_report *reports, size_t reports_max);

/* ---- mcp_target.c ---- */

/* "targets": {"read_file": {"fs.read": "/path"}}. */
typedef struct arcp__mcp_target_rule {
    const char *tools;    /* glob of the tools' own names */
    arcp_span capability; /* fs.read, fs.write or net.fetch */
    arcp_span pointer;    /* RFC 6901, into the arguments */
} arcp__mcp_target_rule;

/* Strings of one call that are asked. */
#define ARCP__MCP_ASKED_MAX 1024

/* Whether the text is a JSON pointer: empty, or segments that begin with a slash, in which `~` is
 * followed by 0 or 1. */
bool arcp__mcp_pointer_is_valid(arcp_span pointer);

typedef struct arcp__mcp_question {
    const arcp__mcp_target_rule *rules;
    size_t rule_count;
    arcp_span tool; /* its own name */
    const arcp_json *json;
    arcp_json_ref arguments;
    const arcp_authority *authority;
    arcp_time now;

    /* Set. A denial borrows from the members below. */
    bool is_allowed;
    /* NULL: `decision` says why it is denied, if it is. Static. */
    const char *fault;
    arcp_span capability; /* of the rule that denied */
    arcp_decision decision;
    arcp_target_scratch scratch;
    arcp_buf text; /* the string that was asked last */
} arcp__mcp_question;

/* Asks what the rules of a tool name in its arguments: a string, or every string of an array;
 * anything else, also nothing, is denied. If it is allowed, the arguments are appended to
 * `out` without white space and with each string that was asked in its canonical form, so that the
 * server gets what was matched; nothing if there are none. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__mcp_question_ask(arcp__mcp_question *question, arcp_buf *out);
void arcp__mcp_question_fini(arcp__mcp_question *question);

#endif
