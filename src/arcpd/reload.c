/* SIGHUP: the configuration is read again while everything goes on. */
#include "arcpd/arcpd.h"

bool arcp__config_has_users(const arcp__config *config)
{
    bool found = false;
    for (size_t at = 0; at < config->agent_count && !found; at++) {
        found = config->agents[at].user != NULL;
    }
    return found;
}

arcp_status arcp__daemon_read_config(const arcp__daemon *daemon, arcp__config *config,
                                     arcp_error *err)
{
    arcp_status status = ARCP_OK;
    if (daemon->arguments.config_path != NULL) {
        status = arcp__config_read(config, daemon->arguments.config_path, err);
    }
    if (status == ARCP_OK) {
        status = arcp__arguments_apply(daemon->argc, daemon->argv_copy, config, err);
    }
    if (status == ARCP_OK && config->listen.count == 0 && !config->use_stdio) {
        status = arcp__text_list_add(&config->listen, "ws://127.0.0.1:7777/arcp", err);
    }
    return status == ARCP_OK ? arcp__config_check(config, err) : status;
}

arcp_status arcp__daemon_take_verifiers(arcp__daemon *daemon, arcp__verifiers *verifiers,
                                        arcp_error *err)
{
    arcp_status status =
        arcp_runtime_set_token_verifiers(daemon->runtime, verifiers->items, verifiers->count, err);
    arcp__verifiers_taken(verifiers);
    return status;
}

static void log_warning(void *user, const char *line)
{
    arcp__logger_log(user, ARCP_LOG_WARN, line);
}

void arcp__daemon_warn(arcp__daemon *daemon, const arcp__token_facts *tokens)
{
    arcp__config_warn(&daemon->config, tokens, ARCP__CONFIG_START, log_warning, &daemon->logger);
}

static arcp_status apply(arcp__daemon *daemon, const arcp__config *fresh, arcp__token_facts *tokens,
                         arcp_error *err)
{
    arcp__verifiers verifiers = {NULL, 0};
    /* We go on listening where we did at the start. */
    arcp_status status = arcp__listen_is_safe(fresh, &daemon->config.listen, err);
    if (status == ARCP_OK) {
        status = arcp__verifiers_make(fresh, daemon->directories.state, &verifiers, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    *tokens = arcp__verifiers_look(&verifiers);
    status = arcp__service_offer(daemon->runtime, fresh, &daemon->files, err);
    if (status == ARCP_OK) {
        status = arcp_runtime_reload_tls(daemon->runtime, err);
    }
    if (status == ARCP_OK) {
        status = arcp__daemon_take_verifiers(daemon, &verifiers, err);
    }
    arcp__verifiers_fini(&verifiers);
    if (status != ARCP_OK) {
        /* As it was: it worked before. */
        arcp_status ignored =
            arcp__service_offer(daemon->runtime, &daemon->config, &daemon->files, NULL);
        (void)ignored;
    }
    return status;
}

void arcp__daemon_reload(arcp__daemon *daemon)
{
    arcp__config fresh;
    arcp_error error = {0};
    arcp_buf changes = ARCP_BUF_INIT;
    arcp__logger *logger = &daemon->logger;
    arcp__token_facts tokens = {.token_bytes_min = SIZE_MAX};
    arcp__config_init(&fresh);
    arcp_status status = arcp__daemon_read_config(daemon, &fresh, &error);
    if (status == ARCP_OK) {
        status = apply(daemon, &fresh, &tokens, &error);
    }
    daemon->status.reload_failed = status != ARCP_OK;
    if (status != ARCP_OK) {
        arcp__audit_trail_reload(&daemon->audit, &daemon->config.settings);
        arcp__audit_trail_policy(&daemon->audit, "SIGHUP", &fresh, &error);
        arcp__logger_say(logger, ARCP_LOG_ERROR,
                         "not reloaded, the configuration of before stays in effect: %s",
                         error.message);
        arcp__config_fini(&fresh);
        return;
    }
    arcp__config_keep_started(&fresh, &daemon->config, daemon->frame_bytes_max, &changes);
    if (daemon->store_is_memory) {
        arcp_settings_fit_memory(&fresh.settings);
    }
    arcp_runtime_set_settings(daemon->runtime, &fresh.settings);
    arcp__audit_trail_reload(&daemon->audit, &fresh.settings);
    arcp__audit_trail_policy(&daemon->audit, "SIGHUP", &fresh, NULL);
    logger->level = fresh.log_level;
    logger->format = fresh.log_format;
    arcp__config_fini(&daemon->config);
    daemon->config = fresh;
    if (arcp__config_has_users(&daemon->config) && !daemon->has_other_users) {
        arcp__logger_say(logger, ARCP_LOG_WARN,
                         "agents have a user of their own now: they may not be able to reach their "
                         "directories before a restart");
    }
    arcp_buf text = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&text, "changed, and takes a restart: ");
    arcp_buf_append(&text, arcp_buf_span(&changes));
    arcp_buf_append_byte(&text, '\0');
    if (changes.failed || text.failed) {
        arcp__logger_log(logger, ARCP_LOG_WARN,
                         "out of memory: whether a key has changed that takes a restart is not "
                         "known");
    } else if (changes.size != 0) {
        arcp__logger_log(logger, ARCP_LOG_WARN, text.data);
    }
    arcp_buf_fini(&text);
    arcp__daemon_warn(daemon, &tokens);
    arcp__logger_say(logger, ARCP_LOG_INFO, "reloaded: the new configuration is in effect%s",
                     changes.failed || changes.size != 0 ? ", but for the keys of the warning above"
                                                         : "");
    arcp_buf_fini(&changes);
}
