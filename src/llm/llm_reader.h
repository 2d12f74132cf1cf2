/* The reader of a call's body, shared by llm_call.c, llm_content.c and llm_tools.c. */
#ifndef ARCP_LLM_LLM_READER_H
#define ARCP_LLM_LLM_READER_H

#include "llm/llm_call.h"

/* What a call owns. */
struct arcp__llm_call_parts {
    arcp_json json;
    arcp_buf scratch; /* strings that had escapes */
    arcp_span *urls;
    size_t url_capacity;
    arcp__llm_cut *removed;
    size_t removed_capacity;
};

typedef struct arcp__llm_reader {
    const arcp_json *json;
    const arcp__llm_policy *policy;
    arcp__llm_call *call;
    struct arcp__llm_call_parts *parts;
    uint64_t pictures; /* tokens of the bytes of pictures, which are counted by number */
    arcp_status status;
    arcp_error *err;
} arcp__llm_reader;

/* Sets the error, with this code; returns false. */
bool arcp__llm_refuse(arcp__llm_reader *reader, const char *code, const char *format, ...)
    ARCP_PRINTF(3, 4);
bool arcp__llm_no_memory(arcp__llm_reader *reader);

/* The string member `name` of an object; empty when there is none, or it is no string. */
arcp_span arcp__llm_string(arcp__llm_reader *reader, arcp_json_ref object, const char *name);
arcp_json_ref arcp__llm_member(const arcp__llm_reader *reader, arcp_json_ref object,
                               const char *name);

/* A row of a table of types: what an object of this type is. */
typedef struct arcp__llm_type {
    int scope;        /* a route, or a dialect */
    const char *type; /* a name; with `*` at its end all names with this beginning */
    int kind;
} arcp__llm_type;

/* The kind of a type; `otherwise` for a type without a row. */
int arcp__llm_kind_of(const arcp__llm_type *rows, size_t count, int scope, arcp_span type,
                      int otherwise);

/* Text for a message: at most 60 bytes of a string. */
#define ARCP__LLM_SHOWN(span) (int)((span).size < 60 ? (span).size : 60), (span).data

/* All return false after a refusal. */

/* Messages, or the parts of one: a string, or a list. */
bool arcp__llm_read_content(arcp__llm_reader *reader, arcp_json_ref content);
/* The inputs of embeddings: a string, strings, tokens, or lists of tokens. */
bool arcp__llm_read_embedded(arcp__llm_reader *reader, arcp_json_ref input);
/* A list of tools. Tools that run at the provider are refused or noted for removal. */
bool arcp__llm_read_tools(arcp__llm_reader *reader, arcp_json_ref tools);

#endif
