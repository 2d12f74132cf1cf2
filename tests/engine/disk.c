#include "engine/disk.h"

#include "support/check.h"

#include "base/alloc.h"

static disk *disk_of(arcp_store *store)
{
    return (disk *)store;
}

/* ---- what is written ---- */

const disk_known *disk_find(const disk *d, arcp_span id)
{
    for (size_t i = d->known_count; i > 0; i--) {
        const disk_known *known = &d->known[i - 1];
        if (strncmp(known->id, id.data, id.size) == 0 && known->id[id.size] == '\0') {
            return known;
        }
    }
    return NULL;
}

static disk_known *note(disk *d, arcp_span id)
{
    disk_known *known = (disk_known *)disk_find(d, id);
    if (known == NULL) {
        assert_true(d->known_count < DISK_KNOWN_MAX && id.size < DISK_ID_SIZE);
        known = &d->known[d->known_count++];
        *known = (disk_known){.has_row = false};
        memcpy(known->id, id.data, id.size);
    }
    return known;
}

static uint64_t number_after(arcp_span record, const char *name)
{
    const char *found = memmem(record.data, record.size, name, strlen(name));
    assert_non_null(found);
    return strtoull(found + strlen(name), NULL, 10);
}

static bool has(arcp_span text, const char *part)
{
    return memmem(text.data, text.size, part, strlen(part)) != NULL;
}

static void learn(disk *d, const arcp_store_op *op)
{
    if (op->table == ARCP_STORE_JOBS &&
        (arcp_span_starts_with(op->key, ARCP_SPAN_LITERAL("purse/")) ||
         arcp_span_starts_with(op->key, ARCP_SPAN_LITERAL("hold/")))) {
        if (d->on_money != NULL) {
            d->on_money(d->on_money_user, op);
        }
        return;
    }
    if (op->table == ARCP_STORE_OUTBOX && d->on_notification != NULL) {
        d->on_notification(d->on_notification_user, op);
    }
    if (op->kind == ARCP_STORE_APPEND && arcp_span_starts_with(op->key, ARCP_SPAN_LITERAL("j:"))) {
        note(d, arcp_span_from(op->key, 2))->bytes += op->value.size;
    }
    if (op->kind == ARCP_STORE_APPEND && arcp_span_starts_with(op->key, ARCP_SPAN_LITERAL("x:"))) {
        disk_known *known = note(d, arcp_span_from(op->key, 2));
        const uint64_t seq = number_after(op->value, "\"seq\":");
        if (seq != known->tip + 1) {
            fail_msg("%s: its index goes from %llu to %llu", known->id,
                     (unsigned long long)known->tip, (unsigned long long)seq);
        }
        known->tip = seq + number_after(op->value, "\"count\":") - 1;
    } else if (op->kind == ARCP_STORE_PUT && op->table == ARCP_STORE_SESSIONS) {
        note(d, op->key)->has_row = true;
    } else if (op->kind == ARCP_STORE_PUT && op->table == ARCP_STORE_JOBS) {
        disk_known *known = note(d, op->key);
        /* What a queued job needs to start is stored again for its worker, and its turn when that
         * does not take it. */
        if (known->is_gone && !arcp_span_ends_with(op->key, ARCP_SPAN_LITERAL("/start")) &&
            !arcp_span_ends_with(op->key, ARCP_SPAN_LITERAL("/turn"))) {
            fail_msg("%s: it was forgotten, and its row comes back", known->id);
        }
        const bool runs =
            has(op->value, "\"status\":\"pending\"") || has(op->value, "\"status\":\"running\"");
        if (known->has_end && runs) {
            fail_msg("%s: its row had an end and has none any more", known->id);
        }
        const bool has_end = has(op->value, "\"ended_at\":\"");
        const uint64_t bytes = has_end ? number_after(op->value, "\"bytes\":") : known->bytes;
        if (bytes != known->bytes) {
            fail_msg("%s: its row says %llu bytes of %llu", known->id, (unsigned long long)bytes,
                     (unsigned long long)known->bytes);
        }
        known->has_row = true;
        known->has_end = !runs;
    } else if (op->kind == ARCP_STORE_DELETE && op->table == ARCP_STORE_JOBS) {
        disk_known *known = note(d, op->key);
        known->is_gone = known->has_end = true;
    }
}

/* ---- the memory store behind it ---- */

static void on_inner_done(void *user, uint64_t batch_id, arcp_status status, const arcp_error *err)
{
    disk *d = user;
    (void)batch_id;
    if (status != ARCP_OK && status != ARCP_E_NO_MEMORY) {
        fail_msg("the store refused a batch: %s", err->message);
    }
    d->inner_status = status;
}

