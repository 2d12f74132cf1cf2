/* What every part of the engine needs and none of them owns: the time of the input at hand,
 * settings, ids, timers, SHA-256, and memory that is used again for each input.
 *
 * The context holds; the engine drives. Nothing here knows a link, a session or a job: what a
 * timer is for and what follows when memory runs out is decided above. */
#ifndef ARCP_CONTEXT_CONTEXT_H
#define ARCP_CONTEXT_CONTEXT_H

#include <arcp/buf.h>
#include <arcp/json.h>
#include <arcp/settings.h>
#include <arcp/time.h>

#include "base/timer_heap.h"
#include "base/ulid.h"
#include "core/envelope.h"

#define ARCP__ID_SIZE 32 /* prefix, ULID and NUL: "sess_" + 26 + 1 */

/* Enough for the texts that 64 jobs have on their way at once. */
#define ARCP__POOLED_BUFS_MAX 128u

typedef struct arcp__context {
    arcp_settings settings;
    arcp_time now;
    arcp__ulid_source ids;
    arcp__timer_heap timers;
    struct evp_md_st *sha256; /* and what it is computed in: OpenSSL's EVP_MD and EVP_MD_CTX */
    struct evp_md_ctx_st *digest;
    arcp_json json;                         /* index of the frame, line or row at hand */
    arcp_buf scratch;                       /* its unescaped strings; secret: tokens */
    arcp_buf pooled[ARCP__POOLED_BUFS_MAX]; /* empty, with memory */
    size_t pooled_count;
    bool failed;   /* an allocation failed: the engine takes no more inputs */
    bool stopping; /* the runtime shuts down: nothing new begins */
    bool closing;  /* the engine is being freed */
} arcp__context;

/* False when out of memory; to be finished also then. */
ARCP_MUST_CHECK bool arcp__context_init(arcp__context *context, const arcp_settings *settings,
                                        arcp_time now, arcp__random_fn random, void *random_user);
/* All of it may be zero. */
void arcp__context_fini(arcp__context *context);

/* An input begins. The monotonic clock never goes back. */
void arcp__context_set_time(arcp__context *context, arcp_time now);
/* now + so much, without overflow: ARCP_TIME_NEVER instead. */
int64_t arcp__context_after_sec(const arcp__context *context, uint64_t seconds);
int64_t arcp__context_after_ms(const arcp__context *context, uint64_t milliseconds);

/* At ARCP_TIME_NEVER the timer is disarmed. `kind` comes back when it is due. */
void arcp__context_arm(arcp__context *context, arcp__timer *timer, int kind, void *owner,
                       int64_t at_ns);
void arcp__context_disarm(arcp__context *context, arcp__timer *timer);

/* An allocation failed: the engine has failed for good (docs/decisions/0017). The caller returns
 * at once; what it leaves need not be consistent, for nothing uses it again, but every structure
 * must be safe to free. */
void arcp__context_no_memory(arcp__context *context);
/* The same when `text` ran out of memory while it was written. */
void arcp__context_check_text(arcp__context *context, const arcp_buf *text);

/* Writes prefix + ULID + NUL into out[ARCP__ID_SIZE]. */
void arcp__context_make_id(arcp__context *context, const char *prefix, char out[ARCP__ID_SIZE]);
void arcp__context_random(arcp__context *context, void *out, size_t size);
void arcp__context_sha256(arcp__context *context, arcp_span bytes, uint8_t out[32]);

/* What JSON of peers and agents may be like, and how long it may be. */
arcp_json_limits arcp__context_json_limits(const arcp__context *context, uint64_t bytes_max);
/* Puts the frame into the index and reads its envelope. ARCP_E_NO_MEMORY: there is not enough for
 * what its size takes, and the engine goes on. */
ARCP_MUST_CHECK arcp_status arcp__context_read_frame(arcp__context *context, arcp_span frame,
                                                     const arcp_json_limits *limits,
                                                     arcp__envelope *envelope, arcp_error *err);
/* Clears the scratch buffer for `text`, whose size a peer or an agent chose, and looks whether
 * there is memory for what is made of it. False: it is refused, and the engine goes on. */
ARCP_MUST_CHECK bool arcp__context_can_read(arcp__context *context, arcp_span text);
/* Clears the scratch buffer and makes room so that nothing read from `text` moves. False when there
 * is no memory for that; the engine goes on. */
ARCP_MUST_CHECK bool arcp__context_prepare_scratch(arcp__context *context, arcp_span text);

/* Writes a member whose value is a text, unless that is NULL or empty. */
void arcp__write_text(arcp_json_writer *writer, const char *name, const char *value);
/* Writes a member whose value is a time stamp. */
void arcp__write_timestamp(arcp_json_writer *writer, const char *name, int64_t wall_ns);
/* Writes JSON that was formatted apart; a failure there is one here, also when `text` is used
 * again. */
void arcp__write_formatted(arcp_json_writer *writer, const arcp_buf *text);

/* ---- buffers whose memory is used again ----
 *
 * A job is a dozen short texts on their way to a record, a row or a frame: each would be allocated,
 * grown and freed. */

/* An empty buffer for the work at hand, with memory of an earlier one where there is some. It may
 * be made secret: then its memory does not come back. */
arcp_buf arcp__context_take_buf(arcp__context *context);
/* As arcp_buf_fini; the memory may be used again. A text that ran out of memory is noticed here, so
 * that whoever writes one need not look. */
void arcp__context_give_buf(arcp__context *context, arcp_buf *buf);

/* ---- what fits into one frame ----
 *
 * limits.frame_bytes holds for what is sent, too. Peers and agents choose how large leases, events
 * and results are, so each of these is measured before anything is made of it, and what does not
 * fit is refused or ends its job. */

/* What a frame has besides its payload at most: an envelope, and the request's id three times, of
 * which each byte may need six. */
#define ARCP__FRAME_HEAD_MAX 6144u
/* What credentials add when they are put in: a value and its texts, escaped. */
#define ARCP__CREDENTIALS_MAX 81920u
/* Of texts that are only repeated to their sender. */
#define ARCP__REPEATED_MAX 4096u
/* The details of an error for what does not fit. */
#define ARCP__FRAME_LIMIT ARCP_SPAN_LITERAL("{\"limit\":\"limits.frame_bytes\"}")

/* The bytes that a payload, or a record, may have. */
size_t arcp__frame_room(const arcp__context *context);
/* Whether a job can be shown, whose job.accepted is the largest of what says all about it. */
bool arcp__frame_fits_job(const arcp__context *context, size_t accepted_size);
/* How much text fits although each byte of it may need six. */
size_t arcp__frame_room_of_text(const arcp__context *context);

/* ---- a stored row or stream that cannot be read; fill *err ---- */
arcp_status arcp__row_damaged(const char *what, arcp_span key, arcp_error *err);
arcp_status arcp__row_out_of_memory(arcp_error *err);
/* Less is stored than was shown: nobody may be told that this is all. */
arcp_status arcp__stream_short(const char *prefix, const char *id, const char *unit, uint64_t end,
                               uint64_t said, arcp_error *err);

#endif
