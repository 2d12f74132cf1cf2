/* Folders of a test's own. */
#ifndef ARCP_TESTS_ARCP_TEMP_TREE_H
#define ARCP_TESTS_ARCP_TEMP_TREE_H

#include <stddef.h>

/* Makes a folder under /tmp and writes its path to `out`. */
void temp_tree_make(char *out, size_t room);
/* Makes a folder and those on the way to it. */
void temp_tree_add(const char *path);
/* Removes everything. 0 on success, as cmocka's teardown has it. */
int temp_tree_remove(const char *path);

#endif
