/* Reads the usage that answers report; shared by the files that read answers. */
#ifndef ARCP_LLM_LLM_USAGE_H
#define ARCP_LLM_LLM_USAGE_H

#include "llm/llm_answer.h"

/* A sum of tokens that stays at the largest number. */
static inline uint64_t arcp__llm_sum(uint64_t a, uint64_t b)
{
    uint64_t out = 0;
    return __builtin_add_overflow(a, b, &out) ? UINT64_MAX : out;
}

/* Reads a whole answer, or one event of a stream, which tap->json has. */
void arcp__llm_usage_read(arcp__llm_tap *tap);

#endif
