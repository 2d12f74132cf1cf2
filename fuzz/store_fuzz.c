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
    run *self = user;
    require(status == self->want);
    require((err == NULL) == (status == ARCP_OK));
    self->is_answered = true;
}

static void on_read(void *user, uint64_t id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    run *self = user;
    const model *truth = &self->truth;
    size_t stream = self->stream;
    require(status == ARCP_OK);
    require(first <= truth->trim[stream] || count == 0);
    require(count == READ_MAX || first + count == truth->next[stream]);
    for (size_t i = 0; i < count; i++) {
        char text[48];
        make_record(stream, truth->drops[stream], first + i, text);
        require(arcp_span_equal_cstr(records[i], text));
    }
    self->is_answered = true;
}

static void on_scan(void *user, uint64_t id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    run *self = user;
    size_t seen = 0;
    require(status == ARCP_OK && last);
    for (size_t i = 0; i < ROWS; i++) {
        if (self->truth.rows[i] != 0) {
            char text[48];
            snprintf(text, sizeof text, "%u", self->truth.rows[i]);
            require(seen < count && arcp_span_equal_cstr(rows[seen].key, row_names[i]));
            require(arcp_span_equal_cstr(rows[seen].value, text));
            seen++;
        }
    }
    require(seen == count);
    self->is_answered = true;
}

static void deliver(run *self)
{
    self->is_answered = false;
    while (self->store->ops->poll(self->store)) {
    }
    require(self->is_answered);
}

static void check_all(run *self)
{
    arcp_error err = {0};
    for (size_t i = 0; i < STREAMS; i++) {
        self->stream = i;
        require(self->store->ops->read(self->store, i, arcp_span_cstr(stream_names[i]), 0, READ_MAX,
                                       SIZE_MAX, &err) == ARCP_OK);
        deliver(self);
    }
    require(self->store->ops->scan(self->store, 0, ARCP_STORE_JOBS, arcp_span_make(NULL, 0),
                                   &err) == ARCP_OK);
    deliver(self);
}

static void end_batch(run *self)
{
    arcp_error err = {0};
    arcp_store_batch batch = {1, self->ops, self->count};
    require(self->store->ops->submit(self->store, &batch, &err) == ARCP_OK);
    deliver(self);
    if (self->want == ARCP_OK) {
        self->truth = self->ahead;
    } else {
        self->ahead = self->truth;
    }
    self->want = ARCP_OK;
    self->count = 0;
}

static void add_stream_op(run *self, arcp_store_op *op, char *text, unsigned what, unsigned whom)
{
    model *ahead = &self->ahead;
    size_t stream = whom % STREAMS;
    op->key = arcp_span_cstr(stream_names[stream]);
    if (what < 12) {
        op->kind = ARCP_STORE_APPEND;
        op->position = ahead->next[stream] + (whom == 255);
        make_record(stream, ahead->drops[stream], op->position, text);
        op->value = arcp_span_cstr(text);
        if (whom == 255) {
            self->want = ARCP_E_CORRUPT;
        } else {
            ahead->next[stream]++;
        }
    } else if (what < 14) {
        op->kind = ARCP_STORE_TRIM;
        op->position = whom;
        uint64_t trim = whom < ahead->next[stream] ? whom : ahead->next[stream];
        ahead->trim[stream] = trim > ahead->trim[stream] ? trim : ahead->trim[stream];
    } else {
        op->kind = ARCP_STORE_DROP;
        ahead->next[stream] = 0;
        ahead->trim[stream] = 0;
        ahead->drops[stream]++;
    }
}

static void add_row_op(run *self, arcp_store_op *op, char *text, unsigned what, unsigned whom)
{
    unsigned *row = &self->ahead.rows[whom % ROWS];
    op->table = ARCP_STORE_JOBS;
    op->key = arcp_span_cstr(row_names[whom % ROWS]);
    op->kind = what <= 16 ? ARCP_STORE_PUT : ARCP_STORE_DELETE;
    *row = op->kind == ARCP_STORE_DELETE ? 0 : ++self->serial;
    snprintf(text, 48, "%u", self->serial);
    op->value = op->kind == ARCP_STORE_DELETE ? arcp_span_make(NULL, 0) : arcp_span_cstr(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static run self;
    arcp_error err = {0};
    self = (run){.want = ARCP_OK};
    arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .user = &self};
    require(arcp_store_open_memory(&self.store, &err) == ARCP_OK);
    self.store->ops->set_callbacks(self.store, &callbacks);
    for (size_t i = 0; i + 1 < size; i += 2) {
        unsigned what = data[i] % 20;
        unsigned whom = data[i + 1];
        if (what >= 18 || self.count == OPS_MAX) {
            end_batch(&self);
            if (what == 19) {
                check_all(&self);
            }
            continue;
        }
        arcp_store_op *op = &self.ops[self.count];
        char *text = self.texts[self.count++];
        *op = (arcp_store_op){.kind = ARCP_STORE_TRIM};
        if (what < 15) {
            add_stream_op(&self, op, text, what, whom);
        } else {
            add_row_op(&self, op, text, what, whom);
        }
    }
    end_batch(&self);
    check_all(&self);
    arcp_store_close(self.store);
    return 0;
}
