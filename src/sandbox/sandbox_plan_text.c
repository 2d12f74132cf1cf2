/* A plan as JSON, for the program that carries it out, and back. */
#include "core/glob_pattern.h"
#include "sandbox/sandbox_parts.h"
#include "json/json_put.h"

#define VERSION 1
/* Many times what the limits of leases allow. */
#define TEXT_BYTES_MAX (16 << 20)

static const char *const origins[ARCP__SANDBOX_ORIGIN_COUNT] = {"job", "run", "learn"};
static const char *const levels[ARCP__SANDBOX_LEVEL_COUNT] = {"none", "landlock", "full"};
static const char *const refusals[ARCP__SANDBOX_REFUSAL_COUNT] = {"none", "level", "line"};
static const char *const protections[ARCP__SANDBOX_PROTECT_COUNT] = {"none", "commits", "strict"};
static const char *const mount_kinds[ARCP__SANDBOX_MOUNT_KIND_COUNT] = {
    "root", "base", "etc", "tree", "file", "private", "fresh", "pin", "git", "cover"};
static const char *const classes[ARCP__SANDBOX_CLASS_COUNT] = {"outside", "own",     "system",
                                                               "base",    "private", "lease"};
static const char *const verdicts[ARCP__SANDBOX_VERDICT_COUNT] = {
#define ARCP_SANDBOX_VERDICT(id, name, text) name,
#include "sandbox/sandbox_verdict.def"
#undef ARCP_SANDBOX_VERDICT
};
static const char *const mechanisms[ARCP__SANDBOX_MECHANISM_COUNT] = {
#define ARCP_SANDBOX_MECHANISM(id, name, text) name,
#include "sandbox/sandbox_mechanism.def"
#undef ARCP_SANDBOX_MECHANISM
};
static const char *const notes[ARCP__SANDBOX_NOTE_COUNT] = {
#define ARCP_SANDBOX_NOTE(id, name, text) name,
#include "sandbox/sandbox_note.def"
#undef ARCP_SANDBOX_NOTE
};

/* ---- encode ---- */

static void put_rights(arcp_json_writer *writer, uint32_t rights)
{
    char text[4];
    size_t size = 0;
    if ((rights & ARCP__SANDBOX_READ) != 0) {
        text[size++] = 'r';
    }
    if ((rights & ARCP__SANDBOX_WRITE) != 0) {
        text[size++] = 'w';
    }
    if ((rights & ARCP__SANDBOX_EXECUTE) != 0) {
        text[size++] = 'x';
    }
    arcp__put_string(writer, "rights", arcp_span_make(text, size));
}

static void put_spans(arcp_json_writer *writer, const char *name, const arcp_span *spans,
                      size_t count)
{
    arcp__put_array(writer, name);
    for (size_t i = 0; i < count; i++) {
        arcp_json_write_string(writer, spans[i]);
    }
    arcp_json_end_array(writer);
}

static void put_lines(arcp_json_writer *writer, const arcp__sandbox_plan *plan)
{
    arcp__put_u64(writer, "lease_lines", plan->lease_line_count);
    arcp__put_array(writer, "lines");
    for (size_t i = 0; i < plan->line_count; i++) {
        const arcp__sandbox_line *line = &plan->lines[i];
        arcp_json_begin_object(writer);
        arcp__put_string(writer, "capability", line->capability);
        arcp__put_string(writer, "pattern", line->pattern);
        arcp__put_cstr(writer, "verdict", verdicts[line->verdict]);
        arcp__put_cstr(writer, "mechanism", mechanisms[line->mechanism]);
        arcp__put_cstr(writer, "note", notes[line->note]);
        arcp_json_end_object(writer);
    }
    arcp_json_end_array(writer);
}

static void put_mounts(arcp_json_writer *writer, const arcp__sandbox_plan *plan)
{
    arcp__put_array(writer, "mounts");
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp__sandbox_mount *mount = &plan->mounts[i];
        arcp_json_begin_object(writer);
        arcp__put_cstr(writer, "kind", mount_kinds[mount->kind]);
        arcp__put_string(writer, "source", mount->source);
        arcp__put_string(writer, "target", mount->target);
        arcp__put_bool(writer, "writable", mount->is_writable);
        arcp_json_end_object(writer);
    }
    arcp_json_end_array(writer);
}

static void put_rules(arcp_json_writer *writer, const arcp__sandbox_plan *plan)
{
    arcp__put_array(writer, "rules");
    for (size_t i = 0; i < plan->rule_count; i++) {
        const arcp__sandbox_rule *rule = &plan->rules[i];
        arcp_json_begin_object(writer);
        arcp__put_string(writer, "path", rule->path);
        put_rights(writer, rule->rights);
        arcp__put_bool(writer, "file", rule->is_file);
        arcp__put_cstr(writer, "class", classes[rule->class]);
        arcp_json_end_object(writer);
    }
    arcp_json_end_array(writer);
}

