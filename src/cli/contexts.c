/* Contexts: runtimes with names. A context is a file NAME.yaml with the keys of the top level of
 * the configuration file (url, token_file, ...), in the directory `contexts` beside that file. The
 * file `current` there has the name of the one that is in use. `arcp context` writes them
 * (arcp/command_context.c). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define SUFFIX ".yaml"

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static bool is_name(const char *text)
{
    const size_t size = strlen(text);
    return size != 0 && size <= ARCP__CONTEXT_NAME_MAX && text[0] != '.' && text[0] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
               size;
}

bool arcp__context_is_default(const char *name)
{
    return strcmp(name, ARCP__CONTEXT_DEFAULT) == 0;
}

arcp_status arcp__context_check_name(const char *name, arcp_error *err)
{
    return is_name(name)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "'%.64s' is not the name of a context (expected 1 to %d letters, "
                                "digits, - _ and .)",
                                name, ARCP__CONTEXT_NAME_MAX);
}

/* ---- paths ---- */

arcp_status arcp__contexts_path(const arcp__arguments *arguments, const char *file, arcp_buf *out,
                                arcp_error *err)
{
    bool may_be_missing = false;
    const arcp_status status = arcp__config_path(arguments, out, &may_be_missing, err);
    if (status != ARCP_OK) {
        return status;
    }
    const char *slash = strrchr(out->data, '/');
    out->size = slash == NULL ? 0 : (size_t)(slash + 1 - out->data);
    arcp_buf_append_format(out, "contexts%s%s", file[0] == '\0' ? "" : "/", file);
    return arcp_buf_cstr(out) != NULL ? ARCP_OK : no_memory(err);
}

arcp_status arcp__context_path(const arcp__arguments *arguments, const char *name, arcp_buf *out,
                               arcp_error *err)
{
    char file[ARCP__CONTEXT_NAME_MAX + sizeof SUFFIX];
    bool may_be_missing = false;
    if (arcp__context_is_default(name)) {
        return arcp__config_path(arguments, out, &may_be_missing, err);
    }
    const arcp_status status = arcp__context_check_name(name, err);
    if (status != ARCP_OK) {
        return status;
    }
    (void)snprintf(file, sizeof file, "%s" SUFFIX, name);
    return arcp__contexts_path(arguments, file, out, err);
}

/* ---- which there are ---- */

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

arcp_status arcp__context_names(const arcp__arguments *arguments, arcp__text_list *out,
                                arcp_error *err)
{
    arcp_buf path = arcp_buf_init();
    arcp_status status = arcp__contexts_path(arguments, "", &path, err);
    DIR *directory = status == ARCP_OK ? opendir(path.data) : NULL;
    if (status == ARCP_OK && directory == NULL && errno != ENOENT) {
        status =
            arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", path.data, strerror(errno));
    }
    for (struct dirent *entry = NULL;
         status == ARCP_OK && directory != NULL && (entry = readdir(directory)) != NULL;) {
        char *end = strrchr(entry->d_name, '.');
        if (end != NULL && strcmp(end, SUFFIX) == 0) {
            *end = '\0';
            status =
                is_name(entry->d_name) ? arcp__text_list_add(out, entry->d_name, err) : ARCP_OK;
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    if (out->count != 0) {
        qsort(out->items, out->count, sizeof *out->items, compare);
    }
    arcp_buf_fini(&path);
    return status;
}

/* ---- which is in use ---- */

arcp_status arcp__context_current(const arcp__arguments *arguments, arcp_buf *out, arcp_error *err)
{
    arcp_buf path = arcp_buf_init();
    arcp_status status = arcp__contexts_path(arguments, "current", &path, err);
    const int fd = status == ARCP_OK ? open(path.data, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        const int problem = arcp__read_all(fd, ARCP__CONTEXT_NAME_MAX + 1, out);
        (void)close(fd);
        if (problem != 0) {
            status = arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", path.data,
                                    strerror(problem));
        }
        while (out->size != 0 && out->data[out->size - 1] == '\n') {
            out->size--;
        }
    } else if (status == ARCP_OK && errno == ENOENT) {
        arcp_buf_append_cstr(out, ARCP__CONTEXT_DEFAULT);
    } else if (status == ARCP_OK) {
        status =
            arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", path.data, strerror(errno));
    }
    arcp_buf_fini(&path);
    return status != ARCP_OK || arcp_buf_cstr(out) != NULL ? status : no_memory(err);
}

arcp_status arcp__context_selected(const arcp__arguments *arguments, arcp_buf *out, arcp_error *err)
{
    const char *given = arcp__value(arguments, ARCP__OPTION_CONTEXT);
    const char *environment = getenv("ARCP_CONTEXT");
    if (given == NULL && (environment == NULL || environment[0] == '\0')) {
        return arcp__context_current(arguments, out, err);
    }
    arcp_buf_append_cstr(out, given != NULL ? given : environment);
    return arcp_buf_cstr(out) != NULL ? ARCP_OK : no_memory(err);
}

/* ---- one ---- */

/* Names the contexts that there are. */
static arcp_status refuse_unknown(const arcp__arguments *arguments, const char *name,
                                  arcp_error *err)
{
    arcp__text_list names = {0};
    arcp_buf text = arcp_buf_init();
    arcp_status status = arcp__context_names(arguments, &names, err);
    for (size_t i = 0; i < names.count && i < 10; i++) {
        arcp_buf_append_format(&text, "%s%s", i == 0 ? " (there are " : ", ", names.items[i]);
    }
    arcp_buf_append_cstr(&text, names.count > 10 ? ", ...)" : names.count != 0 ? ")" : "");
    if (status == ARCP_OK) {
        status = arcp_error_set(err, ARCP_E_USAGE, "there is no context %s%s", name,
                                text.failed ? "" : arcp_buf_cstr(&text));
    }
    arcp_buf_fini(&text);
    arcp__text_list_clear(&names);
    return status;
}

arcp_status arcp__context_read(const arcp__arguments *arguments, const char *name,
                               arcp__config_level *out, arcp_error *err)
{
    arcp_buf path = arcp_buf_init();
    arcp_status status = arcp__context_path(arguments, name, &path, err);
    if (status == ARCP_OK && access(path.data, F_OK) != 0 && errno == ENOENT) {
        status = refuse_unknown(arguments, name, err);
    }
    if (status == ARCP_OK) {
        status = arcp__context_file_read(path.data, out, err);
    }
    arcp_buf_fini(&path);
    return status;
}
