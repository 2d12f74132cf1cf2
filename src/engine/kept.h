/* What bounds what is kept: how much a job may say, ended jobs, idempotency keys. Part of
 * parts.h. */
#ifndef ARCP_ENGINE_KEPT_H
#define ARCP_ENGINE_KEPT_H

#include "engine/state.h"

/* ---- job_bytes.c ---- */
/* So many bytes more of its records are in the store. */
void arcp__job_count_bytes(arcp__job *job, uint64_t bytes);
/* Whether the job may say a record of these pieces. If not, it ends before the input does. */
bool arcp__job_has_room(arcp__engine *engine, arcp__job *job, const arcp_span *pieces,
                        size_t count);
/* It said more than the setting allows: it ends with the input at hand. Once. */
void arcp__job_note_over(arcp__engine *engine, arcp__job *job, const char *limit);
/* Whether a job of the principal's may say anything. */
bool arcp__principal_has_room(const arcp__engine *engine, const arcp__principal *principal);
/* The end of a job that said too much. */
void arcp__job_end_over(arcp__engine *engine, arcp__job *job);
/* Of all that did by the input at hand. */
void arcp__jobs_end_over(arcp__engine *engine);

/* ---- kept.c ---- */
/* An ended job can be listed and subscribed until then. */
void arcp__job_keep(arcp__engine *engine, arcp__job *job, int64_t until_ns);
/* It is not counted any more. */
void arcp__job_keep_no_longer(arcp__engine *engine, arcp__job *job);
void arcp__job_keep_due(arcp__engine *engine, arcp__job *job);
/* Bytes of the records of the principal's jobs that are kept. */
uint64_t arcp__kept_record_bytes(const arcp__engine *engine, const arcp__principal *principal);
/* Of more than are kept at most, some at a time, when no input uses them. */
void arcp__jobs_forget_oldest(arcp__engine *engine);
/* All rows are there. */
void arcp__jobs_kept_restored(arcp__engine *engine);

/* ---- idempotency.c ---- */
arcp__idempotency *arcp__idempotency_find(arcp__engine *engine, const arcp__principal *principal,
                                          arcp_span key);
/* The payload of the first answer. */
arcp_span arcp__idempotency_accepted(const arcp__idempotency *entry);
/* Whether the principal may have one key more whose answer has so many bytes. If not:
 * INTERNAL_ERROR (retryable), with details. */
ARCP_MUST_CHECK arcp_status arcp__idempotency_check(arcp__engine *engine,
                                                    const arcp__principal *principal,
                                                    uint64_t bytes, arcp_buf *details,
                                                    arcp_error *err);
/* The key that made the job, which has been accepted. */
void arcp__idempotency_add(arcp__engine *engine, arcp__job *job, arcp_span key,
                           const uint8_t fingerprint[32]);
/* As if the job had not been made; nothing for one without a key. */
void arcp__idempotency_take_back(arcp__engine *engine, arcp__job *job);
/* Before the job's row goes and the job is forgotten: its key, if it has one, gets a row of its
 * own, unless that has expired, and the payload that the job was answered with. */
void arcp__idempotency_outlive(arcp__engine *engine, arcp__job *job);
/* Writes the member "idempotency" of the job's row; nothing for one without a key. */
void arcp__idempotency_write_row(const arcp__job *job, arcp_json_writer *writer);
/* Keys that have expired go, some at a time. Whether there are more. */
bool arcp__idempotency_sweep(arcp__engine *engine);
/* The member of the job's row, and a row of IDEMPOTENCY. */
arcp_status arcp__idempotency_restore_of_job(arcp__engine *engine, const arcp_json *json,
                                             arcp_json_ref object, arcp__job *job, arcp_error *err);
arcp_status arcp__idempotency_restore(arcp__engine *engine, const arcp_json *json, arcp_span key,
                                      arcp_error *err);
/* All rows are there. */
void arcp__idempotency_restored(arcp__engine *engine);
/* Of forgotten jobs; the others go with their jobs. */
void arcp__idempotency_free_all(arcp__engine *engine);

#endif
