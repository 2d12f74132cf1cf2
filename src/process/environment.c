#include "process/process.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"

/* The list grows by so many entries at a time. */
#define PAIRS_STEP 16u

static void set(arcp__environment *environment, arcp_span name, arcp_span value)
{
    const char *end = value.size == 0 ? NULL : memchr(value.data, '\0', value.size);
    const size_t value_size = end == NULL ? value.size : (size_t)(end - value.data);
    const size_t count = environment->count;
    size_t i = 0;
    while (i < count && (strncmp(environment->pairs[i], name.data, name.size) != 0 ||
                         environment->pairs[i][name.size] != '=')) {
        i++;
    }
    char **pairs = environment->pairs;
    if (i == count && count % PAIRS_STEP == 0) {
        pairs = arcp__arena_take(&environment->arena, (count + PAIRS_STEP + 1) * sizeof *pairs);
        if (pairs != NULL && count != 0) {
            memcpy(pairs, environment->pairs, count * sizeof *pairs);
        }
    }
    char *text = arcp__arena_take(&environment->arena, name.size + value_size + 2);
    if (pairs == NULL || text == NULL) {
        environment->failed = true;
        return;
    }
    memcpy(text, name.data, name.size);
    text[name.size] = '=';
    if (value_size != 0) {
        memcpy(text + name.size + 1, value.data, value_size);
    }
    text[name.size + 1 + value_size] = '\0';
    environment->pairs = pairs;
    pairs[i] = text;
    if (i == count) {
        pairs[++environment->count] = NULL;
    }
}

void arcp__environment_set(arcp__environment *environment, const char *name, arcp_span value)
{
    set(environment, arcp_span_cstr(name), value);
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
    } else if (getpwnam_r(user, &entry, buffer, sizeof buffer, &found) == 0 && found != NULL) {
        arcp__environment_set(environment, "HOME", arcp_span_cstr(found->pw_dir));
    }
}

void arcp__environment_pass(arcp__environment *environment, const char *const *names)
{
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        const char *given = names[i];
        const char *equals = strchr(given, '=');
        if (equals == NULL) {
            set_own(environment, given, NULL);
            continue;
        }
        set(environment, arcp_span_make(given, (size_t)(equals - given)),
            arcp_span_cstr(equals + 1));
    }
}

void arcp__environment_fini(arcp__environment *environment)
{
    arcp__arena_fini(&environment->arena);
    *environment = (arcp__environment){0};
}

arcp_status arcp__process_check(const char *const *argv, const char *const *env, const char *user,
                                arcp_error *err)
{
    arcp__environment environment = {.failed = false};
    arcp__environment_base(&environment, user);
    arcp__environment_pass(&environment, env);
    const arcp_status status =
        environment.failed
            ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
            : arcp__launch_check(argv, (const char *const *)environment.pairs, user, err);
    arcp__environment_fini(&environment);
    return status;
}