static void on_inner_read(void *user, uint64_t read_id, arcp_status status, uint64_t first,
                          const arcp_span *records, size_t count, const arcp_error *err)
{
    const disk *d = user;
    d->callbacks.read(d->callbacks.user, read_id, status, first, records, count, err);
}

static void on_inner_scan(void *user, uint64_t read_id, arcp_status status,
                          const arcp_store_row *rows, size_t count, bool last,
                          const arcp_error *err)
{
    const disk *d = user;
    d->callbacks.scan(d->callbacks.user, read_id, status, rows, count, last, err);
}

static void drain(disk *d)
{
    while (d->inner->ops->poll(d->inner)) {
    }
}

/* ---- its history ---- */

static arcp_span copy(arcp_span text)
{
    const char *copied = arcp__copy_cstr(text.data == NULL ? "" : text.data, text.size);
    assert_non_null(copied);
    return arcp_span_make(copied, text.size);
}

static void keep(disk *d, const arcp_store_batch *batch)
{
    d->history = realloc(d->history, (d->history_count + 1) * sizeof *d->history);
    assert_non_null(d->history);
    disk_kept *kept = &d->history[d->history_count++];
    *kept = (disk_kept){calloc(batch->count + 1, sizeof *kept->ops), batch->count};
    assert_non_null(kept->ops);
    for (size_t i = 0; i < batch->count; i++) {
        kept->ops[i] = batch->ops[i];
        kept->ops[i].key = copy(batch->ops[i].key);
        kept->ops[i].value = copy(batch->ops[i].value);
    }
}

static void cut_history(disk *d, size_t count)
{
    while (d->history_count > count) {
        disk_kept *kept = &d->history[--d->history_count];
        for (size_t i = 0; i < kept->count; i++) {
            arcp__free((void *)kept->ops[i].key.data);
            arcp__free((void *)kept->ops[i].value.data);
        }
        free(kept->ops);
    }
}

static void open_inner(disk *d)
{
    arcp_error error = {0};
    const arcp_store_callbacks callbacks = {
        .done = on_inner_done, .read = on_inner_read, .scan = on_inner_scan, .user = d};
    check_ok(arcp_store_open_memory(&d->inner, &error), &error);
    d->inner->ops->set_callbacks(d->inner, &callbacks);
}

void disk_go_back(disk *d, size_t count)
{
    arcp_error error = {0};
    cut_history(d, count);
    d->inner->ops->close(d->inner);
    d->known_count = 0;
    open_inner(d);
    for (size_t i = 0; i < count; i++) {
        const arcp_store_batch batch = {
            .id = i + 1, .ops = d->history[i].ops, .count = d->history[i].count};
        check_ok(d->inner->ops->submit(d->inner, &batch, &error), &error);
        drain(d);
        for (size_t k = 0; k < batch.count; k++) {
            learn(d, &batch.ops[k]);
        }
    }
}

/* ---- moving on ---- */

bool disk_write(disk *d)
{
    if (d->written == d->queued || d->refuses) {
        return false;
    }
    disk_batch *next = &d->queue[d->written];
    arcp_error error = {0};
    d->inner_status = d->inner->ops->submit(d->inner, &next->batch, &error);
    drain(d);
    if (d->inner_status != ARCP_OK) {
        assert_int_equal(d->inner_status, ARCP_E_NO_MEMORY);
        (void)disk_fail(d);
        return false;
    }
    for (size_t i = 0; i < next->batch.count; i++) {
        learn(d, &next->batch.ops[i]);
    }
    if (d->keeps_history) {
        keep(d, &next->batch);
    }
    next->written = true;
    d->written++;
    return true;
}

static disk_batch take_first(disk *d)
{
    const disk_batch first = d->queue[0];
    d->queued--;
    d->written -= first.written ? 1 : 0;
    memmove(d->queue, d->queue + 1, d->queued * sizeof d->queue[0]);
    d->reported++;
    return first;
}

bool disk_report(disk *d)
{
    if (d->written == 0) {
        return false;
    }
    const disk_batch first = take_first(d);
    d->callbacks.done(d->callbacks.user, first.batch.id, ARCP_OK, NULL);
    return true;
}

bool disk_fail(disk *d)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_IO, "no space left on the device");
    while (disk_report(d)) {
    }
    const size_t count = d->queued;
    for (size_t i = 0; i < count; i++) {
        const disk_batch first = take_first(d);
        d->failures++;
        d->callbacks.done(d->callbacks.user, first.batch.id, ARCP_E_IO, &error);
    }
    return count != 0;
}

