#include "hosting/agent_row.h"

#include <string.h>

#include "base/utf8.h"
#include "core/decode.h"
#include "hosting/confinement.h"
#include "json/json_put.h"

#define DEPTH_MAX  6u
#define WORDS_MAX  4096u /* of a command, an environment, or a list */
#define LIMITS_MAX 32u

/* ---- members ---- */

typedef struct agent_members {
    arcp_json_ref command, env, limits, base, lease;
    arcp_span name, version, cwd, user;
    bool is_plain, stderr_in_errors, without_gateways, confine;
    uint64_t warm, protect, min, tls, pids, cpu_percent, memory_bytes;
    uint64_t processes, concurrency, jobs_per_process, process_memory_bytes;
} agent_members;

#define M(field, text, kind) ARCP__MEMBER(agent_members, field, text, kind)
static const arcp__member agent_rows[] = {
    {M(command, "command", STRINGS), .required = true},
    {M(env, "env", STRINGS)},
    {M(limits, "limits", ARRAY)},
    {M(base, "base", STRINGS)},
    {M(lease, "lease", OBJECT)},
    {M(name, "name", TEXT)},
    {M(version, "version", TEXT)},
    {M(cwd, "cwd", STRING)},
    {M(user, "user", STRING)},
    {M(is_plain, "plain", BOOL)},
    {M(stderr_in_errors, "stderr_in_errors", BOOL)},
    {M(without_gateways, "without_gateways", BOOL)},
    {M(confine, "confine", BOOL)},
    {M(warm, "warm", COUNT)},
    {M(protect, "protect", COUNT)},
    {M(min, "min", COUNT)},
    {M(tls, "tls", COUNT)},
    {M(pids, "pids", COUNT)},
    {M(cpu_percent, "cpu_percent", COUNT)},
    {M(memory_bytes, "memory_bytes", COUNT)},
    {M(processes, "processes", COUNT)},
    {M(concurrency, "concurrency", COUNT)},
    {M(jobs_per_process, "jobs_per_process", COUNT)},
    {M(process_memory_bytes, "process_memory_bytes", COUNT)},
};
#undef M
static const arcp__members agent_table = ARCP__MEMBERS(agent_rows);

typedef struct host_members {
    arcp_json_ref options;
    uint64_t line_bytes, cancel_grace_ms, min, tls, cgroup, scratch_bytes, pids, egress_idle_sec,
        gateways;
    bool hides, is_silent, outlasts_expiry, outlasts_budget;
} host_members;

#define M(field, text, kind) ARCP__MEMBER(host_members, field, text, kind)
static const arcp__member host_rows[] = {
    {M(options, "confinement", OBJECT)},
    {M(line_bytes, "line_bytes", POSITIVE), .required = true},
    {M(cancel_grace_ms, "cancel_grace_ms", COUNT)},
    {M(min, "min", COUNT)},
    {M(tls, "tls", COUNT)},
    {M(cgroup, "cgroup", COUNT)},
    {M(scratch_bytes, "scratch_bytes", COUNT)},
    {M(pids, "pids", COUNT)},
    {M(egress_idle_sec, "egress_idle_sec", COUNT)},
    {M(gateways, "gateways", COUNT)},
    {M(hides, "hides", BOOL)},
    {M(is_silent, "silent", BOOL)},
    {M(outlasts_expiry, "outlasts_expiry", BOOL)},
    {M(outlasts_budget, "outlasts_budget", BOOL)},
};
#undef M
static const arcp__members host_table = ARCP__MEMBERS(host_rows);

typedef struct start_members {
    arcp_json_ref agent, host, job;
} start_members;

#define M(field, text, kind) ARCP__MEMBER(start_members, field, text, kind)
static const arcp__member start_rows[] = {
    {M(agent, "agent", OBJECT), .required = true},
    {M(host, "host", OBJECT), .required = true},
    {M(job, "job", OBJECT)},
};
#undef M
static const arcp__members start_table = ARCP__MEMBERS(start_rows);

