/* Any sequence of batches against the memory store and a model of it.
 *
 * The input is read in pairs of bytes: an operation, and its stream or row. The text of a record
 * follows from its stream, how often that was dropped, and its position, so the model needs only
 * numbers. Every input is a valid sequence; appends may have a wrong position and creates may find
 * an existing row. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arcp/sys/store.h>

#define STREAMS  3
#define ROWS     3
#define OPS_MAX  24
#define READ_MAX 4096

typedef struct model {
    uint64_t next[STREAMS];
    uint64_t trim[STREAMS];
    unsigned drops[STREAMS];
    unsigned rows[ROWS]; /* value; 0: not there */
} model;

typedef struct run {
    arcp_store *store;
    model truth;
    model ahead; /* with the batch being built */
    arcp_store_op ops[OPS_MAX];
    char texts[OPS_MAX][48];
    size_t count;
    arcp_status want; /* of the batch being built */
    unsigned serial;
    bool is_answered;
    size_t stream; /* being read */
} run;

static const char *const stream_names[STREAMS] = {"s", "s/1", "t"};
static const char *const row_names[ROWS] = {"a", "ab", "b"};

static void make_record(size_t stream, unsigned drops, uint64_t position, char text[48])
{
    /* Some are empty. */
    if (position % 5 == 3) {
        text[0] = '\0';
    } else {
        snprintf(text, 48, "%zu.%u.%llu", stream, drops, (unsigned long long)position);
    }
}

static void on_done(void *user, uint64_t id, arcp_status status, const arcp_error *err)
{
    run *r = user;
    require(status == r->want);
    require((err == NULL) == (status == ARCP_OK));
    r->is_answered = true;
}

static void on_read(void *user, uint64_t id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    run *r = user;
    const model *truth = &r->truth;
    const size_t stream = r->stream;
    require(status == ARCP_OK);
    require(first <= truth->trim[stream] || count == 0);
    require(count == READ_MAX || first + count == truth->next[stream]);
    for (size_t i = 0; i < count; i++) {
        char text[48];
        make_record(stream, truth->drops[stream], first + i, text);
        require(arcp_span_equal_cstr(records[i], text));
    }
    r->is_answered = true;
}

static void on_scan(void *user, uint64_t id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    run *r = user;
    size_t seen = 0;
    require(status == ARCP_OK && last);
    for (size_t i = 0; i < ROWS; i++) {
        if (r->truth.rows[i] != 0) {
            char text[48];
            snprintf(text, sizeof text, "%u", r->truth.rows[i]);
            require(seen < count && arcp_span_equal_cstr(rows[seen].key, row_names[i]));
            require(arcp_span_equal_cstr(rows[seen].value, text));
            seen++;
        }
    }
    require(seen == count);
    r->is_answered = true;
}

static void deliver(run *r)
{
    r->is_answered = false;
    while (r->store->ops->poll(r->store)) {
    }
    require(r->is_answered);
}

static void check_all(run *r)
{
    arcp_error err = {0};
    for (size_t i = 0; i < STREAMS; i++) {
        r->stream = i;
        require(r->store->ops->read(r->store, i, arcp_span_cstr(stream_names[i]), 0, READ_MAX,
                                    SIZE_MAX, &err) == ARCP_OK);
        deliver(r);
    }
    require(r->store->ops->scan(r->store, 0, ARCP_STORE_JOBS, arcp_span_make(NULL, 0), &err) ==
            ARCP_OK);
    deliver(r);
}

static void end_batch(run *r)
{
    arcp_error err = {0};
    arcp_store_batch batch = {1, r->ops, r->count};
    require(r->store->ops->submit(r->store, &batch, &err) == ARCP_OK);
    deliver(r);
    if (r->want == ARCP_OK) {
        r->truth = r->ahead;
    } else {
        r->ahead = r->truth;
    }
    r->want = ARCP_OK;
    r->count = 0;
}

static void add_stream_op(run *r, arcp_store_op *op, char *text, unsigned what, unsigned whom)
{
    model *ahead = &r->ahead;
    const size_t stream = whom % STREAMS;
    op->key = arcp_span_cstr(stream_names[stream]);
    if (what < 12) {
        op->kind = ARCP_STORE_APPEND;
        op->position = ahead->next[stream] + (whom == 255);
        make_record(stream, ahead->drops[stream], op->position, text);
        op->value = arcp_span_cstr(text);
        if (whom == 255) {
            r->want = ARCP_E_CORRUPT;
        } else {
            ahead->next[stream]++;
        }
    } else if (what < 14) {
        op->kind = ARCP_STORE_TRIM;
        op->position = whom;
        const uint64_t trim = whom < ahead->next[stream] ? whom : ahead->next[stream];
        ahead->trim[stream] = trim > ahead->trim[stream] ? trim : ahead->trim[stream];
    } else {
        op->kind = ARCP_STORE_DROP;
        ahead->next[stream] = 0;
        ahead->trim[stream] = 0;
        ahead->drops[stream]++;
    }
}

static void add_row_op(run *r, arcp_store_op *op, char *text, unsigned what, unsigned whom)
{
    unsigned *row = &r->ahead.rows[whom % ROWS];
    op->table = ARCP_STORE_JOBS;
    op->key = arcp_span_cstr(row_names[whom % ROWS]);
    op->kind = what <= 16 ? ARCP_STORE_PUT : ARCP_STORE_DELETE;
    *row = op->kind == ARCP_STORE_DELETE ? 0 : ++r->serial;
    snprintf(text, 48, "%u", r->serial);
    op->value = op->kind == ARCP_STORE_DELETE ? arcp_span_make(NULL, 0) : arcp_span_cstr(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static run r;
    arcp_error err = {0};
    r = (run){.want = ARCP_OK};
    arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .user = &r};
    require(arcp_store_open_memory(&r.store, &err) == ARCP_OK);
    r.store->ops->set_callbacks(r.store, &callbacks);
    for (size_t i = 0; i + 1 < size; i += 2) {
        const unsigned what = data[i] % 20;
        const unsigned whom = data[i + 1];
        if (what >= 18 || r.count == OPS_MAX) {
            end_batch(&r);
            if (what == 19) {
                check_all(&r);
            }
            continue;
        }
        arcp_store_op *op = &r.ops[r.count];
        char *text = r.texts[r.count++];
        *op = (arcp_store_op){.kind = ARCP_STORE_TRIM};
        if (what < 15) {
            add_stream_op(&r, op, text, what, whom);
        } else {
            add_row_op(&r, op, text, what, whom);
        }
    }
    end_batch(&r);
    check_all(&r);
    arcp_store_close(r.store);
    return 0;
}
