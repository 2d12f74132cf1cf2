/* The rows in the bodies of hello, welcome and usage, and words of all messages. */
#include <assert.h>
#include <string.h>

#include "worker/worker_parts.h"
#include "json/json_put.h"

/* ---- words ---- */

void arcp__worker_word_write(arcp_json_writer *writer, const arcp__worker_words *of,
                             const void *from)
{
    unsigned value = 0;
    if (of->member != NULL) {
        memcpy(&value, (const char *)from + of->at, sizeof value);
        assert(value < of->count);
        arcp__put_cstr(writer, of->member, of->names[value]);
    }
}

arcp_status arcp__worker_word_read(const arcp_json *json, arcp_json_ref object,
                                   const arcp__worker_words *of, const char *where, void *out,
                                   arcp_error *err)
{
    const arcp_json_ref ref = of->member == NULL
                                  ? ARCP_JSON_ABSENT
                                  : arcp_json_member(json, object, arcp_span_cstr(of->member));
    for (unsigned i = 0; i < of->count; i++) {
        if (arcp_json_string_equals(json, ref, arcp_span_cstr(of->names[i]))) {
            memcpy((char *)out + of->at, &i, sizeof i);
            return ARCP_OK;
        }
    }
    return of->member == NULL ? ARCP_OK
                              : arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                               "%s.%s is missing or unknown", where, of->member);
}

/* ---- reading, as messages do ---- */

arcp_status arcp__worker_invalid(arcp_error *err, const char *type, const char *why)
{
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s: %s", type, why);
}

arcp_status arcp__worker_scan(arcp_json *json, arcp_span text, arcp_error *err)
{
    const arcp_json_limits limits = {64, 10000, ARCP__WORKER_HEAD_MAX};
    return arcp_json_scan(json, text, &limits, err);
}

/* ---- rows ---- */

#define M(type, field, text, kind) ARCP__MEMBER(arcp__worker_##type, field, text, kind)
#define NEEDED                     .required = true

static const arcp__member job_row_rows[] = {
    {M(job_row, job, "job", ID), NEEDED},
    {M(job_row, store, "store", ID), NEEDED},
    {M(job_row, items_first, "items_first", POSITIVE), NEEDED},
    {M(job_row, items_last, "items_last", COUNT)},
    {M(job_row, stored, "stored", COUNT)},
    {M(job_row, bytes_first, "bytes_first", COUNT)},
    {M(job_row, bytes_last, "bytes_last", COUNT)},
    {M(job_row, errors_first, "errors_first", POSITIVE), NEEDED},
    {M(job_row, errors_last, "errors_last", COUNT)},
    {M(job_row, at, "at", COUNT)},
    {M(job_row, has_exited, "exited", BOOL)},
};
static const arcp__member usage_row_rows[] = {
    {M(usage_row, job, "job", ID), NEEDED},
    {M(usage_row, pid, "pid", COUNT)},
    {M(usage_row, cpu_ms, "cpu_ms", COUNT)},
    {M(usage_row, memory_bytes, "memory_bytes", COUNT)},
};
static const arcp__member resume_row_rows[] = {
    {M(resume_row, job, "job", ID), NEEDED},
};
#undef M
#undef NEEDED

static const arcp__members job_row_members = ARCP__MEMBERS(job_row_rows);
static const arcp__members usage_row_members = ARCP__MEMBERS(usage_row_rows);
static const arcp__members resume_row_members = ARCP__MEMBERS(resume_row_rows);

static const arcp__worker_words no_words = {.member = NULL};
static const char *const resumption_names[ARCP__WORKER_RESUMPTIONS] = {"go_on", "end", "forget"};
static const arcp__worker_words resumption_words = {
    "what", resumption_names, ARCP__WORKER_RESUMPTIONS, offsetof(arcp__worker_resume_row, what)};

static void write_row(const arcp__members *members, const arcp__worker_words *word, const void *row,
                      arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__encode_row(&writer, members, row);
    arcp__worker_word_write(&writer, word, row);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}

void arcp__worker_job_row_write(const arcp__worker_job_row *row, arcp_buf *out)
{
    write_row(&job_row_members, &no_words, row, out);
}

void arcp__worker_resume_row_write(const arcp__worker_resume_row *row, arcp_buf *out)
{
    write_row(&resume_row_members, &resumption_words, row, out);
}

void arcp__worker_usage_row_write(const arcp__worker_usage_row *row, arcp_buf *out)
{
    write_row(&usage_row_members, &no_words, row, out);
}

static arcp_status read_row(arcp__worker_reader *reader, arcp_span *rest,
                            const arcp__members *members, const arcp__worker_words *word,
                            const char *where, void *out, arcp_error *err)
{
    const char *end = memchr(rest->data, '\n', rest->size); /* ends every row */
    const size_t size = (size_t)(end - rest->data);
    arcp_buf_clear(&reader->row_scratch);
    arcp__decoder decoder = {
        .json = &reader->row_json, .scratch = &reader->row_scratch, .where = where};
    arcp_status status = arcp__worker_scan(&reader->row_json, arcp_span_first(*rest, size), err);
    if (status == ARCP_OK) {
        status = arcp__decode(&decoder, ARCP_JSON_ROOT, members, out, err);
    }
    if (status == ARCP_OK) {
        status = arcp__worker_word_read(&reader->row_json, ARCP_JSON_ROOT, word, where, out, err);
    }
    if (status == ARCP_OK && reader->row_scratch.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *rest = arcp_span_from(*rest, size + 1);
    return status;
}

/* Whether the numbers that are kept, from `first` on, end before the last one or with it. */
static bool is_range(uint64_t first, uint64_t last)
{
    return last <= UINT64_MAX >> 1 && first <= last + 1;
}

arcp_status arcp__worker_job_row_read(arcp__worker_reader *reader, arcp_span *rest,
                                      arcp__worker_job_row *out, arcp_error *err)
{
    *out = (arcp__worker_job_row){.at = 0};
    const arcp_status status =
        read_row(reader, rest, &job_row_members, &no_words, "hello.jobs", out, err);
    const bool is_valid =
        is_range(out->items_first, out->items_last) && out->bytes_first <= out->bytes_last &&
        is_range(out->errors_first, out->errors_last) && out->stored <= out->items_last;
    return status != ARCP_OK || is_valid
               ? status
               : arcp__worker_invalid(err, "hello", "the numbers of a job do not fit together");
}

arcp_status arcp__worker_resume_row_read(arcp__worker_reader *reader, arcp_span *rest,
                                         arcp__worker_resume_row *out, arcp_error *err)
{
    *out = (arcp__worker_resume_row){.what = ARCP__WORKER_GO_ON};
    return read_row(reader, rest, &resume_row_members, &resumption_words, "welcome.jobs", out, err);
}

arcp_status arcp__worker_usage_row_read(arcp__worker_reader *reader, arcp_span *rest,
                                        arcp__worker_usage_row *out, arcp_error *err)
{
    *out = (arcp__worker_usage_row){.pid = 0};
    return read_row(reader, rest, &usage_row_members, &no_words, "usage.jobs", out, err);
}
