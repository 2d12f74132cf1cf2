#include "arcpd/arcpd.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/process.h"

/* As long as the shortest that the token of this machine may be. */
#define TOKEN_BYTES_MIN 16u
#define LINE_BYTES      2048

typedef struct warnings {
    const arcp__config *config;
    const arcp__token_facts *tokens;
    arcp__config_warn_fn warn;
    void *user;
} warnings;

ARCP_PRINTF(3, 4)
static void say(const warnings *w, const arcp__config_name *name, const char *format, ...)
{
    char what[LINE_BYTES];
    char line[LINE_BYTES + sizeof(name->text)];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    (void)snprintf(line, sizeof(line), "%s: %s", name->text, what);
    w->warn(w->user, line);
}

/* ---- who can reach us ---- */

static bool is_beyond_loopback(const arcp__config *config)
{
    bool found = false;
    for (size_t at = 0; at < config->listen.count && !found; at++) {
        found = !arcp__listen_is_loopback(config->listen.items[at]);
    }
    return found;
}

static void warn_of_listeners(const warnings *w)
{
    const arcp__config *config = w->config;
    for (size_t at = 0; at < config->listen.count; at++) {
        const char *url = config->listen.items[at];
        if (strncasecmp(url, "ws://", 5) == 0 && !arcp__listen_is_loopback(url)) {
            const arcp__config_name name = arcp__config_name_of(&config->places, "listen[%zu]", at);
            say(w, &name,
                "%.300s: the network can read tokens and results; use wss:// (tls), or listen on "
                "127.0.0.1 behind a proxy with TLS",
                url);
        }
    }
}

static void warn_of_short_tokens(const warnings *w)
{
    const arcp__config *config = w->config;
    if (is_beyond_loopback(config) && w->tokens->token_bytes_min < TOKEN_BYTES_MIN) {
        const arcp__config_name name = arcp__config_name_of(&config->places, "tokens");
        say(w, &name,
            "one of fewer than %u bytes can be guessed over the network; make tokens at random, "
            "with `openssl rand -hex 32` for example",
            TOKEN_BYTES_MIN);
    }
}

static void warn_of_metrics(const warnings *w)
{
    const arcp__config *config = w->config;
    arcp__authority address;
    arcp_error why = {0};
    if (config->http_listen != NULL &&
        arcp__status_listen_parse(config->http_listen, &address, &why) == ARCP_OK &&
        !arcp__authority_is_loopback(&address)) {
        const arcp__config_name name = arcp__config_name_of(&config->places, "http.listen");
        say(w, &name,
            "%.300s: the network can read the metrics without authentication; listen on 127.0.0.1, "
            "or behind a proxy that asks for it",
            config->http_listen);
    }
}

/* ---- agents ---- */

/* The first agent without a user of its own, and how many more there are. */
static const arcp__config_agent *first_without_user(const arcp__config *config, size_t *others)
{
    const arcp__config_agent *first = NULL;
    *others = 0;
    for (size_t at = 0; at < config->agent_count; at++) {
        if (config->agents[at].user == NULL) {
            *others += first != NULL;
            first = first == NULL ? &config->agents[at] : first;
        }
    }
    return first;
}

static void warn_of_users(const warnings *w)
{
    const arcp__config *config = w->config;
    const arcp__config_name name = arcp__config_name_of(&config->places, "agents");
    size_t others = 0;
    const arcp__config_agent *agent = first_without_user(config, &others);
    char which[256];
    if (agent == NULL) {
        return;
    }
    (void)snprintf(which, sizeof(which), "\"%.80s\"", agent->name);
    if (others != 0) {
        (void)snprintf(which, sizeof(which), "\"%.80s\" and %zu more", agent->name, others);
    }
    if (geteuid() == 0) {
        say(w, &name,
            "those without user: (%s) run as root and can do everything, whatever a lease says; "
            "give each a user of its own (user:), or run arcpd as another user",
            which);
    }
    if (w->tokens->has_other_principals || config->jwt_count != 0) {
        say(w, &name,
            "those without user: (%s) run as arcpd's user and can read the tokens, files and "
            "results of all principals; give each a user of its own (user:)",
            which);
    }
}