void arcp__sandbox_plan_encode(const arcp__sandbox_plan *plan, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_u64(&writer, "version", VERSION);
    arcp__put_cstr(&writer, "origin", origins[plan->origin]);
    arcp__put_cstr(&writer, "level", arcp__sandbox_level_name(plan->level));
    arcp__put_cstr(&writer, "min", verdicts[plan->min]);
    arcp__put_cstr(&writer, "refusal", refusals[plan->refusal]);
    arcp__put_u64(&writer, "refused_line", plan->refused_line);
    arcp__put_string(&writer, "cwd", plan->cwd);
    arcp__put_string(&writer, "home", plan->home);
    arcp__put_string(&writer, "tmp", plan->tmp);
    arcp__put_string(&writer, "fresh", plan->fresh);
    arcp__put_cstr(&writer, "protect", protections[plan->protect]);
    arcp__put_bool(&writer, "broker", plan->has_broker);
    if (plan->is_late) {
        arcp__put_bool(&writer, "late", true);
    }
    if (plan->hides) {
        arcp__put_bool(&writer, "hide", true);
    }
    if (plan->is_silent) {
        arcp__put_bool(&writer, "report", false);
    }
    arcp__put_bool(&writer, "terminal", plan->has_terminal);
    arcp__put_u64(&writer, "scratch_bytes", plan->limits.scratch_bytes);
    arcp__put_u64(&writer, "memory_bytes", plan->limits.memory_bytes);
    arcp__put_u64(&writer, "cpu_percent", plan->limits.cpu_percent);
    arcp__put_u64(&writer, "pids", plan->limits.pids);
    arcp__put_u64(&writer, "by_cgroup", plan->limits.by_cgroup);
    put_lines(&writer, plan);
    put_mounts(&writer, plan);
    put_rules(&writer, plan);
    put_spans(&writer, "reads", plan->reads, plan->read_count);
    put_spans(&writer, "writes", plan->writes, plan->write_count);
    put_spans(&writer, "own", plan->own, plan->own_count);
    if (plan->own_file_count != 0) {
        put_spans(&writer, "own_files", plan->own_files, plan->own_file_count);
    }
    arcp__put_array(&writer, "ports");
    for (size_t i = 0; i < plan->port_count; i++) {
        arcp_json_write_u64(&writer, plan->ports[i]);
    }
    arcp_json_end_array(&writer);
    arcp__put_bool(&writer, "proxy", plan->has_proxy);
    arcp_json_name(&writer, "abilities");
    arcp__sandbox_abilities_write(&plan->abilities, &writer);
    arcp_json_end_object(&writer);
}

/* ---- decode ---- */

/* What was read so far. After the first fault nothing more is read. */
typedef struct reader {
    arcp_json json;
    arcp_buf texts; /* strings with escapes */
    arcp__arena arena;
    arcp_status status;
    arcp_error *err;
} reader;

static void fail(reader *r, const char *member, const char *what)
{
    if (r->status == ARCP_OK) {
        r->status =
            arcp_error_set(r->err, ARCP_E_INVALID_REQUEST, "plan: %s must be %s", member, what);
    }
}

static arcp_json_ref member_of(const reader *r, arcp_json_ref object, const char *name)
{
    return arcp_json_member(&r->json, object, arcp_span_cstr(name));
}

static arcp_span to_text(reader *r, arcp_json_ref ref, const char *name)
{
    const arcp_span text = arcp_json_string(&r->json, ref, &r->texts);
    if (!arcp_json_is(&r->json, ref, ARCP_JSON_STRING) ||
        (text.size != 0 && memchr(text.data, '\0', text.size) != NULL)) {
        fail(r, name, "a string without NUL");
    }
    return text;
}

static arcp_span read_text(reader *r, arcp_json_ref object, const char *name)
{
    return to_text(r, member_of(r, object, name), name);
}

/* A canonical path; `may_be_empty` where nothing may be meant. */
static arcp_span read_path(reader *r, arcp_json_ref object, const char *name, bool may_be_empty)
{
    const arcp_span path = read_text(r, object, name);
    if (!(may_be_empty && path.size == 0) && arcp__sandbox_path_fault(path) != NULL) {
        fail(r, name, "an absolute canonical path");
    }
    return path;
}

