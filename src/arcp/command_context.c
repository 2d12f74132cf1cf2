/* `arcp context`: runtimes with names (cli/contexts.c). */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/command.h"
#include "arcp/operator.h"
#include "file/private_file.h"
#include "transport/url.h"
#include "json/json_put.h"

typedef struct contexts {
    arcp__program *program;
    arcp__format format;
    arcp__text_list names;  /* without the default one */
    arcp_buf current;       /* the name of the one in use */
    arcp__config_level top; /* of the configuration file, whose URL those without one have */
    bool has_titles;        /* the table has its first row */
} contexts;

static int fail(const contexts *c, const arcp_error *err)
{
    return err->status == ARCP_E_USAGE ? arcp__program_usage(c->program, err)
                                       : arcp__program_fail_file(c->program, err);
}

static bool exists(const contexts *c, const char *name)
{
    bool is_found = arcp__context_is_default(name);
    for (size_t i = 0; i < c->names.count && !is_found; i++) {
        is_found = strcmp(c->names.items[i], name) == 0;
    }
    return is_found;
}

static const char *url_of(const contexts *c, const arcp__config_level *level)
{
    return level->url != NULL ? level->url : c->top.url != NULL ? c->top.url : ARCP__DEFAULT_URL;
}

static bool is_current(const contexts *c, const char *name)
{
    return arcp_span_equal_cstr(arcp_buf_span(&c->current), name);
}

static arcp_status read_file(const arcp__arguments *arguments, arcp__config_level *out,
                             arcp_error *err)
{
    bool may_be_missing = false;
    arcp_buf path = arcp_buf_init();
    arcp_status status = arcp__config_path(arguments, &path, &may_be_missing, err);
    if (status == ARCP_OK) {
        status = arcp__config_file_read(path.data, may_be_missing, out, err);
    }
    arcp_buf_fini(&path);
    return status;
}

static arcp_status read_level(const contexts *c, const char *name, arcp__config_level *out,
                              arcp_error *err)
{
    const arcp__arguments *arguments = &c->program->arguments;
    return arcp__context_is_default(name) ? read_file(arguments, out, err)
                                          : arcp__context_read(arguments, name, out, err);
}

/* ---- list and show ---- */

/* Where the token comes from; never the token. */
static void append_token_source(const arcp__config_level *level, arcp_buf *out)
{
    if (level->token != NULL) {
        arcp_buf_append_cstr(out, "in the file");
    } else if (level->token_file != NULL) {
        arcp_buf_append_cstr(out, level->token_file);
    } else if (level->token_command.count != 0) {
        arcp_buf_append_format(out, "command %s", level->token_command.items[0]);
    }
}

/* The context as an object, with the members of its file. */
static void write_context(const contexts *c, const char *name, arcp_span path,
                          const arcp__config_level *level, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "name", name);
    arcp__put_bool(&writer, "current", is_current(c, name));
    arcp__put_string(&writer, "file", path);
    arcp__put_cstr(&writer, "url", url_of(c, level));
    if (level->token_file != NULL) {
        arcp__put_cstr(&writer, "token_file", level->token_file);
    }
    if (level->token_command.count != 0) {
        arcp_json_name(&writer, "token_command");
        arcp_json_begin_array(&writer);
        for (size_t i = 0; i < level->token_command.count; i++) {
            arcp_json_write_cstr(&writer, level->token_command.items[i]);
        }
        arcp_json_end_array(&writer);
    }
    if (level->ca_file != NULL) {
        arcp__put_cstr(&writer, "ca_file", level->ca_file);
    }
    arcp__put_bool(&writer, "has_token",
                   level->token != NULL || level->token_file != NULL ||
                       level->token_command.count != 0);
    arcp_json_end_object(&writer);
}

typedef enum column { NAME, URL, TOKEN, COUNT } column;

static const arcp__column columns[COUNT] = {
    [NAME] = {"NAME", 16, 0}, [URL] = {"URL", 40, 60}, [TOKEN] = {"TOKEN", 0, 0}};
