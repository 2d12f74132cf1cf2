#include "store/store_rig.h"

#include <time.h>

#define WAIT_SEC 60 /* never reached unless something hangs */

static void wake(void *user)
{
    store_rig *rig = user;
    pthread_mutex_lock(&rig->mutex);
    rig->is_woken = true;
    rig->wakes++;
    pthread_cond_signal(&rig->woken_changed);
    pthread_mutex_unlock(&rig->mutex);
}

static answer *note(store_rig *rig, answer_kind kind, uint64_t id, arcp_status status,
                    const arcp_error *err)
{
    assert_false(rig->inside_call);
    assert_true((status == ARCP_OK) == (err == NULL));
    if (rig->count == rig->capacity) {
        rig->capacity = rig->capacity == 0 ? 64 : rig->capacity * 2;
        rig->answers = realloc(rig->answers, rig->capacity * sizeof *rig->answers);
        assert_non_null(rig->answers);
    }
    answer *noted = &rig->answers[rig->count++];
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
    store_rig *rig = user;
    note(rig, ANSWER_DONE, id, status, err);
    if (rig->on_done != NULL) {
        rig->on_done(rig, id, status);
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
    store_rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig->store = store;
    pthread_mutex_init(&rig->mutex, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&rig->woken_changed, &clock);
    pthread_condattr_destroy(&clock);
    arcp_store_callbacks callbacks = {on_done, on_read, on_scan, wake, rig};
    store->ops->set_callbacks(store, &callbacks);
    return rig;
}

store_rig *rig_open(const char *url)
{
    arcp_error err = {0};
    arcp_store *store = NULL;
    check_ok(arcp_store_open(url, &store, &err), &err);
    return rig_new(store);
}

void rig_forget(store_rig *rig)
{
    for (size_t i = 0; i < rig->count; i++) {
        free(rig->answers[i].text);
    }
    rig->count = 0;
}

void rig_close(store_rig *rig)
{
    if (rig == NULL) {
        return;
    }
    arcp_store_close(rig->store);
    rig_forget(rig);
    free(rig->answers);
    pthread_cond_destroy(&rig->woken_changed);
    pthread_mutex_destroy(&rig->mutex);
    free(rig);
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

uint64_t rig_submit(store_rig *rig, const arcp_store_op *ops, size_t count)
{
    arcp_error err = {0};
    arcp_store_batch batch = {++rig->next_id, ops, count};
    rig->inside_call = true;
    check_ok(rig->store->ops->submit(rig->store, &batch, &err), &err);
    rig->inside_call = false;
    return batch.id;
}

uint64_t rig_ask_read(store_rig *rig, const char *stream, uint64_t from, size_t count_max,
                      size_t bytes_max)
{
    arcp_error err = {0};
    const uint64_t id = ++rig->next_id;
    rig->inside_call = true;
    check_ok(rig->store->ops->read(rig->store, id, arcp_span_cstr(stream), from, count_max,
                                   bytes_max, &err),
             &err);
    rig->inside_call = false;
    return id;
}

uint64_t rig_ask_scan(store_rig *rig, arcp_store_table table, const char *prefix)
{
    arcp_error err = {0};
    const uint64_t id = ++rig->next_id;
    rig->inside_call = true;
    check_ok(rig->store->ops->scan(rig->store, id, table, arcp_span_cstr(prefix), &err), &err);
    rig->inside_call = false;
    return id;
}

static void wait_for_wake(store_rig *rig)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += WAIT_SEC;
    pthread_mutex_lock(&rig->mutex);
    int code = 0;
    while (!rig->is_woken && code == 0) {
        code = pthread_cond_timedwait(&rig->woken_changed, &rig->mutex, &deadline);
    }
    rig->is_woken = false;
    pthread_mutex_unlock(&rig->mutex);
    if (code != 0) {
        fail_msg("the store was silent for %d s", WAIT_SEC);
    }
}

void rig_poll(store_rig *rig)
{
    while (rig->store->ops->poll(rig->store)) {
    }
}

static const answer *find(const store_rig *rig, uint64_t id)
{
    for (size_t i = rig->count; i > 0; i--) {
        if (rig->answers[i - 1].id == id && rig->answers[i - 1].is_last) {
            return &rig->answers[i - 1];
        }
    }
    return NULL;
}

const answer *rig_wait(store_rig *rig, uint64_t id)
{
    for (;;) {
        rig_poll(rig);
        const answer *found = find(rig, id);
        if (found != NULL) {
            return found;
        }
        wait_for_wake(rig);
    }
}

void rig_drain(store_rig *rig)
{
    /* Reads complete after the batches before them, and in their order. */
    (void)rig_wait(rig, rig_ask_read(rig, "drain", 0, 1, 1));
}

arcp_status rig_commit(store_rig *rig, const arcp_store_op *ops, size_t count)
{
    return rig_wait(rig, rig_submit(rig, ops, count))->status;
}

const answer *rig_read(store_rig *rig, const char *stream, uint64_t from)
{
    return rig_wait(rig, rig_ask_read(rig, stream, from, RIG_RECORDS_MAX, SIZE_MAX));
}

char *rig_scan(store_rig *rig, arcp_store_table table, const char *prefix)
{
    const uint64_t id = rig_ask_scan(rig, table, prefix);
    (void)rig_wait(rig, id);
    size_t size = 1;
    for (size_t i = 0; i < rig->count; i++) {
        size += rig->answers[i].id == id ? strlen(rig->answers[i].text) + 1 : 0;
    }
    char *all = calloc(1, size);
    assert_non_null(all);
    char *end = all;
    for (size_t i = 0; i < rig->count; i++) {
        const answer *page = &rig->answers[i];
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
