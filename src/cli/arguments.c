#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include <arcp/secret.h>

#include "base/alloc.h"

/* ---- the tables ---- */

const arcp__command_row arcp__commands[ARCP__COMMAND_COUNT] = {
    [ARCP__COMMAND_ANY] = {"", "", 0, 0, true, ""},
#define ARCP_COMMAND(id, name, arguments, least, most, connects, text)                             \
    [ARCP__COMMAND_##id] = {name, arguments, least, most, connects, text},
#include "cli/command.def"
#undef ARCP_COMMAND
};

const arcp__option_row arcp__options[ARCP__OPTION_COUNT] = {
#define ARCP_OPTION(id, command, name, argument, repeats, completes, text)                         \
    [ARCP__OPTION_##id] = {ARCP__COMMAND_##command, name, argument, repeats, completes, text},
#include "cli/option.def"
#undef ARCP_OPTION
};

arcp__command arcp__command_of(const char *name)
{
    int command = ARCP__COMMAND_COUNT - 1;
    while (command > ARCP__COMMAND_ANY && strcmp(arcp__commands[command].name, name) != 0) {
        command--;
    }
    return (arcp__command)command;
}

bool arcp__option_has_words(const arcp__option_row *row)
{
    static const char *const kinds[] = {"", "file", "job", "agent", "session", "context"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(row->completes, kinds[i]) == 0) {
            return false;
        }
    }
    return true;
}

const char arcp__learn_name[] = "lease learn";

bool arcp__option_is_for_learning(arcp__option option)
{
    static const arcp__option refused_options[] = {
        ARCP__OPTION_RUN_READ,       ARCP__OPTION_RUN_WRITE,      ARCP__OPTION_RUN_LEASE,
        ARCP__OPTION_RUN_GRANT,      ARCP__OPTION_RUN_BUDGET,     ARCP__OPTION_RUN_EXPIRES_IN,
        ARCP__OPTION_RUN_EXPIRES_AT, ARCP__OPTION_RUN_MIN,        ARCP__OPTION_RUN_PIDS,
        ARCP__OPTION_RUN_PROTECT,    ARCP__OPTION_RUN_NO_PROTECT, ARCP__OPTION_RUN_REPORT,
        ARCP__OPTION_RUN_MEMORY,     ARCP__OPTION_RUN_MODEL,      ARCP__OPTION_RUN_PROVIDER,
        ARCP__OPTION_RUN_TOOL,
    };
    bool is_refused = arcp__options[option].command != ARCP__COMMAND_RUN;
    for (size_t i = 0; i < sizeof refused_options / sizeof *refused_options; i++) {
        is_refused = is_refused || refused_options[i] == option;
    }
    return !is_refused;
}

/* ---- the command line ---- */

static bool belongs_to(arcp__option option, arcp__command command)
{
    return arcp__options[option].command == ARCP__COMMAND_ANY ||
           arcp__options[option].command == command;
}

static arcp_status push(const char ***list, size_t *count, const char *text, arcp_error *err)
{
    const char **grown = arcp__realloc_array(*list, *count + 2, sizeof *grown);
    if (grown == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    grown[(*count)++] = text;
    grown[*count] = NULL;
    *list = grown;
    return ARCP_OK;
}

void arcp__keep_most_similar(const char *word, const char *name, const char **best, size_t *most)
{
    const size_t a_size = strlen(word);
    const size_t b_size = strlen(name);
    const size_t shorter = a_size < b_size ? a_size : b_size;
    const size_t longer = a_size > b_size ? a_size : b_size;
    size_t front = 0;
    size_t back = 0;
    while (front < shorter && word[front] == name[front]) {
        front++;
    }
    while (back < shorter - front && word[a_size - 1 - back] == name[b_size - 1 - back]) {
        back++;
    }
    if (front + back + 2 >= longer && front + back > *most) {
        *most = front + back;
        *best = name;
    }
}

static arcp_status unknown_option(const arcp__arguments *arguments, const char *name, size_t size,
                                  arcp_error *err)
{
    char written[64];
    const char *best = "";
    size_t most = 0;
    size = size < sizeof written - 1 ? size : sizeof written - 1;
    memcpy(written, name, size);
    written[size] = '\0';
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        const arcp__option_row *row = &arcp__options[option];
        if (strcmp(row->name, written) == 0) {
            return arcp_error_set(err, ARCP_E_USAGE, "--%s is an option of arcp %s", written,
                                  arcp__commands[row->command].name);
        }
        if (belongs_to((arcp__option)option, arguments->command)) {
            arcp__keep_most_similar(written, row->name, &best, &most);
        }
    }
    return arcp_error_set(err, ARCP_E_USAGE, "unknown option --%s%s%s%s", written,
                          most == 0 ? "" : "; did you mean --", best, most == 0 ? "" : "?");
}

/* Finds an option of the command, or before the command one that all commands have; -1: none. The
 * command's own rows are below those of all commands, and may have the same names. */
static int find_option(const arcp__arguments *arguments, const char *name, size_t size)
{
    for (int option = ARCP__OPTION_COUNT - 1; option >= 0; option--) {
        if (strlen(arcp__options[option].name) == size &&
            memcmp(arcp__options[option].name, name, size) == 0 &&
            belongs_to((arcp__option)option, arguments->command)) {
            return option;
        }
    }
    return -1;
}

static arcp_status add_switch(arcp__arguments *out, arcp__option option, arcp_error *err)
{
    return push(&out->values[option], &out->counts[option], "", err);
}

/* A token is copied and overwritten in argv, which other users can read. */
static arcp_status add_value(arcp__arguments *out, arcp__option option, char *value,
                             arcp_error *err)
{
    const arcp__option_row *row = &arcp__options[option];
    if (out->counts[option] != 0 && !row->repeats) {
        return arcp_error_set(err, ARCP_E_USAGE, "--%s can be given only once", row->name);
    }
    if (option != ARCP__OPTION_TOKEN) {
        return push(&out->values[option], &out->counts[option], value, err);
    }
    const size_t size = strlen(value);
    out->token = arcp__copy_cstr(value, size);
    if (out->token == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    memset(value, 'x', size);
    return add_switch(out, option, err);
}

/* Parses --name, --name=value or --name value; *used is the number of words consumed. */
static arcp_status parse_option(arcp__arguments *out, char **words, int count, int *used,
                                arcp_error *err)
{
    const char *name = words[0] + 2;
    char *equals = strchr(name, '=');
    const size_t size = equals == NULL ? strlen(name) : (size_t)(equals - name);
    const int option = find_option(out, name, size);
    *used = 1;
    if (option < 0) {
        return unknown_option(out, name, size, err);
    }
    const arcp__option_row *row = &arcp__options[option];
    if (row->argument[0] == '\0') {
        if (equals != NULL) {
            return arcp_error_set(err, ARCP_E_USAGE, "--%s takes no value", row->name);
        }
        return add_switch(out, (arcp__option)option, err);
    }
    if (equals != NULL) {
        return add_value(out, (arcp__option)option, equals + 1, err);
    }
    if (count < 2) {
        return arcp_error_set(err, ARCP_E_USAGE, "--%s needs a value: %s", row->name,
                              row->argument);
    }
    *used = 2;
    return add_value(out, (arcp__option)option, words[1], err);
}

static const struct {
    char letter;
    const char *name;
} letters[] = {{'o', "output"}, {'f', "follow"}, {'h', "help"}, {'V', "version"}};

char arcp__option_letter(const char *name)
{
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        if (strcmp(letters[i].name, name) == 0) {
            return letters[i].letter;
        }
    }
    return '\0';
}

/* The long name of -LETTER; NULL: there is none. */
static const char *long_name_of(const char *word)
{
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        if (word[0] == '-' && word[1] == letters[i].letter && word[2] == '\0') {
            return letters[i].name;
        }
    }
    return NULL;
}

