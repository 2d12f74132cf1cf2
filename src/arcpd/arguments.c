#include "arcpd/arcpd.h"

#include <getopt.h>
#include <string.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "base/digits.h"
#include "transport/command_words.h"

const char arcp__arcpd_help[] =
    "arcpd - host agents as jobs that cannot exceed their lease\n"
    "\n"
    "usage: arcpd [options]\n"
    "\n"
    "  --config FILE                 read the configuration FILE (YAML); options override it\n"
    "  --check-config FILE           check FILE and the other options, print the resulting\n"
    "                                configuration, and exit\n"
    "  --check-store                 verify the checksums of the whole store, print any damage,\n"
    "                                and exit; no process may have a store in SQLite open\n"
    "  --listen URL                  accept sessions at URL (repeatable; port 0 picks a free\n"
    "                                port; default: ws://127.0.0.1:7777/arcp)\n"
    "  --store URL                   keep state in sqlite:PATH, postgres://USER@HOST/DATABASE\n"
    "                                or memory:\n"
    "                                (default: arcp.db in the state directory)\n"
    "  --token TOKEN=PRINCIPAL       accept TOKEN as PRINCIPAL (repeatable)\n"
    "  --token-file FILE             read TOKEN=PRINCIPAL lines from FILE, and again on SIGHUP\n"
    "  --no-auth                     disable authentication (loopback listeners only)\n"
    "  --agent NAME[@VERSION]=COMMAND  run COMMAND for jobs submitted to NAME (repeatable)\n"
    "  --stdio                       serve one session over standard input and output\n"
    "  --enforce on|off              run agents in sandboxes made from their leases (default: on)\n"
    "  --enforce-min exact|under|advisory\n"
    "                                how exactly each line of a lease must be enforced for a job\n"
    "                                to be accepted (default: under)\n"
    "  --workers-local none|spawn|external\n"
    "                                which process runs the programs of jobs: arcpd, a worker\n"
    "                                that it starts, or one that a supervisor starts\n"
    "                                (default: none)\n"
    "  --log-level LEVEL             debug, info, warn or error (default: info)\n"
    "  --record FILE                 write a trace for `arcp replay` to FILE; it contains all "
    "that\n"
    "                                clients, agents and upstreams send, including secrets; an\n"
    "                                existing FILE is renamed to FILE.old\n"
    "  --record-bytes N              largest size of the trace in bytes (default: 1073741824)\n"
    "  -V, --version                 print the version and exit\n"
    "  -h, --help                    print this summary and exit\n"
    "\n"
    "When it can accept sessions, arcpd prints one line: arcpd: ready URL...\n"
    "If no tokens are configured, it creates one and keeps it in the state directory\n"
    "($STATE_DIRECTORY, else $XDG_STATE_HOME/arcp, else ~/.local/state/arcp), where `arcp` on\n"
    "this machine finds it.\n"
    "\n"
    "Try:  arcpd --agent 'hello=echo hi' &  arcp submit hello\n"
    "SIGTERM stops arcpd (jobs on a worker go on, all others get shutdown.grace_sec); SIGHUP\n"
    "reloads tokens, keys, certificates, agents and policies; SIGUSR1 writes the state (see\n"
    "arcp debug dump). See arcpd(8), arcpd.yaml(5), arcp-agent(7), arcp-worker(8).\n";

/* ---- options ---- */

#define RECORD_BYTES_DEFAULT UINT64_C(1073741824)

enum {
    OPTION_CONFIG = 256,
    OPTION_CHECK,
    OPTION_CHECK_STORE,
    OPTION_LISTEN,
    OPTION_STORE,
    OPTION_TOKEN,
    OPTION_TOKEN_FILE,
    OPTION_NO_AUTH,
    OPTION_AGENT,
    OPTION_STDIO,
    OPTION_ENFORCE,
    OPTION_ENFORCE_MIN,
    OPTION_WORKERS_LOCAL,
    OPTION_LOG_LEVEL,
    OPTION_RECORD,
    OPTION_RECORD_BYTES,
    OPTION_VERSION = 'V',
    OPTION_HELP = 'h'
};

