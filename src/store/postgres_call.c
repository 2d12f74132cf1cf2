#include "store/postgres_call.h"

#include "base/hash.h"

static const struct {
    unsigned char count;
    unsigned char types[ARCP__PG_CALL_PARAMS];
} columns[ARCP__PG_STATEMENT_COUNT] = {
    [ARCP__PG_STREAM_DROP] = {2, {ARCP__PG_INT4, ARCP__PG_INT8}},
    [ARCP__PG_STREAM_INSERT] = {3, {ARCP__PG_INT4, ARCP__PG_INT8, ARCP__PG_TEXT}},
    [ARCP__PG_RUN_INSERT] = {6,
                             {ARCP__PG_INT4, ARCP__PG_INT8, ARCP__PG_INT8, ARCP__PG_INT4,
                              ARCP__PG_TEXT, ARCP__PG_INT4}},
    [ARCP__PG_RUN_TRIM] = {4, {ARCP__PG_INT4, ARCP__PG_INT8, ARCP__PG_INT8, ARCP__PG_INT8}},
    [ARCP__PG_ROW_PUT] = {5,
                          {ARCP__PG_INT4, ARCP__PG_INT2, ARCP__PG_TEXT, ARCP__PG_TEXT,
                           ARCP__PG_INT4}},
    [ARCP__PG_ROW_DELETE] = {3, {ARCP__PG_INT4, ARCP__PG_INT2, ARCP__PG_TEXT}},
};

static void clear_call(arcp__pg_call *call, arcp__pg_statement statement)
{
    for (size_t i = 0; i < columns[statement].count; i++) {
        arcp__pg_array_begin(&call->params[i], columns[statement].types[i]);
    }
}

arcp__pg_call *arcp__pg_calls_row(arcp__pg_calls *calls, int64_t shard,
                                  arcp__pg_statement statement, size_t bytes)
{
    arcp__pg_call *call = calls->first[statement];
    if (call != NULL) {
        size_t used = bytes;
        for (size_t i = 0; i < columns[statement].count; i++) {
            used += call->params[i].bytes.size;
        }
        if (call->params[0].count == 0 || used <= ARCP__PG_CALL_BYTES) {
            arcp__pg_add_integer(&call->params[0], shard);
            return call;
        }
    }
    call = arcp__alloc(sizeof *call);
    if (call != NULL) {
        clear_call(call, statement);
        LL_PREPEND(calls->first[statement], call);
        arcp__pg_add_integer(&call->params[0], shard);
    }
    return call;
}

void arcp__pg_calls_clear(arcp__pg_calls *calls)
{
    for (size_t i = 0; i < ARCP__PG_STATEMENT_COUNT; i++) {
        arcp__pg_call *kept = calls->first[i];
        while (kept != NULL && kept->next != NULL) {
            arcp__pg_call *more = kept->next;
            kept->next = more->next;
            for (size_t j = 0; j < columns[i].count; j++) {
                arcp__pg_array_fini(&more->params[j]);
            }
            arcp__free(more);
        }
        for (size_t j = 0; kept != NULL && j < columns[i].count; j++) {
            if (kept->params[j].bytes.capacity > ARCP__PG_CALL_BYTES) {
                arcp__pg_array_fini(&kept->params[j]);
            }
        }
        if (kept != NULL) {
            clear_call(kept, (arcp__pg_statement)i);
        }
    }
}

void arcp__pg_calls_fini(arcp__pg_calls *calls)
{
    arcp__pg_calls_clear(calls);
    for (size_t i = 0; i < ARCP__PG_STATEMENT_COUNT; i++) {
        for (size_t j = 0; calls->first[i] != NULL && j < ARCP__PG_CALL_PARAMS; j++) {
            arcp__pg_array_fini(&calls->first[i]->params[j]);
        }
        arcp__free(calls->first[i]);
    }
}

bool arcp__pg_calls_have_memory(const arcp__pg_calls *calls)
{
    bool has_failed = false;
    for (size_t i = 0; i < ARCP__PG_STATEMENT_COUNT; i++) {
        for (const arcp__pg_call *call = calls->first[i]; call != NULL; call = call->next) {
            for (size_t j = 0; j < columns[i].count; j++) {
                has_failed = has_failed || call->params[j].bytes.failed;
            }
        }
    }
    return !has_failed;
}

bool arcp__pg_calls_send(arcp__pg_calls *calls, arcp__pg *pg)
{
    /* A stream that is dropped and created again has a new number under the same key, so the old
     * one loses the key first. */
    static const arcp__pg_statement order[] = {ARCP__PG_STREAM_DROP, ARCP__PG_STREAM_INSERT,
                                               ARCP__PG_RUN_INSERT,  ARCP__PG_RUN_TRIM,
                                               ARCP__PG_ROW_PUT,     ARCP__PG_ROW_DELETE};
    bool is_sent = true;
    for (size_t i = 0; i < sizeof order / sizeof order[0] && is_sent; i++) {
        for (arcp__pg_call *call = calls->first[order[i]]; call != NULL && is_sent;
             call = call->next) {
            if (call->params[0].count != 0) {
                is_sent = arcp__pg_send(pg, order[i], call->params, columns[order[i]].count);
            }
        }
    }
    return is_sent;
}