static uint64_t read_number(reader *r, arcp_json_ref object, const char *name, uint64_t most)
{
    uint64_t value = 0;
    if (!arcp_json_u64(&r->json, member_of(r, object, name), &value) || value > most) {
        fail(r, name, "a number in its range");
        return 0;
    }
    return value;
}

static bool read_bool(reader *r, arcp_json_ref object, const char *name)
{
    const arcp_json_ref ref = member_of(r, object, name);
    const bool value = arcp_json_is(&r->json, ref, ARCP_JSON_TRUE);
    if (!value && !arcp_json_is(&r->json, ref, ARCP_JSON_FALSE)) {
        fail(r, name, "true or false");
    }
    return value;
}

/* The index of one of the names. */
static unsigned read_choice(reader *r, arcp_json_ref object, const char *name,
                            const char *const *choices, size_t count)
{
    const arcp_json_ref ref = member_of(r, object, name);
    for (size_t i = 0; i < count; i++) {
        if (arcp_json_is(&r->json, ref, ARCP_JSON_STRING) &&
            arcp_json_string_equals(&r->json, ref, arcp_span_cstr(choices[i]))) {
            return (unsigned)i;
        }
    }
    fail(r, name, "one of its names");
    return 0;
}

#define READ_CHOICE(r, object, name, choices)                                                      \
    read_choice((r), (object), (name), (choices), sizeof(choices) / sizeof *(choices))

static uint32_t read_rights(reader *r, arcp_json_ref object)
{
    const arcp_span text = read_text(r, object, "rights");
    uint32_t rights = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char letter = text.data[i];
        rights |= letter == 'r'   ? ARCP__SANDBOX_READ
                  : letter == 'w' ? ARCP__SANDBOX_WRITE
                  : letter == 'x' ? ARCP__SANDBOX_EXECUTE
                                  : 0;
    }
    return rights;
}

/* Memory for the elements of an array member; their number in *count. */
static void *read_array(reader *r, const char *name, size_t size, arcp_json_ref *array,
                        size_t *count)
{
    *array = member_of(r, ARCP_JSON_ROOT, name);
    *count = 0;
    if (!arcp_json_is(&r->json, *array, ARCP_JSON_ARRAY)) {
        fail(r, name, "an array");
        return NULL;
    }
    const size_t wanted = arcp_json_count(&r->json, *array);
    void *elements = arcp__arena_take(&r->arena, wanted * size + 1);
    if (elements == NULL) {
        r->status = arcp_error_set(r->err, ARCP_E_NO_MEMORY, "out of memory");
        return NULL;
    }
    memset(elements, 0, wanted * size + 1);
    *count = wanted;
    return elements;
}

static void read_lines(reader *r, arcp__sandbox_plan *plan)
{
    arcp_json_ref array = ARCP_JSON_ABSENT;
    arcp__sandbox_line *lines = read_array(r, "lines", sizeof *lines, &array, &plan->line_count);
    arcp_json_ref at = arcp_json_first(&r->json, array);
    for (size_t i = 0; i < plan->line_count && r->status == ARCP_OK; i++) {
        lines[i].capability = read_text(r, at, "capability");
        lines[i].pattern = read_text(r, at, "pattern");
        lines[i].verdict = READ_CHOICE(r, at, "verdict", verdicts);
        lines[i].mechanism = READ_CHOICE(r, at, "mechanism", mechanisms);
        lines[i].note = READ_CHOICE(r, at, "note", notes);
        at = arcp_json_next(&r->json, array, at);
    }
    plan->lines = lines;
    plan->lease_line_count =
        (size_t)read_number(r, ARCP_JSON_ROOT, "lease_lines", plan->line_count);
    plan->refused_line =
        (size_t)read_number(r, ARCP_JSON_ROOT, "refused_line",
                            plan->lease_line_count == 0 ? 0 : plan->lease_line_count - 1);
}

static void read_mounts(reader *r, arcp__sandbox_plan *plan)
{
    arcp_json_ref array = ARCP_JSON_ABSENT;
    arcp__sandbox_mount *mounts =
        read_array(r, "mounts", sizeof *mounts, &array, &plan->mount_count);
    arcp_json_ref at = arcp_json_first(&r->json, array);
    for (size_t i = 0; i < plan->mount_count && r->status == ARCP_OK; i++) {
        mounts[i].kind = READ_CHOICE(r, at, "kind", mount_kinds);
        mounts[i].source = read_path(r, at, "source", true);
        mounts[i].target = read_path(r, at, "target", false);
        mounts[i].is_writable = read_bool(r, at, "writable");
        if (i > 0 && r->status == ARCP_OK &&
            arcp__sandbox_compare_mounts(&mounts[i - 1], &mounts[i]) >= 0) {
            fail(r, "mounts", "sorted, and without duplicates");
        }
        at = arcp_json_next(&r->json, array, at);
    }
    plan->mounts = mounts;
}

