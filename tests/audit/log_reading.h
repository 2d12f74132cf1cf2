/* Reads the files of an audit log. */
#ifndef ARCP_TESTS_AUDIT_LOG_READING_H
#define ARCP_TESTS_AUDIT_LOG_READING_H

#include <arcp/buf.h>

/* Appends the content of a file. */
void log_read_file(const char *path, arcp_buf *text);
/* Appends the content of the log's files, in the order of their names and the current one last, and
 * a NUL byte. Fails the test unless they are one whole chain; returns the number of lines. */
uint64_t log_read(const char *path, arcp_buf *text);

#endif
