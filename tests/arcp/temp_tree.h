/* Temporary folders of a test. */
#ifndef ARCP_TESTS_ARCP_TEMP_TREE_H
#define ARCP_TESTS_ARCP_TEMP_TREE_H

#include <stddef.h>

/* Creates a folder under /tmp and writes its path to `out`. */
void temp_tree_make(char *out, size_t room);
/* Creates a folder and its parents. */
void temp_tree_add(const char *path);
/* Removes everything. 0 on success, as for cmocka's teardown. */
int temp_tree_remove(const char *path);

#endif
