/* Writes docs/reference and man/arcp-events.7.scd from the tables that the programs are built from.
 *
 *     arcp-reference [--check] ROOT
 *
 * With --check nothing is written: exit status 1 when a page under ROOT is not current. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/audit_event.h"
#include "core/error_payload.h"
#include "core/event_body.h"
#include "core/exposition.h"
#include "job/job_state.h"
#include "session/session.h"

/* In the order of arcp__shape. */
static const char *const shapes[] = {
    [ARCP__SHAPE_ANY] = "any",
    [ARCP__SHAPE_STRING] = "string",
    [ARCP__SHAPE_TEXT] = "string",
    [ARCP__SHAPE_LOOSE] = "string",
    [ARCP__SHAPE_OBJECT] = "object",
    [ARCP__SHAPE_ARRAY] = "array",
    [ARCP__SHAPE_STRINGS] = "array of strings",
    [ARCP__SHAPE_BOOL] = "boolean",
    [ARCP__SHAPE_COUNT] = "integer, 0 or more",
    [ARCP__SHAPE_POSITIVE] = "integer, 1 or more",
    [ARCP__SHAPE_NUMBER] = "number",
    [ARCP__SHAPE_NOT_NEGATIVE] = "number, 0 or more",
    [ARCP__SHAPE_INSTANT] = "time",
    [ARCP__SHAPE_HASH] = "64 hex digits",
    [ARCP__SHAPE_ID] = "string, not empty",
};

static void begin_page(FILE *out, const char *title, const char *table, const char *text)
{
    (void)fprintf(out,
                  "# %s\n\n<!-- Written by `make reference` from %s; edit the text there. -->\n\n"
                  "%s\n",
                  title, table, text);
}

static void begin_members(FILE *out)
{
    (void)fprintf(out, "\n| member | type | required | |\n|---|---|---|---|\n");
}

static void write_member(FILE *out, const char *outer, const arcp__member *row)
{
    if (row->text == NULL) {
        return;
    }
    (void)fprintf(out, "| `%s%s%s` | %s | %s | %s", outer, outer[0] == '\0' ? "" : ".", row->name,
                  shapes[row->shape], row->required ? "yes" : "", row->text);
    if (row->older != NULL) {
        (void)fprintf(out, "; older spelling: `%s`", row->older);
    }
    (void)fprintf(out, " |\n");
    for (size_t i = 0; row->parts != NULL && i < row->parts->count; i++) {
        write_member(out, row->name, &row->parts->rows[i]);
    }
}

static void write_members(FILE *out, const arcp__members *members)
{
    begin_members(out);
    for (size_t i = 0; i < members->count; i++) {
        write_member(out, "", &members->rows[i]);
    }
}

/* ---- messages and lines of the runtime ---- */

static const struct {
    const char *type, *member, *shape;
    int always;
    const char *text;
} sent[] = {
#define ARCP__SENT(type, member, shape, always, text) {type, member, shape, always, text},
#include "sent.def"
#undef ARCP__SENT
};

static bool is_sent(const char *type)
{
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        if (strcmp(sent[i].type, type) == 0) {
            return true;
        }
    }
    return false;
}

static void write_sent(FILE *out, const char *type)
{
    bool has_table = false;
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        if (strcmp(sent[i].type, type) != 0) {
            continue;
        }
        if (!has_table) {
            (void)fprintf(out, "\n| member | type | always | |\n|---|---|---|---|\n");
            has_table = true;
        }
        (void)fprintf(out, "| `%s` | %s | %s | %s |\n", sent[i].member, sent[i].shape,
                      sent[i].always ? "yes" : "", sent[i].text);
    }
    if (!has_table) {
        (void)fprintf(out, "\nThe payload has no members.\n");
    }
}

/* ---- pages ---- */

