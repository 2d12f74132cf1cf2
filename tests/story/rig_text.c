#include "story/rig_text.h"

#include "support/check.h"

#include <arcp/secret.h>

#include "base/alloc.h"

/* Frames and lines contain tokens and credentials. They are wiped, so that a test that searches
 * freed memory for secrets finds only those that the engine left behind. */
static void text_free(rig_text *text)
{
    arcp_wipe(text->text, text->size);
    arcp__free(text);
}

void rig_text_push(rig_text **list, rig_text **newest, arcp_span text)
{
    rig_text *added = arcp__alloc(sizeof *added + text.size + 1);
    if (added == NULL) { /* the failing allocation of a test must not be this one */
        added = arcp__alloc(sizeof *added + text.size + 1);
    }
    assert_non_null(added);
    memcpy(added->text, text.data == NULL ? "" : text.data, text.size);
    added->size = text.size;
    if (*list == NULL) {
        *list = added;
    } else {
        (*newest)->next = added;
    }
    *newest = added;
}

char *rig_text_take(rig_text **list)
{
    rig_text *first = *list;
    if (first == NULL) {
        return NULL;
    }
    char *copy = arcp__copy_cstr(first->text, first->size);
    if (copy == NULL) {
        copy = arcp__copy_cstr(first->text, first->size);
    }
    *list = first->next;
    text_free(first);
    return copy;
}

void rig_text_clear(rig_text **list)
{
    while (*list != NULL) {
        rig_text *first = *list;
        *list = first->next;
        text_free(first);
    }
}
