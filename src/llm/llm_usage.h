/* Reads the usage that answers report; shared by the files that read answers. */
#ifndef ARCP_LLM_LLM_USAGE_H
#define ARCP_LLM_LLM_USAGE_H

#include "llm/llm_answer.h"

/* Reads a whole answer, or one event of a stream, which tap->json has. */
void arcp__llm_usage_read(arcp__llm_tap *tap);

#endif
