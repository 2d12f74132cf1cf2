#include "audit/log_reading.h"

#include "support/check.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "audit/audit_check.h"

void log_read_file(const char *path, arcp_buf *text)
{
    char bytes[4096];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (ssize_t got = read(fd, bytes, sizeof bytes); got > 0;
         got = read(fd, bytes, sizeof bytes)) {
        arcp_buf_append(text, arcp_span_make(bytes, (size_t)got));
    }
    close(fd);
}

static void on_finding(void *user, const arcp__audit_finding *finding)
{
    (void)user;
    fail_msg("%s:%llu: %s", finding->file, (unsigned long long)finding->line, finding->message);
}

uint64_t log_read(const char *path, arcp_buf *text)
{
    char pattern[128];
    glob_t found;
    arcp_error err = {0};
    arcp__audit_check check;
    arcp__audit_check_init(&check, on_finding, NULL);
    snprintf(pattern, sizeof pattern, "%s.*", path);
    assert_true(glob(pattern, 0, NULL, &found) == 0 || found.gl_pathc == 0);
    for (size_t i = 0; i <= found.gl_pathc; i++) {
        const char *name = i == found.gl_pathc ? path : found.gl_pathv[i];
        const size_t before = text->size;
        log_read_file(name, text);
        arcp__audit_check_begin(&check, name);
        check_ok(arcp__audit_check_feed(&check, arcp_span_from(arcp_buf_span(text), before), &err),
                 &err);
        arcp__audit_check_end(&check);
    }
    const uint64_t lines = check.lines;
    assert_int_equal(check.head.seq, lines);
    arcp__audit_check_fini(&check);
    globfree(&found);
    arcp_buf_append_byte(text, '\0');
    return lines;
}
