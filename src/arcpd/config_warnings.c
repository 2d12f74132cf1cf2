#include "arcpd/arcpd.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/process.h"

/* The same minimum as for the token that arcpd creates (tokens.c). */
#define TOKEN_BYTES_MIN 16u
#define LINE_BYTES      2048

typedef struct warnings {
    const arcp__config *config;
    const arcp__token_facts *tokens;
    arcp__config_warn_fn warn;
    void *user;
} warnings;

ARCP_PRINTF(3, 4)
static void report(const warnings *w, arcp__config_name name, const char *format, ...)
{
    char what[LINE_BYTES];
    char line[LINE_BYTES + sizeof name.text];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    (void)snprintf(line, sizeof line, "%s: %s", name.text, what);
    w->warn(w->user, line);
}

/* ---- listeners ---- */

static void warn_of_listeners(const warnings *w)
{
    const arcp__config *config = w->config;
    bool is_beyond_loopback = false;
    for (size_t i = 0; i < config->listen.count; i++) {
        const char *url = config->listen.items[i];
        if (arcp__listen_is_loopback(url)) {
            continue;
        }
        is_beyond_loopback = true;
        if (strncasecmp(url, "ws://", 5) == 0) {
            report(w, arcp__config_name_of(&config->places, "listen[%zu]", i),
                   "%.300s: tokens and results are sent over the network unencrypted; use wss:// "
                   "(tls), or listen on 127.0.0.1 behind a proxy with TLS",
                   url);
        }
    }
    if (is_beyond_loopback && w->tokens->token_bytes_min < TOKEN_BYTES_MIN) {
        report(
            w, arcp__config_name_of(&config->places, "tokens"),
            "a token shorter than %u bytes can be guessed over the network; create random tokens, "
            "for example with `openssl rand -hex 32`",
            TOKEN_BYTES_MIN);
    }
    arcp__authority address;
    arcp_error why = {0};
    if (config->http_listen != NULL &&
        arcp__status_listen_parse(config->http_listen, &address, &why) == ARCP_OK &&
        !arcp__authority_is_loopback(&address)) {
        report(w, arcp__config_name_of(&config->places, "http.listen"),
               "%.300s: the metrics can be read over the network without authentication; listen on "
               "127.0.0.1, or behind a proxy that requires authentication",
               config->http_listen);
    }
}

/* ---- agents ---- */

static bool is_confined(const arcp__config *config, const arcp__setup_agent *agent)
{
    return !config->setup.enforce.is_off && !agent->is_unconfined;
}

static void warn_of_users(const warnings *w)
{
    const arcp__config *config = w->config;
    const arcp__setup_agent *first = NULL; /* without a user of its own */
    size_t others = 0;
    char which[256];
    for (size_t i = 0; i < config->setup.agent_count; i++) {
        if (config->setup.agents[i].user == NULL &&
            !is_confined(config, &config->setup.agents[i])) {
            others += first != NULL;
            first = first == NULL ? &config->setup.agents[i] : first;
        }
    }
    if (first == NULL) {
        return;
    }
    (void)snprintf(which, sizeof which, "\"%.80s\"", first->name);
    if (others != 0) {
        (void)snprintf(which, sizeof which, "\"%.80s\" and %zu more", first->name, others);
    }
    if (geteuid() == 0) {
        report(w, arcp__config_name_of(&config->places, "agents"),
               "entries without user: (%s) run as root, not confined, and can do anything, "
               "whatever their lease "
               "allows; give each a user of its own (user:), or run arcpd as another user",
               which);
    }
    if (w->tokens->has_other_principals || config->jwt_count != 0) {
        report(w, arcp__config_name_of(&config->places, "agents"),
               "entries without user: (%s) run as arcpd's user, not confined, and can read the "
               "tokens, files and "
               "results of all principals; give each a user of its own (user:)",
               which);
    }
}

/* Whether a file of this name exists in the current directory or beside the configuration, but not
 * in the work directory of the jobs. `real` is then its absolute path. */