static const struct option options[] = {
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"check-config", required_argument, NULL, OPTION_CHECK},
    {"check-store", no_argument, NULL, OPTION_CHECK_STORE},
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"store", required_argument, NULL, OPTION_STORE},
    {"token", required_argument, NULL, OPTION_TOKEN},
    {"token-file", required_argument, NULL, OPTION_TOKEN_FILE},
    {"no-auth", no_argument, NULL, OPTION_NO_AUTH},
    {"agent", required_argument, NULL, OPTION_AGENT},
    {"stdio", no_argument, NULL, OPTION_STDIO},
    {"enforce", required_argument, NULL, OPTION_ENFORCE},
    {"enforce-min", required_argument, NULL, OPTION_ENFORCE_MIN},
    {"workers-local", required_argument, NULL, OPTION_WORKERS_LOCAL},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"record", required_argument, NULL, OPTION_RECORD},
    {"record-bytes", required_argument, NULL, OPTION_RECORD_BYTES},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0}};

/* The ':' makes getopt report a missing value and an unknown option differently. */
static const char short_options[] = ":hV";

/* -1 after the last option. getopt keeps its position in globals; setting optind to 0 restarts
 * it. */
static int next_option(int argc, char **argv, bool is_first)
{
    optind = is_first ? 0 : optind;
    opterr = 0;
    return getopt_long(argc, argv, short_options, options, NULL);
}

/* getopt leaves in `optopt` 0 for an unknown long option, the value of a known long option that was
 * misused (short options cannot be: none takes a value), and the letter of an unknown short one.
 * `word` is the argument before optind: the long option itself, but not the word of a short one
 * that has further letters. */
static arcp_status refuse_option(int option, const char *word, arcp_error *err)
{
    const int name_size = (int)strcspn(word, "="); /* the rest may be a token */
    if (option == ':') {
        return arcp_error_set(err, ARCP_E_USAGE, "%.200s needs a value", word);
    }
    if (optopt == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "unknown option %.*s", name_size, word);
    }
    for (const struct option *known = options; known->name != NULL; known++) {
        if (known->val == optopt) {
            return arcp_error_set(err, ARCP_E_USAGE, "%.*s takes no value", name_size, word);
        }
    }
    return arcp_error_set(err, ARCP_E_USAGE, "unknown option -%c", optopt);
}

static arcp_status read_bytes(const char *text, uint64_t *out, arcp_error *err)
{
    return arcp__digits_parse(arcp_span_cstr(text), out)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "--record-bytes %.200s: must be a number of bytes", text);
}

arcp_status arcp__arguments_read(int argc, char **argv, arcp__arguments *out, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    *out = (arcp__arguments){.record_bytes = RECORD_BYTES_DEFAULT};
    for (int option = next_option(argc, argv, true); option != -1;
         option = next_option(argc, argv, false)) {
        switch (option) {
        case OPTION_HELP:
            out->wants_help = true;
            return ARCP_OK;
        case OPTION_VERSION:
            out->wants_version = true;
            return ARCP_OK;
        case OPTION_CHECK:
            out->only_checks = true;
            out->config_path = optarg;
            break;
        case OPTION_CHECK_STORE:
            out->only_checks_store = true;
            break;
        case OPTION_CONFIG:
            out->config_path = optarg;
            break;
        case OPTION_RECORD:
            out->record_path = optarg;
            break;
        case OPTION_RECORD_BYTES:
            status = read_bytes(optarg, &out->record_bytes, err);
            if (status != ARCP_OK) {
                return status;
            }
            break;
        case ':':
        case '?':
            return refuse_option(option, argv[optind - 1], err);
        default:
            break;
        }
    }
    return optind == argc
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "unexpected argument %.200s", argv[optind]);
}

/* ---- applying the options to the configuration ---- */

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* The new value does not come from the file, so its place there is forgotten. */
static arcp_status replace_text(arcp__config *config, char **text, const char *key,
                                const char *with, arcp_error *err)
{
    arcp__config_places_forget(&config->places, key);
    arcp__free(*text);
    *text = arcp__copy_cstr(with, strlen(with));
    return *text == NULL ? no_memory(err) : ARCP_OK;
}

/* Appends an item to one of the configuration's lists. */
static void *add_item(arcp__config *config, const char *key)
{
    const arcp__config_row *row = arcp__config_top.rows;
    while (strcmp(row->key, key) != 0) {
        row++;
    }
    return arcp__config_list_add(row, config);
}

/* TOKEN=PRINCIPAL [role=ROLE], separated by the last '='. The error message never shows the text.
 */
