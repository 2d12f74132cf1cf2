/* Which values of a pool were used: a file of SHA-256 sums, one a line, that only grows. A
 * value is handed out only when its line is on the disk. */
#ifndef ARCP_PROVISIONER_USED_VALUES_H
#define ARCP_PROVISIONER_USED_VALUES_H

#include <arcp/error.h>
#include <arcp/span.h>
#include <stdbool.h>

#define ARCP__USED_SUM_SIZE 64 /* hex digits */

typedef struct arcp__used_values {
    int fd;
} arcp__used_values;

/* Makes the file (mode 0600) when it is missing. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__used_values_open(const char *path, arcp__used_values *out,
                                                   arcp_error *err);
void arcp__used_values_close(arcp__used_values *self);
void arcp__used_value_sum(arcp_span value, char out[ARCP__USED_SUM_SIZE]);
/* Calls `each` with every sum in the file. */
ARCP_MUST_CHECK arcp_status arcp__used_values_read(const arcp__used_values *self,
                                                   void (*each)(void *user, const char *sum),
                                                   void *user, arcp_error *err);
/* Appends a sum, durably. Blocks for the disk; any one thread at a time. */
bool arcp__used_values_add(const arcp__used_values *self, const char *sum);

#endif