static void write_events(FILE *out)
{
    begin_page(
        out, "Bodies of events", "src/core/event_body.c",
        "An event has a `kind` and a `body`. These are the members that are checked; a body "
        "may have more, which are relayed\nas they are. The line `job.event` of an agent and "
        "the message `job.event` to a client have the same body. An\nagent whose body is not "
        "valid gets INVALID_REQUEST, with the path of the member and what is accepted.\n\n"
        "Kinds of vendors (`x-vendor.*`; letters, digits and `. _ -`, at most 128 bytes) have "
        "any body.");
    for (int i = ARCP_EVENT_VENDOR + 1; i < ARCP_EVENT_COUNT; i++) {
        const arcp_event_kind kind = (arcp_event_kind)i;
        const arcp_feature feature = arcp_event_kind_feature(kind);
        (void)fprintf(out, "\n## %s\n", arcp_event_kind_name(kind));
        if (feature != ARCP_FEATURE_NONE) {
            (void)fprintf(out, "\nOnly sessions with the feature `%s` get it.\n",
                          arcp_feature_name(feature));
        }
        write_members(out, arcp__event_body_members(kind));
        if (kind == ARCP_EVENT_DELEGATE) {
            (void)fprintf(out, "\nClients get `delegate_id`, `child_job_id`, `agent`, `input`, "
                               "`lease`, `lease_request`, `lease_constraints`.\n");
        } else if (kind == ARCP_EVENT_RESULT_CHUNK) {
            (void)fprintf(out, "\nClients get `result_id` and `chunk_seq`, from 0 on, too.\n");
        } else if (kind == ARCP_EVENT_STATUS) {
            (void)fprintf(out, "\nThe runtime's own phases: `running` when the agent has started; "
                               "`back_pressure` when the session falls\nbehind in acknowledging; "
                               "`credential_rotated` with `id` and `details` of the new "
                               "credential; `credential_revoked` when a job has none any more "
                               "after a restart.\n");
        }
    }
}

/* The requests of the features x-vendor.arcpd.view and x-vendor.arcpd.operate. */
static void write_view(FILE *out)
{
    const arcp__members *members = NULL;
    const char *name = NULL;
    for (size_t i = 0; (name = arcp__view_request(i, &members)) != NULL; i++) {
        char type[64];
        char answer[64];
        (void)snprintf(type, sizeof type, "x-vendor.arcpd.%s", name);
        (void)snprintf(answer, sizeof answer, "%s.answer", type);
        (void)fprintf(out, "\n## %s\n\nFrom a client.\n", type);
        if (members->count == 0) {
            (void)fprintf(out, "\nNo member of the payload is read.\n");
        } else {
            write_members(out, members);
        }
        if (is_sent(type)) {
            (void)fprintf(out, "\nFrom the runtime, to a session that watches.\n");
            write_sent(out, type);
        }
        (void)fprintf(out, "\n## %s\n\nFrom the runtime.\n", answer);
        write_sent(out, answer);
    }
    static const char *const pushes[] = {"x-vendor.arcpd.changed", "x-vendor.arcpd.lagging"};
    for (size_t i = 0; i < sizeof pushes / sizeof pushes[0]; i++) {
        (void)fprintf(out, "\n## %s\n\nFrom the runtime, to a session that watches.\n", pushes[i]);
        write_sent(out, pushes[i]);
    }
}

static void write_messages(FILE *out)
{
    begin_page(
        out, "Messages",
        "src/session/message.c, src/session/view.c, tools/reference/sent.def and include/arcp",
        "A frame is one JSON object, the envelope:\n\n"
        "| member | type | |\n|---|---|---|\n"
        "| `arcp` | string | version of the protocol, `\"1.1\"` |\n"
        "| `id` | string | id of the message; a response has that of its request |\n"
        "| `type` | string | type of the message |\n"
        "| `session_id` | string | the session; a client may leave it out |\n"
        "| `job_id` | string | the job that the message is about |\n"
        "| `trace_id` | string | trace of the job: 32 hex digits |\n"
        "| `event_seq` | integer | number of the event in the session |\n"
        "| `extensions` | object | members of vendors |\n"
        "| `payload` | object | what follows here |\n\n"
        "Members that are not known are ignored. [protocol.md](../protocol.md) says what this "
        "implementation does where the draft\nis open.");
    (void)fprintf(out, "\n## Features\n\nA hello and its welcome agree on the features:");
    for (int i = 0; i < ARCP_FEATURE_COUNT; i++) {
        (void)fprintf(out, "%s`%s`", i == 0 ? "\n" : ",\n", arcp_feature_name((arcp_feature)i));
    }
    (void)fprintf(out, ".\n");
    static const struct {
        arcp_message_type type;
        const char *from;
    } messages[] = {
#define ARCP_MESSAGE(name, number, wire, from) {ARCP_MESSAGE_##name, #from},
#include <arcp/message_type.def>
#undef ARCP_MESSAGE
    };
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        const arcp_message_type type = messages[i].type;
        const char *name = arcp_message_type_name(type);
        const bool is_clients = strcmp(messages[i].from, "RUNTIME") != 0;
        const bool is_runtimes = strcmp(messages[i].from, "CLIENT") != 0;
        (void)fprintf(out, "\n## %s\n", name);
        if (is_clients) {
            (void)fprintf(out, "\nFrom a client.\n");
            if (arcp__message_members(type)->count == 0) {
                (void)fprintf(out, "\nNo member of the payload is read.\n");
            } else {
                write_members(out, arcp__message_members(type));
            }
        }
        if (is_runtimes) {
            (void)fprintf(out, "\nFrom the runtime.\n");
            write_sent(out, name);
        }
    }
    write_view(out);
}

