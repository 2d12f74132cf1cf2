#include "arcp/command_lease.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <arcp/lease_explain.h>
#include <arcp/lease_subset.h>

#include "arcp/duration.h"
#include "arcp/file_text.h"
#include "base/alloc.h"
#include "base/timestamp.h"

#define EXIT_YES   0
#define EXIT_ERROR 1
#define EXIT_USAGE 2
#define EXIT_NO    4

/* A person may look at larger leases than a runtime accepts. */
#define LEASE_BYTES_MAX ((size_t)64 << 20)

/* The words that are no options: the subcommand's name and at most three more. */
#define WORDS_MAX 4

const char arcp__command_lease_usage[] =
    "  lease check LEASE CAPABILITY TARGET    may a job with this lease do that?\n"
    "  lease explain LEASE CAPABILITY TARGET  the same, with the reasons\n"
    "  lease subset CHILD PARENT              is the child within the parent?\n"
    "  lease diff A B                         what does each allow that the other does not?\n"
    "  lease lint LEASE                       what is odd about it?\n"
    "    LEASE is JSON, @FILE or - for stdin: a map of capabilities, or an object with the\n"
    "    members lease and lease_constraints. Options: --json, --cwd DIR (where relative\n"
    "    paths start), --at TIME (RFC 3339 in UTC, instead of now).\n";

typedef struct command_line {
    bool as_json;
    arcp_span cwd;
    arcp_time now;
    bool wants_help;
    const char *all_words[WORDS_MAX];
    size_t word_count;
    const char *const *words; /* those behind the subcommand's name */
} command_line;

static int usage_error(const char *problem, const char *word)
{
    fprintf(stderr, "arcp lease: %s%s%s\n%s", problem, word == NULL ? "" : ": ",
            word == NULL ? "" : word, arcp__command_lease_usage);
    return EXIT_USAGE;
}

static int error_exit(const char *what, const arcp_error *err)
{
    fprintf(stderr, "arcp lease: %s: %s\n", what,
            err->message[0] == '\0' ? arcp_status_text(err->status) : err->message);
    return EXIT_ERROR;
}

static void print(const arcp_buf *text)
{
    if (text->size > 0) {
        (void)fwrite(text->data, 1, text->size, stdout);
    }
}

/* What was printed really left: a full disk is an error too. */
static int flushed(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "arcp lease: cannot write: %s\n", strerror(errno));
        return EXIT_ERROR;
    }
    return status;
}

/* A bare map, or {"lease": ..., "lease_constraints": ...}; no capability has such a name. */
static arcp_status parse_lease(const arcp_json *json, arcp_lease **out, arcp_error *err)
{
    arcp_lease_limits limits = ARCP_LEASE_LIMITS_DEFAULT;
    limits.bytes_max = LEASE_BYTES_MAX;
    limits.patterns_max = LEASE_BYTES_MAX;
    const arcp_json_ref lease = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease"));
    const arcp_json_ref constraints =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease_constraints"));
    if (lease == ARCP_JSON_ABSENT && constraints == ARCP_JSON_ABSENT) {
        return arcp_lease_from_json(json, ARCP_JSON_ROOT, ARCP_JSON_ABSENT, &limits, out, err);
    }
    return arcp_lease_from_json(json, lease, constraints, &limits, out, err);
}

static arcp_status load_lease(const char *word, arcp_lease **out, arcp_error *err)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_json json = ARCP_JSON_INIT;
    arcp_json_limits limits = ARCP_JSON_LIMITS_DEFAULT;
    limits.bytes_max = LEASE_BYTES_MAX;
    arcp_status status = arcp__json_argument(word, true, &limits, &text, &json, err);
    if (status == ARCP_OK) {
        status = parse_lease(&json, out, err);
    }
    arcp_json_fini(&json);
    arcp_buf_fini(&text);
    return status;
}

