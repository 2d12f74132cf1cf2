#include "arcp/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "egress/egress.h"

#define TEXT_OF(number)  #number
#define VALUE_OF(number) TEXT_OF(number)
#define PROXY_PORT       VALUE_OF(ARCP__EGRESS_PROXY_PORT)

/* What a command is passed without being asked for. LC_* too. */
static const char *const passed[] = {"PATH", "HOME", "USER",      "SHELL",   "LANG",
                                     "TZ",   "TERM", "COLORTERM", "NO_COLOR"};

static bool has_name(const char *variable, const char *name, size_t size)
{
    return strncmp(variable, name, size) == 0 && variable[size] == '=';
}

static bool is_passed(const char *variable)
{
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        if (has_name(variable, passed[i], strlen(passed[i]))) {
            return true;
        }
    }
    return strncmp(variable, "LC_", 3) == 0;
}

/* Adds a variable, or replaces the one of this name. `variable` outlives the run. */
static void set(const char **env, size_t *count, const char *variable)
{
    const size_t size = strcspn(variable, "=");
    size_t i = 0;
    while (i < *count && !has_name(env[i], variable, size)) {
        i++;
    }
    env[i] = variable;
    *count += i == *count;
}

/* What a shell sets by itself; no command depends on it. */
static bool is_of_shell(const char *variable)
{
    static const char *const names[] = {"_", "SHLVL", "PWD", "OLDPWD"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (has_name(variable, names[i], strlen(names[i]))) {
            return true;
        }
    }
    return false;
}

/* NAME=VALUE in the arena; NULL when out of memory. */
static const char *variable_of(arcp__run *run, const char *name, arcp_span value)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text, "%s=%.*s", name, (int)value.size, value.data);
    const char *copy =
        text.failed ? NULL : arcp__arena_copy(&run->arena, arcp_buf_span(&text)).data;
    arcp_buf_fini(&text);
    return copy;
}

static arcp_status add_options(arcp__run *run, size_t *count, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_RUN_ENV]; i++) {
        const char *given = arguments->values[ARCP__OPTION_RUN_ENV][i];
        if (given[0] == '\0' || given[0] == '=') {
            return arcp_error_set(err, ARCP_E_USAGE, "--env %.200s must be NAME or NAME=VALUE",
                                  given);
        }
        if (strchr(given, '=') != NULL) {
            set(run->env, count, given);
            continue;
        }
        for (char **at = environ; *at != NULL; at++) { /* one that is not set is not passed */
            if (has_name(*at, given, strlen(given))) {
                set(run->env, count, *at);
                break;
            }
        }
    }
    return ARCP_OK;
}

arcp_status arcp__run_environment(arcp__run *run, arcp_error *err)
{
    size_t ours = 0;
    size_t count = 0;
    while (environ[ours] != NULL) {
        ours++;
    }
    const char *home = variable_of(run, "HOME", run->plan->home);
    const char *tmp = variable_of(run, "TMPDIR", run->plan->tmp);
    run->env = arcp__arena_take(&run->arena,
                                (ours + run->program->arguments.counts[ARCP__OPTION_RUN_ENV] + 5) *
                                    sizeof *run->env);
    if (run->env == NULL || home == NULL || tmp == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < ours; i++) {
        if (is_passed(environ[i])) {
            set(run->env, &count, environ[i]);
        }
    }
    set(run->env, &count, home);
    if (!arcp_span_equal_cstr(run->plan->tmp, "/tmp")) {
        set(run->env, &count, tmp);
    }
    const arcp_status status = add_options(run, &count, err);
    if (run->plan->port_count != 0) {
        set(run->env, &count, "ARCP_PROXY=http://127.0.0.1:" PROXY_PORT);
    }
    /* By this a command knows that it is confined, and `arcp run` that it is inside another. */
    set(run->env, &count, ARCP__SANDBOX_MARK "=1");
    run->env[count] = NULL;
    for (size_t i = 0; i < ours && status == ARCP_OK; i++) {
        size_t j = 0;
        while (j < count && !has_name(run->env[j], environ[i], strcspn(environ[i], "="))) {
            j++;
        }
        run->kept_back += j == count && !is_of_shell(environ[i]);
    }
    return status;
}