static void write_agent_lines(FILE *out)
{
    static const char *const from_arcpd[] = {"job.start", "job.cancel", "job.credentials"};
    const arcp__members *members = NULL;
    begin_page(out, "Lines of agents", "src/job/agent_line.c and tools/reference/sent.def",
               "An agent reads and writes one JSON object on each line: `type`, `payload`, and an "
               "`id` when it wants a reply. Members\nand types that are not known are ignored. "
               "arcp-agent(7) and [writing-agents.md](../writing-agents.md) say how an agent uses\n"
               "them.\n\n## From arcpd");
    for (size_t i = 0; i < sizeof from_arcpd / sizeof from_arcpd[0]; i++) {
        (void)fprintf(out, "\n### %s\n", from_arcpd[i]);
        write_sent(out, from_arcpd[i]);
    }
    (void)fprintf(out,
                  "\n### reply\n\n`re` is the `id` of the line that it answers. The payload is an "
                  "object with the member `error` when the line was refused,\nand else:\n\n"
                  "| reply to | payload |\n|---|---|\n| `authorize` | `allow`: true |\n"
                  "| `job.event` of kind metric | `budget`: amounts that can still be spent, by "
                  "currency, where the job has a budget |\n"
                  "| `delegate` | `job_id`; with `wait` also `final_status`, and `result` (or "
                  "`result_id`, `result_size`), `summary` or `error` |\n"
                  "| others | no members |\n\n## From the agent\n");
    for (size_t i = 0; arcp__agent_line_type(i, &members) != NULL; i++) {
        const char *type = arcp__agent_line_type(i, &members);
        (void)fprintf(out, "\n### %s\n", type);
        if (strcmp(type, "delegate") == 0) {
            members = arcp__event_body_members(ARCP_EVENT_DELEGATE);
        } else if (strcmp(type, "job.error") == 0) {
            members = arcp__error_payload_table();
        }
        write_members(out, members);
    }
}

static void write_metrics(FILE *out)
{
    static const struct {
        const char *type, *name, *labels, *text;
    } rows[] = {
#define ARCP__METRIC(id, type, name, labels, text) {type, name, labels, text},
#include "core/metric.def"
#undef ARCP__METRIC
    };
    begin_page(
        out, "Metrics", "src/core/metric.def",
        "`/metrics` has these figures ([metrics.md](../metrics.md)). Counters begin at 0 with "
        "each start of arcpd.");
    (void)fprintf(out, "\n| metric | type | labels | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)fprintf(out, "| `%s` | %s | %s | %s |\n", rows[i].name, rows[i].type, rows[i].labels,
                      rows[i].text);
    }
}

static void write_words(FILE *out, const char *words)
{
    for (; *words != '\0'; words++) {
        (void)(*words == '|' ? fputs(", ", out) : fputc(*words, out));
    }
}

