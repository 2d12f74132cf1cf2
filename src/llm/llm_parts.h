/* Shared by the files of src/llm. */
#ifndef ARCP_LLM_LLM_PARTS_H
#define ARCP_LLM_LLM_PARTS_H

#include "base/arena.h"
#include "llm/llm.h"
#include "json/json.h"

/* Reads one row of a price file. Its texts, rates and factors are copied into the arena.
 * ARCP_E_NO_MEMORY; everything else that is wrong is the row's problem. */
ARCP_MUST_CHECK arcp_status arcp__llm_row_read(const arcp_json *json, arcp_json_ref name,
                                               arcp__arena *arena, arcp__llm_row *out,
                                               arcp_error *err);

#endif
