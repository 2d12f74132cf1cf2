#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/fault.h"
#include "launch/sandbox_helper/helper.h"
#include "json/json_put.h"

static _Thread_local arcp__helper_stage current;

static const char *const names[] = {
#define ARCP_LAUNCH_STAGE(id, name, text) name,
#include "launch/launch_stage.def"
#undef ARCP_LAUNCH_STAGE
};

static arcp_buf lists[ARCP__HELPER_FOUND_COUNT];
static size_t counts[ARCP__HELPER_FOUND_COUNT];

void arcp__helper_report_leased(void)
{
    static const char record[] = "{\"leased\":true}";
    ssize_t sent;
    do { /* waits for room, because nothing else would start the job */
        sent = send(ARCP__LAUNCH_CONTROL_FD, record, sizeof record - 1, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
}

/* A sandbox must not hang because its records are not read. */
void arcp__helper_send_record(const arcp_buf *record)
{
    if (arcp_buf_status(record) == ARCP_OK) {
        (void)send(ARCP__LAUNCH_CONTROL_FD, record->data, record->size,
                   MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

void arcp__helper_begin(arcp__helper_stage stage)
{
    current = stage;
    if (arcp__fault_is_at(names[stage])) {
        errno = EIO;
        arcp__helper_fail(NULL);
    }
}

void arcp__helper_fail_at(arcp_span path)
{
    const int number = errno;
    const char *name = strerrorname_np(number);
    arcp_buf record = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&record);
    arcp__put_cstr(&writer, "failed", names[current]);
    arcp__put_text(&writer, "path", path);
    arcp__put_cstr(&writer, "errno", name == NULL ? "EIO" : name);
    arcp_json_end_object(&writer);
    arcp__helper_send_record(&record);
    if (current != ARCP__HELPER_EXEC) {
        _exit(ARCP__HELPER_FAILED);
    }
    _exit(number == ENOENT || number == ENOTDIR ? ARCP__HELPER_NOT_FOUND : ARCP__HELPER_NO_EXEC);
}

void arcp__helper_fail(const char *path)
{
    arcp__helper_fail_at(arcp_span_cstr(path));
}

void arcp__helper_found(arcp__helper_list list, arcp_span path, const char *text)
{
    static const char *const members[ARCP__HELPER_FOUND_COUNT] = {
        [ARCP__HELPER_FOUND_LINKS] = "real",
        [ARCP__HELPER_FOUND_ABSENT] = "expected",
        [ARCP__HELPER_FOUND_GIT] = "protection",
        [ARCP__HELPER_FOUND_COVERS] = "type",
    };
    if (counts[list]++ >= ARCP__HELPER_REPORT_MAX) {
        return;
    }
    arcp_buf *to = &lists[list];
    if (to->size != 0) {
        arcp_buf_append_byte(to, ',');
    }
    arcp_json_writer writer = arcp__put_begin(to);
    arcp__put_string(&writer, "path", path);
    if (members[list] != NULL) {
        arcp__put_cstr(&writer, members[list], text);
    }
    arcp_json_end_object(&writer);
}

void arcp__helper_report_running(bool proc_is_outer)
{
    static const char *const members[ARCP__HELPER_FOUND_COUNT] = {
        [ARCP__HELPER_FOUND_LINKS] = "links",
        [ARCP__HELPER_FOUND_ABSENT] = "absent",
        [ARCP__HELPER_FOUND_GIT] = "git",
        [ARCP__HELPER_FOUND_COVERS] = "covers",
    };
    arcp_buf record = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&record);
    arcp__put_bool(&writer, "running", true);
    for (size_t i = 0; i < ARCP__HELPER_FOUND_COUNT; i++) {
        /* Long paths: a list that does not fit is left out, with the number of its entries. */
        if (lists[i].size != 0 && record.size + lists[i].size < 60000) {
            arcp__put_array(&writer, members[i]);
            arcp_json_write_raw(&writer, arcp_buf_span(&lists[i]));
            arcp_json_end_array(&writer);
        } else if (counts[i] != 0) {
            arcp__put_u64(&writer, members[i], counts[i]);
        }
    }
    if (proc_is_outer) {
        arcp__put_bool(&writer, "proc_is_outer", true);
    }
    arcp_json_end_object(&writer);
    arcp__helper_send_record(&record);
}
