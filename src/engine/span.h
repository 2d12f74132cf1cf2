/* Traces and spans, for the rest of the engine. Private to src/engine. */
#ifndef ARCP_ENGINE_SPAN_H
#define ARCP_ENGINE_SPAN_H

#include "core/envelope.h"
#include "engine/state.h"

/* ---- trace_context.c ---- */
/* The trace that a submit names (§11), or a new one, and where a job of it stands. The
 * tracestate is borrowed from the engine's index. */
void arcp__trace_read(arcp__engine *engine, const arcp__envelope *envelope,
                      char trace_id[ARCP__TRACE_ID_SIZE], arcp__trace *out, arcp_span *tracestate);
/* The trace that a request names; trace_id[0] is '\0' when it names none. */
void arcp__trace_asked(arcp__engine *engine, const arcp__envelope *envelope,
                       char trace_id[ARCP__TRACE_ID_SIZE]);
void arcp__trace_of_child(arcp__engine *engine, const arcp__job *parent, arcp__trace *out);
/* The id of the job's own span. */
arcp_span arcp__trace_span_id(const arcp__trace *trace);
/* The member "trace" of a running job's row. */
void arcp__trace_write_row(const arcp__trace *trace, arcp_json_writer *writer);
void arcp__trace_restore(arcp__engine *engine, const arcp_json *row, arcp_json_ref stored,
                         arcp__job *job);

/* ---- span.c ---- */
void arcp__span_job_ended(arcp__engine *engine, const arcp__job *job);
/* It was not to become a job. */
void arcp__span_refused(arcp__engine *engine, const arcp__admission *admission, arcp_status code);

#endif