static const arcp__table table = {.columns = columns, .count = COUNT};

static bool print_row(contexts *c, const char *name, const arcp__config_level *level)
{
    const size_t width = arcp__output_columns();
    arcp_buf shown = arcp_buf_init();
    arcp_buf token = arcp_buf_init();
    arcp_buf_append_format(&shown, "%s%s", name, is_current(c, name) ? " *" : "");
    append_token_source(level, &token);
    const arcp_span cells[COUNT] = {
        [NAME] = arcp_buf_span(&shown),
        [URL] = arcp_span_cstr(url_of(c, level)),
        [TOKEN] = arcp_buf_span(&token),
    };
    const bool is_printed =
        (c->has_titles || arcp__print_table_row(c->program, &table, width, NULL)) &&
        arcp__print_table_row(c->program, &table, width, cells);
    c->has_titles = true;
    arcp_buf_fini(&shown);
    arcp_buf_fini(&token);
    return is_printed;
}

/* Alone: as lines "url: ..." for people, or in the format that was asked for. */
static bool print_object(contexts *c, const char *name, const arcp__config_level *level,
                         bool is_alone, arcp_error *err)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    const arcp__format format = c->format == ARCP__FORMAT_TABLE ? ARCP__FORMAT_YAML : c->format;
    arcp_buf path = arcp_buf_init();
    arcp__asked asked = {.json = ARCP__JSON_INIT};
    bool is_printed = false;
    if (arcp__context_path(&c->program->arguments, name, &path, err) == ARCP_OK) {
        arcp_buf_append_cstr(&asked.text, is_alone ? "" : "[");
        write_context(c, name, arcp_buf_span(&path), level, &asked.text);
        arcp_buf_append_cstr(&asked.text, is_alone ? "" : "]");
        if (arcp_json_scan(&asked.json, arcp_buf_span(&asked.text), &limits, err) == ARCP_OK) {
            const arcp_json_ref object =
                is_alone ? ARCP_JSON_ROOT : arcp_json_first(&asked.json, ARCP_JSON_ROOT);
            is_printed = arcp__print_asked_row(c->program, format, &asked, object, "name");
        }
    }
    arcp_buf_fini(&path);
    arcp__asked_fini(&asked);
    return is_printed;
}

static int print_one(contexts *c, const char *name, bool is_alone)
{
    arcp__config_level level = {0};
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_SUCCESS;
    if (read_level(c, name, &level, &err) != ARCP_OK) {
        exit_status = fail(c, &err);
    } else if (!is_alone && c->format == ARCP__FORMAT_TABLE) {
        exit_status = print_row(c, name, &level) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
    } else if (!print_object(c, name, &level, is_alone, &err)) {
        exit_status = err.status == ARCP_OK ? ARCP__EXIT_ERROR : fail(c, &err);
    }
    arcp__config_level_fini(&level);
    return exit_status;
}

static int list(contexts *c)
{
    int exit_status = print_one(c, ARCP__CONTEXT_DEFAULT, false);
    for (size_t i = 0; i < c->names.count && exit_status == ARCP__EXIT_SUCCESS; i++) {
        exit_status = print_one(c, c->names.items[i], false);
    }
    return exit_status;
}

/* Without a name: the one in effect. */
static int show(contexts *c, const char *name)
{
    arcp_buf selected = arcp_buf_init();
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_SUCCESS;
    if (name == NULL &&
        arcp__context_selected(&c->program->arguments, &selected, &err) != ARCP_OK) {
        exit_status = fail(c, &err);
    } else {
        exit_status = print_one(c, name != NULL ? name : selected.data, true);
    }
    arcp_buf_fini(&selected);
    return exit_status;
}

/* ---- use, add and remove ---- */

