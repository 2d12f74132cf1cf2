/* Reading the configuration, at the start and again. */
#include "arcpd/state.h"
#include "runtime/runtime_worker.h"

/* ---- the configuration ---- */

bool arcp__has_agent_users(const arcp__config *config)
{
    bool found = false;
    for (size_t i = 0; i < config->setup.agent_count && !found; i++) {
        found = config->setup.agents[i].user != NULL;
    }
    return found;
}

arcp_status arcp__daemon_read_config(const arcp__daemon *state, arcp__config *config,
                                     arcp_error *err)
{
    arcp_status status = ARCP_OK;
    if (state->arguments.config_path != NULL) {
        status = arcp__config_read(config, state->arguments.config_path, err);
    }
    if (status == ARCP_OK) {
        status = arcp__arguments_apply(state->argc, state->argv_copy, config, err);
    }
    if (status == ARCP_OK && config->listen.count == 0 && !config->use_stdio) {
        status = arcp__text_list_add(&config->listen, "ws://127.0.0.1:7777/arcp", err);
    }
    return status == ARCP_OK ? arcp__config_check(config, err) : status;
}

void arcp__log_warning(void *user, const char *line)
{
    arcp__logger_log(user, ARCP_LOG_WARN, line);
}

/* ---- reload ---- */

static arcp_status apply(arcp__daemon *state, const arcp__config *fresh, arcp__token_facts *tokens,
                         arcp_error *err)
{
    arcp__verifiers verifiers = {NULL, 0};
    arcp__hook_set hooks = {.count = 0};
    /* A reload does not change the listeners. */
    arcp_status status = arcp__listen_is_safe(fresh, &state->config.listen, err);
    if (status == ARCP_OK) {
        status = arcp__hook_set_make(fresh, &hooks, err);
    }
    if (status == ARCP_OK) {
        status = arcp__verifiers_make(fresh, state->directories.state, &verifiers, err);
    }
    if (status != ARCP_OK) {
        arcp__hook_set_fini(&hooks);
        return status;
    }
    *tokens = arcp__verifiers_facts(&verifiers);
    const arcp__files_in_use in_use = {.directories = &state->directories,
                                       .config = &state->config,
                                       .record_path = state->record.path};
    status = arcp__enforcement_apply(state->runtime, fresh, &in_use, err);
    if (status == ARCP_OK) {
        status = arcp__service_offer(state->runtime, fresh, &state->files, err);
    }
    if (status == ARCP_OK) {
        status = arcp_runtime_reload_tls(state->runtime, err);
    }
    if (status == ARCP_OK) {
        status = arcp__verifiers_install(&verifiers, fresh, state->runtime, err);
    }
    arcp__verifiers_fini(&verifiers);
    if (status == ARCP_OK) {
        status = arcp__hook_sender_set(&state->hooks, &state->loop, &hooks, err);
    }
    if (status == ARCP_OK) {
        arcp__runtime_set_hooks(state->runtime, state->hooks.set.options, state->hooks.set.count);
    }
    arcp__hook_set_fini(&hooks);
    if (status != ARCP_OK) {
        /* Back to the previous configuration, which was accepted before. */
        const arcp_status ignored[] = {
            arcp__enforcement_apply(state->runtime, &state->config, &in_use, NULL),
            arcp__service_offer(state->runtime, &state->config, &state->files, NULL)};
        (void)ignored;
    }
    return status;
}

/* Where warnings go: the log, and the report if there is one. */
typedef struct warnings {
    arcp__logger *logger;
    arcp__reload_report *report;
} warnings;

static void keep_warning(void *user, const char *line)
{
    const warnings *to = user;
    arcp__log_warning(to->logger, line);
    if (to->report != NULL) {
        (void)!arcp__text_list_add(&to->report->problems, line, NULL);
    }
}

void arcp__daemon_reload(arcp__daemon *state, const char *cause, arcp__reload_report *report)
{
    arcp__config fresh;
    arcp_error error = {0};
    arcp_buf changes = arcp_buf_init();
    arcp__logger *logger = &state->logger;
    arcp__token_facts tokens = {.token_bytes_min = SIZE_MAX};
    arcp__config_init(&fresh);
    arcp_status status = arcp__daemon_read_config(state, &fresh, &error);
    if (status == ARCP_OK) {
        status = apply(state, &fresh, &tokens, &error);
    }
    state->status.reload_failed = status != ARCP_OK;
    if (status != ARCP_OK) {
        arcp__audit_trail_reload(&state->audit, &state->config.settings);
        arcp__audit_trail_policy(&state->audit, cause, &fresh, &error);
        arcp__logger_format(logger, ARCP_LOG_ERROR,
                            "not reloaded, the old configuration stays in effect: %s",
                            error.message);
        if (report != NULL) {
            (void)!arcp__text_list_add(&report->problems, error.message, NULL);
        }
        arcp__config_fini(&fresh);
        return;
    }
    if (report != NULL) {
        report->is_applied = true;
    }
    arcp__config_keep_started(&fresh, &state->config, state->frame_bytes_max, &changes,
                              report == NULL ? NULL : &report->restart);
    if (state->store_is_memory) {
        arcp_settings_fit_memory(&fresh.settings);
    }
    arcp_runtime_set_settings(state->runtime, &fresh.settings);
    arcp__runtime_renew_local_worker(state->runtime);
    arcp__audit_trail_reload(&state->audit, &fresh.settings);
    arcp__audit_trail_policy(&state->audit, cause, &fresh, NULL);
    logger->level = fresh.log_level;
    logger->format = fresh.log_format;
    arcp__config_fini(&state->config);
    state->config = fresh;
    arcp__operator_socket_reload(&state->operators, &state->config);
    if (arcp__has_agent_users(&state->config) && !state->has_other_users) {
        arcp__logger_format(logger, ARCP_LOG_WARN,
                            "agents now have a user of their own, which may not be able to reach "
                            "their work directories until arcpd is restarted");
    }
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "changed keys that need a restart: ");
    arcp_buf_append(&text, arcp_buf_span(&changes));
    arcp_buf_append_byte(&text, '\0');
    if (changes.failed || text.failed) {
        arcp__logger_log(logger, ARCP_LOG_WARN,
                         "out of memory: cannot tell whether keys that need a restart have "
                         "changed");
    } else if (changes.size != 0) {
        arcp__logger_log(logger, ARCP_LOG_WARN, text.data);
    }
    arcp_buf_fini(&text);
    warnings to = {logger, report};
    arcp__config_warn(&state->config, &tokens, ARCP__CONFIG_START, keep_warning, &to);
    arcp__logger_format(
        logger, ARCP_LOG_INFO, "reloaded: the new configuration is in effect%s",
        changes.failed || changes.size != 0 ? ", except for the keys in the warning above" : "");
    arcp_buf_fini(&changes);
}
