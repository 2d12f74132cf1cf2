#include "arcpd/config.h"

#include <errno.h>
#include <stdio.h>

#include <arcp/runtime.h>

#include "arcpd/arcpd.h"
#include "base/alloc.h"
#include "transport/command_words.h"

void arcp__config_init(arcp__config *config)
{
    *config = (arcp__config){.log_level = ARCP_LOG_INFO};
    arcp_settings_default(&config->settings);
    arcp__config_fields_init(&arcp__config_top, config);
}

void arcp__config_fini(arcp__config *config)
{
    arcp__config_fields_fini(&arcp__config_top, config);
    arcp__config_places_fini(&config->places);
    *config = (arcp__config){.log_level = ARCP_LOG_INFO};
}

arcp_status arcp__config_read_text(arcp__config *config, const char *name, arcp_span text,
                                   arcp_error *err)
{
    arcp__yaml_reader r = {.root = config, .places = &config->places, .name = name, .err = err};
    return arcp__config_text_read(&r, &arcp__config_top, text);
}

arcp_status arcp__config_read(arcp__config *config, const char *path, arcp_error *err)
{
    arcp__yaml_reader r = {.root = config, .places = &config->places, .name = path, .err = err};
    arcp_status status =
        arcp__trusted_path_check("the configuration", path, ARCP__TRUSTED_FILE, err);
    if (status != ARCP_OK) {
        return status;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    }
    status = arcp__config_stream_read(&r, &arcp__config_top, file);
    (void)fclose(file);
    return status;
}

void arcp__config_print(const arcp__config *config, arcp_buf *out)
{
    arcp__config_fields_print(&arcp__config_top, config, 0, out);
}

/* ---- the command line ---- */

arcp_status arcp__config_set_log_level(arcp__config *config, const char *text, arcp_error *err)
{
    for (int i = 0; arcp__config_log_levels[i] != NULL; i++) {
        if (strcmp(text, arcp__config_log_levels[i]) == 0) {
            config->log_level = i;
            return ARCP_OK;
        }
    }
    return arcp_error_set(err, ARCP_E_USAGE,
                          "the log level is \"%.200s\", must be debug, info, warn or error", text);
}

arcp_status arcp__config_add_token_flag(arcp__config *config, const char *text, arcp_error *err)
{
    const char *equals = strrchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return arcp_error_set(err, ARCP_E_USAGE, "--token must be TOKEN=PRINCIPAL");
    }
    arcp__config_token *tokens =
        arcp__realloc_array(config->tokens, config->token_count + 1, sizeof *tokens);
    if (tokens == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    config->tokens = tokens;
    arcp__config_token *token = &tokens[config->token_count++];
    token->token = arcp__copy_cstr(text, (size_t)(equals - text));
    token->principal = arcp__copy_cstr(equals + 1, strlen(equals + 1));
    return token->token == NULL || token->principal == NULL
               ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
               : ARCP_OK;
}

static arcp_status split_command(const char *command, arcp__text_list *out, arcp_error *err)
{
    char **words = NULL;
    arcp_status status = arcp__command_words(arcp_span_cstr(command), &words, err);
    if (status != ARCP_OK) {
        return status;
    }
    for (size_t i = 0; status == ARCP_OK && words[i] != NULL; i++) {
        status = arcp__text_list_add(out, words[i], err);
    }
    arcp__free(words);
    return status;
}

arcp_status arcp__config_add_agent_flag(arcp__config *config, const char *text, arcp_error *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return arcp_error_set(err, ARCP_E_USAGE, "--agent %.200s: must be NAME[@VERSION]=COMMAND",
                              text);
    }
    arcp__config_agent *agents =
        arcp__realloc_array(config->agents, config->agent_count + 1, sizeof *agents);
    if (agents == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    config->agents = agents;
    arcp__config_agent *agent = &agents[config->agent_count++];
    *agent = (arcp__config_agent){0};
    const char *at_sign = memchr(text, '@', (size_t)(equals - text));
    const char *name_end = at_sign == NULL ? equals : at_sign;
    agent->name = arcp__copy_cstr(text, (size_t)(name_end - text));
    if (at_sign != NULL) {
        agent->version = arcp__copy_cstr(at_sign + 1, (size_t)(equals - at_sign - 1));
    }
    if (agent->name == NULL || (at_sign != NULL && agent->version == NULL)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const arcp_status status = split_command(equals + 1, &agent->command, err);
    return status == ARCP_OK && agent->command.count == 0
               ? arcp_error_set(err, ARCP_E_USAGE, "the command of agent \"%s\" is empty",
                                agent->name)
               : status;
}
