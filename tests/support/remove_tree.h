/* Removes the temporary directories of tests with their content. */
#ifndef ARCP_TESTS_REMOVE_TREE_H
#define ARCP_TESTS_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_tree_entry(const char *path, const struct stat *about, int kind,
                                    struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

/* 0 when nothing is left. Follows no links. */
static inline int remove_tree(const char *path)
{
    return nftw(path, remove_tree_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
