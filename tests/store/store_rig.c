#include "store/store_rig.h"

#include <time.h>

#define WAIT_SEC 60 /* never reached unless something hangs */

static void wake(void *user)
{
    store_rig *self = user;
    pthread_mutex_lock(&self->mutex);
    self->is_woken = true;
    self->wakes++;
    pthread_cond_signal(&self->woken_changed);
    pthread_mutex_unlock(&self->mutex);
}

static answer *note(store_rig *self, answer_kind kind, uint64_t id, arcp_status status,
                    const arcp_error *err)
{
    assert_false(self->inside_call);
    assert_true((status == ARCP_OK) == (err == NULL));
    if (self->count == self->capacity) {
        self->capacity = self->capacity == 0 ? 64 : self->capacity * 2;
        self->answers = realloc(self->answers, self->capacity * sizeof *self->answers);
        assert_non_null(self->answers);
    }
    answer *noted = &self->answers[self->count++];
    *noted = (answer){.kind = kind, .id = id, .status = status, .is_last = true};
    if (err != NULL) {
        assert_int_equal(err->status, status);
        assert_true(err->message[0] != '\0');
        memcpy(noted->message, err->message, sizeof noted->message);
    }
    return noted;
}

static void on_done(void *user, uint64_t id, arcp_status status, const arcp_error *err)
{
    store_rig *self = user;
    note(self, ANSWER_DONE, id, status, err);
    if (self->on_done != NULL) {
        self->on_done(self, id, status);
    }
}

static char *put(char *out, arcp_span bytes)
{
    memcpy(out, bytes.data, bytes.size);
    return out + bytes.size;
}

static void on_read(void *user, uint64_t id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    answer *noted = note(user, ANSWER_READ, id, status, err);
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += records[i].size + 1;
    }
    noted->first = first;
    noted->count = count;
    noted->text = malloc(size);
    assert_non_null(noted->text);
    char *end = noted->text;
    for (size_t i = 0; i < count; i++) {
        end = i == 0 ? end : put(end, ARCP_SPAN_LITERAL("|"));
        end = put(end, records[i]);
    }
    *end = '\0';
}

static void on_scan(void *user, uint64_t id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    answer *noted = note(user, ANSWER_SCAN, id, status, err);
    assert_true(count <= ARCP_STORE_SCAN_ROWS_MAX);
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += rows[i].key.size + rows[i].value.size + 2;
    }
    noted->count = count;
    noted->is_last = last;
    noted->text = malloc(size);
    assert_non_null(noted->text);
    char *end = noted->text;
    for (size_t i = 0; i < count; i++) {
        end = i == 0 ? end : put(end, ARCP_SPAN_LITERAL("|"));
        end = put(end, rows[i].key);
        end = put(end, ARCP_SPAN_LITERAL("="));
        end = put(end, rows[i].value);
    }
    *end = '\0';
}

store_rig *rig_new(arcp_store *store)
{
    store_rig *self = calloc(1, sizeof *self);
    assert_non_null(self);
    self->store = store;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&self->woken_changed, &clock);
    pthread_condattr_destroy(&clock);
    arcp_store_callbacks callbacks = {on_done, on_read, on_scan, wake, self};
    store->ops->set_callbacks(store, &callbacks);
    return self;
}

store_rig *rig_open(const char *url)
{
    arcp_error err = {0};
    arcp_store *store = NULL;
    check_ok(arcp_store_open(url, &store, &err), &err);
    return rig_new(store);
}

void rig_forget(store_rig *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free(self->answers[i].text);
    }
    self->count = 0;
}

