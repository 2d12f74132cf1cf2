/* What bounds what is kept: how much a job may say, and idempotency keys. Part of parts.h. */
#ifndef ARCP_ENGINE_KEPT_H
#define ARCP_ENGINE_KEPT_H

#include "engine/state.h"

/* ---- job_bytes.c ---- */
/* Whether the job may say a record of these pieces. If not, it ends before the input does. */
bool arcp__job_has_room(arcp__engine *engine, arcp__job *job, const arcp_span *pieces,
                        size_t count);
/* The end of a job that said too much. */
void arcp__job_end_over(arcp__engine *engine, arcp__job *job);
/* Of all that did by the input at hand. */
void arcp__jobs_end_over(arcp__engine *engine);

/* ---- idempotency.c ---- */
arcp__idempotency *arcp__idempotency_find(arcp__engine *engine, const arcp__principal *principal,
                                          arcp_span key);
/* The payload of the first answer. */
arcp_span arcp__idempotency_accepted(const arcp__idempotency *entry);
/* The key that made the job; false when out of memory. */
bool arcp__idempotency_add(arcp__engine *engine, arcp__job *job, arcp_span key,
                           const uint8_t fingerprint[32]);
/* As if the job had not been made; nothing for one without a key. */
void arcp__idempotency_take_back(arcp__engine *engine, arcp__job *job);
/* Before the job's row goes: its key gets a row of its own, unless it has none or that has
 * expired. False when out of memory. */
bool arcp__idempotency_outlive(arcp__engine *engine, const arcp__job *job);
/* Then: the key stays, with the payload that the job was answered with. Of more keys of forgotten
 * jobs than jobs.idempotency_max the oldest go. */
void arcp__idempotency_job_forgotten(arcp__engine *engine, arcp__job *job);
/* Writes the member "idempotency" of the job's row; nothing for one without a key. */
void arcp__idempotency_write_row(const arcp__job *job, arcp_json_writer *writer);
/* Keys of forgotten jobs that have expired, or are too many, go: some at a time. Whether there are
 * more. */
bool arcp__idempotency_sweep(arcp__engine *engine);
/* The member of the job's row, and a row of IDEMPOTENCY. */
arcp_status arcp__idempotency_restore_of_job(arcp__engine *engine, const arcp_json *row,
                                             arcp__job *job, arcp_error *err);
arcp_status arcp__idempotency_restore(arcp__engine *engine, const arcp_json *row, arcp_span key,
                                      arcp_error *err);
/* All rows are there. */
void arcp__idempotency_restored(arcp__engine *engine);
/* Of forgotten jobs; the others go with their jobs. */
void arcp__idempotency_free_all(arcp__engine *engine);

#endif
