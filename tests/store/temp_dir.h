/* A fresh directory under $TMPDIR (/tmp), removed with its content. */
#ifndef ARCP_TESTS_TEMP_DIR_H
#define ARCP_TESTS_TEMP_DIR_H

typedef struct temp_dir {
    char path[256];
} temp_dir;

temp_dir *temp_dir_new(void);
void temp_dir_free(temp_dir *dir); /* NULL is accepted */

/* "PREFIX/path/of/dir/NAME" in one of a few static buffers, used in turn. */
const char *temp_dir_join(const temp_dir *dir, const char *prefix, const char *name);

#endif
