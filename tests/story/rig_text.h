/* Texts in the order in which they came. */
#ifndef ARCP_TESTS_RIG_TEXT_H
#define ARCP_TESTS_RIG_TEXT_H

#include <arcp/span.h>

typedef struct rig_text {
    struct rig_text *next;
    size_t size;
    char text[];
} rig_text;

/* Lists begin as NULL; `newest` is the last of this one, if it has any. */
void rig_text_push(rig_text **list, rig_text **newest, arcp_span text);
/* The oldest, NULL for none; the caller frees it with arcp_free. */
char *rig_text_take(rig_text **list);
void rig_text_clear(rig_text **list);

#endif