typedef struct job_members {
    arcp_json_ref env;
    arcp_span cwd, endpoint;
    bool owns_cwd;
} job_members;

#define M(field, text, kind) ARCP__MEMBER(job_members, field, text, kind)
static const arcp__member job_rows[] = {
    {M(env, "env", STRINGS)},
    {M(cwd, "cwd", STRING)},
    {M(endpoint, "endpoint", STRING)},
    {M(owns_cwd, "makes_cwd", BOOL)},
};
#undef M
static const arcp__members job_table = ARCP__MEMBERS(job_rows);

static arcp_status out_of_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- writing ---- */

static bool is_text(const char *text)
{
    return text == NULL || arcp__utf8_is_valid(arcp_span_cstr(text));
}

/* Whether they are UTF-8. */
static bool put_words(arcp_json_writer *writer, const char *name, const char *const *words)
{
    bool are_text = true;
    if (words == NULL) {
        return true;
    }
    arcp__put_array(writer, name);
    for (; *words != NULL; words++) {
        are_text = are_text && is_text(*words);
        arcp_json_write_cstr(writer, *words);
    }
    arcp_json_end_array(writer);
    return are_text;
}

static arcp_status end_text(arcp_buf *out, size_t begin, bool are_text, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    if (out->failed) {
        return out_of_memory(err);
    }
    if (!are_text) {
        status = arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                "the program's command, environment, directory or user is not "
                                "valid UTF-8");
    } else if (out->size - begin > ARCP__ROW_BYTES_MAX) {
        status = arcp_error_set(err, ARCP_E_LIMIT,
                                "the program's command, environment and sandbox have %zu bytes, "
                                "more than %u",
                                out->size - begin, ARCP__ROW_BYTES_MAX);
    }
    out->size = status == ARCP_OK ? out->size : begin;
    return status;
}

static void put_lease(arcp_json_writer *writer, const arcp_lease *lease, bool *failed)
{
    arcp_buf text = arcp_buf_init();
    if (lease != NULL) {
        arcp_lease_format(lease, &text);
        arcp__put_raw(writer, "lease", arcp_buf_span(&text));
        *failed = *failed || text.failed;
    }
    arcp_buf_fini(&text);
}

arcp_status arcp__agent_row_write(const arcp__agent_row *row, const arcp__environment *environment,
                                  arcp_buf *out, arcp_error *err)
{
    const size_t begin = out->size;
    const agent_members fixed = {.command = ARCP_JSON_ABSENT,
                                 .name = arcp_span_cstr(row->name),
                                 .version = arcp_span_cstr(row->version),
                                 .cwd = arcp_span_cstr(row->cwd),
                                 .user = arcp_span_cstr(row->user),
                                 .is_plain = row->is_plain,
                                 .stderr_in_errors = row->stderr_in_errors,
                                 .without_gateways = row->without_gateways,
                                 .confine = row->confine,
                                 .warm = row->warm,
                                 .protect = (uint64_t)row->protect,
                                 .min = (uint64_t)row->min,
                                 .tls = (uint64_t)row->tls,
                                 .pids = row->pids,
                                 .cpu_percent = row->cpu_percent,
                                 .memory_bytes = row->memory_bytes,
                                 .processes = row->processes,
                                 .concurrency = row->concurrency,
                                 .jobs_per_process = row->jobs_per_process,
                                 .process_memory_bytes = row->process_memory_bytes};
    arcp_json_writer writer = arcp__put_begin(out);
    bool failed = environment->failed;
    const bool are_text = put_words(&writer, "command", row->command) &&
                          put_words(&writer, "env", (const char *const *)environment->pairs) &&
                          put_words(&writer, "base", row->base) && is_text(row->cwd) &&
                          is_text(row->user);
    arcp__put_array(&writer, "limits");
    for (size_t i = 0; i < row->limit_count; i++) {
        arcp_json_begin_array(&writer);
        arcp_json_write_u64(&writer, (uint64_t)row->limits[i].resource);
        arcp_json_write_u64(&writer, row->limits[i].soft);
        arcp_json_write_u64(&writer, row->limits[i].hard);
        arcp_json_end_array(&writer);
    }
    arcp_json_end_array(&writer);
    put_lease(&writer, row->lease, &failed);
    arcp__encode_row(&writer, &agent_table, &fixed);
    arcp_json_end_object(&writer);
    return failed ? out_of_memory(err) : end_text(out, begin, are_text, err);
}

