/* Answers of language models: the tokens that they report, and what they cost.
 *
 * An answer is read while it is passed on; reading it never delays or changes it. No I/O; a tap
 * belongs to one thread at a time. docs/models.md. */
#ifndef ARCP_LLM_LLM_ANSWER_H
#define ARCP_LLM_LLM_ANSWER_H

#include <arcp/buf.h>

#include "llm/llm.h"
#include "llm/llm_call.h"
#include "json/json.h"

/* A count that was reported, or not. */
typedef struct arcp__llm_count {
    uint64_t tokens;
    bool is_known;
} arcp__llm_count;

#define ARCP__LLM_WORD_SIZE 32
#define ARCP__LLM_ID_SIZE   256

/* What an answer reports. The input has three parts: what was neither read from a cache nor written
 * to one, and these two. */
typedef struct arcp__llm_usage {
    arcp__llm_count input;
    arcp__llm_count cache_read;
    arcp__llm_count cache_write;    /* for 5 minutes */
    arcp__llm_count cache_write_1h; /* for longer */
    arcp__llm_count output;         /* reasoning included */
    arcp__llm_count reasoning;
    /* Of samplings that the sums do not have: compactions and the like. */
    uint64_t more_input, more_output;
    /* Empty where the answer does not say; a longer word is cut. */
    char tier[ARCP__LLM_WORD_SIZE];
    char speed[ARCP__LLM_WORD_SIZE];
    char place[ARCP__LLM_WORD_SIZE];
} arcp__llm_usage;

#define ARCP__LLM_EVENT_BYTES_MAX ((size_t)8 << 20)
#define ARCP__LLM_WHOLE_BYTES_MAX ((size_t)64 << 20)

/* Reads an answer as it arrives. */
typedef struct arcp__llm_tap {
    arcp__llm_route route;
    bool is_stream;
    bool is_complete; /* the answer's final usage has been read */
    bool has_unread;  /* a part was too long, or no JSON, and was not read */
    uint64_t shown;   /* tokens that the text of a stream can be at most */
    arcp__llm_usage usage;
    char answer_id[ARCP__LLM_ID_SIZE]; /* of a response that can be continued; a longer id is cut */
    arcp_buf line;                     /* the current line of a stream, or the whole answer */
    arcp_buf data;                     /* of the current event */
    bool skips;                        /* the rest of the line, or the event, is too long */
    bool after_cr;                     /* the last byte was a carriage return */
    uint64_t other_tokens_per_byte;
    arcp_json json;
    arcp_buf scratch;
} arcp__llm_tap;

/* `is_stream`: the answer is text/event-stream. The caller calls arcp__llm_tap_fini. */
void arcp__llm_tap_init(arcp__llm_tap *tap, arcp__llm_route route, bool is_stream);
void arcp__llm_tap_fini(arcp__llm_tap *tap);
/* Reads bytes of the answer's body. A part for which there is no memory counts as not read. */
void arcp__llm_tap_feed(arcp__llm_tap *tap, arcp_span bytes);
/* The answer ended. */
void arcp__llm_tap_end(arcp__llm_tap *tap);

/* What a call cost. */
typedef struct arcp__llm_cost {
    uint64_t input_tokens; /* all */
    uint64_t cached_tokens;
    uint64_t output_tokens;
    arcp_decimal total;
    bool is_reported; /* false: a part that was not reported was set to what was held, or shown */
} arcp__llm_cost;

/* What is settled for an answer that ended, or broke off: what it reported; for the input that it
 * did not report, what was held; for the output that it did not report, its text, or what was held
 * where a model reasons without showing it. A price that is out of range is what was held. */
void arcp__llm_settle(const arcp__llm_row *row, const arcp__llm_size *size,
                      const arcp__llm_terms *terms, const arcp__llm_bound *held,
                      const arcp__llm_tap *tap, arcp__llm_cost *out);

#endif
