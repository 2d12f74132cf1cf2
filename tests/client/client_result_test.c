/* Streamed results (draft §8.4): assembly, errors and sinks. */
#include "support/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "client/client_job.h"

static void take(arcp__client_result_stream *stream, const char *body)
{
    char text[1024];
    size_t size = 0;
    for (; body[size] != '\0' && size < sizeof text - 1; size++) {
        text[size] = body[size] == '\'' ? '"' : body[size];
    }
    arcp__client_result_stream_take(stream, arcp_span_make(text, size));
}

typedef struct stream_row {
    const char *name;
    const char *chunks[4];
    const char *result_id;
    uint64_t result_size;
    arcp_status status;
    const char *expected; /* part of the message, or the bytes */
} stream_row;

#define C(id, n, data, encoding, more)                                                             \
    "{'result_id':'" id "','chunk_seq':" #n ",'data':'" data "','encoding':'" encoding             \
    "','more':" more "}"

static const stream_row rows[] = {
    {"one chunk", {C("r", 0, "abc", "utf8", "false")}, "r", 3, ARCP_OK, "abc"},
    {"text and bytes mixed",
     {C("r", 0, "a\\u00e4\\n", "utf8", "true"), C("r", 1, "AP8=", "base64", "true"),
      C("r", 2, "", "utf8", "false")},
     "r",
     6,
     ARCP_OK,
     "a\xc3\xa4\n"},
    {"base 64 with needless escapes",
     {C("r", 0, "aG\\u006b=", "base64", "false")},
     "r",
     2,
     ARCP_OK,
     "hi"},
    {"an empty result", {C("r", 0, "", "utf8", "false")}, "r", 0, ARCP_OK, ""},
    {"no size", {C("r", 0, "abc", "utf8", "false")}, "r", UINT64_MAX, ARCP_OK, "abc"},
    {"no result_id", {C("r", 0, "abc", "utf8", "false")}, "", UINT64_MAX, ARCP_OK, "abc"},
    {"no stream", {NULL}, "", UINT64_MAX, ARCP_OK, ""},
    {"a skipped chunk",
     {C("r", 0, "a", "utf8", "true"), C("r", 2, "b", "utf8", "false")},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "chunk 2, expected 1"},
    {"a repeated chunk",
     {C("r", 0, "a", "utf8", "true"), C("r", 0, "a", "utf8", "true")},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "chunk 0, expected 1"},
    {"a first chunk that is not the first",
     {C("r", 1, "a", "utf8", "true")},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "chunk 1, expected 0"},
    {"a chunk after the last",
     {C("r", 0, "a", "utf8", "false"), C("r", 1, "b", "utf8", "false")},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "follows the last"},
    {"another result_id",
     {C("r", 0, "a", "utf8", "true"), C("q", 1, "b", "utf8", "false")},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "another result_id"},
    {"no last chunk",
     {C("r", 0, "a", "utf8", "true")},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "without its last chunk"},
    {"a wrong size",
     {C("r", 0, "abc", "utf8", "false")},
     "r",
     4,
     ARCP_E_CORRUPT,
     "has 3 bytes, should have 4"},
    {"the job names another result",
     {C("r", 0, "a", "utf8", "false")},
     "q",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "not the one"},
    {"the job names a stream that was not received",
     {NULL},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "not received"},
    {"base 64 without padding",
     {C("r", 0, "abc", "base64", "false")},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "not base64"},
    {"base 64 with a foreign byte",
     {C("r", 0, "ab*=", "base64", "false")},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "not base64"},
    {"an unknown encoding",
     {C("r", 0, "abc", "rot13", "false")},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "neither as utf8 nor as base64"},
    {"no data",
     {"{'result_id':'r','chunk_seq':0,'encoding':'utf8','more':false}"},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "no data"},
    {"no chunk_seq",
     {"{'result_id':'r','data':'a','encoding':'utf8','more':false}"},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "no chunk_seq"},
    {"no result_id",
     {"{'chunk_seq':0,'data':'a','encoding':'utf8','more':false}"},
     "r",
     UINT64_MAX,
     ARCP_E_CORRUPT,
     "no result_id"},
};

/* [arcp:8.4-3] [arcp:8.4-9] */
static void chunks_are_assembled_or_the_error_has_the_reason(void **state)
{
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        arcp__client_result_stream stream = {0};
        print_message("  %s\n", rows[row].name);
        for (size_t i = 0; i < 4 && rows[row].chunks[i] != NULL; i++) {
            take(&stream, rows[row].chunks[i]);
        }
        arcp__client_result_stream_finish(&stream, arcp_span_cstr(rows[row].result_id),
                                          rows[row].result_size);
        assert_int_equal(stream.error.status, rows[row].status);
        if (rows[row].status == ARCP_OK) {
            assert_true(stream.memory.size >= strlen(rows[row].expected));
            assert_memory_equal(stream.memory.size ? stream.memory.data : "", rows[row].expected,
                                strlen(rows[row].expected));
        } else {
            assert_non_null(strstr(stream.error.message, rows[row].expected));
        }
        arcp__client_result_stream_fini(&stream);
    }
}

