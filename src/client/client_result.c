#include "client/client_job.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "core/decode.h"

#define MEMORY_BYTES_DEFAULT UINT64_C(67108864)

void arcp__client_result_stream_fini(arcp__client_result_stream *stream)
{
    arcp__free(stream->result_id);
    arcp_buf_fini(&stream->memory);
    arcp_buf_fini(&stream->decoded);
    *stream = (arcp__client_result_stream){.sink = stream->sink};
}

/* Writes everything; waits if the descriptor is non-blocking. */
static arcp_status write_all(int fd, arcp_span bytes, arcp_error *err)
{
    while (bytes.size != 0) {
        const ssize_t written = write(fd, bytes.data, bytes.size);
        if (written >= 0) {
            bytes = arcp_span_from(bytes, (size_t)written);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};
            (void)poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return arcp_error_set(err, ARCP_E_IO, "writing the result failed: %s", strerror(errno));
        }
    }
    return ARCP_OK;
}

static arcp_status put(arcp__client_result_stream *stream, arcp_span bytes, arcp_error *err)
{
    uint64_t limit = stream->sink.bytes_max;
    if (limit == 0) {
        limit = stream->sink.mode == ARCP_RESULT_MEMORY ? MEMORY_BYTES_DEFAULT : UINT64_MAX;
    }
    if (bytes.size > limit - stream->bytes) {
        return arcp_error_set(err, ARCP_E_LIMIT,
                              "the streamed result is larger than the limit of %llu bytes",
                              (unsigned long long)limit);
    }
    stream->bytes += bytes.size;
    if (stream->sink.mode == ARCP_RESULT_FD) {
        return write_all(stream->sink.fd, bytes, err);
    }
    if (stream->sink.mode == ARCP_RESULT_CALLBACK) {
        return stream->sink.write(stream->sink.user, bytes, err);
    }
    /* With room for the NUL behind it. */
    if (!arcp_buf_reserve(&stream->memory, bytes.size + 1)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the streamed result");
    }
    arcp_buf_append(&stream->memory, bytes);
    return ARCP_OK;
}

typedef struct chunk {
    arcp_span result_id, data, encoding; /* data == NULL: absent */
    uint64_t seq;
    arcp_json_ref more;
} chunk;

static const arcp__member chunk_rows[] = {
    {ARCP__MEMBER(chunk, result_id, "result_id", TEXT), .required = true},
    {ARCP__MEMBER(chunk, seq, "chunk_seq", COUNT), .required = true},
    {ARCP__MEMBER(chunk, data, "data", LOOSE)},
    {ARCP__MEMBER(chunk, encoding, "encoding", LOOSE)},
    {ARCP__MEMBER(chunk, more, "more", ANY)},
};
static const arcp__members chunk_members = ARCP__MEMBERS(chunk_rows);

static arcp_status take(arcp__client_result_stream *stream, const arcp_json *json, arcp_error *err)
{
    chunk in = {0};
    if (!arcp__decode_row(json, &stream->decoded, ARCP_JSON_ROOT, &chunk_members, &in)) {
        return arcp_error_set(err, ARCP_E_CORRUPT,
                              "a result chunk has no result_id or no chunk_seq");
    }
    /* The chunk must belong to the same result, and be its next one. [arcp:8.4-3] */
    const unsigned long long seq = in.seq;
    if (stream->complete) {
        return arcp_error_set(err, ARCP_E_CORRUPT, "result chunk %llu follows the last chunk", seq);
    }
    if (in.seq != stream->next_seq) {
        return arcp_error_set(err, ARCP_E_CORRUPT, "received result chunk %llu, expected %llu", seq,
                              (unsigned long long)stream->next_seq);
    }
    if (stream->result_id == NULL) {
        stream->result_id = arcp__copy_cstr(in.result_id.data, in.result_id.size);
    }
    if (stream->result_id == NULL || stream->decoded.failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (!arcp_span_equal_cstr(in.result_id, stream->result_id)) {
        return arcp_error_set(err, ARCP_E_CORRUPT, "result chunk %llu has another result_id", seq);
    }
    if (in.data.data == NULL) {
        return arcp_error_set(err, ARCP_E_CORRUPT, "result chunk %llu has no data", seq);
    }
    arcp_span bytes = in.data;
    if (arcp_span_equal_cstr(in.encoding, "base64")) { /* [arcp:8.4-9] */
        const size_t before = stream->decoded.size;    /* not empty if the base64 had escapes */
        arcp_error why = {0};
        const arcp_status status =
            arcp__base64_decode(in.data, ARCP__BASE64_STANDARD, &stream->decoded, &why);
        if (status == ARCP_E_NO_MEMORY) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        if (status != ARCP_OK) {
            return arcp_error_set(err, ARCP_E_CORRUPT, "result chunk %llu is not base64: %s", seq,
                                  why.message);
        }
        bytes = arcp_span_from(arcp_buf_span(&stream->decoded), before);
    } else if (!arcp_span_equal_cstr(in.encoding, "utf8")) {
        return arcp_error_set(err, ARCP_E_CORRUPT,
                              "result chunk %llu is encoded neither as utf8 nor as base64", seq);
    }
    const arcp_status status = bytes.size == 0 ? ARCP_OK : put(stream, bytes, err);
    if (status == ARCP_OK) {
        stream->next_seq++;
        /* Only more:false marks the last chunk; a missing `more` does not. */
        stream->complete = arcp_json_is(json, in.more, ARCP_JSON_FALSE);
    }
    return status;
}

void arcp__client_result_stream_take(arcp__client_result_stream *stream, arcp_span body)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__CLIENT_JSON_LIMITS;
    arcp_error *err = &stream->error;
    if (err->status != ARCP_OK) {
        return;
    }
    arcp_buf_clear(&stream->decoded);
    if (arcp_json_scan(&json, body, &limits, err) == ARCP_OK) {
        (void)take(stream, &json, err);
    }
    arcp__json_fini(&json);
}

void arcp__client_result_stream_finish(arcp__client_result_stream *stream, arcp_span result_id,
                                       uint64_t result_size)
{
    if (stream->error.status != ARCP_OK) {
        return;
    }
    if (stream->result_id == NULL) {
        if (result_id.size != 0) {
            (void)arcp_error_set(&stream->error, ARCP_E_CORRUPT,
                                 "the streamed result's chunks were not received");
        }
        return;
    }
    if (result_id.size != 0 && !arcp_span_equal_cstr(result_id, stream->result_id)) {
        (void)arcp_error_set(&stream->error, ARCP_E_CORRUPT,
                             "the job's result_id is not the one that was streamed");
    } else if (!stream->complete) {
        (void)arcp_error_set(&stream->error, ARCP_E_CORRUPT,
                             "the streamed result ended without its last chunk");
    } else if (result_size != UINT64_MAX && result_size != stream->bytes) {
        (void)arcp_error_set(&stream->error, ARCP_E_CORRUPT,
                             "the streamed result has %llu bytes, should have %llu",
                             (unsigned long long)stream->bytes, (unsigned long long)result_size);
    }
}