static void read_rules(reader *r, arcp__sandbox_plan *plan)
{
    arcp_json_ref array = ARCP_JSON_ABSENT;
    arcp__sandbox_rule *rules = read_array(r, "rules", sizeof *rules, &array, &plan->rule_count);
    arcp_json_ref at = arcp_json_first(&r->json, array);
    for (size_t i = 0; i < plan->rule_count && r->status == ARCP_OK; i++) {
        rules[i].path = read_path(r, at, "path", false);
        rules[i].rights = read_rights(r, at);
        rules[i].is_file = read_bool(r, at, "file");
        rules[i].class = READ_CHOICE(r, at, "class", classes);
        if (i > 0 && r->status == ARCP_OK &&
            arcp__sandbox_compare_rules(&rules[i - 1], &rules[i]) >= 0) {
            fail(r, "rules", "sorted, and without duplicates");
        }
        at = arcp_json_next(&r->json, array, at);
    }
    plan->rules = rules;
}

static const arcp_span *read_paths(reader *r, const char *name, bool are_patterns, size_t *count)
{
    arcp_json_ref array = ARCP_JSON_ABSENT;
    arcp_span *spans = read_array(r, name, sizeof *spans, &array, count);
    arcp_json_ref at = arcp_json_first(&r->json, array);
    for (size_t i = 0; i < *count && r->status == ARCP_OK; i++) {
        spans[i] = to_text(r, at, name);
        const char *fault =
            are_patterns ? arcp__glob_pattern_fault(spans[i]) : arcp__sandbox_path_fault(spans[i]);
        if (fault != NULL) {
            fail(r, name, are_patterns ? "patterns" : "absolute canonical paths");
        }
        at = arcp_json_next(&r->json, array, at);
    }
    return spans;
}

static void read_ports(reader *r, arcp__sandbox_plan *plan)
{
    arcp_json_ref array = ARCP_JSON_ABSENT;
    uint16_t *ports = read_array(r, "ports", sizeof *ports, &array, &plan->port_count);
    arcp_json_ref at = arcp_json_first(&r->json, array);
    if (plan->port_count > ARCP__SANDBOX_PORTS_MAX) {
        fail(r, "ports", "at most 256 numbers");
    }
    for (size_t i = 0; i < plan->port_count && r->status == ARCP_OK; i++) {
        uint64_t port = 0;
        if (!arcp_json_u64(&r->json, at, &port) || port == 0 || port > UINT16_MAX ||
            port == ARCP__SANDBOX_PORT_DNS || port == ARCP__SANDBOX_PORT_PROXY ||
            (i > 0 && port <= ports[i - 1])) {
            fail(r, "ports", "ascending numbers from 1 to 65535, without 53 and 3128");
        }
        ports[i] = (uint16_t)port;
        at = arcp_json_next(&r->json, array, at);
    }
    plan->ports = ports;
}

/* A plan that is late has a broker, and nothing of a lease but what that serves. */
static void check_late(reader *r, const arcp__sandbox_plan *plan)
{
    bool is_sound = plan->has_broker && plan->level != ARCP__SANDBOX_LEVEL_NONE;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp__sandbox_mount_kind kind = plan->mounts[i].kind;
        is_sound = is_sound && kind != ARCP__SANDBOX_MOUNT_ROOT &&
                   kind != ARCP__SANDBOX_MOUNT_TREE && kind != ARCP__SANDBOX_MOUNT_FILE;
    }
    for (size_t i = 0; i < plan->rule_count; i++) {
        is_sound = is_sound && plan->rules[i].class != ARCP__SANDBOX_CLASS_LEASE;
    }
    if (plan->is_late && !is_sound) {
        fail(r, "late", "of a plan with a broker, and without mounts and rules of a lease");
    }
}