static void the_first_error_is_kept(void **state)
{
    arcp__client_result_stream stream = {0};
    take(&stream, C("r", 5, "a", "utf8", "true"));
    take(&stream, C("r", 0, "a", "utf8", "false"));
    arcp__client_result_stream_finish(&stream, arcp_span_cstr("r"), 1);
    assert_non_null(strstr(stream.error.message, "received result chunk 5"));
    assert_int_equal(stream.bytes, 0);
    arcp__client_result_stream_fini(&stream);
}

static void the_result_size_is_limited_for_both_sides(void **state)
{
    arcp__client_result_stream stream = {.sink = {.bytes_max = 4}};
    take(&stream, C("r", 0, "ab", "utf8", "true"));
    take(&stream, C("r", 1, "cd", "utf8", "true"));
    assert_int_equal(stream.error.status, ARCP_OK);
    take(&stream, C("r", 2, "e", "utf8", "false"));
    assert_int_equal(stream.error.status, ARCP_E_LIMIT);
    assert_int_equal(stream.memory.size, 4);
    arcp__client_result_stream_fini(&stream);
}

/* ---- sinks ---- */

static void a_file_descriptor_sink_gets_the_bytes(void **state)
{
    int ends[2];
    char got[16] = "";
    assert_int_equal(pipe(ends), 0);
    arcp__client_result_stream stream = {.sink = {.mode = ARCP_RESULT_FD, .fd = ends[1]}};
    take(&stream, C("r", 0, "Hello, ", "utf8", "true"));
    take(&stream, C("r", 1, "d29ybGQ=", "base64", "false"));
    assert_int_equal(read(ends[0], got, sizeof got), 12);
    assert_memory_equal(got, "Hello, world", 12);
    assert_int_equal(stream.memory.size, 0);
    arcp__client_result_stream_fini(&stream);
    close(ends[0]);
    close(ends[1]);
}

static void a_closed_file_descriptor_is_an_error(void **state)
{
    arcp__client_result_stream stream = {.sink = {.mode = ARCP_RESULT_FD, .fd = -1}};
    take(&stream, C("r", 0, "a", "utf8", "true"));
    assert_int_equal(stream.error.status, ARCP_E_IO);
    assert_non_null(strstr(stream.error.message, "Bad file descriptor"));
    arcp__client_result_stream_fini(&stream);
}

typedef struct reader {
    int fd;
    size_t total;
} reader;

static void *read_all(void *user)
{
    reader *r = user;
    const int fd = r->fd;
    char bytes[4096];
    ssize_t got = read(fd, bytes, sizeof bytes);
    while (got > 0) {
        r->total += (size_t)got;
        got = read(fd, bytes, sizeof bytes);
    }
    return NULL;
}

static void writing_to_a_non_blocking_descriptor_waits(void **state)
{
    int ends[2];
    pthread_t thread;
    reader r = {0};
    enum { CHUNKS = 300, BYTES = 900 };
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    r.fd = ends[0];
    assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
    arcp__client_result_stream stream = {.sink = {.mode = ARCP_RESULT_FD, .fd = ends[1]}};
    char data[BYTES + 1];
    memset(data, 'x', BYTES);
    data[BYTES] = '\0';
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "{'result_id':'r','chunk_seq':%d,'data':'%s','encoding':'utf8','more':true}",
                 chunk, data);
        take(&stream, body);
    }
    close(ends[1]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(r.total, CHUNKS * BYTES);
    assert_int_equal(stream.error.status, ARCP_OK);
    arcp__client_result_stream_fini(&stream);
    close(ends[0]);
}

static arcp_status refuse_second(void *user, arcp_span bytes, arcp_error *err)
{
    int *calls = user;
    (*calls)++;
    if (*calls == 2) {
        return arcp_error_set(err, ARCP_E_LIMIT, "enough");
    }
    return ARCP_OK;
}

static void a_callback_that_fails_is_not_called_again(void **state)
{
    int calls = 0;
    arcp__client_result_stream stream = {
        .sink = {.mode = ARCP_RESULT_CALLBACK, .write = refuse_second, .user = &calls}};
    take(&stream, C("r", 0, "a", "utf8", "true"));
    take(&stream, C("r", 1, "b", "utf8", "true"));
    take(&stream, C("r", 2, "c", "utf8", "false"));
    arcp__client_result_stream_finish(&stream, arcp_span_cstr("r"), 3);
    assert_int_equal(calls, 2);
    assert_int_equal(stream.error.status, ARCP_E_LIMIT);
    assert_string_equal(stream.error.message, "enough");
    arcp__client_result_stream_fini(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_assembled_or_the_error_has_the_reason),
        cmocka_unit_test(the_first_error_is_kept),
        cmocka_unit_test(the_result_size_is_limited_for_both_sides),
        cmocka_unit_test(a_file_descriptor_sink_gets_the_bytes),
        cmocka_unit_test(a_closed_file_descriptor_is_an_error),
        cmocka_unit_test(writing_to_a_non_blocking_descriptor_waits),
        cmocka_unit_test(a_callback_that_fails_is_not_called_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
