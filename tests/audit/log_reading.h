/* What stands in an audit log's files. */
#ifndef ARCP_TESTS_AUDIT_LOG_READING_H
#define ARCP_TESTS_AUDIT_LOG_READING_H

#include <arcp/buf.h>

/* Appends what a file has. */
void log_read_file(const char *path, arcp_buf *text);
/* Appends what the log's files have, in the order of their names and the current one last, and a
 * NUL byte. They are one whole chain, or the test fails; how many lines. */
uint64_t log_read(const char *path, arcp_buf *text);

#endif