/* Loads words[0] as a lease and makes an authority of it. */
static arcp_status load_authority(const command_line *line, arcp_authority **out, arcp_error *err)
{
    arcp_lease *lease = NULL;
    arcp_status status = load_lease(line->words[0], &lease, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_authority_options options = ARCP_AUTHORITY_OPTIONS_INIT;
    options.now = line->now;
    options.cwd = line->cwd;
    status = arcp_authority_new(lease, &options, out, err);
    arcp_lease_unref(lease);
    return status;
}

static void print_decision(const arcp_authority *authority, const arcp_decision *decision,
                           bool as_json)
{
    arcp_buf text = ARCP_BUF_INIT;
    if (as_json) {
        arcp_json_writer writer;
        arcp_json_writer_init(&writer, &text);
        arcp_json_begin_object(&writer);
        arcp_json_name(&writer, "allow");
        arcp_json_write_bool(&writer, decision->allowed);
        if (decision->allowed) {
            arcp_json_name(&writer, "canonical");
            arcp_json_write_string(&writer, decision->canonical);
            arcp_json_name(&writer, "pattern");
            arcp_json_write_string(&writer, decision->pattern);
        } else {
            arcp_buf details = ARCP_BUF_INIT;
            arcp_decision_format_details(authority, decision, &details);
            arcp_json_name(&writer, "code");
            arcp_json_write_cstr(&writer, arcp_status_name(decision->code));
            arcp_json_name(&writer, "details");
            arcp_json_write_raw(&writer, arcp_buf_span(&details));
            arcp_buf_fini(&details);
        }
        arcp_json_end_object(&writer);
    } else if (decision->allowed) {
        arcp_buf_append_cstr(&text, "allowed by ");
        arcp_buf_append(&text, decision->capability);
        arcp_buf_append_byte(&text, ' ');
        arcp_json_quote(decision->pattern, &text);
    } else {
        arcp_buf_append_format(&text, "denied: %s: ", arcp_status_name(decision->code));
        arcp_decision_format_message(decision, &text);
    }
    arcp_buf_append_byte(&text, '\n');
    print(&text);
    arcp_buf_fini(&text);
}

static int check(const command_line *line)
{
    arcp_error err = {0};
    arcp_authority *authority = NULL;
    if (load_authority(line, &authority, &err) != ARCP_OK) {
        return error_exit("LEASE", &err);
    }
    arcp_target_scratch *scratch = arcp__alloc(sizeof(*scratch));
    if (scratch == NULL) {
        arcp_authority_unref(authority);
        (void)arcp_error_set(&err, ARCP_E_NO_MEMORY, "out of memory");
        return error_exit("check", &err);
    }
    arcp_decision decision;
    const bool allowed = arcp_authorize(authority, line->now, arcp_span_cstr(line->words[1]),
                                        arcp_span_cstr(line->words[2]), scratch, &decision);
    print_decision(authority, &decision, line->as_json);
    arcp__free(scratch);
    arcp_authority_unref(authority);
    return flushed(allowed ? EXIT_YES : EXIT_NO);
}

static int explain(const command_line *line)
{
    arcp_error err = {0};
    arcp_authority *authority = NULL;
    if (load_authority(line, &authority, &err) != ARCP_OK) {
        return error_exit("LEASE", &err);
    }
    arcp_buf text = ARCP_BUF_INIT;
    const bool allowed = arcp_lease_explain(authority, line->now, arcp_span_cstr(line->words[1]),
                                            arcp_span_cstr(line->words[2]), line->as_json, &text);
    const arcp_status status = arcp_buf_status(&text);
    print(&text);
    arcp_buf_fini(&text);
    arcp_authority_unref(authority);
    if (status != ARCP_OK) {
        err.status = status;
        return error_exit("explain", &err);
    }
    return flushed(allowed ? EXIT_YES : EXIT_NO);
}

/* A text on one line: as it is when it is printable, else as a JSON string. */
static void append_plain(arcp_span text, arcp_buf *out)
{
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte <= 0x20 || byte == 0x7f) {
            arcp_json_quote(text, out);
            return;
        }
    }
    arcp_buf_append(out, text);
}