/* The directory of contexts, and those above it. */
static arcp_status make_directory(const contexts *c, arcp_error *err)
{
    arcp_buf path = arcp_buf_init();
    arcp_status status = arcp__contexts_path(&c->program->arguments, "", &path, err);
    for (char *slash = status == ARCP_OK ? strchr(path.data + 1, '/') : NULL; slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path.data, 0700);
        *slash = '/';
    }
    if (status == ARCP_OK && mkdir(path.data, 0700) != 0 && errno != EEXIST) {
        status = arcp_error_set(err, ARCP_E_IO, "%s: %s", path.data, strerror(errno));
    }
    arcp_buf_fini(&path);
    return status;
}

static arcp_status write_file(const char *path, arcp_span text, arcp_error *err)
{
    const arcp__private_file file = {.what = "context", .path = path};
    return arcp__private_file_replace(&file, text, err);
}

static arcp_status use(contexts *c, const char *name, arcp_error *err)
{
    arcp_buf path = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    arcp__config_level level = {0};
    arcp_status status = read_level(c, name, &level, err); /* one that cannot be read is refused */
    if (status == ARCP_OK) {
        status = make_directory(c, err);
    }
    if (status == ARCP_OK) {
        status = arcp__contexts_path(&c->program->arguments, "current", &path, err);
    }
    if (status == ARCP_OK) {
        arcp_buf_append_format(&text, "%s\n", name);
        status = write_file(path.data, arcp_buf_span(&text), err);
    }
    const char *environment = getenv("ARCP_CONTEXT");
    if (status == ARCP_OK && environment != NULL && environment[0] != '\0') {
        arcp__program_say(c->program, "ARCP_CONTEXT is set, and takes precedence: %s", environment);
    }
    if (status == ARCP_OK && !c->program->is_quiet) {
        arcp__screen_format(&c->program->screen, "in use: %s (%s)", name, url_of(c, &level));
    }
    arcp__config_level_fini(&level);
    arcp_buf_fini(&path);
    arcp_buf_fini(&text);
    return status;
}

/* Appends the option's file, with its absolute path, as a line; it must be there. */
static arcp_status put_file(const contexts *c, arcp__option option, const char *key,
                            unsigned closed_to, arcp_buf *out, arcp_error *err)
{
    const char *given = arcp__value(&c->program->arguments, option);
    char path[PATH_MAX];
    struct stat about;
    if (given == NULL) {
        return ARCP_OK;
    }
    if (realpath(given, path) == NULL || access(path, R_OK) != 0 || stat(path, &about) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "--%s: %s: %s", arcp__options[option].name, given,
                              strerror(errno));
    }
    if ((about.st_mode & closed_to) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--%s: other users can read %s (chmod 600 makes it private)",
                              arcp__options[option].name, path);
    }
    arcp_buf_append_format(out, "%s: ", key);
    arcp_json_quote(arcp_span_cstr(path), out); /* also a string in YAML */
    arcp_buf_append_byte(out, '\n');
    return ARCP_OK;
}

static arcp_status write_keys(const contexts *c, arcp_buf *out, arcp_error *err)
{
    const arcp__arguments *arguments = &c->program->arguments;
    const char *url = arcp__value(arguments, ARCP__OPTION_CONTEXT_URL);
    arcp__url parsed;
    if (arguments->token != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--token: a context has the name of a file with the token "
                              "(--token-file)");
    }
    if (url == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "--url is missing");
    }
    arcp_status status = arcp__url_parse(arcp_span_cstr(url), &parsed, err);
    if (status == ARCP_OK) {
        arcp_buf_append_cstr(out, "url: ");
        arcp_json_quote(arcp_span_cstr(url), out);
        arcp_buf_append_byte(out, '\n');
        status = put_file(c, ARCP__OPTION_CONTEXT_TOKEN_FILE, "token_file", 077, out, err);
    }
    if (status == ARCP_OK) {
        status = put_file(c, ARCP__OPTION_CONTEXT_CA_FILE, "ca_file", 0, out, err);
    }
    return status == ARCP_OK ? arcp_buf_status(out) : status;
}