/* A file that stands here, or beside the configuration, is not in a job's directory. */
static bool find_file(const arcp__config *config, const char *name, char real[PATH_MAX])
{
    struct stat about;
    char beside[PATH_MAX];
    const char *file = config->places.file;
    const char *slash = file == NULL ? NULL : strrchr(file, '/');
    bool is_there = stat(name, &about) == 0 && S_ISREG(about.st_mode) && realpath(name, real);
    if (!is_there && slash != NULL &&
        snprintf(beside, sizeof(beside), "%.*s/%s", (int)(slash - file), file, name) <
            (int)sizeof(beside)) {
        is_there = stat(beside, &about) == 0 && S_ISREG(about.st_mode) && realpath(beside, real);
    }
    return is_there;
}

static bool is_in_directory(const char *directory, const char *name)
{
    char path[PATH_MAX];
    return directory != NULL &&
           snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

static void warn_of_relative_words(const warnings *w)
{
    const arcp__config *config = w->config;
    for (size_t at = 0; at < config->agent_count; at++) {
        const arcp__config_agent *agent = &config->agents[at];
        for (size_t i = 1; i < agent->command.count; i++) {
            const char *word = agent->command.items[i];
            char real[PATH_MAX];
            if (word[0] != '\0' && word[0] != '/' && word[0] != '-' &&
                !is_in_directory(agent->cwd, word) && find_file(config, word, real)) {
                const arcp__config_name name =
                    arcp__config_name_of(&config->places, "agents[%zu].command[%zu]", at, i);
                say(w, &name,
                    "agent \"%.80s\": its jobs look for %.200s in %s, where it is not; write "
                    "%.600s",
                    agent->name, word, agent->cwd == NULL ? "a fresh directory" : agent->cwd, real);
            }
        }
    }
}

/* The runtime keeps no plain agent waiting. */
static void warn_of_warm_plain(const warnings *w)
{
    const arcp__config *config = w->config;
    for (size_t at = 0; at < config->agent_count; at++) {
        const arcp__config_agent *agent = &config->agents[at];
        if (agent->is_plain && agent->warm != 0) {
            const arcp__config_name name = arcp__config_name_of(&config->places, "agents[%zu]", at);
            say(w, &name,
                "agent \"%.80s\": warm has no effect with mode: plain, whose processes take "
                "one job each; remove one of the two",
                agent->name);
        }
    }
}

static void warn_of_programs(const warnings *w)
{
    const arcp__config *config = w->config;
    for (size_t at = 0; at < config->agent_count; at++) {
        const arcp__config_agent *agent = &config->agents[at];
        const arcp__config_name name = arcp__config_name_of(&config->places, "agents[%zu]", at);
        arcp_error why = {0};
        const arcp_status status =
            arcp__process_check((const char *const *)agent->command.items,
                                (const char *const *)agent->env.items, agent->user, &why);
        if (status != ARCP_OK && status != ARCP_E_NO_MEMORY) {
            say(w, &name, "agent \"%.80s\": %s; its jobs will fail", agent->name, why.message);
        }
    }
}

/* ---- the environment ---- */

/* {env:NAME} in a template that stands at `key`. */
static void warn_of_variables_in(const warnings *w, const arcp__config_name *name, const char *text)
{
    for (const char *at = text == NULL ? NULL : strstr(text, "{env:"); at != NULL;
         at = strstr(at + 5, "{env:")) {
        char variable[256];
        const size_t size = strcspn(at + 5, "}");
        if (at[5 + size] == '\0' || size >= sizeof(variable)) {
            return;
        }
        memcpy(variable, at + 5, size);
        variable[size] = '\0';
        if (getenv(variable) == NULL) {
            say(w, name, "the environment of this check has no %s; a start without it is refused",
                variable);
        }
    }
}

static void warn_of_headers(const warnings *w, const char *key, const arcp__text_list *headers)
{
    for (size_t at = 0; at < headers->count; at++) {
        const char *line = headers->items[at];
        const arcp__config_name name = arcp__config_name_of(&w->config->places, "%s.headers.%.*s",
                                                            key, (int)strcspn(line, ":"), line);
        warn_of_variables_in(w, &name, line);
    }
}

static void warn_of_variables(const warnings *w)
{
    const arcp__config *config = w->config;
    const arcp__config_credentials *credentials = &config->credentials;
    for (size_t at = 0;
         credentials->kind == ARCP__PROVISIONER_HTTP && at < ARCP__HTTP_REQUEST_COUNT; at++) {
        const arcp__config_request *request = &credentials->requests[at];
        char key[64];
        (void)snprintf(key, sizeof(key), "credentials.http.%s",
                       arcp__config_request_key((arcp__http_request_kind)at));
        const arcp__config_name url = arcp__config_name_of(&config->places, "%s.url", key);
        const arcp__config_name body = arcp__config_name_of(&config->places, "%s.body", key);
        warn_of_variables_in(w, &url, request->url);
        warn_of_variables_in(w, &body, request->body);
        warn_of_headers(w, key, &request->headers);
    }
    if (config->tracing.endpoint != NULL) {
        warn_of_headers(w, "tracing.otlp", &config->tracing.headers);
    }
}

/* ---- all of it ---- */

/* What a max_lease closes by naming other capabilities only. */
static void warn_of_policy(const warnings *w, size_t index)
{
    static const char *const names[] = {
#define ARCP_CAPABILITY(id, name, kind, separators, reserved) name,
#include <arcp/capability.def>
#undef ARCP_CAPABILITY
    };
    const arcp__config_policy *policy = &w->config->policies[index];
    char closed[LINE_BYTES / 2] = "";
    size_t size = 0;
    for (size_t at = 0; policy->has_lease && at < sizeof(names) / sizeof(names[0]); at++) {
        const arcp_span capability = arcp_span_cstr(names[at]);
        if (arcp_capability_is_reserved(capability) &&
            !arcp_span_equal_cstr(capability, "cost.budget") &&
            !arcp_lease_names(policy->ceiling, capability) && size < sizeof(closed)) {
            size += (size_t)snprintf(closed + size, sizeof(closed) - size, "%s%s",
                                     size == 0 ? "" : ", ", names[at]);
        }
    }
    if (size != 0) {
        const arcp__config_name name =
            arcp__config_name_of(&w->config->places, "policy[%zu]", index);
        say(w, &name, "max_lease does not name %s: what it does not name is closed", closed);
    }
}

static void warn_of_policies(const warnings *w)
{
    for (size_t at = 0; at < w->config->policy_count; at++) {
        warn_of_policy(w, at);
    }
}

void arcp__config_warn(const arcp__config *config, const arcp__token_facts *tokens,
                       arcp__config_moment moment, arcp__config_warn_fn warn, void *user)
{
    static const struct {
        void (*warn_of)(const warnings *w);
        bool at_check_only;
    } rows[] = {
        {warn_of_listeners, false}, {warn_of_short_tokens, false},   {warn_of_metrics, false},
        {warn_of_users, false},     {warn_of_relative_words, false}, {warn_of_warm_plain, false},
        {warn_of_programs, true},   {warn_of_variables, true},       {warn_of_policies, true},
    };
    const warnings w = {.config = config, .tokens = tokens, .warn = warn, .user = user};
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        if (moment == ARCP__CONFIG_CHECK || !rows[at].at_check_only) {
            rows[at].warn_of(&w);
        }
    }
}