static void print_violation(const arcp_subset_violation *violation)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&text, "not a subset\n");
    if (violation->code != ARCP_DENY_TOO_COMPLEX) {
        arcp_buf_append_cstr(&text, "witness: ");
        arcp_buf_append(&text, violation->capability);
        arcp_buf_append_byte(&text, ' ');
        append_plain(arcp_buf_span(&violation->witness), &text);
        arcp_buf_append_byte(&text, '\n');
    }
    arcp_buf_append_format(&text, "reason: %s\n", violation->reason);
    print(&text);
    arcp_buf_fini(&text);
}

static void print_violation_json(bool is_subset, const arcp_subset_violation *violation)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &text);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "subset");
    arcp_json_write_bool(&writer, is_subset);
    if (!is_subset) {
        arcp_buf details = ARCP_BUF_INIT;
        arcp_subset_violation_format_details(violation, &details);
        arcp_json_name(&writer, "details");
        arcp_json_write_raw(&writer, arcp_buf_span(&details));
        arcp_buf_fini(&details);
    }
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(&text, '\n');
    print(&text);
    arcp_buf_fini(&text);
}

/* Loads the first two words as leases, or says which of them is none. */
static bool load_pair(const command_line *line, const char *const names[2], arcp_lease *leases[2])
{
    for (size_t i = 0; i < 2; i++) {
        arcp_error err = {0};
        if (load_lease(line->words[i], &leases[i], &err) != ARCP_OK) {
            (void)error_exit(names[i], &err);
            return false;
        }
    }
    return true;
}

static void unload_pair(arcp_lease *leases[2])
{
    arcp_lease_unref(leases[0]);
    arcp_lease_unref(leases[1]);
}

static int subset(const command_line *line)
{
    static const char *const names[2] = {"CHILD", "PARENT"};
    arcp_error err = {0};
    arcp_lease *leases[2] = {NULL, NULL};
    arcp_subset_violation violation = ARCP_SUBSET_VIOLATION_INIT;
    bool is_subset = false;
    int exit_status = EXIT_ERROR;
    if (load_pair(line, names, leases)) {
        err.status = arcp_lease_is_subset(leases[0], leases[1], &is_subset, &violation);
        if (err.status != ARCP_OK) {
            exit_status = error_exit("subset", &err);
        } else {
            if (line->as_json) {
                print_violation_json(is_subset, &violation);
            } else if (is_subset) {
                puts("subset");
            } else {
                print_violation(&violation);
            }
            exit_status = flushed(is_subset ? EXIT_YES : EXIT_NO);
        }
    }
    arcp_subset_violation_fini(&violation);
    unload_pair(leases);
    return exit_status;
}

static int diff(const command_line *line)
{
    static const char *const names[2] = {"A", "B"};
    arcp_error err = {0};
    arcp_lease *leases[2] = {NULL, NULL};
    arcp_buf text = ARCP_BUF_INIT;
    int exit_status = EXIT_ERROR;
    if (load_pair(line, names, leases)) {
        err.status = arcp_lease_diff(leases[0], leases[1], line->as_json, &text);
        if (err.status != ARCP_OK) {
            exit_status = error_exit("diff", &err);
        } else {
            print(&text);
            exit_status = flushed(EXIT_YES);
        }
    }
    arcp_buf_fini(&text);
    unload_pair(leases);
    return exit_status;
}

static int lint(const command_line *line)
{
    arcp_error err = {0};
    arcp_lease *lease = NULL;
    if (load_lease(line->words[0], &lease, &err) != ARCP_OK) {
        return error_exit("LEASE", &err);
    }
    arcp_buf text = ARCP_BUF_INIT;
    (void)arcp_lease_lint(lease, line->now, line->as_json, &text);
    const arcp_status status = arcp_buf_status(&text);
    print(&text);
    arcp_buf_fini(&text);
    arcp_lease_unref(lease);
    if (status != ARCP_OK) {
        err.status = status;
        return error_exit("lint", &err);
    }
    return flushed(EXIT_YES);
}

typedef struct subcommand {
    const char *name;
    size_t words;
    const char *takes; /* what is said when there are fewer or more */
    int (*run)(const command_line *line);
} subcommand;

