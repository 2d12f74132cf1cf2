/* The key `schedules`, and the schedules that it makes. */
#include "arcpd/arcpd.h"
#include "arcpd/config.h"
#include "base/alloc.h"
#include "calendar/calendar.h"
#include "config/config_rows.h"
#include "core/agent_name.h"
#include "file/private_file.h"
#include "runtime/runtime_schedule.h"

#define ZONES          "/usr/share/zoneinfo"
#define ZONE_BYTES_MAX 65536u
#define NAME_BYTES_MAX 64u
#define EVERY_SEC_MAX  31622400u /* a year */

/* ---- time zones ---- */

/* A name of the time zone database: Europe/Berlin. It becomes part of a path. */
static bool is_zone_name(const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        const bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!is_letter && (c == name || strchr("0123456789+-_/", *c) == NULL)) {
            return false;
        }
    }
    return name[0] != '\0' && strlen(name) < 64;
}

static bool is_utc(const char *zone)
{
    return zone == NULL || strcmp(zone, "UTC") == 0;
}

/* Reads the zone's file; nothing for UTC. */
static arcp_status read_zone(const char *zone, arcp_buf *out, arcp_error *err)
{
    char path[128];
    const arcp__private_file file = {
        .what = "time zone", .path = path, .bytes_max = ZONE_BYTES_MAX, .may_be_link = true};
    if (is_utc(zone)) {
        return ARCP_OK;
    }
    (void)snprintf(path, sizeof path, ZONES "/%s", zone);
    return arcp__private_file_read(&file, out, err);
}

static arcp_status accept_zone(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const char *zone = ((const arcp__config_schedule *)owner)->zone;
    arcp_buf tzif = arcp_buf_init();
    arcp__zone *read = NULL;
    arcp_error why = {0};
    if (is_utc(zone)) {
        return ARCP_OK;
    }
    arcp_status status = ARCP_E_NOT_FOUND;
    if (is_zone_name(zone)) {
        status = read_zone(zone, &tzif, &why);
    }
    if (status == ARCP_OK) {
        status = arcp__zone_new(arcp_buf_span(&tzif), &read, &why);
    }
    arcp__zone_free(read);
    arcp_buf_fini(&tzif);
    if (status == ARCP_E_NOT_FOUND) {
        return arcp__yaml_refuse(r,
                                 "\"%.64s\": must be a name of the time zone database in " ZONES
                                 ", such as Europe/Berlin (is tzdata installed?), or UTC",
                                 zone);
    }
    return status == ARCP_OK ? ARCP_OK : arcp__yaml_refuse(r, "\"%s\": %s", zone, why.message);
}

/* ---- the keys ---- */

static const char *const overlaps[] = {"skip", "queue", "cancel", NULL};
static const char *const catch_ups[] = {"none", "last", "all", NULL};

static arcp_status accept_cron(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const char *text = ((const arcp__config_schedule *)owner)->cron;
    arcp__cron cron;
    arcp_error why = {0};
    return text == NULL || arcp__cron_read(arcp_span_cstr(text), &cron, &why) == ARCP_OK
               ? ARCP_OK
               : arcp__yaml_refuse(r, "%s", why.message);
}

arcp_status arcp__config_accept_name(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    char *const *value = arcp__config_value(row, owner);
    const char *name = *value;
    const size_t size = name == NULL ? 0 : strlen(name);
    for (size_t i = 0; i < size; i++) {
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", name[i]) ==
            NULL) {
            return arcp__yaml_refuse(r, "must consist of letters, digits, - _ and .");
        }
    }
    return size == 0 || size > NAME_BYTES_MAX ? arcp__yaml_refuse(r, "must have 1 to 64 characters")
                                              : ARCP_OK;
}

static arcp_status accept_agent(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    arcp_span name;
    arcp_span version;
    arcp_error why = {0};
    const char *agent = ((const arcp__config_schedule *)owner)->agent;
    return arcp__agent_name_parse(arcp_span_cstr(agent), &name, &version, &why) == ARCP_OK
               ? ARCP_OK
               : arcp__yaml_refuse(r, "%s", why.message);
}