arcp_span arcp__hosting_options(const arcp__hosting *hosting)
{
    return hosting->confinement == NULL ? arcp_span_make(NULL, 0)
                                        : arcp_buf_span(&hosting->confinement->options);
}

void arcp__hosting_write(const arcp__hosting *hosting, arcp_span options, arcp_buf *out)
{
    const host_members fixed = {.options = ARCP_JSON_ABSENT,
                                .line_bytes = hosting->line_bytes_max,
                                .cancel_grace_ms = hosting->cancel_grace_ms,
                                .min = hosting->enforce.min,
                                .tls = hosting->enforce.tls,
                                .cgroup = hosting->enforce.cgroup,
                                .scratch_bytes = hosting->enforce.scratch_bytes,
                                .pids = hosting->enforce.pids,
                                .egress_idle_sec = hosting->enforce.egress_idle_sec,
                                .gateways = hosting->gateways,
                                .hides = hosting->enforce.hides,
                                .is_silent = hosting->enforce.is_silent,
                                .outlasts_expiry = hosting->enforce.outlasts_expiry,
                                .outlasts_budget = hosting->enforce.outlasts_budget};
    arcp_json_writer writer = arcp__put_begin(out);
    if (options.size != 0) {
        arcp__put_raw(&writer, "confinement", options);
    }
    arcp__encode_row(&writer, &host_table, &fixed);
    arcp_json_end_object(&writer);
}

/* In the order of the list in read_options. */
arcp_status arcp__enforce_options_write(const arcp_enforce_options *options, arcp_buf *out,
                                        arcp_error *err)
{
    const size_t begin = out->size;
    arcp_json_writer writer = arcp__put_begin(out);
    const bool are_text =
        put_words(&writer, "base", options->base) && put_words(&writer, "own", options->own) &&
        put_words(&writer, "may_be_advisory", options->may_be_advisory) &&
        put_words(&writer, "private_hosts", options->private_hosts) &&
        put_words(&writer, "model_urls", options->model_urls) && is_text(options->sandbox);
    arcp__put_word(&writer, "sandbox", options->sandbox);
    arcp_json_end_object(&writer);
    return end_text(out, begin, are_text, err);
}

