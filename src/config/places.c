#include "config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void arcp__config_places_fini(arcp__config_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        arcp__free(places->rows[i].key);
    }
    arcp__free(places->rows);
    arcp__free(places->file);
    *places = (arcp__config_places){NULL, NULL, 0};
}

arcp_status arcp__config_places_add(arcp__config_places *places, const char *key, size_t line,
                                    arcp_error *err)
{
    arcp__config_place *rows =
        arcp__realloc_array(places->rows, places->count + 1, sizeof *places->rows);
    char *copy = arcp__copy_cstr(key, strlen(key));
    if (rows != NULL) {
        places->rows = rows;
    }
    if (rows == NULL || copy == NULL) {
        arcp__free(copy);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    rows[places->count++] = (arcp__config_place){copy, line};
    return ARCP_OK;
}

void arcp__config_places_forget(arcp__config_places *places, const char *key)
{
    const size_t size = strlen(key);
    size_t kept = 0;
    for (size_t i = 0; i < places->count; i++) {
        const arcp__config_place row = places->rows[i];
        if (strncmp(row.key, key, size) == 0 && (row.key[size] == '\0' || row.key[size] == '[')) {
            arcp__free(row.key);
        } else {
            places->rows[kept++] = row;
        }
    }
    places->count = kept;
}

arcp__config_name arcp__config_name_of(const arcp__config_places *places, const char *format, ...)
{
    char key[160];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(key, sizeof key, format, arguments);
    va_end(arguments);
    arcp__config_name name;
    for (size_t i = 0; i < places->count; i++) {
        if (strcmp(places->rows[i].key, key) == 0) {
            (void)snprintf(name.text, sizeof name.text, "%.300s:%zu: %s", places->file,
                           places->rows[i].line, key);
            return name;
        }
    }
    key[strcspn(key, "[")] = '\0';
    (void)snprintf(name.text, sizeof name.text, "%s", key);
    return name;
}