void rig_close(store_rig *self)
{
    if (self == NULL) {
        return;
    }
    arcp_store_close(self->store);
    rig_forget(self);
    free(self->answers);
    pthread_cond_destroy(&self->woken_changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

arcp_store_op op_append(const char *stream, uint64_t position, const char *record)
{
    return (arcp_store_op){.kind = ARCP_STORE_APPEND,
                           .position = position,
                           .key = arcp_span_cstr(stream),
                           .value = arcp_span_cstr(record)};
}

arcp_store_op op_trim(const char *stream, uint64_t position)
{
    return (arcp_store_op){
        .kind = ARCP_STORE_TRIM, .position = position, .key = arcp_span_cstr(stream)};
}

arcp_store_op op_drop(const char *stream)
{
    return (arcp_store_op){.kind = ARCP_STORE_DROP, .key = arcp_span_cstr(stream)};
}

arcp_store_op op_put(arcp_store_table table, const char *key, const char *value)
{
    return (arcp_store_op){.kind = ARCP_STORE_PUT,
                           .table = table,
                           .key = arcp_span_cstr(key),
                           .value = arcp_span_cstr(value)};
}

arcp_store_op op_delete(arcp_store_table table, const char *key)
{
    return (arcp_store_op){.kind = ARCP_STORE_DELETE, .table = table, .key = arcp_span_cstr(key)};
}

uint64_t rig_submit(store_rig *self, const arcp_store_op *ops, size_t count)
{
    arcp_error err = {0};
    arcp_store_batch batch = {++self->next_id, ops, count};
    self->inside_call = true;
    check_ok(self->store->ops->submit(self->store, &batch, &err), &err);
    self->inside_call = false;
    return batch.id;
}

uint64_t rig_ask_read(store_rig *self, const char *stream, uint64_t from, size_t count_max,
                      size_t bytes_max)
{
    arcp_error err = {0};
    uint64_t id = ++self->next_id;
    self->inside_call = true;
    check_ok(self->store->ops->read(self->store, id, arcp_span_cstr(stream), from, count_max,
                                    bytes_max, &err),
             &err);
    self->inside_call = false;
    return id;
}

uint64_t rig_ask_scan(store_rig *self, arcp_store_table table, const char *prefix)
{
    arcp_error err = {0};
    uint64_t id = ++self->next_id;
    self->inside_call = true;
    check_ok(self->store->ops->scan(self->store, id, table, arcp_span_cstr(prefix), &err), &err);
    self->inside_call = false;
    return id;
}

static void wait_for_wake(store_rig *self)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += WAIT_SEC;
    pthread_mutex_lock(&self->mutex);
    int code = 0;
    while (!self->is_woken && code == 0) {
        code = pthread_cond_timedwait(&self->woken_changed, &self->mutex, &deadline);
    }
    self->is_woken = false;
    pthread_mutex_unlock(&self->mutex);
    if (code != 0) {
        fail_msg("the store was silent for %d s", WAIT_SEC);
    }
}

void rig_poll(store_rig *self)
{
    while (self->store->ops->poll(self->store)) {
    }
}

static const answer *find(const store_rig *self, uint64_t id)
{
    for (size_t i = self->count; i > 0; i--) {
        if (self->answers[i - 1].id == id && self->answers[i - 1].is_last) {
            return &self->answers[i - 1];
        }
    }
    return NULL;
}

const answer *rig_wait(store_rig *self, uint64_t id)
{
    for (;;) {
        rig_poll(self);
        const answer *found = find(self, id);
        if (found != NULL) {
            return found;
        }
        wait_for_wake(self);
    }
}

void rig_drain(store_rig *self)
{
    /* Reads complete after the batches before them, and in their order. */
    (void)rig_wait(self, rig_ask_read(self, "drain", 0, 1, 1));
}

arcp_status rig_commit(store_rig *self, const arcp_store_op *ops, size_t count)
{
    return rig_wait(self, rig_submit(self, ops, count))->status;
}

const answer *rig_read(store_rig *self, const char *stream, uint64_t from)
{
    return rig_wait(self, rig_ask_read(self, stream, from, RIG_RECORDS_MAX, SIZE_MAX));
}

char *rig_scan(store_rig *self, arcp_store_table table, const char *prefix)
{
    uint64_t id = rig_ask_scan(self, table, prefix);
    (void)rig_wait(self, id);
    size_t size = 1;
    for (size_t i = 0; i < self->count; i++) {
        size += self->answers[i].id == id ? strlen(self->answers[i].text) + 1 : 0;
    }
    char *all = calloc(1, size);
    assert_non_null(all);
    char *end = all;
    for (size_t i = 0; i < self->count; i++) {
        const answer *page = &self->answers[i];
        if (page->id != id) {
            continue;
        }
        assert_int_equal(page->status, ARCP_OK);
        if (page->count != 0 && end != all) {
            end = put(end, ARCP_SPAN_LITERAL("|"));
        }
        end = put(end, arcp_span_cstr(page->text));
    }
    return all;
}