arcp_status arcp__start_row_write(const arcp__start_row *row, arcp_buf *out, arcp_error *err)
{
    const size_t begin = out->size;
    const job_members fixed = {.env = ARCP_JSON_ABSENT,
                               .cwd = row->cwd,
                               .endpoint = row->endpoint,
                               .owns_cwd = row->owns_cwd};
    arcp_json_writer writer = arcp__put_begin(out);
    bool are_text = true;
    arcp__put_raw(&writer, "agent", row->agent);
    arcp__put_raw(&writer, "host", row->host);
    if (row->env != NULL) {
        arcp__put_object(&writer, "job");
        are_text = put_words(&writer, "env", row->env) && arcp__utf8_is_valid(row->cwd);
        arcp__encode_row(&writer, &job_table, &fixed);
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
    return end_text(out, begin, are_text, err);
}

/* ---- reading ---- */

/* A text that is being read. */
typedef struct source {
    arcp_json json;
    arcp_buf scratch;
    arcp__arena *arena;
    const char *where;
} source;

static arcp_status invalid(const source *from, const char *member, const char *why, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s.%s %s", from->where, member, why);
}

/* NULL for one that is empty. */
static arcp_status copy_text(const source *from, const char *member, arcp_span text,
                             const char **out, arcp_error *err)
{
    *out = NULL;
    if (text.size == 0) {
        return ARCP_OK;
    }
    if (memchr(text.data, '\0', text.size) != NULL) {
        return invalid(from, member, "has a NUL", err);
    }
    *out = arcp__arena_copy(from->arena, text).data;
    return *out == NULL ? out_of_memory(err) : ARCP_OK;
}

/* NULL for an absent list. */
static arcp_status copy_words(const source *from, arcp_json_ref array, const char *member,
                              const char *const **out, arcp_error *err)
{
    arcp_buf scratch = arcp_buf_secret_init();
    arcp_status status = ARCP_OK;
    *out = NULL;
    if (array == ARCP_JSON_ABSENT) {
        return ARCP_OK;
    }
    const size_t count = arcp_json_count(&from->json, array);
    if (count > WORDS_MAX) {
        return invalid(from, member, "has more than 4096 words", err);
    }
    const char **words = arcp__arena_take(from->arena, (count + 1) * sizeof *words);
    if (words == NULL) {
        return out_of_memory(err);
    }
    size_t i = 0;
    for (arcp_json_ref at = arcp_json_first(&from->json, array);
         at != ARCP_JSON_ABSENT && status == ARCP_OK; at = arcp_json_next(&from->json, array, at)) {
        const arcp_span text = arcp_json_string(&from->json, at, &scratch);
        status =
            scratch.failed ? out_of_memory(err) : copy_text(from, member, text, &words[i], err);
        if (status == ARCP_OK && words[i] == NULL) {
            words[i] = "";
        }
        i++;
    }
    words[i] = NULL;
    *out = words;
    arcp_buf_fini(&scratch);
    return status;
}

static arcp_status copy_limits(const source *from, arcp_json_ref array, arcp__agent_row *out,
                               arcp_error *err)
{
    const arcp_json *json = &from->json;
    const size_t count = array == ARCP_JSON_ABSENT ? 0 : arcp_json_count(json, array);
    arcp_launch_limit *limits = arcp__arena_take(from->arena, (count + 1) * sizeof *limits);
    if (limits == NULL) {
        return out_of_memory(err);
    }
    if (count > LIMITS_MAX) {
        return invalid(from, "limits", "has more than 32 limits", err);
    }
    for (arcp_json_ref at = count == 0 ? ARCP_JSON_ABSENT : arcp_json_first(json, array);
         at != ARCP_JSON_ABSENT; at = arcp_json_next(json, array, at)) {
        uint64_t numbers[3] = {0};
        arcp_json_ref number = arcp_json_first(json, at);
        for (size_t i = 0; i < 3; i++) {
            if (arcp_json_count(json, at) != 3 || !arcp_json_u64(json, number, &numbers[i])) {
                return invalid(from, "limits", "must have [RESOURCE, SOFT, HARD]", err);
            }
            number = arcp_json_next(json, at, number);
        }
        if (numbers[0] > INT32_MAX) {
            return invalid(from, "limits", "has an unknown resource", err);
        }
        limits[out->limit_count++] = (arcp_launch_limit){
            .resource = (int)numbers[0], .soft = numbers[1], .hard = numbers[2]};
    }
    out->limits = limits;
    return ARCP_OK;
}

static arcp_status open_source(source *from, arcp_span text, const char *where,
                               const arcp__members *table, void *out, arcp_error *err)
{
    const arcp_json_limits limits = {DEPTH_MAX, 256, ARCP__ROW_BYTES_MAX};
    from->json = (arcp_json)ARCP__JSON_INIT;
    from->scratch = arcp_buf_secret_init();
    from->where = where;
    arcp__decoder decoder = {.json = &from->json, .scratch = &from->scratch, .where = where};
    const bool has_room = arcp_buf_reserve(&from->scratch, text.size);
    arcp_status status =
        has_room ? arcp_json_scan(&from->json, text, &limits, err) : out_of_memory(err);
    return status == ARCP_OK ? arcp__decode(&decoder, ARCP_JSON_ROOT, table, out, err) : status;
}

static void close_source(source *from)
{
    arcp_buf_fini(&from->scratch);
    arcp__json_fini(&from->json);
}

static arcp_status take_agent(const source *from, const agent_members *members,
                              arcp__agent_row *row, arcp_error *err)
{
    arcp_status status = copy_words(from, members->command, "command", &row->command, err);
    if (status == ARCP_OK && row->command[0] == NULL) {
        status = invalid(from, "command", "is empty", err);
    }
    if (status == ARCP_OK) {
        status = copy_words(from, members->env, "env", &row->env, err);
    }
    if (status == ARCP_OK) {
        status = copy_words(from, members->base, "base", &row->base, err);
    }
    if (status == ARCP_OK) {
        status = copy_limits(from, members->limits, row, err);
    }
    const struct {
        const char *member, **out;
        arcp_span text;
    } texts[] = {{"name", &row->name, members->name},
                 {"version", &row->version, members->version},
                 {"cwd", &row->cwd, members->cwd},
                 {"user", &row->user, members->user}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && status == ARCP_OK; i++) {
        status = copy_text(from, texts[i].member, texts[i].text, texts[i].out, err);
    }
    if (status == ARCP_OK &&
        (members->pids > UINT32_MAX || members->cpu_percent > UINT32_MAX ||
         members->warm > WORDS_MAX || members->processes > WORDS_MAX ||
         (members->processes != 0 && (members->concurrency == 0 || members->is_plain)))) {
        status = invalid(from, "processes", "or another number is out of range", err);
    }
    if (status == ARCP_OK && members->lease != ARCP_JSON_ABSENT) {
        arcp_lease *lease = NULL;
        status =
            arcp_lease_from_json(&from->json, members->lease, ARCP_JSON_ABSENT, NULL, &lease, err);
        row->lease = lease;
    }
    return status;
}

arcp_status arcp__agent_row_read(arcp_span text, arcp__arena *arena, arcp__agent_row *out,
                                 arcp_error *err)
{
    agent_members members = {.warm = 0};
    source from = {.arena = arena};
    arcp_status status = open_source(&from, text, "agent", &agent_table, &members, err);
    *out = (arcp__agent_row){.env_is_all = true};
    if (status == ARCP_OK) {
        status = take_agent(&from, &members, out, err);
    }
    out->is_plain = members.is_plain;
    out->stderr_in_errors = members.stderr_in_errors;
    out->without_gateways = members.without_gateways;
    out->confine = members.confine;
    out->warm = members.warm;
    if (status == ARCP_OK && members.warm > ARCP__PROCESS_POOL_MAX) {
        status = invalid(&from, "warm", "is more than 4096", err);
    }
    out->protect = (arcp_protect)members.protect;
    out->min = (arcp_enforce_min)members.min;
    out->tls = (arcp_enforce_tls)members.tls;
    out->pids = (uint32_t)members.pids;
    out->cpu_percent = (uint32_t)members.cpu_percent;
    out->memory_bytes = members.memory_bytes;
    out->processes = members.processes;
    out->concurrency = members.concurrency;
    out->jobs_per_process = members.jobs_per_process;
    out->process_memory_bytes = members.process_memory_bytes;
    close_source(&from);
    return status;
}

static arcp_status read_options(const source *from, arcp_json_ref object, arcp_enforce_options *out,
                                arcp_error *err)
{
    const struct {
        const char *name;
        const char *const **out;
    } lists[] = {{"base", &out->base},
                 {"own", &out->own},
                 {"may_be_advisory", &out->may_be_advisory},
                 {"private_hosts", &out->private_hosts},
                 {"model_urls", &out->model_urls}};
    arcp_buf scratch = arcp_buf_init();
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists && status == ARCP_OK; i++) {
        const arcp_json_ref list =
            arcp_json_member(&from->json, object, arcp_span_cstr(lists[i].name));
        status = list == ARCP_JSON_ABSENT || arcp_json_is(&from->json, list, ARCP_JSON_ARRAY)
                     ? copy_words(from, list, lists[i].name, lists[i].out, err)
                     : invalid(from, lists[i].name, "must be a list", err);
    }
    const arcp_json_ref sandbox =
        arcp_json_member(&from->json, object, ARCP_SPAN_LITERAL("sandbox"));
    if (status == ARCP_OK && arcp_json_is(&from->json, sandbox, ARCP_JSON_STRING)) {
        const arcp_span text = arcp_json_string(&from->json, sandbox, &scratch);
        status = scratch.failed ? out_of_memory(err)
                                : copy_text(from, "sandbox", text, &out->sandbox, err);
    }
    arcp_buf_fini(&scratch);
    return status;
}

