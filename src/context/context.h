/* What every part of the engine uses and none of them owns: the time of the current input,
 * settings, ids, timers, SHA-256, and memory that is reused from input to input.
 *
 * The context only holds these; src/engine decides what a timer does and what happens when memory
 * runs out. Nothing here knows a link, a session or a job. */
#ifndef ARCP_CONTEXT_CONTEXT_H
#define ARCP_CONTEXT_CONTEXT_H

#include <arcp/buf.h>
#include <arcp/time.h>

#include "base/timer_heap.h"
#include "base/timestamp.h"
#include "base/ulid.h"
#include "context/settings.h"
#include "core/envelope.h"
#include "json/json.h"

#define ARCP__ID_SIZE 32 /* prefix, ULID and NUL: "sess_" + 26 + 1 */

/* Enough for the texts of 64 jobs that are submitted at once. */
#define ARCP__POOLED_BUFS_MAX 128u

typedef struct arcp__context {
    arcp_settings settings;
    arcp_time now;
    int64_t formatted_ms; /* the time of formatted_now */
    char formatted_now[ARCP__TIMESTAMP_SIZE];
    arcp__ulid_source ids;
    arcp__timer_heap timers;
    struct evp_md_st *sha256; /* OpenSSL's EVP_MD, and the EVP_MD_CTX that it is computed in */
    struct evp_md_ctx_st *digest;
    arcp_json json;   /* index of the current frame, line or row */
    arcp_buf scratch; /* its unescaped strings; secret, as they may hold tokens */
    arcp_buf pooled[ARCP__POOLED_BUFS_MAX]; /* empty, but with memory */
    size_t pooled_count;
    bool failed;   /* an allocation failed, or fenced: the engine takes no more inputs */
    bool fenced;   /* another process owns the store */
    bool stopping; /* the runtime is shutting down: nothing new begins */
    bool closing;  /* the engine is being freed */
} arcp__context;

/* False when out of memory; arcp__context_fini must be called in that case, too. */
ARCP_MUST_CHECK bool arcp__context_init(arcp__context *context, const arcp_settings *settings,
                                        arcp_time now, arcp__random_fn random, void *random_user);
/* A context that is all zero is accepted. */
void arcp__context_fini(arcp__context *context);

/* Sets the time of a new input. The monotonic clock never goes back. */
void arcp__context_set_time(arcp__context *context, arcp_time now);
/* Writes the wall clock's time. Many events have the same millisecond: its text is kept. */
void arcp__context_format_now(arcp__context *context, char out[ARCP__TIMESTAMP_SIZE]);
/* The monotonic time after so many seconds or milliseconds; ARCP_TIME_NEVER on overflow. */
int64_t arcp__context_after_sec(const arcp__context *context, uint64_t seconds);
int64_t arcp__context_after_ms(const arcp__context *context, uint64_t milliseconds);

/* Arms the timer; with ARCP_TIME_NEVER disarms it. `kind` and `owner` can be read from the timer
 * when it is due. */
void arcp__context_arm(arcp__context *context, arcp__timer *timer, int kind, void *owner,
                       int64_t at_ns);
void arcp__context_disarm(arcp__context *context, arcp__timer *timer);

/* Reports a failed allocation: the engine has failed for good (docs/decisions/0017). The caller
 * returns at once. It may leave inconsistent state, because nothing uses it again, but every
 * structure must be safe to free. */
void arcp__context_no_memory(arcp__context *context);
/* Reports a failed allocation if writing `text` ran out of memory. */
void arcp__context_check_text(arcp__context *context, const arcp_buf *text);

/* Writes prefix + ULID + NUL into out[ARCP__ID_SIZE]. */
void arcp__context_make_id(arcp__context *context, const char *prefix, char out[ARCP__ID_SIZE]);
void arcp__context_random(arcp__context *context, void *out, size_t size);
void arcp__context_sha256(arcp__context *context, arcp_span bytes, uint8_t out[32]);

/* The limits for JSON from peers and agents of at most `bytes_max` bytes. */
arcp_json_limits arcp__context_json_limits(const arcp__context *context, uint64_t bytes_max);
/* Scans the frame into the index and reads its envelope. ARCP_E_NO_MEMORY: there is not enough
 * memory for a frame of this size; the engine continues. */
ARCP_MUST_CHECK arcp_status arcp__context_read_frame(arcp__context *context, arcp_span frame,
                                                     const arcp_json_limits *limits,
                                                     arcp__envelope *envelope, arcp_error *err);
/* Clears the scratch buffer for `text`, whose size a peer or an agent chose, and checks that there
 * is memory for processing it. False: the text must be refused; the engine continues. */
ARCP_MUST_CHECK bool arcp__context_can_read(arcp__context *context, arcp_span text);
/* Clears the scratch buffer and reserves enough that strings read from `text` do not move. False
 * when out of memory; the engine continues. */
ARCP_MUST_CHECK bool arcp__context_prepare_scratch(arcp__context *context, arcp_span text);

/* Writes a timestamp member. */
void arcp__write_timestamp(arcp_json_writer *writer, const char *name, int64_t wall_ns);
/* Writes JSON that was formatted into `text`; if that ran out of memory, the writer's buffer is
 * marked failed, too. */
void arcp__write_formatted(arcp_json_writer *writer, const arcp_buf *text);

/* ---- pooled buffers ----
 *
 * A job makes a dozen short texts for records, rows and frames; the pool saves allocating, growing
 * and freeing each. */

/* An empty buffer, with memory from the pool where there is some. It may be made secret: then its
 * memory does not return to the pool. */
arcp_buf arcp__context_take_buf(arcp__context *context);
/* Like arcp_buf_fini, but the memory may return to the pool. A text that ran out of memory is
 * reported here, so that its writer need not check. */
void arcp__context_give_buf(arcp__context *context, arcp_buf *buf);

/* ---- frame sizes ----
 *
 * limits.frame_bytes also bounds the frames that are sent. Peers and agents choose how large
 * leases, events and results are, so each of these is measured before it is used; one that does not
 * fit is refused or ends its job. */

/* The most that a frame has besides its payload: an envelope, and the request's id three times,
 * each byte of which may take six when escaped. */
#define ARCP__FRAME_HEAD_MAX 6144u
/* The most that credentials add to a frame: a value and its texts, escaped. */
#define ARCP__CREDENTIALS_MAX 81920u
/* The most bytes of texts that are only repeated to their sender. */
#define ARCP__REPEATED_MAX 4096u
/* The details of the error for what does not fit. */
#define ARCP__FRAME_LIMIT ARCP_SPAN_LITERAL("{\"limit\":\"limits.frame_bytes\"}")

/* The most bytes that a payload or a record may have. */
size_t arcp__frame_payload_max(const arcp__context *context);
/* Whether a job with a job.accepted of this size can be shown: its other descriptions are
 * smaller. */
bool arcp__frame_fits_job(const arcp__context *context, size_t accepted_size);
/* How much text fits even if each byte of it takes six when escaped. */
size_t arcp__frame_text_max(const arcp__context *context);

/* ---- errors of stored rows and streams; each fills *err and returns its status ---- */
arcp_status arcp__row_damaged(const char *what, arcp_span key, arcp_error *err);
arcp_status arcp__row_out_of_memory(arcp_error *err);
/* The stream ends before `expected`: less is stored than was shown to a client. */
arcp_status arcp__stream_truncated(const char *prefix, const char *id, const char *unit,
                                   uint64_t end, uint64_t expected, arcp_error *err);

#endif