static void write_settings(FILE *out)
{
    static const struct {
        const char *group, *key, *value, *least, *most, *text;
    } rows[] = {
#define ARCP_SETTING_NUMBER(group, key, value, least, most, text)                                  \
    {#group, #key, #value, #least, #most, text},
#define ARCP_SETTING_CHOICE(group, key, value, words, text)                                        \
    {#group, #key, value, words, NULL, text},
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
    };
    const char *group = "";
    begin_page(
        out, "Settings", "include/arcp/settings.def",
        "The keys of `arcpd.yaml` that are numbers or words; arcpd.yaml(5) has the others and "
        "says more about some of these.");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(group, rows[i].group) != 0) {
            group = rows[i].group;
            (void)fprintf(out, "\n## %s\n\n| key | default | accepted | |\n|---|---|---|---|\n",
                          group);
        }
        (void)fprintf(out, "| `%s.%s` | %s | ", rows[i].group, rows[i].key, rows[i].value);
        write_words(out, rows[i].least);
        if (rows[i].most != NULL) {
            (void)fprintf(out, " to %s", rows[i].most);
        }
        (void)fprintf(out, " | %s |\n", rows[i].text);
    }
}

static void write_errors(FILE *out)
{
    begin_page(out, "Errors", "include/arcp/status.def, deny_reason.def and src/cli/exit_code.def",
               "## Codes\n\nThe codes on the wire, the status of the C libraries, and the exit "
               "status of `arcp` when a request or a job fails with the code.\n"
               "[errors.md](../errors.md) says what to do about them. `retryable` is the default; "
               "an error that has the member `retryable` overrides it.\n\n"
               "| code | status in C | meaning | retryable | exit status |\n|---|---|---|---|---|");
    static const struct {
        arcp_status status;
        const char *name, *wire, *text;
        int is_retryable;
    } rows[] = {
#define ARCP_STATUS(name, number, wire, text, retryable)                                           \
    {ARCP_E_##name, "ARCP_E_" #name, wire, text, retryable},
#include <arcp/status.def>
#undef ARCP_STATUS
    };
    bool is_local = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].wire == NULL && !is_local) {
            is_local = true;
            (void)fprintf(out,
                          "\n## Statuses of the C libraries\n\nThey are never sent: on the wire "
                          "each is INTERNAL_ERROR.\n\n"
                          "| status | meaning | retryable | exit status |\n|---|---|---|---|\n");
        }
        if (is_local) {
            (void)fprintf(out, "| `%s` | ", rows[i].name);
        } else {
            (void)fprintf(out, "| `%s` | `%s` | ", rows[i].wire, rows[i].name);
        }
        (void)fprintf(out, "%s | %s | %d |\n", rows[i].text, rows[i].is_retryable ? "yes" : "no",
                      arcp__exit_of_status(rows[i].status));
    }
    (void)fprintf(out, "\n## Exit statuses of arcp\n\n| status | |\n|---|---|\n");
#define ARCP__EXIT_CODE(id, code, text) (void)fprintf(out, "| %d | %s |\n", code, text);
#include "cli/exit_code.def"
#undef ARCP__EXIT_CODE
    (void)fprintf(
        out, "\nA job that ended with HEARTBEAT_LOST or UNAUTHENTICATED is exit status 1: 3 is "
             "for failures of the connection of `arcp`.\n\n"
             "## Reasons of denials\n\nThe gate tries them in this order; a denial has the "
             "first one that applies in `details.reason`, and so has the audit log\nin "
             "`reason`.\n\n| reason | |\n|---|---|\n");
#define ARCP_DENY(name, number, text) (void)fprintf(out, "| `%s` | %s |\n", #name, text);
#include <arcp/deny_reason.def>
#undef ARCP_DENY
}

static void write_audit(FILE *out)
{
    begin_page(out, "Events of the audit log", "src/core/audit_event.def",
               "The member `event` of a line ([audit.md](../audit.md)), and the argument of `arcp "
               "audit grep --event`.\n\n| event | a line is about |\n|---|---|");
#define ARCP_AUDIT_EVENT(id, name, text) (void)fprintf(out, "| `%s` | %s |\n", name, text);
#include "core/audit_event.def"
#undef ARCP_AUDIT_EVENT
}

static const struct {
    const char *name, *text;
    void (*write)(FILE *out);
} pages[] = {
    {"events", "bodies of events", write_events},
    {"messages", "messages between clients and the runtime", write_messages},
    {"agent-lines", "lines between arcpd and agents", write_agent_lines},
    {"errors", "codes, statuses in C, exit statuses, reasons of denials", write_errors},
    {"settings", "settings of arcpd", write_settings},
    {"metrics", "metrics", write_metrics},
    {"audit-events", "events of the audit log", write_audit},
};