arcp_status arcp__hosting_read(arcp__hosting *hosting, arcp_span text, arcp_error *err)
{
    host_members members = {.line_bytes = 0};
    arcp__arena arena = {0};
    source from = {.arena = &arena};
    arcp_enforce_options options = arcp_enforce_options_init();
    arcp_status status = open_source(&from, text, "host", &host_table, &members, err);
    if (status == ARCP_OK && members.options != ARCP_JSON_ABSENT) {
        status = read_options(&from, members.options, &options, err);
    }
    if (status == ARCP_OK) {
        status = arcp__confinement_set(hosting,
                                       members.options == ARCP_JSON_ABSENT ? NULL : &options, err);
    }
    if (status == ARCP_OK) {
        hosting->line_bytes_max = members.line_bytes;
        hosting->cancel_grace_ms = members.cancel_grace_ms;
        hosting->enforce.min = (uint32_t)members.min;
        hosting->enforce.tls = (uint32_t)members.tls;
        hosting->enforce.cgroup = (uint32_t)members.cgroup;
        hosting->enforce.scratch_bytes = members.scratch_bytes;
        hosting->enforce.pids = members.pids;
        hosting->enforce.egress_idle_sec = members.egress_idle_sec;
        hosting->gateways =
            (unsigned)members.gateways & (ARCP__HOSTING_MODELS | ARCP__HOSTING_TOOLS);
        hosting->enforce.hides = members.hides;
        hosting->enforce.is_silent = members.is_silent;
        hosting->enforce.outlasts_expiry = members.outlasts_expiry;
        hosting->enforce.outlasts_budget = members.outlasts_budget;
    }
    close_source(&from);
    arcp__arena_fini(&arena);
    return status;
}

