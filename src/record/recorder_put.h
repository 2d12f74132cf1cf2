/* Writes fields of records. Private to src/record. */
#ifndef ARCP_RECORD_RECORDER_PUT_H
#define ARCP_RECORD_RECORDER_PUT_H

#include "engine/engine.h"

void arcp__recorder_put_number(arcp_buf *out, uint64_t value);
/* A text without data is written as none. */
void arcp__recorder_put_text(arcp_buf *out, arcp_span text);

/* What the calls ADD_POLICY, SET_SCHEDULES, SET_HOOKS and WORKER_JOINS have more. */
void arcp__recorder_put_policy(arcp_buf *out, const arcp__call *call);
void arcp__recorder_put_schedules(arcp_buf *out, const arcp__call *call);
void arcp__recorder_put_hooks(arcp_buf *out, const arcp__call *call);
void arcp__recorder_put_worker_intro(arcp_buf *out, const arcp__call *call);

#endif
