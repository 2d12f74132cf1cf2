#include "config/config.h"

#include <string.h>

#include <arcp/secret.h>

#include "base/alloc.h"

void arcp__text_list_clear(arcp__text_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        arcp__free(list->items[i]);
    }
    arcp__free(list->items);
    *list = (arcp__text_list){NULL, 0};
}

void arcp__text_list_wipe(arcp__text_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        arcp_wipe(list->items[i], strlen(list->items[i]));
    }
    arcp__text_list_clear(list);
}

arcp_status arcp__text_list_add(arcp__text_list *list, const char *text, arcp_error *err)
{
    char **items = arcp__realloc_array(list->items, list->count + 2, sizeof *items);
    char *copy = arcp__copy_cstr(text, strlen(text));
    if (items != NULL) {
        list->items = items;
    }
    if (items == NULL || copy == NULL) {
        arcp__free(copy);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    items[list->count++] = copy;
    items[list->count] = NULL;
    return ARCP_OK;
}
