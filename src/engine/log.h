/* What is on its way out: effects, batches for the store and the streams in them, audit lines. Part
 * of parts.h. */
#ifndef ARCP_ENGINE_LOG_H
#define ARCP_ENGINE_LOG_H

#include "core/audit_event.h"
#include "engine/state.h"

/* ---- effect.c ---- */
/* Queues an effect; `text` (may be NULL) is moved from. With `durable` it waits for the
 * batch that is being filled. False when out of memory. */
bool arcp__effect_push(arcp__engine *engine, const arcp__effect *effect, arcp_buf *text,
                       bool durable);
void arcp__effect_log(arcp__engine *engine, arcp__log_level level, const char *format, ...)
    ARCP_PRINTF(3, 4);
/* A line with fields, a JSON object that is moved from. */
void arcp__effect_log_fields(arcp__engine *engine, arcp__log_level level, const char *message,
                             arcp_buf *fields);
/* Moves what waited for batches up to the committed one. */
void arcp__effect_release(arcp__engine *engine);
/* Of what waits for the store, what stops agents that run. */
void arcp__effect_release_stops(arcp__engine *engine);
void arcp__effect_queues_free(arcp__engine *engine);
/* The next one that waits for nothing; false: none. It lives until it is taken back. */
bool arcp__effect_next(arcp__engine *engine, arcp__effect *out);
void arcp__effect_take_back(arcp__engine *engine);
/* Drops queued START_AGENT and the like of a job that is over. */
void arcp__effect_drop_job(arcp__engine *engine, arcp__job *job);

/* ---- audit.c ---- */
/* Whom a line is about. What is NULL is left out. */
typedef struct arcp__audit_who {
    const char *principal, *session_id, *job_id, *parent_job_id, *agent, *trace_id;
} arcp__audit_who;

/* One line of the audit log. What is NULL, empty or zero is left out. */
typedef struct arcp__audit_line {
    arcp__audit_event event;
    const char *decision; /* allowed, denied, or a word of the event's own */
    arcp__audit_who who;
    const char *peer; /* of a refused stranger: its address */
    uint64_t count;   /* of refusals that this line stands for; 0: it stands for itself */
    arcp_status code; /* of a refusal */
    const char *rule; /* what decided */
    const char *reason;
    arcp_span capability, target, pattern;
    const arcp_lease *lease, *parent_lease; /* their hashes are written */
    struct {
        const char *name;
        arcp_span value;
    } more[6];
    arcp_span dropped; /* JSON */
} arcp__audit_line;
void arcp__audit(arcp__engine *engine, const arcp__audit_line *line);
/* INTERNAL_ERROR (retryable) while decisions cannot be recorded and must be. */
arcp_status arcp__audit_check(const arcp__engine *engine, arcp_error *err);

/* ---- batch.c ---- */
void arcp__batch_append(arcp__engine *engine, const arcp__stream *stream, uint64_t position,
                        arcp_span record);
/* Room for so many operations; false when out of memory, as for all of these. */
bool arcp__batch_reserve(arcp__engine *engine, size_t count);
bool arcp__batch_append_key(arcp__engine *engine, arcp_span stream_key, uint64_t position,
                            arcp_span record);
/* False where nothing outlives the process: rows and indexes, which only a restart reads,
 * are not written then, and put and delete have nothing to do. */
bool arcp__batch_keeps_rows(const arcp__engine *engine);
bool arcp__batch_put(arcp__engine *engine, arcp_store_table table, arcp_span key, arcp_span value);
bool arcp__batch_delete(arcp__engine *engine, arcp_store_table table, arcp_span key);
void arcp__batch_trim(arcp__engine *engine, arcp_span stream_key, uint64_t position);
void arcp__batch_drop(arcp__engine *engine, arcp_span stream_key);
/* The session has new numbers: they become visible when the open batch is durable. */
bool arcp__batch_mark_session(arcp__engine *engine, arcp__session *session);
/* The id of the batch being filled; effects that wait for it carry it. */
uint64_t arcp__batch_open_id(arcp__engine *engine);
bool arcp__batch_has_work(const arcp__engine *engine);
/* What became of a taken batch. */
typedef enum arcp__commit {
    ARCP__COMMIT_DONE,
    ARCP__COMMIT_BEGAN_TO_FAIL, /* the store could write until now */
    ARCP__COMMIT_PENDING        /* it goes again, or those before it are not durable yet */
} arcp__commit;
arcp__commit arcp__batch_committed(arcp__engine *engine, uint64_t batch_id, arcp_status status);
void arcp__batch_free_all(arcp__engine *engine);

/* ---- stream.c ---- */
/* Makes the stream that the store has under prefix + id, with one reference; NULL when out of
 * memory. There is one of a name: whoever it belongs to holds it. */
arcp__stream *arcp__stream_new(arcp__engine *engine, const char *prefix, arcp_span id);
/* Drops a reference; the last one forgets the stream, in the store too. */
void arcp__stream_unref(arcp__engine *engine, arcp__stream *stream);
/* Appends one record made of pieces, also to the open batch; its position in *position.
 * False when out of memory: nothing happened. */
bool arcp__stream_append(arcp__engine *engine, arcp__stream *stream, const arcp_span *pieces,
                         size_t count, uint64_t *position, size_t *bytes);
/* So many bytes more of records are in the store: a job's are its principal's. */
void arcp__stream_count(arcp__stream *stream, uint64_t bytes);
/* Frees streams whose last batch is durable now. */
void arcp__stream_reap(arcp__engine *engine);
/* The record at `position` when it is in memory. */
bool arcp__stream_peek(arcp__stream *stream, uint64_t position, arcp_span *record);
/* After a commit: keeps what all streams have in memory within its bound. */
void arcp__stream_trim_tails(arcp__engine *engine);
/* Forgets records in memory that nobody needs right now. */
void arcp__stream_trim_tail(arcp__engine *engine, arcp__stream *stream, size_t keep_bytes);

#endif
