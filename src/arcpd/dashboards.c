#include "arcpd/arcpd.h"

#include <unistd.h>

#include "base/alloc.h"
#include "file/private_file.h"
#include "transport/url.h"

static const char *path_of(const arcp__config *config)
{
    return config->dashboard_path == NULL ? ARCP__DASHBOARD_PATH : config->dashboard_path;
}

static bool is_served(const arcp__config *config, const char *url)
{
    return config->dashboard_use == ARCP__DASHBOARD_ON ||
           (config->dashboard_use == ARCP__DASHBOARD_AUTO && arcp__listen_is_loopback(url));
}

/* Beyond loopback a page must be encrypted on its way, and its server must know its own names:
 * otherwise any name that resolves to this address would be accepted as one of them. */
static arcp_status check_dashboard(const arcp__config *config, size_t i, arcp_error *err)
{
    const char *text = config->listen.items[i];
    arcp__url url;
    const arcp_status status = arcp__url_parse(arcp_span_cstr(text), &url, err);
    if (status != ARCP_OK || !is_served(config, text)) {
        return status;
    }
    if (strcmp(url.path, path_of(config)) == 0) {
        return arcp_error_set(
            err, ARCP_E_USAGE, "%s: \"%s\" is also the path of listen[%zu], %s: choose another one",
            arcp__config_name_of(&config->places, "dashboard.path").text, path_of(config), i, text);
    }
    if (arcp__authority_is_loopback(&url.authority)) {
        return ARCP_OK;
    }
    if (url.scheme != ARCP__URL_WSS) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: enabled: true serves it at %s, which is neither on loopback nor "
                              "wss://: use wss:// there, or enabled: auto (loopback only)",
                              arcp__config_name_of(&config->places, "dashboard").text, text);
    }
    if (config->hosts.count == 0) {
        return arcp_error_set(
            err, ARCP_E_USAGE,
            "%s: enabled: true serves it at %s, which is not on loopback: name the "
            "hosts that browsers use in `hosts`, or use enabled: auto (loopback "
            "only)",
            arcp__config_name_of(&config->places, "dashboard").text, text);
    }
    return ARCP_OK;
}

arcp_status arcp__dashboards_check(const arcp__config *config, arcp_error *err)
{
    if (!arcp__dashboard_is_path(path_of(config))) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "%s: \"%.200s\": must begin and end with '/', and have letters, "
                              "digits, '-' and '/' only",
                              arcp__config_name_of(&config->places, "dashboard.path").text,
                              path_of(config));
    }
    arcp_status status = ARCP_OK;
    for (size_t i = 0; status == ARCP_OK && i < config->listen.count; i++) {
        status = check_dashboard(config, i, err);
    }
    return status;
}

arcp_status arcp__dashboards_add(arcp__dashboards *dashboards, const arcp__config *config,
                                 const char *url, arcp_listen_options *options, arcp_error *err)
{
    arcp__url parsed;
    arcp__dashboard *dashboard = NULL;
    options->page = NULL;
    if (!is_served(config, url)) {
        return ARCP_OK;
    }
    arcp_status status = arcp__url_parse(arcp_span_cstr(url), &parsed, err);
    if (status == ARCP_OK) {
        status = arcp__dashboard_new(path_of(config), parsed.path, &dashboard, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__dashboard **items =
        arcp__realloc_array(dashboards->items, dashboards->count + 1, sizeof(arcp__dashboard *));
    if (items == NULL) {
        arcp__dashboard_free(dashboard);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the dashboard");
    }
    items[dashboards->count++] = dashboard;
    dashboards->items = items;
    options->page = arcp__dashboard_page;
    options->page_user = dashboard;
    return ARCP_OK;
}

void arcp__dashboards_note(arcp__dashboards *dashboards, const arcp__config *config,
                           const char *text)
{
    arcp__url url;
    arcp__authority named;
    char where[ARCP__HOST_MAX + 16];
    if (!is_served(config, text) || arcp__url_parse(arcp_span_cstr(text), &url, NULL) != ARCP_OK) {
        return;
    }
    /* Beyond loopback a listener may be bound to any address; browsers use its first name. */
    if (!arcp__authority_is_loopback(&url.authority) &&
        arcp__authority_parse(arcp_span_cstr(config->hosts.items[0]), false, &named)) {
        named.port = named.has_port ? named.port : url.authority.port;
        named.has_port = true;
        url.authority = named;
    }
    arcp__authority_format(&url.authority, where, sizeof where);
    arcp_buf_append_format(&dashboards->addresses, "%s://%s%s\n",
                           url.scheme == ARCP__URL_WSS ? "https" : "http", where, path_of(config));
}

void arcp__dashboards_announce(arcp__dashboards *dashboards, const char *state_directory,
                               arcp__logger *logger)
{
    arcp_error error = {0};
    const arcp__private_file file = {.what = "the file with the dashboard's address",
                                     .path = dashboards->path};
    if (!arcp__path_in(state_directory, "page", dashboards->path, sizeof dashboards->path)) {
        dashboards->path[0] = '\0';
    } else if (dashboards->addresses.size == 0) {
        (void)unlink(dashboards->path);
    } else if (dashboards->addresses.failed ||
               arcp__private_file_replace(&file, arcp_buf_span(&dashboards->addresses), &error) !=
                   ARCP_OK) {
        arcp__logger_format(logger, ARCP_LOG_WARN, "`arcp ui` will not find the dashboard: %s",
                            error.message);
    }
}

void arcp__dashboards_free(arcp__dashboards *dashboards)
{
    if (dashboards->path[0] != '\0') {
        (void)unlink(dashboards->path);
    }
    arcp_buf_fini(&dashboards->addresses);
    for (size_t i = 0; i < dashboards->count; i++) {
        arcp__dashboard_free(dashboards->items[i]);
    }
    arcp__free(dashboards->items);
    *dashboards = (arcp__dashboards){.items = NULL};
}
