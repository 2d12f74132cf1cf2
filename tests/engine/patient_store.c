#include "engine/patient_store.h"

#include "support/check.h"

#include "base/alloc.h"

static patient_store *patient_of(arcp_store *store)
{
    return (patient_store *)store;
}

/* ---- completions ---- */

static void on_done(void *user, uint64_t id, arcp_status status, const arcp_error *err)
{
    patient_store *store = user;
    store->answered++;
    store->callbacks.done(store->callbacks.user, id, status, err);
}

static void on_read(void *user, uint64_t id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    patient_store *store = user;
    store->answered++;
    store->callbacks.read(store->callbacks.user, id, status, first, records, count, err);
}

static void on_scan(void *user, uint64_t id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    patient_store *store = user;
    store->answered += last ? 1 : 0;
    store->callbacks.scan(store->callbacks.user, id, status, rows, count, last, err);
}

static void on_wake(void *user)
{
    patient_store *store = user;
    (void)sem_post(&store->woken);
}

/* ---- the vtable ---- */

static void set_callbacks(arcp_store *store, const arcp_store_callbacks *callbacks)
{
    patient_of(store)->callbacks = *callbacks;
}

static arcp_status submit(arcp_store *store, const arcp_store_batch *batch, arcp_error *err)
{
    patient_store *patient = patient_of(store);
    patient->asked++;
    return patient->inner->ops->submit(patient->inner, batch, err);
}

static arcp_status read_stream(arcp_store *store, uint64_t id, arcp_span stream, uint64_t from,
                               size_t count_max, size_t bytes_max, arcp_error *err)
{
    patient_store *patient = patient_of(store);
    patient->asked++;
    return patient->inner->ops->read(patient->inner, id, stream, from, count_max, bytes_max, err);
}

static arcp_status scan(arcp_store *store, uint64_t id, arcp_store_table table, arcp_span prefix,
                        arcp_error *err)
{
    patient_store *patient = patient_of(store);
    patient->asked++;
    return patient->inner->ops->scan(patient->inner, id, table, prefix, err);
}

static bool poll_store(arcp_store *store)
{
    patient_store *patient = patient_of(store);
    const size_t answered = patient->answered;
    if (patient->asked == answered) {
        return false;
    }
    (void)patient->inner->ops->poll(patient->inner);
    while (patient->answered == answered) {
        assert_int_equal(sem_wait(&patient->woken), 0);
        (void)patient->inner->ops->poll(patient->inner);
    }
    return true;
}

static void stats(arcp_store *store, arcp_store_stats *out)
{
    const patient_store *patient = patient_of(store);
    patient->inner->ops->stats(patient->inner, out);
}

static void close_store(arcp_store *store)
{
    patient_store *patient = patient_of(store);
    patient->inner->ops->close(patient->inner);
    assert_int_equal(sem_destroy(&patient->woken), 0);
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

void patient_open(patient_store *store, const char *url)
{
    arcp_error error = {0};
    *store = (patient_store){.store = {&ops}};
    assert_int_equal(sem_init(&store->woken, 0, 0), 0);
    check_ok(arcp_store_open(url, &store->inner, &error), &error);
    arcp_store_callbacks callbacks = {
        .done = on_done, .read = on_read, .scan = on_scan, .wake = on_wake, .user = store};
    store->inner->ops->set_callbacks(store->inner, &callbacks);
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

static void take_hold(patient_store *store, void *user)
{
    assert_int_equal(store->asked, store->answered);
    store->callbacks = (arcp_store_callbacks){.done = hand_done, .read = hand_read, .user = user};
}

patient_stream patient_read(patient_store *store, const char *key)
{
    patient_stream stream = {{NULL}, 0};
    arcp_error error = {0};
    take_hold(store, &stream);
    check_ok(store->store.ops->read(&store->store, 1, arcp_span_cstr(key), 0, PATIENT_RECORDS_MAX,
                                    SIZE_MAX, &error),
             &error);
    assert_true(store->store.ops->poll(&store->store));
    return stream;
}

static void change(patient_store *store, const arcp_store_op *changes, size_t count)
{
    arcp_error error = {0};
    arcp_store_batch batch = {.id = 1, .ops = changes, .count = count};
    take_hold(store, NULL);
    check_ok(store->store.ops->submit(&store->store, &batch, &error), &error);
    assert_true(store->store.ops->poll(&store->store));
}

void patient_trim(patient_store *store, const char *key, uint64_t position)
{
    arcp_store_op trim = {
        .kind = ARCP_STORE_TRIM, .position = position, .key = arcp_span_cstr(key)};
    change(store, &trim, 1);
}

void patient_write(patient_store *store, const char *key, const patient_stream *stream,
                   size_t count)
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
    change(store, changes, 1 + count);
}

void patient_free_stream(patient_stream *stream)
{
    while (stream->count != 0) {
        arcp__free(stream->records[--stream->count]);
    }
}
