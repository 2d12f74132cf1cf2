/* The newest records of a stream in memory. */
#include "support/check.h"

#include "base/alloc.h"
#include "log/log.h"

#define SIZES_MAX 4u

typedef struct shelf {
    arcp__context context;
    arcp__log *log;
    arcp__stream *stream;
    uint64_t count;
    size_t sizes[2000];
} shelf;

static shelf *shelf_new(void)
{
    shelf *s = arcp__alloc(sizeof *s);
    assert_non_null(s);
    s->log = arcp__log_new(&s->context, &(arcp__log_options){0});
    assert_non_null(s->log);
    s->stream = arcp__stream_new(s->log, "j:", ARCP_SPAN_LITERAL("1"));
    assert_non_null(s->stream);
    return s;
}

static void shelf_free(shelf *s)
{
    s->context.closing = true;
    arcp__stream_unref(s->log, s->stream);
    assert_int_equal(s->log->tail_bytes, 0);
    arcp__log_free(s->log);
    arcp__free(s);
}

static char letter(uint64_t position)
{
    return (char)('a' + position % 26);
}

/* A record in two pieces, of its own letter. */
static void put(shelf *s, size_t size)
{
    static char text[80000];
    uint64_t position = 0;
    size_t bytes = 0;
    assert_true(size <= sizeof text && s->count < sizeof s->sizes / sizeof *s->sizes);
    memset(text, letter(s->count), size);
    arcp_span pieces[] = {arcp_span_make(text, size / 2), arcp_span_make(text, size - size / 2)};
    assert_true(arcp__stream_append(s->log, s->stream, pieces, 2, &position, &bytes));
    assert_int_equal(position, s->count);
    assert_int_equal(bytes, size);
    s->sizes[s->count++] = size;
}

static void check_all(shelf *s)
{
    arcp_span record;
    for (uint64_t i = 0; i < s->count; i++) {
        assert_true(arcp__stream_find_record(s->stream, i, &record));
        assert_int_equal(record.size, s->sizes[i]);
        for (size_t j = 0; j < record.size; j++) {
            assert_int_equal(record.data[j], letter(i));
        }
    }
    assert_false(arcp__stream_find_record(s->stream, s->count, &record));
}

/* Each record takes four bytes of a chunk for the position of its end. */
static void a_chunk_is_filled_to_its_last_byte_and_not_beyond(void **state)
{
    static const struct {
        const char *name;
        size_t count, sizes[SIZES_MAX], bytes; /* of all chunks */
    } rows[] = {
        {"one that fits", 1, {1020}, 1024},
        {"one byte more", 1, {1021}, 1025},
        {"two that fit", 2, {508, 508}, 1024},
        {"two, one byte more", 2, {508, 509}, 1024 + 4096},
        {"an empty one fits", 2, {1016, 0}, 1024},
        {"an empty one does not", 2, {1017, 0}, 1024 + 4096},
        {"after one that fills its chunk", 2, {1020, 0}, 1024 + 4096},
        {"where no number is aligned", 3, {1021, 3, 4089}, 1025 + 4100},
        {"where none is, one byte more", 3, {1021, 3, 4090}, 1025 + 4100 + 16400},
        {"larger than any chunk", 3, {70000, 65532, 0}, 70004 + 65536 + 65536},
    };
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        shelf *s = shelf_new();
        for (size_t i = 0; i < rows[row].count; i++) {
            put(s, rows[row].sizes[i]);
        }
        if (s->log->tail_bytes != rows[row].bytes) {
            fail_msg("%s: %zu bytes", rows[row].name, s->log->tail_bytes);
        }
        check_all(s);
        shelf_free(s);
    }
}

static void a_chunk_of_empty_records_is_full_too(void **state)
{
    (void)state;
    shelf *s = shelf_new();
    for (unsigned i = 0; i < 1024 / sizeof(uint32_t); i++) {
        put(s, 0);
        assert_int_equal(s->log->tail_bytes, 1024);
    }
    put(s, 0);
    assert_int_equal(s->log->tail_bytes, 1024 + 4096);
    check_all(s);
    shelf_free(s);
}

static void records_of_all_sizes_are_read_as_they_were_put(void **state)
{
    (void)state;
    shelf *s = shelf_new();
    uint32_t size = 1;
    for (unsigned i = 0; i < 2000; i++) {
        size = (size * 75 + 74) % 65537;
        put(s, i % 7 == 0 ? 0 : size % 400);
    }
    check_all(s);
    shelf_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_is_filled_to_its_last_byte_and_not_beyond),
        cmocka_unit_test(a_chunk_of_empty_records_is_full_too),
        cmocka_unit_test(records_of_all_sizes_are_read_as_they_were_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