static void write_index(FILE *out)
{
    begin_page(out, "Reference", "the tables in the sources",
               "These pages are generated, and so are always current.\n\n| | |\n|---|---|");
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        (void)fprintf(out, "| [%s.md](%s.md) | %s |\n", pages[i].name, pages[i].name,
                      pages[i].text);
    }
}

/* ---- the manual page of events ---- */

/* The text of a table in scdoc's marks: code in bold, and escapes. */
static void write_man_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '`') {
            (void)fputc('*', out);
        } else {
            (void)fprintf(out, "%s%c", *text == '_' || *text == '*' ? "\\" : "", *text);
        }
    }
}

static void write_man(FILE *out)
{
    (void)fprintf(
        out, "arcp-events(7) \"ARCP\" \"Protocols\"\n\n"
             "; Written by `make reference` from src/core/event_body.c; edit the text there.\n\n"
             "# NAME\n\narcp-events - bodies of the events of jobs\n\n# DESCRIPTION\n\n"
             "An event has a _kind_ and a _body_. An agent writes it in a line *job.event* "
             "(*arcp-agent*(7)), and clients\nreceive it in a message *job.event*. These are the "
             "members of each kind's body; a body may have more, which are\nrelayed as they are. A "
             "body that is not valid is INVALID_REQUEST, with the path of the member and what is "
             "accepted.\n\nKinds of vendors (x-vendor.\\*; letters, digits and . \\_ -, at most "
             "128 bytes) have any body.\n");
    for (int i = ARCP_EVENT_VENDOR + 1; i < ARCP_EVENT_COUNT; i++) {
        const arcp__members *members = arcp__event_body_members((arcp_event_kind)i);
        (void)fprintf(out, "\n# ");
        for (const char *name = arcp_event_kind_name((arcp_event_kind)i); *name != '\0'; name++) {
            (void)(*name == '_' ? fputs("\\_", out) : fputc(*name, out));
        }
        (void)fprintf(out, "\n");
        for (size_t k = 0; k < members->count; k++) {
            const arcp__member *row = &members->rows[k];
            (void)fprintf(out, "\n*%s* (%s%s)\n\t", row->name, shapes[row->shape],
                          row->required ? ", required" : "");
            write_man_text(out, row->text);
            if (row->older != NULL) {
                (void)fprintf(out, "; older spelling: *%s*", row->older);
            }
            (void)fprintf(out, ".\n");
        }
    }
    (void)fprintf(out, "\n# SEE ALSO\n\n*arcp-agent*(7), *arcpd*(8)\n");
}

/* ---- main ---- */

static bool is_current(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    char *old = malloc(size + 1);
    const bool is_same = file != NULL && old != NULL && fread(old, 1, size + 1, file) == size &&
                         memcmp(old, text, size) == 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    free(old);
    return is_same;
}

static bool settle_page(const char *root, const char *name, const char *suffix,
                        void (*write)(FILE *out), bool only_check)
{
    char path[4096];
    char *text = NULL;
    size_t size = 0;
    (void)snprintf(path, sizeof path, "%s/%s%s", root, name, suffix);
    FILE *page = open_memstream(&text, &size);
    if (page == NULL) {
        return false;
    }
    write(page);
    (void)fclose(page);
    bool is_good = is_current(path, text, size);
    if (!is_good && only_check) {
        (void)fprintf(stderr, "%s is not current: `make reference` writes it\n", path);
    } else if (!is_good) {
        FILE *file = fopen(path, "w");
        is_good = file != NULL && fwrite(text, 1, size, file) == size;
        if (file == NULL || fclose(file) != 0 || !is_good) {
            perror(path);
            is_good = false;
        }
    }
    free(text);
    return is_good;
}

int main(int argc, char **argv)
{
    const bool only_check = argc == 3 && strcmp(argv[1], "--check") == 0;
    if (argc != 2 && !only_check) {
        (void)fprintf(stderr, "usage: arcp-reference [--check] ROOT\n");
        return 2;
    }
    const char *root = argv[argc - 1];
    bool is_good = settle_page(root, "docs/reference/README", ".md", write_index, only_check);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "docs/reference/%s", pages[i].name);
        is_good = settle_page(root, name, ".md", pages[i].write, only_check) && is_good;
    }
    is_good = settle_page(root, "man/arcp-events.7", ".scd", write_man, only_check) && is_good;
    return is_good ? 0 : 1;
}
