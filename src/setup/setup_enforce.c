/* The keys of `enforce`: what the operator says about the sandboxes of all agents. */
#include "config/config_rows.h"
#include "egress/egress.h"
#include "setup/setup.h"

/* ---- settings ---- */

arcp_status arcp__setup_read_setting(arcp__yaml_reader *r, arcp_settings *settings,
                                     const char *group, arcp_span key)
{
    arcp_error why = {0};
    if (r->node->type != YAML_SCALAR_NODE) {
        return arcp__yaml_refuse(r, "must be a single value");
    }
    const arcp_status status =
        arcp__settings_set(settings, arcp_span_cstr(group), key, arcp__yaml_scalar(r->node), &why);
    if (status == ARCP_OK || status == ARCP_E_NOT_FOUND) {
        return status;
    }
    r->path[0] = '\0'; /* the message names the setting */
    return arcp__yaml_refuse(r, "%s", why.message);
}

typedef struct setting_printer {
    const char *group;
    unsigned indent;
    arcp_buf *out;
} setting_printer;

static void print_setting(void *user, const char *group, const char *key, const char *value,
                          const char *text)
{
    const setting_printer *printer = user;
    if (strcmp(group, printer->group) == 0) {
        arcp_buf_append_format(printer->out, "%*s%s: %s\n", (int)printer->indent, "", key, value);
    }
}

void arcp__setup_print_settings(const arcp_settings *settings, const char *group, unsigned indent,
                                arcp_buf *out)
{
    setting_printer printer = {group, indent, out};
    arcp__settings_each(settings, print_setting, &printer);
}

/* ---- the other keys ---- */

static const char *const modes[] = {"on", "off", NULL};

/* An empty list would mean the default. */
static arcp_status accept_advisory(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    return arcp__config_list_count(row, owner) == 0
               ? arcp__yaml_refuse(r, "must not be empty: a name that no lease has, such as none, "
                                      "exempts nothing")
               : ARCP_OK;
}

static arcp_status accept_hosts(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    char *const *const *hosts = arcp__config_value(row, owner);
    for (size_t i = 0; i < arcp__config_list_count(row, owner); i++) {
        if (!arcp__egress_is_private_host(arcp_span_cstr((*hosts)[i]))) {
            return arcp__yaml_refuse(r, "\"%.200s\": must be the name of a host", (*hosts)[i]);
        }
    }
    return ARCP_OK;
}

const arcp__config_row arcp__setup_enforce_rows[ARCP__SETUP_ENFORCE_ROWS] = {
    {ROW("mode", word, arcp__setup, enforce.is_off), .words = modes},
    {TEXTS("may_be_advisory", arcp__setup, enforce.may_be_advisory.items,
           enforce.may_be_advisory.count),
     .maximum = 32, .item_name = "capabilities", .accept = accept_advisory,
     .otherwise = "[\"tool.call\", \"model.use\", \"cost.budget\", \"x-vendor.\"]"},
    {TEXTS("base", arcp__setup, enforce.base.items, enforce.base.count),
     .accept = arcp__config_accept_paths},
    {TEXTS("private_hosts", arcp__setup, enforce.private_hosts.items, enforce.private_hosts.count),
     .accept = accept_hosts},
    {ROW("allow_direct_models", flag, arcp__setup, enforce.allows_direct_models)},
};