#define SCHEDULE(name, kind, member) ROW(name, kind, arcp__config_schedule, member)
static const arcp__config_row schedule_rows[] = {
    {SCHEDULE("name", text, name), .accept = arcp__config_accept_name},
    {SCHEDULE("cron", text, cron), .accept = accept_cron, .flags = SPARSE},
    {SCHEDULE("every_sec", number, every_sec), .maximum = EVERY_SEC_MAX, .flags = SPARSE},
    {SCHEDULE("zone", text, zone), .accept = accept_zone, .otherwise = "UTC"},
    {SCHEDULE("agent", text, agent), .accept = accept_agent},
    {SCHEDULE("input", json, input)},
    {SCHEDULE("lease", lease, lease)},
    {SCHEDULE("principal", text, principal)},
    {SCHEDULE("overlap", word, overlap), .words = overlaps},
    {SCHEDULE("catch_up", word, catch_up), .words = catch_ups},
};

static arcp_status check_schedule(arcp__yaml_reader *r, void *owner)
{
    const arcp__config *config = r->root;
    const arcp__config_schedule *schedule = owner;
    if (schedule->name == NULL || schedule->agent == NULL || schedule->principal == NULL ||
        schedule->principal[0] == '\0') {
        return arcp__yaml_refuse(r, "needs name, agent and principal");
    }
    if ((schedule->cron == NULL) == (schedule->every_sec == 0)) {
        return arcp__yaml_refuse(r, "needs cron or every_sec, and not both");
    }
    if (schedule->every_sec != 0 && schedule->zone != NULL) {
        return arcp__yaml_refuse(r, "every_sec has no zone: its due times are the multiples of the "
                                    "interval since 1970-01-01T00:00:00Z");
    }
    for (const arcp__config_schedule *other = config->schedules; other < schedule; other++) {
        if (strcmp(other->name, schedule->name) == 0) {
            return arcp__yaml_refuse(r, "an entry above has the same name");
        }
    }
    return ARCP_OK;
}

const arcp__config_row arcp__config_schedule_item = {
    ITEM(arcp__config_schedule, ROWS(schedule_rows), .check = check_schedule)};

/* ---- the schedules ---- */

/* The members of a job.submit. */
static void write_request(const arcp__config_schedule *schedule, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"input\":");
    arcp_buf_append_cstr(out, schedule->input == NULL ? "null" : schedule->input);
    arcp_buf_append_cstr(out, ",\"lease_request\":");
    if (schedule->lease == NULL) {
        arcp_buf_append_cstr(out, "{}");
    } else {
        arcp_lease_format(schedule->lease, out);
    }
    arcp_buf_append_byte(out, '}');
}

arcp_status arcp__schedules_apply(arcp_runtime *runtime, const arcp__config *config,
                                  arcp_error *err)
{
    const size_t count = config->schedule_count;
    arcp__schedule_options *options = arcp__alloc_array(count + 1, sizeof *options);
    arcp_buf *texts = arcp__alloc_array(2 * count + 1, sizeof *texts); /* requests and zones */
    arcp_status status = options == NULL || texts == NULL
                             ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : ARCP_OK;
    for (size_t i = 0; i < count && status == ARCP_OK && texts != NULL; i++) {
        const arcp__config_schedule *from = &config->schedules[i];
        arcp_buf *request = &texts[2 * i];
        arcp_buf *tzif = &texts[2 * i + 1];
        *request = arcp_buf_init();
        *tzif = arcp_buf_init();
        write_request(from, request);
        status = read_zone(from->zone, tzif, err);
        if (status == ARCP_OK && (request->failed || tzif->failed)) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        options[i] = (arcp__schedule_options){.name = arcp_span_cstr(from->name),
                                              .agent = arcp_span_cstr(from->agent),
                                              .principal = arcp_span_cstr(from->principal),
                                              .cron = arcp_span_cstr(from->cron),
                                              .zone = arcp_span_cstr(from->zone),
                                              .tzif = arcp_buf_span(tzif),
                                              .every_sec = from->every_sec,
                                              .request = arcp_buf_span(request),
                                              .overlap = (arcp__overlap)from->overlap,
                                              .catch_up = (arcp__catch_up)from->catch_up};
    }
    if (status == ARCP_OK) {
        status = arcp__runtime_set_schedules(runtime, options, count, err);
    }
    for (size_t i = 0; i < 2 * count && texts != NULL; i++) {
        arcp_buf_fini(&texts[i]);
    }
    arcp__free(texts);
    arcp__free(options);
    return status;
}
