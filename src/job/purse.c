#include "job/purse.h"

#include <stdio.h>

#include "base/timestamp.h"
#include "core/lease_amount.h"
#include "job/job_state.h"

#define PURSE_PREFIX "purse/"
#define HOLD_PREFIX  "hold/"
#define DAY_SIZE     10 /* "2026-11-24" */
#define AMOUNTS_MAX  64 /* currencies that rows of a purse name */

/* What rows say of one currency. */
typedef struct stored_amount {
    char currency[ARCP__CURRENCY_BYTES_MAX + 1];
    arcp_decimal spent;
} stored_amount;

struct arcp__purse {
    size_t references;       /* of jobs */
    arcp_budget *budget;     /* NULL: no job has needed it since the restart */
    const arcp_lease *lease; /* of the budget; referenced */
    stored_amount *stored;   /* owned; of currencies that `budget` does not count, or all */
    size_t stored_count;
    bool is_due;
    arcp__purse *next_due;
    UT_hash_handle hh;
    char key[];
};

/* ---- the table ---- */

static arcp__purse *find(const arcp__jobs *jobs, arcp_span key)
{
    arcp__purse *purse = NULL;
    HASH_FIND(hh, jobs->purses, key.data, key.size, purse);
    return purse;
}

/* NULL: out of memory. */
static arcp__purse *add(arcp__jobs *jobs, arcp_span key)
{
    arcp__purse *purse = arcp__alloc(sizeof *purse + key.size + 1);
    if (purse == NULL) {
        return NULL;
    }
    memcpy(purse->key, key.data, key.size);
    purse->key[key.size] = '\0';
    HASH_ADD_KEYPTR(hh, jobs->purses, purse->key, key.size, purse);
    if (!ARCP__HASH_ADDED(purse)) {
        arcp__free(purse);
        return NULL;
    }
    return purse;
}

static void remove_purse(arcp__jobs *jobs, arcp__purse *purse)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash knows its neighbours */
    HASH_DEL(jobs->purses, purse);
    arcp_budget_unref(purse->budget);
    arcp_lease_unref(purse->lease);
    arcp__free(purse->stored);
    arcp__free(purse);
}

static void write_today(const arcp__jobs *jobs, char out[DAY_SIZE + 1])
{
    char text[ARCP__TIMESTAMP_SIZE + 1] = {0};
    arcp__timestamp_format(jobs->context->now.wall_ns, text);
    memcpy(out, text, DAY_SIZE);
    out[DAY_SIZE] = '\0';
}

/* Removes purses of past days that no job draws on. */
static void sweep(arcp__jobs *jobs)
{
    char today[DAY_SIZE + 1];
    arcp__purse *purse = NULL;
    arcp__purse *next = NULL;
    write_today(jobs, today);
    HASH_ITER (hh, jobs->purses, purse, next) {
        const char *day = purse->key + sizeof PURSE_PREFIX - 1;
        if (purse->references == 0 && !purse->is_due && memcmp(day, today, DAY_SIZE) < 0) {
            arcp__batch_delete(jobs->log, ARCP_STORE_JOBS, arcp_span_cstr(purse->key));
            remove_purse(jobs, purse);
        }
    }
}

void arcp__purses_free(arcp__jobs *jobs)
{
    arcp__purse *purse = NULL;
    arcp__purse *next = NULL;
    HASH_ITER (hh, jobs->purses, purse, next) {
        remove_purse(jobs, purse);
    }
    jobs->due_purses = NULL;
    while (jobs->kept_holds != NULL) {
        arcp__kept_hold *hold = jobs->kept_holds;
        LL_DELETE(jobs->kept_holds, hold);
        arcp__free(hold);
    }
}

/* ---- the budget ---- */

/* Makes the budget, with what was spent of it before a restart. */
static arcp_status open_budget(arcp__purse *purse, const arcp_lease *lease, arcp_error *err)
{
    size_t kept = 0;
    const arcp_status status = arcp_budget_new(lease, NULL, &purse->budget, err);
    if (status != ARCP_OK) {
        return status;
    }
    purse->lease = arcp_lease_ref(lease);
    for (size_t i = 0; i < purse->stored_count; i++) {
        size_t at = 0;
        while (at < arcp_budget_count(purse->budget) &&
               !arcp_span_equal_cstr(arcp_budget_currency(purse->budget, at),
                                     purse->stored[i].currency)) {
            at++;
        }
        if (at < arcp_budget_count(purse->budget)) {
            arcp_budget_restore(purse->budget, at, purse->stored[i].spent);
        } else {
            purse->stored[kept++] = purse->stored[i];
        }
    }
    purse->stored_count = kept;
    return ARCP_OK;
}

