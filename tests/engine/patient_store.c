#include "engine/patient_store.h"

#include "support/check.h"

#include "base/alloc.h"

static patient_store *self_of(arcp_store *store)
{
    return (patient_store *)store;
}

/* ---- completions ---- */

static void on_done(void *user, uint64_t id, arcp_status status, const arcp_error *err)
{
    patient_store *self = user;
    self->answered++;
    self->callbacks.done(self->callbacks.user, id, status, err);
}

static void on_read(void *user, uint64_t id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    patient_store *self = user;
    self->answered++;
    self->callbacks.read(self->callbacks.user, id, status, first, records, count, err);
}

static void on_scan(void *user, uint64_t id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    patient_store *self = user;
    self->answered += last ? 1 : 0;
    self->callbacks.scan(self->callbacks.user, id, status, rows, count, last, err);
}

static void on_wake(void *user)
{
    patient_store *self = user;
    (void)sem_post(&self->woken);
}

/* ---- the vtable ---- */

static void set_callbacks(arcp_store *store, const arcp_store_callbacks *callbacks)
{
    self_of(store)->callbacks = *callbacks;
}

static arcp_status submit(arcp_store *store, const arcp_store_batch *batch, arcp_error *err)
{
    patient_store *self = self_of(store);
    self->asked++;
    return self->inner->ops->submit(self->inner, batch, err);
}

static arcp_status read_stream(arcp_store *store, uint64_t id, arcp_span stream, uint64_t from,
                               size_t count_max, size_t bytes_max, arcp_error *err)
{
    patient_store *self = self_of(store);
    self->asked++;
    return self->inner->ops->read(self->inner, id, stream, from, count_max, bytes_max, err);
}

static arcp_status scan(arcp_store *store, uint64_t id, arcp_store_table table, arcp_span prefix,
                        arcp_error *err)
{
    patient_store *self = self_of(store);
    self->asked++;
    return self->inner->ops->scan(self->inner, id, table, prefix, err);
}

static bool poll_store(arcp_store *store)
{
    patient_store *self = self_of(store);
    size_t answered = self->answered;
    if (self->asked == answered) {
        return false;
    }
    (void)self->inner->ops->poll(self->inner);
    while (self->answered == answered) {
        assert_int_equal(sem_wait(&self->woken), 0);
        (void)self->inner->ops->poll(self->inner);
    }
    return true;
}

static void stats(arcp_store *store, arcp_store_stats *out)
{
    patient_store *self = self_of(store);
    self->inner->ops->stats(self->inner, out);
}

static void close_store(arcp_store *store)
{
    patient_store *self = self_of(store);
    self->inner->ops->close(self->inner);
    assert_int_equal(sem_destroy(&self->woken), 0);
}

static const arcp_store_ops ops = {
    .struct_size = sizeof(arcp_store_ops),
    .name = "patient",
    .durable = true,
    .set_callbacks = set_callbacks,
    .submit = submit,
    .read = read_stream,
    .scan = scan,
    .poll = poll_store,
    .stats = stats,
    .close = close_store,
};

void patient_open(patient_store *self, const char *url)
{
    arcp_error error = {0};
    *self = (patient_store){.store = {&ops}};
    assert_int_equal(sem_init(&self->woken, 0, 0), 0);
    check_ok(arcp_store_open(url, &self->inner, &error), &error);
    arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .wake = on_wake, .user = self};
    self->inner->ops->set_callbacks(self->inner, &callbacks);
}

/* ---- damage on disk ---- */

static void hand_done(void *user, uint64_t id, arcp_status status, const arcp_error *err)
{
    (void)user;
    (void)id;
    check_ok(status, err);
}

static void hand_read(void *user, uint64_t id, arcp_status status, uint64_t first,
                      const arcp_span *records, size_t count, const arcp_error *err)
{
    patient_stream *stream = user;
    (void)id;
    check_ok(status, err);
    assert_true(count == 0 || first == 0);
    assert_true(count < PATIENT_RECORDS_MAX);
    for (size_t i = 0; i < count; i++) {
        stream->records[stream->count++] = arcp__copy_cstr(records[i].data, records[i].size);
    }
}

static void take_hold(patient_store *self, void *user)
{
    assert_int_equal(self->asked, self->answered);
    self->callbacks = (arcp_store_callbacks){.done = hand_done, .read = hand_read, .user = user};
}

patient_stream patient_read(patient_store *self, const char *key)
{
    patient_stream stream = {{NULL}, 0};
    arcp_error error = {0};
    take_hold(self, &stream);
    check_ok(self->store.ops->read(&self->store, 1, arcp_span_cstr(key), 0, PATIENT_RECORDS_MAX,
                                   SIZE_MAX, &error),
             &error);
    assert_true(self->store.ops->poll(&self->store));
    return stream;
}

static void change(patient_store *self, const arcp_store_op *changes, size_t count)
{
    arcp_error error = {0};
    arcp_store_batch batch = {.id = 1, .ops = changes, .count = count};
    take_hold(self, NULL);
    check_ok(self->store.ops->submit(&self->store, &batch, &error), &error);
    assert_true(self->store.ops->poll(&self->store));
}

void patient_trim(patient_store *self, const char *key, uint64_t position)
{
    arcp_store_op trim = {
        .kind = ARCP_STORE_TRIM, .position = position, .key = arcp_span_cstr(key)};
    change(self, &trim, 1);
}

void patient_write(patient_store *self, const char *key, const patient_stream *stream, size_t count)
{
    arcp_store_op changes[1 + PATIENT_RECORDS_MAX] = {
        {.kind = ARCP_STORE_DROP, .key = arcp_span_cstr(key)}};
    assert_true(count <= stream->count);
    for (size_t i = 0; i < count; i++) {
        changes[1 + i] = (arcp_store_op){.kind = ARCP_STORE_APPEND,
                                         .position = i,
                                         .key = arcp_span_cstr(key),
                                         .value = arcp_span_cstr(stream->records[i])};
    }
    change(self, changes, 1 + count);
}

void patient_free_stream(patient_stream *stream)
{
    while (stream->count != 0) {
        arcp__free(stream->records[--stream->count]);
    }
}
