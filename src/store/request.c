#include "store/request.h"

#include "store/store_check.h"

static arcp_status request_new(arcp__request_kind kind, uint64_t id, arcp_span key,
                               arcp__request **out, arcp_error *err)
{
    arcp__request *request = arcp__alloc(sizeof(*request) + key.size);
    if (request == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a store request");
    }
    request->kind = kind;
    request->id = id;
    request->key_size = key.size;
    if (key.size != 0) {
        memcpy(request->key, key.data, key.size);
    }
    *out = request;
    return ARCP_OK;
}

arcp_status arcp__request_new_batch(const arcp_store_batch *batch, arcp__request **out,
                                    arcp_error *err)
{
    size_t bytes = 0;
    arcp_status status = arcp__store_check_batch(batch, &bytes, err);
    if (status == ARCP_OK) {
        status = request_new(ARCP__REQUEST_BATCH, batch->id, arcp_span_make(NULL, 0), out, err);
    }
    if (status == ARCP_OK) {
        (*out)->ops = batch->ops;
        (*out)->count = batch->count;
        (*out)->bytes = bytes;
    }
    return status;
}

arcp_status arcp__request_new_read(uint64_t id, arcp_span stream, uint64_t from, size_t count_max,
                                   size_t bytes_max, arcp__request **out, arcp_error *err)
{
    arcp_status status = arcp__store_check_read(stream, count_max, err);
    if (status == ARCP_OK) {
        status = request_new(ARCP__REQUEST_READ, id, stream, out, err);
    }
    if (status == ARCP_OK) {
        (*out)->from = from;
        (*out)->count_max = count_max;
        (*out)->bytes_max =
            bytes_max < ARCP__STORE_READ_BYTES_MAX ? bytes_max : ARCP__STORE_READ_BYTES_MAX;
    }
    return status;
}

arcp_status arcp__request_new_scan(uint64_t id, arcp_store_table table, arcp_span prefix,
                                   arcp__request **out, arcp_error *err)
{
    arcp_status status = arcp__store_check_scan(table, prefix, err);
    if (status == ARCP_OK) {
        status = request_new(ARCP__REQUEST_SCAN, id, prefix, out, err);
    }
    if (status == ARCP_OK) {
        (*out)->table = table;
    }
    return status;
}

void arcp__request_free(arcp__request *request)
{
    if (request != NULL) {
        arcp__free(request->records);
        arcp__free(request->rows);
        arcp__arena_fini(&request->arena);
        arcp__free(request);
    }
}
