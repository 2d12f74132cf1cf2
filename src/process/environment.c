#include "process/process.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "launch/launch.h"

void arcp__environment_set(arcp__environment *environment, const char *name, arcp_span value)
{
    size_t name_size = strlen(name);
    const char *end = value.size == 0 ? NULL : memchr(value.data, '\0', value.size);
    arcp_buf pair = ARCP_BUF_INIT;
    size_t at = 0;
    arcp_buf_append_cstr(&pair, name);
    arcp_buf_append_byte(&pair, '=');
    arcp_buf_append(&pair,
                    end == NULL ? value : arcp_span_first(value, (size_t)(end - value.data)));
    char *text = arcp_buf_take_cstr(&pair);
    arcp_buf_fini(&pair);
    while (at < environment->count && (strncmp(environment->pairs[at], name, name_size) != 0 ||
                                       environment->pairs[at][name_size] != '=')) {
        at++;
    }
    if (text != NULL && at == environment->count) {
        char **pairs = arcp__realloc_array(environment->pairs, at + 2, sizeof(*pairs));
        if (pairs != NULL) {
            environment->pairs = pairs;
            pairs[at] = NULL;
            pairs[at + 1] = NULL;
            environment->count++;
        } else {
            arcp__free(text);
            text = NULL;
        }
    }
    if (text == NULL) {
        environment->failed = true;
        return;
    }
    arcp__free(environment->pairs[at]);
    environment->pairs[at] = text;
}

static void set_own(arcp__environment *environment, const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    if (value != NULL || otherwise != NULL) {
        arcp__environment_set(environment, name, arcp_span_cstr(value != NULL ? value : otherwise));
    }
}

void arcp__environment_base(arcp__environment *environment, const char *user)
{
    char buffer[16384];
    struct passwd entry;
    struct passwd *found = NULL;
    set_own(environment, "PATH", "/usr/local/bin:/usr/bin:/bin");
    set_own(environment, "LANG", NULL);
    set_own(environment, "TZ", NULL);
    if (user == NULL) {
        set_own(environment, "HOME", NULL);
    } else if (getpwnam_r(user, &entry, buffer, sizeof(buffer), &found) == 0 && found != NULL) {
        arcp__environment_set(environment, "HOME", arcp_span_cstr(found->pw_dir));
    }
}

void arcp__environment_pass(arcp__environment *environment, const char *const *names)
{
    for (size_t at = 0; names != NULL && names[at] != NULL; at++) {
        const char *given = names[at];
        const char *equals = strchr(given, '=');
        if (equals == NULL) {
            set_own(environment, given, NULL);
            continue;
        }
        char *name = arcp__copy_cstr(given, (size_t)(equals - given));
        if (name == NULL) {
            environment->failed = true;
            return;
        }
        arcp__environment_set(environment, name, arcp_span_cstr(equals + 1));
        arcp__free(name);
    }
}

void arcp__environment_fini(arcp__environment *environment)
{
    for (size_t at = 0; at < environment->count; at++) {
        arcp__free(environment->pairs[at]);
    }
    arcp__free(environment->pairs);
    *environment = (arcp__environment){0};
}

arcp_status arcp__process_check(const char *const *argv, const char *const *env, const char *user,
                                arcp_error *err)
{
    arcp__environment environment = {.failed = false};
    arcp__environment_base(&environment, user);
    arcp__environment_pass(&environment, env);
    arcp_status status =
        environment.failed
            ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
            : arcp__launch_check(argv, (const char *const *)environment.pairs, user, err);
    arcp__environment_fini(&environment);
    return status;
}