static const subcommand subcommands[] = {
    {"check", 3, "check takes LEASE CAPABILITY TARGET", check},
    {"explain", 3, "explain takes LEASE CAPABILITY TARGET", explain},
    {"subset", 2, "subset takes CHILD PARENT", subset},
    {"diff", 2, "diff takes A B", diff},
    {"lint", 1, "lint takes LEASE", lint},
};

/* `--name=...` or `--name`; *behind is what stands behind the sign, else NULL. */
static bool is_option(const char *word, const char *name, const char **behind)
{
    const size_t size = strlen(name);
    if (strncmp(word, name, size) != 0 || (word[size] != '\0' && word[size] != '=')) {
        return false;
    }
    *behind = word[size] == '=' ? word + size + 1 : NULL;
    return true;
}

static int set_time(command_line *line, const char *value)
{
    arcp__instant instant;
    arcp_error err = {0};
    if (arcp__timestamp_parse(arcp_span_cstr(value), &instant, &err) != ARCP_OK) {
        return usage_error("--at must be RFC 3339 in UTC, such as 2026-05-13T19:42:13Z", value);
    }
    line->now.wall_ns = instant.wall_ns;
    return EXIT_YES;
}

static int set_cwd(command_line *line, const char *value)
{
    if (value[0] != '/') {
        return usage_error("--cwd must be an absolute path", value);
    }
    line->cwd = arcp_span_cstr(value);
    return EXIT_YES;
}

/* Reads one option with its value; 0, or the exit status. *taken: how many words it took. */
static int read_option(command_line *line, int left, char **words, int *taken)
{
    const char *value = NULL;
    *taken = 1;
    if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0) {
        line->wants_help = true;
        return EXIT_YES;
    }
    if (strcmp(words[0], "--json") == 0) {
        line->as_json = true;
        return EXIT_YES;
    }
    const bool is_cwd = is_option(words[0], "--cwd", &value);
    if (!is_cwd && !is_option(words[0], "--at", &value)) {
        return usage_error("there is no such option", words[0]);
    }
    if (value == NULL) {
        if (left < 2) {
            return usage_error("a value must follow", words[0]);
        }
        *taken = 2;
        value = words[1];
    }
    return is_cwd ? set_cwd(line, value) : set_time(line, value);
}

/* -h is help only where no target can stand. */
static bool looks_like_option(const command_line *line, const char *word)
{
    return strncmp(word, "--", 2) == 0 || (line->word_count == 0 && strcmp(word, "-h") == 0);
}

/* Splits options from words; 0, or the exit status. */
static int read_command_line(int argc, char **argv, command_line *line)
{
    bool only_words = false;
    for (int i = 0; i < argc;) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
            i++;
        } else if (!only_words && looks_like_option(line, argv[i])) {
            int taken = 0;
            const int status = read_option(line, argc - i, argv + i, &taken);
            if (status != EXIT_YES) {
                return status;
            }
            i += taken;
        } else if (line->word_count == WORDS_MAX) {
            return usage_error("too many words", argv[i]);
        } else {
            line->all_words[line->word_count++] = argv[i++];
        }
    }
    return EXIT_YES;
}

int arcp__command_lease(int argc, char **argv)
{
    command_line line = {.now = {arcp__now_wall_ns(), 0}};
    const int status = read_command_line(argc, argv, &line);
    if (status != EXIT_YES) {
        return status;
    }
    if (line.wants_help) {
        fputs(arcp__command_lease_usage, stdout);
        return flushed(EXIT_YES);
    }
    if (line.word_count == 0) {
        return usage_error("a subcommand is missing", NULL);
    }
    const char *name = line.all_words[0];
    line.words = line.all_words + 1;
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++) {
        if (strcmp(subcommands[i].name, name) != 0) {
            continue;
        }
        if (line.word_count != subcommands[i].words + 1) {
            return usage_error(subcommands[i].takes, NULL);
        }
        if (subcommands[i].words == 2 && strcmp(line.words[0], "-") == 0 &&
            strcmp(line.words[1], "-") == 0) {
            return usage_error("only one lease can come from stdin", NULL);
        }
        return subcommands[i].run(&line);
    }
    return usage_error("there is no such subcommand", name);
}
