/* Rows of the table SCHEDULES, one for each schedule. */
#include "schedule/schedule_state.h"

#include "core/decode.h"
#include "json/json_put.h"

#define SECONDS_MAX (INT64_C(253402300799)) /* the end of the year 9999 */

typedef struct schedule_row {
    arcp_span when, last_job;
    uint64_t decided, last_due;
    arcp_json_ref waiting;
} schedule_row;

#define MEMBER(member, kind) ARCP__MEMBER(schedule_row, member, #member, kind)

static const arcp__member rows[] = {
    {MEMBER(when, STRING), .required = true},
    {MEMBER(decided, COUNT), .required = true},
    {MEMBER(last_due, COUNT)},
    {MEMBER(last_job, STRING)},
    {MEMBER(waiting, ARRAY)},
};
static const arcp__members members = ARCP__MEMBERS(rows);

void arcp__schedule_store(arcp__schedules *schedules, const arcp__schedule *schedule)
{
    arcp_buf row = arcp__context_take_buf(schedules->context);
    arcp_json_writer writer = arcp__put_begin(&row);
    arcp__put_cstr(&writer, "when", schedule->when);
    arcp__put_u64(&writer, "decided", (uint64_t)schedule->decided);
    if (schedule->last_due != ARCP__DUE_NEVER) {
        arcp__put_u64(&writer, "last_due", (uint64_t)schedule->last_due);
        arcp__put_cstr(&writer, "last_job", schedule->last_job);
    }
    if (schedule->range_count != 0) {
        arcp_json_name(&writer, "waiting");
        arcp_json_begin_array(&writer);
        for (size_t i = 0; i < schedule->range_count; i++) {
            arcp_json_write_u64(&writer, (uint64_t)schedule->ranges[i].after);
            arcp_json_write_u64(&writer, (uint64_t)schedule->ranges[i].upto);
        }
        arcp_json_end_array(&writer);
    }
    arcp_json_end_object(&writer);
    arcp__context_check_text(schedules->context, &row);
    arcp__batch_put(schedules->log, ARCP_STORE_SCHEDULES, arcp_span_cstr(schedule->name),
                    arcp_buf_span(&row));
    arcp__context_give_buf(schedules->context, &row);
}

/* Reads [after, upto, after, upto, ...], which increase. */
static bool read_ranges(const arcp_json *json, arcp_json_ref array, arcp__schedule *schedule)
{
    const size_t count = array == ARCP_JSON_ABSENT ? 0 : arcp_json_count(json, array);
    uint64_t before = 0;
    if (count % 2 != 0 || count / 2 > ARCP__SCHEDULE_RANGES_MAX) {
        return false;
    }
    arcp_json_ref item = count == 0 ? ARCP_JSON_ABSENT : arcp_json_first(json, array);
    for (size_t i = 0; i < count; i++, item = arcp_json_next(json, array, item)) {
        uint64_t number = 0;
        if (!arcp_json_u64(json, item, &number) || number < before || number > SECONDS_MAX) {
            return false;
        }
        before = number;
        if (i % 2 == 0) {
            schedule->ranges[i / 2].after = (int64_t)number;
        } else {
            schedule->ranges[i / 2].upto = (int64_t)number;
        }
    }
    schedule->range_count = count / 2;
    return true;
}

arcp_status arcp__schedule_restore_row(arcp__schedules *schedules, arcp_span key, arcp_error *err)
{
    const arcp_json *json = &schedules->context->json;
    schedule_row row = {.last_due = SECONDS_MAX + 1};
    arcp__schedule *schedule = arcp__schedule_get(schedules, key);
    if (schedule == NULL) {
        return arcp__row_out_of_memory(err);
    }
    if (!arcp__decode_row(json, &schedules->context->scratch, ARCP_JSON_ROOT, &members, &row) ||
        row.decided > SECONDS_MAX || row.last_job.size >= ARCP__ID_SIZE ||
        !read_ranges(json, row.waiting, schedule)) {
        return arcp__row_damaged("schedule", key, err);
    }
    schedule->decided = (int64_t)row.decided;
    schedule->last_due = row.last_due > SECONDS_MAX ? ARCP__DUE_NEVER : (int64_t)row.last_due;
    if (row.last_job.size != 0) {
        memcpy(schedule->last_job, row.last_job.data, row.last_job.size);
    }
    schedule->last_job[row.last_job.size] = '\0';
    schedule->stored_when = arcp__copy_cstr(row.when.data, row.when.size);
    return schedule->stored_when == NULL ? arcp__row_out_of_memory(err) : ARCP_OK;
}