static arcp_status add_token(arcp__config *config, const char *text, arcp_error *err)
{
    arcp_span line = arcp_span_cstr(text);
    arcp_role role = ARCP_ROLE_NONE;
    if (!arcp__token_take_role(&line, &role)) {
        return arcp_error_set(err, ARCP_E_USAGE, "--token: the role must be viewer or operator");
    }
    const char *equals = line.size == 0 ? NULL : memrchr(line.data, '=', line.size);
    const size_t token_size = equals == NULL ? 0 : (size_t)(equals - line.data);
    if (token_size == 0 || token_size + 1 == line.size) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--token must be TOKEN=PRINCIPAL or 'TOKEN=PRINCIPAL role=ROLE'");
    }
    arcp__token_row *token = add_item(config, "tokens");
    if (token == NULL) {
        return no_memory(err);
    }
    token->token = arcp__copy_cstr(text, token_size);
    token->principal = arcp__copy_cstr(equals + 1, line.size - token_size - 1);
    token->role = role;
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
    arcp__setup_agent *agent = add_item(config, "agents");
    if (agent == NULL) {
        return no_memory(err);
    }
    agent->stderr_in_errors = true; /* the user who tries an agent submits its jobs, too */
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

static bool find_word(const char *const *words, const char *text, int *out)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static arcp_status set_log_level(arcp__config *config, const char *text, arcp_error *err)
{
    return find_word(arcp__config_log_levels, text, &config->log_level)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "--log-level %.200s: must be debug, info, warn or error", text);
}

static arcp_status set_workers_local(arcp__config *config, const char *text, arcp_error *err)
{
    arcp__config_places_forget(&config->places, "workers.local");
    return find_word(arcp__config_local_workers, text, &config->workers_local)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "--workers-local %.200s: must be none, spawn or external", text);
}

static arcp_status set_enforce(arcp__config *config, const char *text, arcp_error *err)
{
    config->setup.enforce.is_off = strcmp(text, "off") == 0;
    return config->setup.enforce.is_off || strcmp(text, "on") == 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "--enforce %.200s: must be on or off", text);
}

static arcp_status set_enforce_min(arcp__config *config, const char *text, arcp_error *err)
{
    return arcp_settings_set(&config->settings, "enforce.min", text, NULL) == ARCP_OK
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "--enforce-min %.200s: must be exact, under or advisory", text);
}

arcp_status arcp__arguments_apply(int argc, char **argv, arcp__config *config, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    bool listen_given = false;
    for (int option = next_option(argc, argv, true); status == ARCP_OK && option != -1;
         option = next_option(argc, argv, false)) {
        switch (option) {
        case OPTION_LISTEN:
            if (!listen_given) {
                arcp__text_list_clear(&config->listen);
                arcp__config_places_forget(&config->places, "listen");
            }
            listen_given = true;
            status = arcp__text_list_add(&config->listen, optarg, err);
            break;
        case OPTION_STORE:
            status = replace_text(config, &config->store, "store", optarg, err);
            break;
        case OPTION_TOKEN:
            status = add_token(config, optarg, err);
            break;
        case OPTION_TOKEN_FILE:
            status = replace_text(config, &config->token_file, "token_file", optarg, err);
            break;
        case OPTION_AGENT:
            status = add_agent(config, optarg, err);
            break;
        case OPTION_LOG_LEVEL:
            status = set_log_level(config, optarg, err);
            break;
        case OPTION_ENFORCE:
            status = set_enforce(config, optarg, err);
            break;
        case OPTION_ENFORCE_MIN:
            status = set_enforce_min(config, optarg, err);
            break;
        case OPTION_WORKERS_LOCAL:
            status = set_workers_local(config, optarg, err);
            break;
        case OPTION_NO_AUTH:
            config->no_auth = true;
            break;
        case OPTION_STDIO:
            config->use_stdio = true;
            break;
        default:
            break;
        }
    }
    return status;
}

/* ---- argv ---- */

char **arcp__arguments_copy(int argc, char *const *argv)
{
    char **copy = arcp__alloc_array((size_t)argc + 1, sizeof *copy);
    for (int i = 0; copy != NULL && i < argc; i++) {
        copy[i] = arcp__copy_cstr(argv[i], strlen(argv[i]));
        if (copy[i] == NULL) {
            arcp__arguments_free(argc, copy);
            return NULL;
        }
    }
    return copy;
}

void arcp__arguments_free(int argc, char **copy)
{
    for (int i = 0; copy != NULL && i < argc; i++) {
        if (copy[i] != NULL) {
            arcp_wipe(copy[i], strlen(copy[i]));
            arcp__free(copy[i]);
        }
    }
    arcp__free(copy);
}

void arcp__arguments_wipe(int argc, char *const *argv)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--token=", 8) == 0) {
            arcp_wipe(argv[i] + 8, strlen(argv[i] + 8));
        } else if (strcmp(argv[i], "--token") == 0 && i + 1 < argc) {
            arcp_wipe(argv[i + 1], strlen(argv[i + 1]));
            i++;
        }
    }
}