arcp_status arcp__purse_take(arcp__jobs *jobs, const arcp__principal *principal, arcp__purse **out,
                             arcp_error *err)
{
    const arcp_lease *lease = arcp__policy_spend(jobs, principal->name);
    char day[DAY_SIZE + 1];
    char key[ARCP_STORE_KEY_BYTES_MAX];
    *out = NULL;
    if (lease == NULL) {
        return ARCP_OK;
    }
    write_today(jobs, day);
    const int size = snprintf(key, sizeof key, PURSE_PREFIX "%s/%s", day, principal->name);
    const arcp_span name = arcp_span_make(key, (size_t)size);
    arcp__purse *purse = find(jobs, name);
    if (purse == NULL) {
        sweep(jobs);
        purse = add(jobs, name);
    }
    if (purse == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a purse");
    }
    const arcp_status status = purse->budget != NULL ? ARCP_OK : open_budget(purse, lease, err);
    *out = status == ARCP_OK ? arcp__purse_ref(purse) : NULL;
    return status;
}

arcp__purse *arcp__purse_ref(arcp__purse *purse)
{
    if (purse != NULL) {
        purse->references++;
    }
    return purse;
}

void arcp__purse_unref(arcp__purse *purse)
{
    if (purse != NULL) {
        purse->references--;
    }
}

arcp_budget *arcp__purse_budget(const arcp__purse *purse)
{
    return purse->budget;
}

bool arcp__purse_is_spent(const arcp__purse *purse)
{
    for (size_t i = 0; purse != NULL && i < arcp_budget_count(purse->budget); i++) {
        if (arcp_decimal_compare(arcp_budget_spent(purse->budget, i),
                                 arcp_budget_initial(purse->budget, i)) >= 0) {
            return true;
        }
    }
    return false;
}

/* ---- rows ---- */

static void set_due(arcp__jobs *jobs, arcp__purse *purse)
{
    if (jobs->log->options.keeps_rows && !purse->is_due) {
        purse->is_due = true;
        arcp__batch_touch(jobs->log); /* so that there is one to write it with */
        LL_PREPEND2(jobs->due_purses, purse, next_due);
    }
}

void arcp__purse_spent(arcp__jobs *jobs, const arcp__job *job)
{
    if (job->live->purse != NULL) {
        set_due(jobs, job->live->purse);
    }
}