static bool is_misplaced(const arcp__config *config, const char *cwd, const char *name,
                         char real[PATH_MAX])
{
    struct stat about;
    char path[PATH_MAX];
    const char *file = config->places.file;
    const char *slash = file == NULL ? NULL : strrchr(file, '/');
    if (cwd != NULL && snprintf(path, sizeof path, "%s/%s", cwd, name) < (int)sizeof path &&
        access(path, F_OK) == 0) {
        return false;
    }
    if (stat(name, &about) == 0 && S_ISREG(about.st_mode) && realpath(name, real)) {
        return true;
    }
    return slash != NULL &&
           snprintf(path, sizeof path, "%.*s/%s", (int)(slash - file), file, name) <
               (int)sizeof path &&
           stat(path, &about) == 0 && S_ISREG(about.st_mode) && realpath(path, real);
}

static void warn_of_agent(const warnings *w, size_t index, arcp__config_moment moment)
{
    const arcp__setup_agent *agent = &w->config->setup.agents[index];
    const arcp__config_name name = arcp__config_name_of(&w->config->places, "agents[%zu]", index);
    for (size_t i = 1; i < agent->command.count; i++) {
        const char *word = agent->command.items[i];
        char real[PATH_MAX];
        if (word[0] != '\0' && word[0] != '/' && word[0] != '-' &&
            is_misplaced(w->config, agent->cwd, word, real)) {
            report(
                w, arcp__config_name_of(&w->config->places, "agents[%zu].command[%zu]", index, i),
                "agent \"%.80s\": its jobs look for %.200s in %s, where it does not exist; write "
                "%.600s",
                agent->name, word, agent->cwd == NULL ? "a fresh directory" : agent->cwd, real);
        }
    }
    const bool is_served = agent->mode == ARCP__SETUP_MODE_SERVE;
    const char *const without_warm = agent->mode == ARCP__SETUP_MODE_PLAIN ? "plain"
                                     : is_served                           ? "serve"
                                                                           : NULL;
    if (without_warm != NULL && agent->warm != 0) { /* the runtime starts no warm processes */
        report(w, name, "agent \"%.80s\": warm has no effect with mode: %s; remove one of the two",
               agent->name, without_warm);
    }
    if (is_served && agent->stderr_in_errors) {
        report(w, name,
               "agent \"%.80s\": stderr_in_errors has no effect with mode: serve, because standard "
               "error belongs to no job",
               agent->name);
    }
    const uint64_t room = agent->processes * agent->concurrency;
    if (is_served && agent->max_jobs > room) {
        report(w, name,
               "agent \"%.80s\": max_jobs has no effect, because processes * concurrency (%llu) is "
               "less",
               agent->name, (unsigned long long)room);
    }
    if (!is_served && (agent->processes != 1 || agent->concurrency != ARCP__SETUP_CONCURRENCY ||
                       agent->jobs_per_process != 0 || agent->process_memory_bytes != 0 ||
                       agent->lease != NULL)) {
        report(
            w, name,
            "agent \"%.80s\": processes, concurrency, jobs_per_process, process_memory_bytes and "
            "lease have an effect only with mode: serve",
            agent->name);
    }
    const bool confines = is_confined(w->config, agent);
    if (!w->config->setup.enforce.is_off && !confines) {
        report(w, name,
               "agent \"%.80s\": it is not confined (confine: false), and can do anything that its "
               "user can, whatever its lease allows",
               agent->name);
    }
    /* At the start the runtime says so. */
    if (moment == ARCP__CONFIG_CHECK && confines && agent->warm != 0 && without_warm == NULL) {
        report(w, name,
               "agent \"%.80s\": warm has no effect on a confined agent; each process is started "
               "for its job",
               agent->name);
    }
    arcp_error why = {0};
    if (moment == ARCP__CONFIG_CHECK) {
        const arcp_status status =
            arcp__process_check((const char *const *)agent->command.items,
                                (const char *const *)agent->env.items, agent->user, &why);
        if (status != ARCP_OK && status != ARCP_E_NO_MEMORY) {
            report(w, name, "agent \"%.80s\": %s; its jobs will fail", agent->name, why.message);
        }
    }
}

/* ---- the environment ---- */

