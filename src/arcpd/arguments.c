#include "arcpd/arcpd.h"

#include <getopt.h>
#include <string.h>

#include <arcp/secret.h>

#include "base/alloc.h"

/* ---- flags ---- */

enum {
    FLAG_CONFIG = 256,
    FLAG_CHECK,
    FLAG_CHECK_STORE,
    FLAG_LISTEN,
    FLAG_STORE,
    FLAG_TOKEN,
    FLAG_TOKEN_FILE,
    FLAG_NO_AUTH,
    FLAG_AGENT,
    FLAG_STDIO,
    FLAG_LOG_LEVEL,
    FLAG_VERSION = 'V',
    FLAG_HELP = 'h'
};

static const struct option flags[] = {{"config", required_argument, NULL, FLAG_CONFIG},
                                      {"check-config", required_argument, NULL, FLAG_CHECK},
                                      {"check-store", no_argument, NULL, FLAG_CHECK_STORE},
                                      {"listen", required_argument, NULL, FLAG_LISTEN},
                                      {"store", required_argument, NULL, FLAG_STORE},
                                      {"token", required_argument, NULL, FLAG_TOKEN},
                                      {"token-file", required_argument, NULL, FLAG_TOKEN_FILE},
                                      {"no-auth", no_argument, NULL, FLAG_NO_AUTH},
                                      {"agent", required_argument, NULL, FLAG_AGENT},
                                      {"stdio", no_argument, NULL, FLAG_STDIO},
                                      {"log-level", required_argument, NULL, FLAG_LOG_LEVEL},
                                      {"version", no_argument, NULL, FLAG_VERSION},
                                      {"help", no_argument, NULL, FLAG_HELP},
                                      {NULL, 0, NULL, 0}};

/* -h and -V as with arcp; ':' tells a missing value from an unknown flag. */
static const char short_flags[] = ":hV";

/* getopt keeps its place in globals; 0 makes it begin anew. */
static int first_flag(int argc, char **argv)
{
    optind = 0;
    opterr = 0;
    return getopt_long(argc, argv, short_flags, flags, NULL);
}

static int next_flag(int argc, char **argv)
{
    return getopt_long(argc, argv, short_flags, flags, NULL);
}

static arcp_status refuse_flag(int flag, const char *word, arcp_error *err)
{
    if (flag == ':') {
        return arcp_error_set(err, ARCP_E_USAGE, "%.200s needs a value", word);
    }
    int name_size = (int)strcspn(word, "="); /* what follows may be a token */
    if (optopt == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no flag %.*s", name_size, word);
    }
    if (optopt >= FLAG_CONFIG || strncmp(word, "--", 2) == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "%.*s takes no value", name_size, word);
    }
    return arcp_error_set(err, ARCP_E_USAGE, "there is no flag -%c", optopt);
}

arcp_status arcp__arguments_look(int argc, char **argv, arcp__arguments *out, arcp_error *err)
{
    *out = (arcp__arguments){0};
    for (int flag = first_flag(argc, argv); flag != -1; flag = next_flag(argc, argv)) {
        switch (flag) {
        case FLAG_HELP:
            out->wants_help = true;
            return ARCP_OK;
        case FLAG_VERSION:
            out->wants_version = true;
            return ARCP_OK;
        case FLAG_CHECK:
            out->only_checks = true;
            out->config_path = optarg;
            break;
        case FLAG_CHECK_STORE:
            out->only_checks_store = true;
            break;
        case FLAG_CONFIG:
            out->config_path = optarg;
            break;
        case ':':
        case '?':
            return refuse_flag(flag, argv[optind - 1], err);
        default:
            break;
        }
    }
    return optind == argc
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "%.200s belongs to no flag", argv[optind]);
}

static arcp_status replace_text(char **text, const char *with, arcp_error *err)
{
    char *copy = arcp__copy_cstr(with, strlen(with));
    if (copy == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp__free(*text);
    *text = copy;
    return ARCP_OK;
}

/* One flag into the configuration; the first --listen replaces the file's. */
static arcp_status apply_flag(arcp__config *config, int flag, const char *value, bool *listen_given,
                              arcp_error *err)
{
    switch (flag) {
    case FLAG_LISTEN:
        if (!*listen_given) {
            arcp__text_list_clear(&config->listen);
            arcp__config_places_forget(&config->places, "listen");
        }
        *listen_given = true;
        return arcp__text_list_add(&config->listen, value, err);
    case FLAG_STORE:
        arcp__config_places_forget(&config->places, "store");
        return replace_text(&config->store, value, err);
    case FLAG_TOKEN:
        return arcp__config_add_token_flag(config, value, err);
    case FLAG_TOKEN_FILE:
        arcp__config_places_forget(&config->places, "token_file");
        return replace_text(&config->token_file, value, err);
    case FLAG_AGENT:
        return arcp__config_add_agent_flag(config, value, err);
    case FLAG_LOG_LEVEL:
        return arcp__config_set_log_level(config, value, err);
    case FLAG_NO_AUTH:
        config->no_auth = true;
        return ARCP_OK;
    case FLAG_STDIO:
        config->use_stdio = true;
        return ARCP_OK;
    default:
        return ARCP_OK;
    }
}

arcp_status arcp__arguments_apply(int argc, char **argv, arcp__config *config, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    bool listen_given = false;
    for (int flag = first_flag(argc, argv); status == ARCP_OK && flag != -1;
         flag = next_flag(argc, argv)) {
        status = apply_flag(config, flag, optarg, &listen_given, err);
    }
    return status;
}

/* ---- the words themselves ---- */

char **arcp__arguments_copy(int argc, char *const *argv)
{
    char **copy = arcp__alloc_array((size_t)argc + 1, sizeof(*copy));
    for (int at = 0; copy != NULL && at < argc; at++) {
        copy[at] = arcp__copy_cstr(argv[at], strlen(argv[at]));
        if (copy[at] == NULL) {
            arcp__arguments_free(argc, copy);
            return NULL;
        }
    }
    return copy;
}

void arcp__arguments_free(int argc, char **copy)
{
    for (int at = 0; copy != NULL && at < argc; at++) {
        if (copy[at] != NULL) {
            arcp_wipe(copy[at], strlen(copy[at]));
            arcp__free(copy[at]);
        }
    }
    arcp__free(copy);
}

void arcp__arguments_wipe(int argc, char *const *argv)
{
    for (int at = 1; at < argc; at++) {
        if (strncmp(argv[at], "--token=", 8) == 0) {
            arcp_wipe(argv[at] + 8, strlen(argv[at] + 8));
        } else if (strcmp(argv[at], "--token") == 0 && at + 1 < argc) {
            arcp_wipe(argv[at + 1], strlen(argv[at + 1]));
            at++;
        }
    }
}