static arcp_status parse_short(arcp__arguments *out, char **words, int count, int *used,
                               arcp_error *err)
{
    char name[16];
    char *long_words[] = {name, count < 2 ? NULL : words[1]};
    (void)snprintf(name, sizeof name, "--%s", long_name_of(words[0]));
    return parse_option(out, long_words, count < 2 ? 1 : 2, used, err);
}

/* The number of words of an option before the command; 0: it is not valid. */
static int option_words(const char *word)
{
    const arcp__arguments none = {.command = ARCP__COMMAND_ANY};
    if (strcmp(word, "-h") == 0 || strcmp(word, "-V") == 0) {
        return 1;
    }
    if (strncmp(word, "--", 2) != 0) {
        return 0;
    }
    const size_t size = strcspn(word + 2, "=");
    const int option = find_option(&none, word + 2, size);
    if (option < 0) {
        return 0;
    }
    const bool has_value = word[2 + size] == '=';
    if (arcp__options[option].argument[0] == '\0') {
        return has_value ? 0 : 1;
    }
    return has_value ? 1 : 2;
}

int arcp__arguments_command_at(int argc, char *const *argv)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0' && strcmp(argv[i], "--") != 0) {
        const int used = option_words(argv[i]);
        if (used == 0) {
            return 0;
        }
        i += used;
    }
    if (i < argc && strcmp(argv[i], "--") == 0) {
        i++;
    }
    return i < argc && strcmp(argv[i], "help") != 0 ? i : 0;
}

