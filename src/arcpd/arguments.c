#include "arcpd/arguments.h"

#include <string.h>

#include <arcp/secret.h>

#include "base/alloc.h"

char **arcp__arguments_copy(int argc, char *const *argv)
{
    char **copy = arcp__alloc_array((size_t)argc + 1, sizeof(*copy));
    for (int at = 0; copy != NULL && at < argc; at++) {
        copy[at] = arcp__copy_cstr(argv[at], strlen(argv[at]));
        if (copy[at] == NULL) {
            arcp__arguments_free(argc, copy);
            return NULL;
        }
    }
    return copy;
}

void arcp__arguments_free(int argc, char **copy)
{
    for (int at = 0; copy != NULL && at < argc; at++) {
        if (copy[at] != NULL) {
            arcp_wipe(copy[at], strlen(copy[at]));
            arcp__free(copy[at]);
        }
    }
    arcp__free(copy);
}

void arcp__arguments_wipe(int argc, char *const *argv)
{
    for (int at = 1; at < argc; at++) {
        if (strncmp(argv[at], "--token=", 8) == 0) {
            arcp_wipe(argv[at] + 8, strlen(argv[at] + 8));
        } else if (strcmp(argv[at], "--token") == 0 && at + 1 < argc) {
            arcp_wipe(argv[at + 1], strlen(argv[at + 1]));
            at++;
        }
    }
}