bool disk_answer(disk *d, unsigned choice)
{
    size_t eligible[sizeof d->reads / sizeof d->reads[0]];
    size_t count = 0;
    for (size_t i = 0; i < d->read_count; i++) {
        if (d->reads[i].after <= d->reported) {
            eligible[count++] = i;
        }
    }
    if (count == 0) {
        return false;
    }
    const size_t index = eligible[choice % count];
    const disk_read read = d->reads[index];
    d->read_count--;
    memmove(&d->reads[index], &d->reads[index + 1], (d->read_count - index) * sizeof read);
    arcp_error error = {0};
    const arcp_span key = arcp_span_make(read.key, read.key_size);
    arcp_status status = ARCP_OK;
    if (read.is_scan) {
        status = d->inner->ops->scan(d->inner, read.id, read.table, key, &error);
        if (status != ARCP_OK) {
            d->callbacks.scan(d->callbacks.user, read.id, status, NULL, 0, true, &error);
        }
    } else if (d->refuses) {
        (void)arcp_error_set(&error, ARCP_E_IO, "the device does not answer");
        d->callbacks.read(d->callbacks.user, read.id, ARCP_E_IO, 0, NULL, 0, &error);
    } else {
        status = d->inner->ops->read(d->inner, read.id, key, read.from, read.count_max,
                                     read.bytes_max, &error);
        if (status != ARCP_OK) {
            d->callbacks.read(d->callbacks.user, read.id, status, 0, NULL, 0, &error);
        }
    }
    assert_true(status == ARCP_OK || status == ARCP_E_NO_MEMORY);
    drain(d);
    return true;
}

void disk_crash(disk *d)
{
    d->crashes++;
    d->queued = d->written = 0;
    d->read_count = 0;
    d->reported = d->submitted;
    d->is_held = d->refuses = d->refuses_submit = false;
}

/* ---- the vtable ---- */

static void set_callbacks(arcp_store *store, const arcp_store_callbacks *callbacks)
{
    disk_of(store)->callbacks = *callbacks;
}

static arcp_status submit(arcp_store *store, const arcp_store_batch *batch, arcp_error *err)
{
    disk *d = disk_of(store);
    if (d->refuses_submit) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    assert_true(d->queued < DISK_QUEUE_MAX);
    d->queue[d->queued++] = (disk_batch){.batch = *batch};
    d->submitted++;
    return ARCP_OK;
}

static void queue_read(disk *d, disk_read read, arcp_span key)
{
    assert_true(d->read_count < sizeof d->reads / sizeof d->reads[0]);
    assert_true(key.size <= sizeof read.key);
    memcpy(read.key, key.data == NULL ? "" : key.data, key.size);
    read.key_size = key.size;
    read.after = d->submitted;
    d->reads[d->read_count++] = read;
}

static arcp_status read_stream(arcp_store *store, uint64_t read_id, arcp_span stream, uint64_t from,
                               size_t count_max, size_t bytes_max, arcp_error *err)
{
    (void)err;
    queue_read(
        disk_of(store),
        (disk_read){.id = read_id, .from = from, .count_max = count_max, .bytes_max = bytes_max},
        stream);
    return ARCP_OK;
}

static arcp_status scan(arcp_store *store, uint64_t read_id, arcp_store_table table,
                        arcp_span prefix, arcp_error *err)
{
    (void)err;
    queue_read(disk_of(store), (disk_read){.id = read_id, .table = table, .is_scan = true}, prefix);
    return ARCP_OK;
}

static bool poll_store(arcp_store *store)
{
    disk *d = disk_of(store);
    if (d->is_held) {
        return false;
    }
    if (d->refuses && disk_fail(d)) {
        return true;
    }
    while (disk_write(d)) {
    }
    return disk_report(d) || disk_answer(d, 0);
}

static void stats(arcp_store *store, arcp_store_stats *out)
{
    const disk *d = disk_of(store);
    d->inner->ops->stats(d->inner, out);
}

static void close_store(arcp_store *store)
{
    disk *d = disk_of(store);
    disk_crash(d);
    cut_history(d, 0);
    free(d->history);
    d->history = NULL;
    d->inner->ops->close(d->inner);
}

static const arcp_store_ops ops = {
    .struct_size = sizeof(arcp_store_ops),
    .name = "disk",
    .durable = true,
    .set_callbacks = set_callbacks,
    .submit = submit,
    .read = read_stream,
    .scan = scan,
    .poll = poll_store,
    .stats = stats,
    .close = close_store,
};

void disk_init(disk *d)
{
    d->store.ops = &ops;
    d->queued = d->written = d->read_count = d->known_count = 0;
    d->submitted = d->reported = 0;
    d->failures = d->crashes = 0;
    d->is_held = d->refuses = d->refuses_submit = false;
    d->on_money = NULL;
    d->on_money_user = NULL;
    d->on_notification = NULL;
    d->on_notification_user = NULL;
    d->keeps_history = false;
    d->history = NULL;
    d->history_count = 0;
    open_inner(d);
}
