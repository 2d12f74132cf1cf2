/* Calls to language models: what a body asks for, and the body that is sent on.
 *
 * A body is read once, before anything is sent. What is not known is refused. No I/O; a call
 * belongs to one thread at a time. docs/models.md. */
#ifndef ARCP_LLM_LLM_CALL_H
#define ARCP_LLM_LLM_CALL_H

#include <arcp/buf.h>

#include "llm/llm.h"
#include "json/json.h"

typedef enum arcp__llm_dialect {
    ARCP__LLM_DIALECT_OPENAI,
    ARCP__LLM_DIALECT_ANTHROPIC
} arcp__llm_dialect;

typedef enum arcp__llm_route {
#define ARCP_LLM_ROUTE(id, name, path, dialect) ARCP__LLM_ROUTE_##id,
#include "llm/llm_route.def"
#undef ARCP_LLM_ROUTE
    ARCP__LLM_ROUTES
} arcp__llm_route;

const char *arcp__llm_route_name(arcp__llm_route route); /* "chat"; static */
const char *arcp__llm_route_path(arcp__llm_route route); /* static */
arcp__llm_dialect arcp__llm_route_dialect(arcp__llm_route route);
/* ARCP__LLM_ROUTES when no route has this name. */
arcp__llm_route arcp__llm_route_of(arcp_span name);

#define ARCP__LLM_BODY_BYTES_MAX ((size_t)32 << 20)
#define ARCP__LLM_BODY_DEPTH_MAX 256
#define ARCP__LLM_URLS_MAX       256

/* What an operator allows of the calls to a provider. */
typedef struct arcp__llm_policy {
    arcp__llm_route route;
    bool allows_any; /* members that are not known are sent on, too: nothing is charged */
    const char *const *allowed; /* more members that are sent on, of any value; borrowed */
    size_t allowed_count;
    bool removes_tools; /* tools that run at the provider are removed instead of refused */
    /* The provider is asked for the tier `default` where a call leaves the choice to it. */
    bool sets_tier;
    uint64_t other_tokens_per_byte; /* of bytes that are not ASCII */
} arcp__llm_policy;

/* 5 tokens for a byte that is not ASCII at Anthropic, whose tokenizer has normalised text; else 1.
 */
arcp__llm_policy arcp__llm_policy_init(arcp__llm_route route);

/* A part of the body that is replaced; bytes from `at` on. */
typedef struct arcp__llm_cut {
    size_t at, size;
} arcp__llm_cut;

/* What a body asks for. Texts are borrowed from the body or the call. */
typedef struct arcp__llm_call {
    arcp__llm_route route;
    arcp_span model;
    arcp__llm_size size;
    bool streams;
    bool wants_usage; /* a streamed chat whose usage the agent asked for */
    bool has_tools;
    uint64_t thinking;     /* thinking.budget_tokens; 0: none */
    arcp_span previous;    /* previous_response_id; empty: none */
    const arcp_span *urls; /* pictures and documents that the provider would fetch */
    size_t url_count;
    const arcp__llm_cut *removed; /* tools that are not sent on, in the order of the body */
    size_t removed_count;
    struct arcp__llm_call_parts *parts; /* owned */
} arcp__llm_call;

/* Reads a body, which must live and stay unchanged as long as the call is used. The caller calls
 * arcp__llm_call_fini in any case. ARCP_E_INVALID_REQUEST for what is refused; err->code is then
 * `unsupported_parameter`, `unsupported_content`, `server_tool` or `invalid_request`.
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__llm_call_read(arcp_span body, const arcp__llm_policy *policy,
                                                arcp__llm_call *out, arcp_error *err);
void arcp__llm_call_fini(arcp__llm_call *call);

/* How the body that is sent on differs from that of the agent. */
typedef struct arcp__llm_change {
    arcp_span model; /* the name for the provider; empty: as it is */
    bool sets_limit;
    uint64_t limit;
    const char *limit_field; /* of a chat that names no limit; NULL: max_completion_tokens */
    bool asks_usage;         /* of a streamed chat */
    bool sets_tier;          /* service_tier is `default` */
    bool forbids_store;      /* store is false */
    bool asks_reasoning;     /* responses: include has reasoning.encrypted_content */
} arcp__llm_change;

/* Appends the body with the changes; the bytes between them are those of the agent. Tools that are
 * to be removed are left out. */
void arcp__llm_call_write(const arcp__llm_call *call, const arcp__llm_change *change,
                          arcp_buf *out);

/* The tokens that the bytes of a JSON text can be at most: ASCII one each, other bytes
 * `other_tokens_per_byte` each; an escape \uXXXX counts as six bytes of ASCII or
 * three other bytes, whichever is more. */
uint64_t arcp__llm_text_tokens(arcp_span text, uint64_t other_tokens_per_byte);

#endif
