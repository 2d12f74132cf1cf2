#include "arcpd/arcpd.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "transport/command_words.h"

const char arcp__arcpd_help[] =
    "arcpd - host agents as jobs that cannot exceed their lease\n"
    "\n"
    "usage: arcpd [options]\n"
    "\n"
    "  --config FILE                 read FILE (YAML); flags win over it\n"
    "  --check-config FILE           check FILE and flags, print what they come to, and exit\n"
    "  --check-store                 compare everything in the store with its checksums, print\n"
    "                                what is damaged, and exit; nothing else may have it\n"
    "  --listen URL                  accept sessions here; may be repeated\n"
    "                                (default ws://127.0.0.1:7777/arcp; port 0 picks one)\n"
    "  --store URL                   sqlite:PATH or memory:\n"
    "                                (default arcp.db in the state directory)\n"
    "  --token TOKEN=PRINCIPAL       who may come in; may be repeated\n"
    "  --token-file FILE             lines TOKEN=PRINCIPAL, read again on SIGHUP\n"
    "  --no-auth                     everybody may come in, on loopback only\n"
    "  --agent NAME[@VERSION]=COMMAND  a program that runs jobs; may be repeated\n"
    "  --stdio                       one session over standard input and output\n"
    "  --log-level LEVEL             debug, info, warn or error\n"
    "  --record FILE                 write a trace for `arcp replay`, with all that clients, "
    "agents\n"
    "                                and upstreams send, secrets too; an older one is renamed\n"
    "                                FILE.old\n"
    "  --record-bytes N              the most that it may have (default: 1073741824)\n"
    "  --version, --help\n"
    "\n"
    "When it accepts sessions it prints one line: arcpd: ready URL...\n"
    "Without tokens of your own it makes one, keeps it in the state directory\n"
    "($STATE_DIRECTORY, else $XDG_STATE_HOME/arcp, else ~/.local/state/arcp) and `arcp` on\n"
    "this machine finds it there.\n"
    "\n"
    "Try:  arcpd --agent 'hello=echo hi' &  arcp submit hello\n"
    "SIGTERM stops it (running jobs have shutdown.grace_sec), SIGHUP reads tokens, keys,\n"
    "certificates, agents and policies again, SIGUSR1 writes its state (arcp debug dump).\n"
    "See arcpd(8), arcpd.yaml(5), arcp-agent(7).\n";

/* ---- flags ---- */

#define RECORD_BYTES_DEFAULT UINT64_C(1073741824)

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
    FLAG_RECORD,
    FLAG_RECORD_BYTES,
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
                                      {"record", required_argument, NULL, FLAG_RECORD},
                                      {"record-bytes", required_argument, NULL, FLAG_RECORD_BYTES},
                                      {"version", no_argument, NULL, FLAG_VERSION},
                                      {"help", no_argument, NULL, FLAG_HELP},
                                      {NULL, 0, NULL, 0}};

/* -h and -V as with arcp; ':' tells a missing value from an unknown flag. */
static const char short_flags[] = ":hV";

/* -1 behind the last. getopt keeps its place in globals; 0 makes it begin anew. */
static int next_flag(int argc, char **argv, bool begins)
{
    optind = begins ? 0 : optind;
    opterr = 0;
    return getopt_long(argc, argv, short_flags, flags, NULL);
}

/* getopt leaves in `optopt` 0 for an unknown long option, the value of a known long option that was
 * misused (short options cannot be: none takes a value), and the letter of an unknown short one.
 * `word` is the argument before optind: the long option itself, but not the word of a short one
 * that has further letters. */
static arcp_status refuse_flag(int flag, const char *word, arcp_error *err)
{
    if (flag == ':') {
        return arcp_error_set(err, ARCP_E_USAGE, "%.200s needs a value", word);
    }
    int name_size = (int)strcspn(word, "="); /* what follows may be a token */
    if (optopt == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no flag %.*s", name_size, word);
    }
    for (const struct option *known = flags; known->name != NULL; known++) {
        if (known->val == optopt) {
            return arcp_error_set(err, ARCP_E_USAGE, "%.*s takes no value", name_size, word);
        }
    }
    return arcp_error_set(err, ARCP_E_USAGE, "there is no flag -%c", optopt);
}

static arcp_status read_bytes(const char *text, uint64_t *out, arcp_error *err)
{
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "--record-bytes %.200s: must be a number of bytes", text);
}