/* What other programs call a command; NULL: nothing like that. */
static const char *known_elsewhere(const char *word)
{
    static const struct {
        const char *word, *command;
    } rows[] = {{"ls", "jobs"},          {"list", "jobs"},    {"ps", "jobs"},
                {"kill", "cancel"},      {"stop", "cancel"},  {"rm", "cancel"},
                {"describe", "show"},    {"inspect", "show"}, {"get", "show"},
                {"attach", "watch"},     {"follow", "watch"}, {"info", "status"},
                {"version", "--version"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].word, word) == 0) {
            return rows[i].command;
        }
    }
    return NULL;
}

/* Parses the word that names the command. */
static arcp_status parse_command(arcp__arguments *out, const char *word, arcp_error *err)
{
    out->command = arcp__command_of(word);
    if (out->command != ARCP__COMMAND_ANY) {
        return ARCP_OK;
    }
    if (strcmp(word, "help") == 0) { /* arcp help COMMAND is arcp COMMAND --help */
        return add_switch(out, ARCP__OPTION_HELP, err);
    }
    const char *best = "";
    size_t most = 0;
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        arcp__keep_most_similar(word, arcp__commands[command].name, &best, &most);
    }
    if (known_elsewhere(word) != NULL) {
        best = known_elsewhere(word);
        most = 1;
    }
    return arcp_error_set(err, ARCP_E_USAGE, "unknown command %s%s%s%s", word,
                          most == 0 ? "" : "; did you mean ", best, most == 0 ? "" : "?");
}

arcp_status arcp__arguments_parse(arcp__arguments *out, arcp__command command, int argc,
                                  char **argv, arcp_error *err)
{
    *out = (arcp__arguments){.command = command};
    arcp_status status = ARCP_OK;
    bool options_end = false;
    for (int i = 1; i < argc && status == ARCP_OK;) {
        const char *word = argv[i];
        int used = 1;
        /* A target argument of `arcp lease` may begin with a dash. */
        const bool may_be_target = out->command == ARCP__COMMAND_LEASE && out->word_count != 0;
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
        } else if (!options_end && strncmp(word, "--", 2) == 0) {
            status = parse_option(out, argv + i, argc - i, &used, err);
        } else if (!options_end && !may_be_target && long_name_of(word) != NULL) {
            status = parse_short(out, argv + i, argc - i, &used, err);
        } else if (!options_end && word[0] == '-' && word[1] != '\0' && !may_be_target) {
            status = arcp_error_set(err, ARCP_E_USAGE, "unknown option %s", word);
        } else if (out->command == ARCP__COMMAND_ANY) {
            status = parse_command(out, word, err);
        } else if (out->command == ARCP__COMMAND_LEASE && out->word_count == 0 && !options_end &&
                   strcmp(word, "learn") == 0) {
            out->command = ARCP__COMMAND_RUN; /* with its options */
            out->is_lease_learn = true;
        } else {
            status = push(&out->words, &out->word_count, word, err);
            options_end = options_end || arcp__command_starts_program(
                                             out->command); /* the rest is the program's own */
        }
        i += used;
    }
    const arcp__command_row *row = &arcp__commands[out->command];
    if (status != ARCP_OK || out->command == ARCP__COMMAND_ANY ||
        arcp__has(out, ARCP__OPTION_HELP) || arcp__has(out, ARCP__OPTION_VERSION)) {
        return status;
    }
    if (out->word_count < row->least) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s is missing", row->arguments);
    }
    if (out->word_count > row->most) {
        return arcp_error_set(err, ARCP_E_USAGE, "unexpected argument '%s'", out->words[row->most]);
    }
    return ARCP_OK;
}

void arcp__arguments_fini(arcp__arguments *arguments)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        arcp__free(arguments->values[option]);
    }
    arcp__free(arguments->words);
    if (arguments->token != NULL) {
        arcp_wipe(arguments->token, strlen(arguments->token));
        arcp__free(arguments->token);
    }
    *arguments = (arcp__arguments){.command = ARCP__COMMAND_ANY};
}