static void write_amount(arcp_json_writer *writer, arcp_span currency, arcp_decimal amount)
{
    char text[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(amount, text);
    arcp_json_name_span(writer, currency);
    arcp_json_write_cstr(writer, text);
}

static void store(arcp__jobs *jobs, const arcp__purse *purse)
{
    arcp_buf row = arcp__context_take_buf(jobs->context);
    arcp_json_writer writer = arcp__put_begin(&row);
    arcp__put_object(&writer, "spent");
    for (size_t i = 0; purse->budget != NULL && i < arcp_budget_count(purse->budget); i++) {
        write_amount(&writer, arcp_budget_currency(purse->budget, i),
                     arcp_budget_spent(purse->budget, i));
    }
    for (size_t i = 0; i < purse->stored_count; i++) {
        write_amount(&writer, arcp_span_cstr(purse->stored[i].currency), purse->stored[i].spent);
    }
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    arcp__context_check_text(jobs->context, &row);
    arcp__batch_put(jobs->log, ARCP_STORE_JOBS, arcp_span_cstr(purse->key), arcp_buf_span(&row));
    arcp__context_give_buf(jobs->context, &row);
}

void arcp__purses_store_due(arcp__jobs *jobs)
{
    while (jobs->due_purses != NULL) {
        arcp__purse *purse = jobs->due_purses;
        jobs->due_purses = purse->next_due;
        purse->is_due = false;
        if (!jobs->context->closing) {
            store(jobs, purse);
        }
    }
}

static arcp_span hold_key(arcp_span call_id, char out[ARCP__ID_SIZE + sizeof HOLD_PREFIX])
{
    (void)snprintf(out, ARCP__ID_SIZE + sizeof HOLD_PREFIX, HOLD_PREFIX "%.*s", (int)call_id.size,
                   call_id.data);
    return arcp_span_cstr(out);
}

void arcp__purse_hold(arcp__jobs *jobs, arcp__job *job, const arcp__job_message *message)
{
    char key[ARCP__ID_SIZE + sizeof HOLD_PREFIX];
    arcp__purse *purse = job->live->purse;
    const bool outlasts = arcp__job_is_on_worker(job) && jobs->log->options.keeps_rows;
    if (purse == NULL && !outlasts) {
        return;
    }
    if (message->held.size == 0) {
        arcp__batch_delete(jobs->log, ARCP_STORE_JOBS, hold_key(message->hold_id, key));
        if (purse != NULL) {
            set_due(jobs, purse);
        }
        return;
    }
    if (arcp__job_has_ended(job)) {
        return; /* its calls are ended: this one is not sent */
    }
    arcp_buf row = arcp__context_take_buf(jobs->context);
    arcp_buf id = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&row);
    if (purse != NULL) {
        arcp__put_cstr(&writer, "purse", purse->key);
    }
    if (outlasts) {
        arcp__put_cstr(&writer, "job", job->id);
    }
    arcp__put_raw(&writer, "held", message->held);
    arcp_json_end_object(&writer);
    arcp__context_check_text(jobs->context, &row);
    arcp__batch_put(jobs->log, ARCP_STORE_JOBS, hold_key(message->hold_id, key),
                    arcp_buf_span(&row));
    arcp__context_give_buf(jobs->context, &row);
    arcp_buf_append(&id, message->hold_id);
    arcp__effect_push(jobs->log, &job->live->agent_port,
                      &(arcp__effect){.kind = ARCP__EFFECT_HOLD_STORED, .job = job}, &id, true);
}

/* ---- restart ---- */

bool arcp__purse_has_row(arcp_span key)
{
    return arcp_span_starts_with(key, ARCP_SPAN_LITERAL(PURSE_PREFIX)) ||
           arcp_span_starts_with(key, ARCP_SPAN_LITERAL(HOLD_PREFIX));
}

/* Adds what was spent, or may have been. */
static arcp_status add_stored(arcp__purse *purse, arcp_span currency, arcp_decimal amount,
                              arcp_error *err)
{
    size_t i = 0;
    while (i < purse->stored_count && !arcp_span_equal_cstr(currency, purse->stored[i].currency)) {
        i++;
    }
    if (i == purse->stored_count) {
        stored_amount *grown = i == AMOUNTS_MAX || currency.size > ARCP__CURRENCY_BYTES_MAX
                                   ? NULL
                                   : arcp__realloc_array(purse->stored, i + 1, sizeof *grown);
        if (grown == NULL) {
            return i == AMOUNTS_MAX || currency.size > ARCP__CURRENCY_BYTES_MAX
                       ? arcp__row_damaged("purse", arcp_span_cstr(purse->key), err)
                       : arcp__row_out_of_memory(err);
        }
        purse->stored = grown;
        grown[i] = (stored_amount){.spent = ARCP_DECIMAL_ZERO};
        memcpy(grown[i].currency, currency.data, currency.size);
        purse->stored_count++;
    }
    arcp_decimal *spent = &purse->stored[i].spent;
    if (!arcp_decimal_add(*spent, amount, spent)) {
        *spent = (arcp_decimal){UINT64_MAX, INT64_MAX}; /* the largest */
    }
    return ARCP_OK;
}

static arcp_status restore_amounts(arcp__jobs *jobs, arcp__purse *purse, arcp_span key,
                                   arcp_json_ref amounts, arcp_error *err)
{
    const arcp_json *json = &jobs->context->json;
    arcp_status status = ARCP_OK;
    for (arcp_json_ref name = arcp_json_first(json, amounts);
         name != ARCP_JSON_ABSENT && status == ARCP_OK;
         name = arcp_json_next(json, amounts, name)) {
        arcp_buf *scratch = &jobs->context->scratch;
        arcp_decimal amount;
        const arcp_span currency = arcp_json_string(json, name, scratch);
        status = arcp_decimal_parse_spend(arcp_json_string(json, name + 1, scratch), &amount,
                                          NULL) == ARCP_OK
                     ? add_stored(purse, currency, amount, err)
                     : arcp__row_damaged("purse", key, err);
    }
    return status;
}