arcp_status arcp__arguments_look(int argc, char **argv, arcp__arguments *out, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    *out = (arcp__arguments){.record_bytes = RECORD_BYTES_DEFAULT};
    for (int flag = next_flag(argc, argv, true); flag != -1; flag = next_flag(argc, argv, false)) {
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
        case FLAG_RECORD:
            out->record_path = optarg;
            break;
        case FLAG_RECORD_BYTES:
            status = read_bytes(optarg, &out->record_bytes, err);
            if (status != ARCP_OK) {
                return status;
            }
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

/* ---- into the configuration ---- */

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* The value of the file has no place any more. */
static arcp_status replace_text(arcp__config *config, char **text, const char *key,
                                const char *with, arcp_error *err)
{
    arcp__config_places_forget(&config->places, key);
    arcp__free(*text);
    *text = arcp__copy_cstr(with, strlen(with));
    return *text == NULL ? no_memory(err) : ARCP_OK;
}

/* A new item of one of the configuration's lists. */
static void *add_item(arcp__config *config, const char *key)
{
    const arcp__config_row *row = arcp__config_top.rows;
    while (strcmp(row->key, key) != 0) {
        row++;
    }
    return arcp__config_list_add(row, config);
}

/* TOKEN=PRINCIPAL; the last '=' separates. The message never shows the text. */
static arcp_status add_token(arcp__config *config, const char *text, arcp_error *err)
{
    const char *equals = strrchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return arcp_error_set(err, ARCP_E_USAGE, "--token must be TOKEN=PRINCIPAL");
    }
    arcp_token_row *token = add_item(config, "tokens");
    if (token == NULL) {
        return no_memory(err);
    }
    token->token = arcp__copy_cstr(text, (size_t)(equals - text));
    token->principal = arcp__copy_cstr(equals + 1, strlen(equals + 1));
    return token->token == NULL || token->principal == NULL ? no_memory(err) : ARCP_OK;
}

/* NAME[@VERSION]=COMMAND. */
static arcp_status add_agent(arcp__config *config, const char *text, arcp_error *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return arcp_error_set(err, ARCP_E_USAGE, "--agent %.200s: must be NAME[@VERSION]=COMMAND",
                              text);
    }
    const char *at_sign = memchr(text, '@', (size_t)(equals - text));
    const char *name_end = at_sign == NULL ? equals : at_sign;
    arcp__config_agent *agent = add_item(config, "agents");
    if (agent == NULL) {
        return no_memory(err);
    }
    agent->name = arcp__copy_cstr(text, (size_t)(name_end - text));
    if (at_sign != NULL) {
        agent->version = arcp__copy_cstr(at_sign + 1, (size_t)(equals - at_sign - 1));
    }
    if (agent->name == NULL || (at_sign != NULL && agent->version == NULL)) {
        return no_memory(err);
    }
    char **words = NULL;
    arcp_status status = arcp__command_words(arcp_span_cstr(equals + 1), &words, err);
    for (size_t i = 0; status == ARCP_OK && words[i] != NULL; i++) {
        status = arcp__text_list_add(&agent->command, words[i], err);
    }
    arcp__free(words);
    return status == ARCP_OK && agent->command.count == 0
               ? arcp_error_set(err, ARCP_E_USAGE, "the command of agent \"%s\" is empty",
                                agent->name)
               : status;
}

static arcp_status set_log_level(arcp__config *config, const char *text, arcp_error *err)
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

arcp_status arcp__arguments_apply(int argc, char **argv, arcp__config *config, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    bool listen_given = false;
    for (int flag = next_flag(argc, argv, true); status == ARCP_OK && flag != -1;
         flag = next_flag(argc, argv, false)) {
        switch (flag) {
        case FLAG_LISTEN:
            if (!listen_given) {
                arcp__text_list_clear(&config->listen);
                arcp__config_places_forget(&config->places, "listen");
            }
            listen_given = true;
            status = arcp__text_list_add(&config->listen, optarg, err);
            break;
        case FLAG_STORE:
            status = replace_text(config, &config->store, "store", optarg, err);
            break;
        case FLAG_TOKEN:
            status = add_token(config, optarg, err);
            break;
        case FLAG_TOKEN_FILE:
            status = replace_text(config, &config->token_file, "token_file", optarg, err);
            break;
        case FLAG_AGENT:
            status = add_agent(config, optarg, err);
            break;
        case FLAG_LOG_LEVEL:
            status = set_log_level(config, optarg, err);
            break;
        case FLAG_NO_AUTH:
            config->no_auth = true;
            break;
        case FLAG_STDIO:
            config->use_stdio = true;
            break;
        default:
            break;
        }
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