arcp_status arcp__start_row_read(arcp_span text, arcp__arena *arena, arcp__start_row *out,
                                 arcp_error *err)
{
    start_members members = {.agent = ARCP_JSON_ABSENT};
    job_members job = {.env = ARCP_JSON_ABSENT};
    source from = {.arena = arena};
    arcp_status status = open_source(&from, text, "row", &start_table, &members, err);
    *out = (arcp__start_row){.env = NULL};
    if (status == ARCP_OK && members.job != ARCP_JSON_ABSENT) {
        arcp__decoder decoder = {.json = &from.json, .scratch = &from.scratch, .where = "job"};
        status = arcp__decode(&decoder, members.job, &job_table, &job, err);
    }
    if (status == ARCP_OK) {
        const char *cwd = NULL;
        const char *endpoint = NULL;
        out->agent = arcp_json_raw(&from.json, members.agent);
        out->host = arcp_json_raw(&from.json, members.host);
        out->owns_cwd = job.owns_cwd;
        status = copy_words(&from, job.env, "env", &out->env, err);
        if (status == ARCP_OK) {
            status = copy_text(&from, "cwd", job.cwd, &cwd, err);
        }
        if (status == ARCP_OK) {
            status = copy_text(&from, "endpoint", job.endpoint, &endpoint, err);
        }
        out->cwd = arcp_span_cstr(cwd);
        out->endpoint = arcp_span_cstr(endpoint);
    }
    if (status == ARCP_OK && out->owns_cwd && out->cwd.size == 0) {
        status = invalid(&from, "makes_cwd", "needs a cwd", err);
    }
    close_source(&from);
    return status;
}