static void read_plan(reader *r, arcp__sandbox_plan *plan)
{
    const arcp_json_ref root = ARCP_JSON_ROOT;
    if (read_number(r, root, "version", UINT32_MAX) != VERSION) {
        fail(r, "version", "1");
        return;
    }
    plan->origin = READ_CHOICE(r, root, "origin", origins);
    plan->level = READ_CHOICE(r, root, "level", levels);
    plan->min = READ_CHOICE(r, root, "min", verdicts);
    plan->refusal = READ_CHOICE(r, root, "refusal", refusals);
    plan->cwd = read_path(r, root, "cwd", false);
    plan->home = read_path(r, root, "home", false);
    plan->tmp = read_path(r, root, "tmp", false);
    plan->fresh = read_path(r, root, "fresh", true);
    plan->protect = READ_CHOICE(r, root, "protect", protections);
    plan->has_broker = read_bool(r, root, "broker");
    /* These are written only when they are not as usual. */
    plan->is_late = member_of(r, root, "late") != ARCP_JSON_ABSENT && read_bool(r, root, "late");
    plan->hides = member_of(r, root, "hide") != ARCP_JSON_ABSENT && read_bool(r, root, "hide");
    plan->is_silent =
        member_of(r, root, "report") != ARCP_JSON_ABSENT && !read_bool(r, root, "report");
    plan->has_terminal = read_bool(r, root, "terminal");
    plan->limits.scratch_bytes = read_number(r, root, "scratch_bytes", UINT64_MAX);
    plan->limits.memory_bytes = read_number(r, root, "memory_bytes", UINT64_MAX);
    plan->limits.cpu_percent = (uint32_t)read_number(r, root, "cpu_percent", UINT32_MAX);
    plan->limits.pids = (uint32_t)read_number(r, root, "pids", UINT32_MAX);
    plan->limits.by_cgroup = (uint32_t)read_number(r, root, "by_cgroup", ARCP__SANDBOX_LIMITS_ALL);
    read_lines(r, plan);
    if (plan->refusal == ARCP__SANDBOX_REFUSAL_LINE && plan->lease_line_count == 0) {
        fail(r, "refusal", "of a line that is there");
    }
    if (plan->min == ARCP__SANDBOX_VERDICT_REFUSED) {
        fail(r, "min", "exact, under or advisory");
    }
    read_mounts(r, plan);
    read_rules(r, plan);
    plan->reads = read_paths(r, "reads", true, &plan->read_count);
    plan->writes = read_paths(r, "writes", true, &plan->write_count);
    plan->own = read_paths(r, "own", false, &plan->own_count);
    if (member_of(r, root, "own_files") != ARCP_JSON_ABSENT) {
        plan->own_files = read_paths(r, "own_files", false, &plan->own_file_count);
    }
    check_late(r, plan);
    read_ports(r, plan);
    plan->has_proxy = read_bool(r, root, "proxy");
    if (r->status == ARCP_OK) {
        r->status = arcp__sandbox_abilities_read(&r->json, member_of(r, root, "abilities"),
                                                 &plan->abilities, r->err);
    }
    if (plan->has_proxy && (plan->level != ARCP__SANDBOX_LEVEL_LANDLOCK || plan->port_count != 0 ||
                            !plan->has_broker || !arcp__sandbox_has_proxy(&plan->abilities))) {
        fail(r, "proxy", "of level landlock and with its abilities, without ports");
    }
}

/* The one text of a plan is the one that is written: no other spelling, order or member. */
static arcp_status check_spelling(arcp_span text, const arcp__sandbox_plan *plan, arcp_error *err)
{
    arcp_buf again = arcp_buf_init();
    arcp__sandbox_plan_encode(plan, &again);
    arcp_status status = arcp_buf_status(&again);
    if (status != ARCP_OK) {
        arcp_error_set(err, status, "out of memory");
    } else if (!arcp_span_equal(arcp_buf_span(&again), text)) {
        status = arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                "plan: members must be in their order and spelling");
    }
    arcp_buf_fini(&again);
    return status;
}

arcp_status arcp__sandbox_plan_decode(arcp_span text, arcp__sandbox_plan **out, arcp_error *err)
{
    reader r = {.json = ARCP__JSON_INIT, .texts = arcp_buf_init(), .err = err};
    arcp_json_limits limits = arcp_json_limits_init();
    limits.bytes_max = TEXT_BYTES_MAX;
    r.status = arcp_json_scan(&r.json, text, &limits, err);
    arcp__sandbox_plan read = {0};
    if (r.status == ARCP_OK) {
        read_plan(&r, &read);
    }
    if (r.status == ARCP_OK && r.texts.failed) {
        r.status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (r.status == ARCP_OK) {
        r.status = check_spelling(text, &read, err);
    }
    if (r.status == ARCP_OK) {
        *out = arcp__sandbox_plan_pack(&read);
        r.status = *out != NULL ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_buf_fini(&r.texts);
    arcp__arena_fini(&r.arena);
    arcp__json_fini(&r.json);
    return r.status;
}

/* ---- names ---- */

const char *arcp__sandbox_verdict_name(arcp__sandbox_verdict verdict)
{
    return (unsigned)verdict < ARCP__SANDBOX_VERDICT_COUNT ? verdicts[verdict] : "";
}