/* Warns of each {env:NAME} in a template whose variable is not set. */
static void warn_of_variables(const warnings *w, const char *text, arcp__config_name name)
{
    for (const char *found = text == NULL ? NULL : strstr(text, "{env:"); found != NULL;
         found = strstr(found + 5, "{env:")) {
        char variable[256];
        const size_t size = strcspn(found + 5, "}");
        if (found[5 + size] == '\0' || size >= sizeof variable) {
            return;
        }
        memcpy(variable, found + 5, size);
        variable[size] = '\0';
        if (getenv(variable) == NULL) {
            report(w, name,
                   "the environment variable %s is not set here; arcpd does not start without it",
                   variable);
        }
    }
}

static void warn_of_headers(const warnings *w, const char *key, const char *const *headers,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        warn_of_variables(w, headers[i],
                          arcp__config_name_of(&w->config->places, "%s.headers.%.*s", key,
                                               (int)strcspn(headers[i], ":"), headers[i]));
    }
}

static void warn_of_templates(const warnings *w)
{
    const arcp__config *config = w->config;
    const arcp__config_credentials *credentials = &config->credentials;
    for (size_t i = 0; credentials->kind == ARCP__PROVISIONER_HTTP && i < ARCP__HTTP_REQUEST_COUNT;
         i++) {
        const arcp__http_request *request = &credentials->http.requests[i];
        char key[64];
        (void)snprintf(key, sizeof key, "credentials.http.%s",
                       arcp__config_request_key((arcp__http_request_kind)i));
        warn_of_variables(w, request->url, arcp__config_name_of(&config->places, "%s.url", key));
        warn_of_variables(w, request->body, arcp__config_name_of(&config->places, "%s.body", key));
        warn_of_headers(w, key, request->headers, request->header_count);
    }
    if (config->tracing.url != NULL) {
        warn_of_headers(w, "tracing.otlp", config->tracing.headers, config->tracing.header_count);
    }
}

/* ---- policy ---- */

/* Warns of the capabilities that a max_lease denies because it does not name them. */
static void warn_of_policy(const warnings *w, size_t index)
{
    static const char *const names[] = {
#define ARCP_CAPABILITY(id, name, kind, separators, reserved) name,
#include <arcp/capability.def>
#undef ARCP_CAPABILITY
    };
    const arcp_policy *policy = &w->config->policies[index];
    char denied[LINE_BYTES / 2] = "";
    size_t size = 0;
    for (size_t i = 0; !policy->leaves_others_open && i < sizeof names / sizeof names[0]; i++) {
        const arcp_span capability = arcp_span_cstr(names[i]);
        if (arcp_capability_is_reserved(capability) &&
            !arcp_span_equal_cstr(capability, "cost.budget") &&
            !arcp_lease_names(policy->ceiling, capability) && size < sizeof denied) {
            size += (size_t)snprintf(denied + size, sizeof denied - size, "%s%s",
                                     size == 0 ? "" : ", ", names[i]);
        }
    }
    if (size != 0) {
        report(w, arcp__config_name_of(&w->config->places, "policy[%zu]", index),
               "max_lease does not name %s, and so denies them", denied);
    }
}

/* ---- all warnings ---- */

void arcp__config_warn(const arcp__config *config, const arcp__token_facts *tokens,
                       arcp__config_moment moment, arcp__config_warn_fn warn, void *user)
{
    const warnings w = {.config = config, .tokens = tokens, .warn = warn, .user = user};
    warn_of_listeners(&w);
    if (config->setup.enforce.is_off && config->setup.agent_count != 0) {
        report(&w, arcp__config_name_of(&config->places, "enforce.mode"),
               "agents are not confined: a lease decides only the operations that they ask about");
    }
    if (config->no_auth && config->setup.spend_count != 0) {
        report(&w, arcp__config_name_of(&config->places, "models.spend"),
               "with no_auth each session is a principal of its own, and has a purse of its own");
    }
    warn_of_users(&w);
    for (size_t i = 0; i < config->setup.agent_count; i++) {
        warn_of_agent(&w, i, moment);
    }
    if (moment == ARCP__CONFIG_CHECK) {
        warn_of_templates(&w);
        for (size_t i = 0; i < config->policy_count; i++) {
            warn_of_policy(&w, i);
        }
    }
}
