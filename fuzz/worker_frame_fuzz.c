/* Messages between a worker and a runtime: one that is read can be written, and is then read and
 * written as the same bytes, and so are the rows in its body. Input: a line, "w" for a message of
 * the worker, then the message. */
#include "lines.h"
#include "worker/worker_frame.h"

#define LONGEST_LINE 1000u

typedef struct state {
    arcp__worker_reader reader;
    arcp__worker_side from;
    arcp__worker_message message;
} state;

static bool read_message(state *s, arcp_span bytes)
{
    return arcp__worker_message_read(&s->reader, s->from, bytes, &s->message, NULL) == ARCP_OK;
}

/* Reads the first row of `rest`, and writes it. False: it is refused. */
static bool copy_row(state *s, arcp_span *rest, arcp_buf *out)
{
    arcp__worker_job_row job;
    arcp__worker_resume_row resume;
    arcp__worker_usage_row usage;
    bool is_read = false;
    arcp_buf_clear(out);
    if (s->message.kind == ARCP__WORKER_HELLO) {
        is_read = arcp__worker_job_row_read(&s->reader, rest, &job, NULL) == ARCP_OK;
        if (is_read) {
            require(job.items_first <= job.items_last + 1 && job.stored <= job.items_last);
            arcp__worker_job_row_write(&job, out);
        }
    } else if (s->message.kind == ARCP__WORKER_WELCOME) {
        is_read = arcp__worker_resume_row_read(&s->reader, rest, &resume, NULL) == ARCP_OK;
        if (is_read) {
            arcp__worker_resume_row_write(&resume, out);
        }
    } else if (s->message.kind == ARCP__WORKER_USAGE) {
        is_read = arcp__worker_usage_row_read(&s->reader, rest, &usage, NULL) == ARCP_OK;
        if (is_read) {
            arcp__worker_usage_row_write(&usage, out);
        }
    } else {
        *rest = arcp_span_make(NULL, 0);
    }
    return is_read;
}

static void check_rows(state *s)
{
    arcp_buf once = arcp_buf_init();
    arcp_buf twice = arcp_buf_init();
    for (arcp_span rest = s->message.body; rest.size != 0;) {
        if (copy_row(s, &rest, &once)) {
            arcp_span written = arcp_buf_span(&once);
            require(copy_row(s, &written, &twice) && written.size == 0);
            require(arcp_span_equal(arcp_buf_span(&once), arcp_buf_span(&twice)));
        }
    }
    arcp_buf_fini(&once);
    arcp_buf_fini(&twice);
}

static void check_message(state *s, arcp_span bytes)
{
    arcp_buf once = arcp_buf_init();
    arcp_buf frame = arcp_buf_init();
    size_t size = 0;
    if (read_message(s, bytes)) {
        check_rows(s);
        arcp__worker_message_write(&s->message, &once);
        require(read_message(s, arcp_buf_span(&once)));
        arcp__worker_frame_write(&s->message, &frame);
        require(arcp__worker_frame_size(arcp_buf_span(&frame), LONGEST_LINE, &size, NULL) ==
                ARCP_OK);
        require(size == once.size);
        require(arcp_span_equal(arcp_span_from(arcp_buf_span(&frame), ARCP__WORKER_PREFIX),
                                arcp_buf_span(&once)));
    }
    arcp_buf_fini(&once);
    arcp_buf_fini(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static state s;
    arcp_span input = arcp_span_make((const char *)data, size);
    const arcp_span side = take_line(&input);
    s = (state){.reader = {.line_bytes_max = LONGEST_LINE},
                .from = arcp_span_equal_cstr(side, "w") ? ARCP__WORKER_SIDE_WORKER
                                                        : ARCP__WORKER_SIDE_RUNTIME};
    check_message(&s, input);
    arcp__worker_reader_fini(&s.reader);
    return 0;
}