/* The budget of its job is not there yet (job_hold.c). */
static arcp_status keep_hold(arcp__jobs *jobs, arcp_span key, arcp_error *err)
{
    const arcp_span row = arcp_json_raw(&jobs->context->json, ARCP_JSON_ROOT);
    arcp__kept_hold *hold = arcp__alloc(sizeof *hold + key.size + row.size);
    if (hold == NULL) {
        return arcp__row_out_of_memory(err);
    }
    memcpy(hold->bytes, key.data, key.size);
    memcpy(hold->bytes + key.size, row.data, row.size);
    hold->key = arcp_span_make(hold->bytes, key.size);
    hold->row = arcp_span_make(hold->bytes + key.size, row.size);
    LL_PREPEND(jobs->kept_holds, hold);
    return ARCP_OK;
}

void arcp__purse_spend_hold(arcp__jobs *jobs, arcp_span name, arcp_span key, arcp_json_ref amounts,
                            const arcp__job *charged)
{
    arcp__purse *purse = find(jobs, name);
    purse = purse == NULL ? add(jobs, name) : purse;
    if (purse == NULL) {
        arcp__context_no_memory(jobs->context);
        return;
    }
    if (charged == NULL || charged->live->purse != purse) {
        if (purse->budget != NULL) {
            arcp__budget_spend_all(jobs, purse->budget, amounts);
        } else if (restore_amounts(jobs, purse, key, amounts, NULL) != ARCP_OK) {
            arcp__context_no_memory(jobs->context);
        }
    }
    set_due(jobs, purse);
}

void arcp__budget_spend_all(arcp__jobs *jobs, arcp_budget *budget, arcp_json_ref amounts)
{
    const arcp_json *json = &jobs->context->json;
    for (arcp_json_ref name = arcp_json_first(json, amounts); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, amounts, name)) {
        arcp_buf *scratch = &jobs->context->scratch;
        arcp_decimal amount;
        const arcp_span currency = arcp_json_string(json, name, scratch);
        if (arcp_decimal_parse_spend(arcp_json_string(json, name + 1, scratch), &amount, NULL) ==
            ARCP_OK) {
            (void)arcp_budget_spend(budget, currency, amount, NULL, 0);
        }
    }
}

arcp_status arcp__purse_restore_row(arcp__jobs *jobs, arcp_span key, arcp_error *err)
{
    const arcp_json *json = &jobs->context->json;
    const bool is_hold = arcp_span_starts_with(key, ARCP_SPAN_LITERAL(HOLD_PREFIX));
    const arcp_json_ref amounts = arcp_json_member(
        json, ARCP_JSON_ROOT, is_hold ? ARCP_SPAN_LITERAL("held") : ARCP_SPAN_LITERAL("spent"));
    arcp_span name = key;
    if (is_hold && arcp_json_is(json, amounts, ARCP_JSON_OBJECT) &&
        arcp_json_is(json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("job")),
                     ARCP_JSON_STRING)) {
        return keep_hold(jobs, key, err);
    }
    if (is_hold) {
        name = arcp_json_string(json,
                                arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("purse")),
                                &jobs->context->scratch);
    }
    if (!arcp_json_is(json, amounts, ARCP_JSON_OBJECT) ||
        !arcp_span_starts_with(name, ARCP_SPAN_LITERAL(PURSE_PREFIX)) ||
        name.size < sizeof PURSE_PREFIX + DAY_SIZE) {
        return arcp__row_damaged("purse", key, err);
    }
    arcp__purse *purse = find(jobs, name);
    purse = purse == NULL ? add(jobs, name) : purse;
    if (purse == NULL) {
        return arcp__row_out_of_memory(err);
    }
    const arcp_status status = restore_amounts(jobs, purse, key, amounts, err);
    if (status == ARCP_OK && is_hold) {
        /* Both changes are in the first batch, which is written when all is restored. */
        arcp__batch_delete(jobs->log, ARCP_STORE_JOBS, key);
        set_due(jobs, purse);
    }
    return status;
}

void arcp__purses_restored(arcp__jobs *jobs)
{
    sweep(jobs);
}