static arcp_status add(contexts *c, const char *name, arcp_error *err)
{
    arcp_buf path = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    arcp_status status = arcp__context_path(&c->program->arguments, name, &path, err);
    if (status == ARCP_OK && exists(c, name)) {
        status =
            arcp_error_set(err, ARCP_E_USAGE, "the context %s exists already: %s", name, path.data);
    }
    if (status == ARCP_OK) {
        status = write_keys(c, &text, err);
    }
    if (status == ARCP_OK) {
        status = make_directory(c, err);
    }
    if (status == ARCP_OK) {
        status = write_file(path.data, arcp_buf_span(&text), err);
    }
    if (status == ARCP_OK && !c->program->is_quiet) {
        arcp__screen_format(&c->program->screen, "added: %s (to use it: arcp context use %s)",
                            path.data, name);
    }
    arcp_buf_fini(&path);
    arcp_buf_fini(&text);
    return status;
}

static arcp_status remove_context(contexts *c, const char *name, arcp_error *err)
{
    arcp_buf path = arcp_buf_init();
    arcp_status status = arcp__context_path(&c->program->arguments, name, &path, err);
    if (status == ARCP_OK && arcp__context_is_default(name)) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "the context default is the configuration file, and stays");
    } else if (status == ARCP_OK && is_current(c, name)) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "the context %s is in use (first: arcp context use %s)", name,
                                ARCP__CONTEXT_DEFAULT);
    } else if (status == ARCP_OK && unlink(path.data) != 0) {
        status = errno == ENOENT
                     ? arcp_error_set(err, ARCP_E_USAGE, "there is no context %s", name)
                     : arcp_error_set(err, ARCP_E_IO, "%s: %s", path.data, strerror(errno));
    }
    if (status == ARCP_OK && !c->program->is_quiet) {
        arcp__screen_format(&c->program->screen, "removed: %s", path.data);
    }
    arcp_buf_fini(&path);
    return status;
}

/* ---- the command ---- */

static const struct verb {
    const char *name;
    arcp_status (*run)(contexts *c, const char *name, arcp_error *err);
} verbs[] = {{"use", use}, {"add", add}, {"remove", remove_context}};

static int change(contexts *c, const char *verb, const char *name)
{
    arcp_error err = {0};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verb, verbs[i].name) == 0) {
            const arcp_status status =
                name == NULL ? arcp_error_set(&err, ARCP_E_USAGE, "%s: CONTEXT is missing", verb)
                             : verbs[i].run(c, name, &err);
            return status == ARCP_OK ? ARCP__EXIT_SUCCESS : fail(c, &err);
        }
    }
    (void)arcp_error_set(&err, ARCP_E_USAGE,
                         "unknown context command \"%.32s\" (expected list, show, use, add or "
                         "remove)",
                         verb);
    return fail(c, &err);
}

int arcp__command_context(arcp__program *program)
{
    const arcp__arguments *arguments = &program->arguments;
    const char *verb = arguments->word_count == 0 ? "list" : arguments->words[0];
    const char *name = arguments->word_count == 2 ? arguments->words[1] : NULL;
    contexts c = {.program = program};
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_SUCCESS;
    if (arcp__format_read(program, ARCP__OPTION_CONTEXT_OUTPUT, &c.format, &err) != ARCP_OK ||
        read_file(arguments, &c.top, &err) != ARCP_OK ||
        arcp__context_current(arguments, &c.current, &err) != ARCP_OK ||
        arcp__context_names(arguments, &c.names, &err) != ARCP_OK) {
        exit_status = fail(&c, &err);
    } else if (strcmp(verb, "list") == 0 && name == NULL) {
        exit_status = list(&c);
    } else if (strcmp(verb, "show") == 0) {
        exit_status = show(&c, name);
    } else {
        exit_status = change(&c, verb, name);
    }
    arcp__text_list_clear(&c.names);
    arcp_buf_fini(&c.current);
    arcp__config_level_fini(&c.top);
    return exit_status;
}
