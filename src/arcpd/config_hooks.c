/* The key `hooks`, and what it makes: hooks for the runtime, and targets for their delivery. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "arcpd/arcpd.h"
#include "arcpd/config.h"
#include "arcpd/hooks.h"
#include "base/alloc.h"
#include "config/config_rows.h"
#include "setup/setup.h"

#define MS_MAX 300000u

/* As arcp__hook_event. */
static const char *const events[] = {"end", "denial", "budget", "stuck", NULL};

/* ---- the keys ---- */

#define HOOK(name, kind, member) ROW(name, kind, arcp__config_hook, member)
static const arcp__config_row hook_rows[] = {
    {HOOK("name", text, name), .accept = arcp__config_accept_name},
    {TEXTS("on", arcp__config_hook, on.items, on.count)},
    {HOOK("agent", text, agent), .otherwise = "*"},
    {HOOK("principal", text, principal), .otherwise = "*"},
    {HOOK("budget_left_percent", number, budget_left_percent), .initial = 10, .maximum = 99},
    {HOOK("stuck_after_sec", number, stuck_after_sec), .initial = 600, .minimum = 1,
     .maximum = 604800},
    {HOOK("url", text, url), .flags = SPARSE},
    {HOOK("secret", text, secret), .flags = SECRET | SPARSE},
    {HOOK("ca_file", text, ca_file), .flags = SPARSE},
    {TEXTS("command", arcp__config_hook, command.items, command.count), .flags = SPARSE},
    {HOOK("timeout_ms", number, timeout_ms), .initial = 10000, .minimum = 1, .maximum = MS_MAX},
};

static bool is_http(const char *url)
{
    return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

/* The bit of an event; 0: there is none with this name. */
static unsigned event_of(const char *name)
{
    for (unsigned i = 0; events[i] != NULL; i++) {
        if (strcmp(name, events[i]) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

static arcp_status check_hook(arcp__yaml_reader *r, void *owner)
{
    const arcp__config *config = r->root;
    const arcp__config_hook *hook = owner;
    if (hook->name == NULL || hook->on.count == 0 ||
        (hook->url == NULL) == (hook->command.count == 0)) {
        return arcp__yaml_refuse(r, "needs name, on, and either url or command (a list of words)");
    }
    for (size_t i = 0; i < hook->on.count; i++) {
        if (event_of(hook->on.items[i]) == 0) {
            return arcp__yaml_refuse(r, "on: \"%.40s\": must be end, denial, budget or stuck",
                                     hook->on.items[i]);
        }
    }
    /* With a placeholder it is checked when that is replaced. */
    if (hook->url != NULL && !is_http(hook->url) && hook->url[0] != '{') {
        return arcp__yaml_refuse(r, "a url must begin with http:// or https://");
    }
    if (hook->url == NULL && hook->secret != NULL) {
        return arcp__yaml_refuse(r, "secret is for a hook with url");
    }
    if (hook->ca_file != NULL &&
        (hook->url == NULL || strncmp(hook->url, "http://", 7) == 0 || hook->ca_file[0] != '/')) {
        return arcp__yaml_refuse(r, "ca_file is an absolute path, for a hook with an https:// url");
    }
    for (const arcp__config_hook *other = config->hooks; other < hook; other++) {
        if (strcmp(other->name, hook->name) == 0) {
            return arcp__yaml_refuse(r, "an entry above has the same name");
        }
    }
    return ARCP_OK;
}

const arcp__config_row arcp__config_hook_item = {
    ITEM(arcp__config_hook, ROWS(hook_rows), .check = check_hook)};

/* ---- what it makes ---- */

static void target_fini(arcp__hook_target *target)
{
    arcp__free(target->name);
    arcp__free(target->shown);
    arcp_buf_fini(&target->url);
    arcp_buf_fini(&target->secret);
    arcp__free(target->ca_file);
    for (size_t i = 0; target->argv != NULL && target->argv[i] != NULL; i++) {
        arcp__free(target->argv[i]);
    }
    arcp__free(target->argv);
}

void arcp__hook_set_fini(arcp__hook_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        target_fini(&set->targets[i]);
    }
    arcp__free(set->targets);
    arcp__free(set->options);
    *set = (arcp__hook_set){.count = 0};
}

static char *copy(const char *text)
{
    return arcp__copy_cstr(text, strlen(text));
}

/* Scheme and host of a URL, whose path and query may be secrets. */
static char *origin_of(const char *url)
{
    const char *host = strstr(url, "://") + 3;
    const size_t size = strcspn(host, "/?#");
    const char *user_end = memrchr(host, '@', size);
    const char *shown = user_end == NULL ? host : user_end + 1;
    arcp_buf out = arcp_buf_init();
    arcp_buf_append(&out, arcp_span_make(url, (size_t)(host - url)));
    arcp_buf_append(&out, arcp_span_make(shown, size - (size_t)(shown - host)));
    char *taken = arcp_buf_take_cstr(&out);
    arcp_buf_fini(&out);
    return taken;
}

/* Replaces the placeholders. */
static arcp_status expand(size_t index, const char *member, const char *text, arcp_buf *out,
                          arcp_error *err)
{
    char key[64];
    (void)snprintf(key, sizeof key, "hooks[%zu].%s", index, member);
    const arcp_status status = arcp__setup_expand(key, text, out, err);
    return status == ARCP_OK && out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                            : status;
}

static arcp_status make_url(const arcp__config_hook *from, size_t index, arcp__hook_target *to,
                            arcp_error *err)
{
    arcp_status status = expand(index, "url", from->url, &to->url, err);
    const char *url = arcp_buf_cstr(&to->url);
    if (status == ARCP_OK && url == NULL) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (status == ARCP_OK && !is_http(url)) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "hooks[%zu].url: must begin with http:// or https://", index);
    }
    if (status == ARCP_OK && from->secret != NULL) {
        status = expand(index, "secret", from->secret, &to->secret, err);
        if (status == ARCP_OK && to->secret.size == 0) {
            status = arcp_error_set(err, ARCP_E_USAGE, "hooks[%zu].secret: is empty", index);
        }
    }
    if (status == ARCP_OK && from->ca_file != NULL && access(from->ca_file, R_OK) != 0) {
        status = arcp_error_set(err, ARCP_E_IO, "hooks[%zu].ca_file: %.200s: %s", index,
                                from->ca_file, strerror(errno));
    }
    if (status == ARCP_OK) {
        to->shown = origin_of(url);
        to->ca_file = from->ca_file == NULL ? NULL : copy(from->ca_file);
    }
    return status;
}

static arcp_status make_target(const arcp__config_hook *from, size_t index, arcp__hook_target *to,
                               arcp_error *err)
{
    arcp_status status = ARCP_OK;
    to->url = arcp_buf_secret_init();
    to->secret = arcp_buf_secret_init();
    to->name = copy(from->name);
    to->timeout_ms = from->timeout_ms;
    if (from->url != NULL) {
        status = make_url(from, index, to, err);
    } else {
        to->shown = copy(from->command.items[0]);
        to->argv = arcp__alloc_array(from->command.count + 1, sizeof *to->argv);
        for (size_t i = 0; to->argv != NULL && i < from->command.count; i++) {
            to->argv[i] = copy(from->command.items[i]);
        }
    }
    const bool is_whole =
        to->name != NULL && to->shown != NULL && (from->ca_file == NULL || to->ca_file != NULL) &&
        (from->url != NULL || (to->argv != NULL && to->argv[from->command.count - 1] != NULL));
    return status == ARCP_OK && !is_whole ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                          : status;
}

static void make_options(const arcp__config_hook *from, const arcp__hook_target *target,
                         arcp__hook_options *to)
{
    *to = (arcp__hook_options){.name = arcp_span_cstr(target->name),
                               .target = arcp_span_cstr(target->shown),
                               .agent = arcp_span_cstr(from->agent),
                               .principal = arcp_span_cstr(from->principal),
                               .budget_left_percent = from->budget_left_percent,
                               .stuck_after_sec = from->stuck_after_sec};
    for (size_t i = 0; i < from->on.count; i++) {
        to->events |= event_of(from->on.items[i]);
    }
}

arcp_status arcp__hook_set_make(const arcp__config *config, arcp__hook_set *out, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    *out = (arcp__hook_set){
        .targets = arcp__alloc_array(config->hook_count + 1, sizeof *out->targets),
        .options = arcp__alloc_array(config->hook_count + 1, sizeof *out->options)};
    if (out->targets == NULL || out->options == NULL) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < config->hook_count && status == ARCP_OK; i++) {
        out->count++;
        status = make_target(&config->hooks[i], i, &out->targets[i], err);
        if (status == ARCP_OK) {
            make_options(&config->hooks[i], &out->targets[i], &out->options[i]);
        }
    }
    if (status != ARCP_OK) {
        arcp__hook_set_fini(out);
    }
    return status;
}
