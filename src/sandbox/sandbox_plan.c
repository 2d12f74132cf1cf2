/* Compiles a plan. */
#include "base/alloc.h"
#include "sandbox/sandbox_parts.h"

/* Steps for questions about patterns that have an unusual form. */
#define WORK_STEPS_MAX 2000000

/* ---- the request ---- */

static arcp_status check_path(const char *what, arcp_span path, arcp_error *err)
{
    const char *fault = arcp__sandbox_path_fault(path);
    return fault == NULL ? ARCP_OK
                         : arcp_error_set(err, ARCP_E_USAGE, "%s \"%.*s\" %s", what,
                                          (int)(path.size < 200 ? path.size : 200),
                                          path.size == 0 ? "" : path.data, fault);
}

/* Paths of a list; none of them may be the root. */
static arcp_status check_list(const char *what, const arcp_span *paths, size_t count,
                              arcp_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const arcp_status status = check_path(what, paths[i], err);
        if (status != ARCP_OK) {
            return status;
        }
        if (paths[i].size == 1) {
            return arcp_error_set(err, ARCP_E_USAGE, "%s is /", what);
        }
    }
    return ARCP_OK;
}

static arcp_status check_request(const arcp__sandbox_request *request, arcp_error *err)
{
    arcp_status status = check_path("cwd", request->cwd, err);
    if (status == ARCP_OK && request->home.size != 0) {
        status = check_path("home", request->home, err);
    }
    if (status == ARCP_OK && request->scratch.size != 0) {
        status = check_list("scratch", &request->scratch, 1, err);
    }
    if (status == ARCP_OK) {
        status = check_list("base", request->bases, request->base_count, err);
    }
    if (status == ARCP_OK) {
        status = check_list("own path", request->own, request->own_count, err);
    }
    if (status == ARCP_OK) {
        status = check_list("own file", request->own_files, request->own_file_count, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    if (request->cwd_is_fresh && request->cwd.size == 1) {
        return arcp_error_set(err, ARCP_E_USAGE, "cwd is / and fresh");
    }
    for (size_t i = 0; request->cwd_is_fresh && i < request->own_count; i++) {
        if (arcp__path_is_within(request->own[i], request->cwd)) {
            return arcp_error_set(err, ARCP_E_USAGE, "an own path is in the fresh directory");
        }
    }
    if (request->min == ARCP__SANDBOX_VERDICT_REFUSED ||
        request->exempt_count > ARCP__SANDBOX_EXEMPT_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "min or exempt is not valid");
    }
    return ARCP_OK;
}

/* ---- places ---- */

static bool has_root_line(const arcp_lease *lease)
{
    for (size_t i = 0; i < arcp_lease_capability_count(lease); i++) {
        const arcp__capability capability =
            arcp__capability_from_name(arcp_lease_capability_name(lease, i));
        if (capability != ARCP__CAPABILITY_FS_READ && capability != ARCP__CAPABILITY_FS_WRITE) {
            continue;
        }
        for (size_t j = 0; j < arcp_lease_pattern_count(lease, i); j++) {
            if (arcp__sandbox_is_root(arcp_lease_pattern(lease, i, j))) {
                return true;
            }
        }
    }
    return false;
}

/* Whether HOME can be a private place at this path: system directories and what holds them are
 * needed as they are. */
static bool may_be_home(arcp_span home)
{
    size_t count = 0;
    const arcp__sandbox_base_row *rows = arcp__sandbox_base_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const arcp_span path = arcp_span_cstr(rows[i].path);
        if (arcp__path_is_within(path, home) ||
            (rows[i].kind == ARCP__SANDBOX_BASE_MOUNT && arcp__path_is_within(home, path))) {
            return false;
        }
    }
    return !arcp__path_is_within(home, ARCP_SPAN_LITERAL("/etc")) && !arcp__sandbox_is_system(home);
}

static arcp_span join(arcp__sandbox_compile *compile, arcp_span directory, const char *name)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append(&text, directory);
    arcp_buf_append_cstr(&text, name);
    const arcp_span copy = arcp__arena_copy(&compile->arena, arcp_buf_span(&text));
    compile->has_failed = compile->has_failed || text.failed || copy.data == NULL;
    arcp_buf_fini(&text);
    return compile->has_failed ? directory : copy;
}

/* Where the program is, and its private places. */
static void choose_places(arcp__sandbox_compile *compile)
{
    const arcp__sandbox_request *request = compile->request;
    arcp__sandbox_plan *draft = &compile->draft;
    const bool is_full = draft->level == ARCP__SANDBOX_LEVEL_FULL;
    /* A root in which a file must be left out is not the host's. */
    compile->has_root = is_full && !draft->is_late && has_root_line(request->lease) &&
                        !arcp__sandbox_holds_own_file(draft, ARCP_SPAN_LITERAL("/"));
    draft->cwd = request->cwd;
    if (request->cwd_is_fresh) {
        /* In the host's own root no directory can be made, but /dev is always the sandbox's. */
        draft->cwd = !is_full            ? request->cwd
                     : compile->has_root ? ARCP_SPAN_LITERAL("/dev/job")
                                         : ARCP_SPAN_LITERAL("/job");
        draft->fresh = draft->cwd;
    }
    draft->home = request->home.size != 0 && may_be_home(request->home)
                      ? request->home
                      : ARCP_SPAN_LITERAL("/home/agent");
    draft->tmp = ARCP_SPAN_LITERAL("/tmp");
    if (!is_full && request->scratch.size != 0) {
        draft->home = join(compile, request->scratch, "/home");
        draft->tmp = join(compile, request->scratch, "/tmp");
    }
}

/* The places that do not come from the lease. */
static void add_places(arcp__sandbox_compile *compile)
{
    const arcp__sandbox_request *request = compile->request;
    const arcp__sandbox_plan *draft = &compile->draft;
    for (size_t i = 0; i < request->base_count; i++) {
        if (!arcp__sandbox_is_system(request->bases[i])) {
            arcp__sandbox_add_spot(compile, request->bases[i], ARCP__PLACE_BASE, ARCP__PLACE_NONE);
        }
    }
    for (size_t i = 0; i < request->own_count; i++) {
        arcp__sandbox_add_spot(compile, request->own[i], ARCP__PLACE_OWN, ARCP__PLACE_NONE);
    }
    if (draft->fresh.size != 0) {
        arcp__sandbox_add_spot(compile, draft->fresh, ARCP__PLACE_FRESH, ARCP__PLACE_NONE);
    }
    if (draft->level != ARCP__SANDBOX_LEVEL_FULL) {
        if (request->scratch.size != 0) {
            arcp__sandbox_add_spot(compile, draft->home, ARCP__PLACE_PRIVATE, ARCP__PLACE_NONE);
            arcp__sandbox_add_spot(compile, draft->tmp, ARCP__PLACE_PRIVATE, ARCP__PLACE_NONE);
        }
        return;
    }
    static const char *const privates[] = ARCP__SANDBOX_PRIVATE_PLACES;
    for (size_t i = 0; i < sizeof privates / sizeof *privates; i++) {
        arcp__sandbox_add_spot(compile, arcp_span_cstr(privates[i]), ARCP__PLACE_PRIVATE,
                               ARCP__PLACE_NONE);
    }
    arcp__sandbox_add_spot(compile, ARCP_SPAN_LITERAL("/etc"), ARCP__PLACE_ETC, ARCP__PLACE_NONE);
    arcp__sandbox_add_spot(compile, draft->home, ARCP__PLACE_PRIVATE, ARCP__PLACE_NONE);
    if (compile->has_root) {
        arcp__sandbox_add_spot(compile, ARCP_SPAN_LITERAL("/sys"), ARCP__PLACE_COVER,
                               ARCP__PLACE_NONE);
    }
    size_t count = 0;
    const arcp__sandbox_base_row *rows = arcp__sandbox_base_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const arcp__sandbox_base_kind kind = rows[i].kind;
        if (kind == ARCP__SANDBOX_BASE_MOUNT || kind == ARCP__SANDBOX_BASE_HIDDEN) {
            arcp__sandbox_add_spot(compile, arcp_span_cstr(rows[i].path),
                                   kind == ARCP__SANDBOX_BASE_MOUNT ? ARCP__PLACE_SYSTEM_BASE
                                                                    : ARCP__PLACE_HIDDEN,
                                   ARCP__PLACE_NONE);
        }
    }
}

/* Notes what a place of the lease or the request makes of the system's directories. */
static void note_system(arcp__sandbox_compile *compile, arcp_span path)
{
    compile->has_etc = compile->has_etc || arcp__path_is_within(path, ARCP_SPAN_LITERAL("/etc"));
    if (!arcp__path_is_within(path, ARCP_SPAN_LITERAL("/usr"))) {
        return;
    }
    size_t count = 0;
    const arcp__sandbox_base_row *rows = arcp__sandbox_base_rows(&count);
    for (size_t i = 0; i < count; i++) {
        compile->has_hidden =
            compile->has_hidden || (rows[i].kind == ARCP__SANDBOX_BASE_HIDDEN &&
                                    arcp__path_is_within(path, arcp_span_cstr(rows[i].path)));
    }
}

static void add_wished_places(arcp__sandbox_compile *compile)
{
    if (compile->draft.is_late) {
        return; /* the broker serves them */
    }
    for (uint32_t i = 0; i < compile->wish_count; i++) {
        const arcp__sandbox_wish *wish = &compile->wishes[i];
        const bool is_read = wish->capability == ARCP__CAPABILITY_FS_READ;
        if (wish->kind == ARCP__SANDBOX_WISH_TREE) {
            arcp__sandbox_add_spot(compile, wish->path,
                                   is_read ? ARCP__PLACE_READ_TREE : ARCP__PLACE_WRITE_TREE, i);
        } else if (wish->kind == ARCP__SANDBOX_WISH_FILE) {
            arcp__sandbox_add_spot(compile, wish->path,
                                   is_read ? ARCP__PLACE_READ_FILE : ARCP__PLACE_WRITE_FILE, i);
        } else {
            continue;
        }
        note_system(compile, wish->path);
    }
    compile->has_etc = compile->has_etc || compile->has_root;
}

/* A private place that a line replaces by the host's directory is not there. */
static void settle_private(arcp__sandbox_compile *compile)
{
    arcp__sandbox_plan *draft = &compile->draft;
    if (draft->level != ARCP__SANDBOX_LEVEL_FULL) {
        return;
    }
    for (size_t i = 0; i < compile->spot_count; i++) {
        const arcp__sandbox_spot *spot = &compile->spots[i];
        if (spot->now.is_private) {
            continue;
        }
        if (arcp_span_equal(spot->path, ARCP_SPAN_LITERAL("/tmp"))) {
            draft->tmp = ARCP_SPAN_LITERAL("/dev/shm");
        }
    }
    if (compile->has_root && draft->origin == ARCP__SANDBOX_ORIGIN_JOB) {
        draft->home = draft->tmp;
    }
}

/* ---- the whole ---- */

static bool is_exempt(const arcp__sandbox_request *request, arcp_span capability)
{
    for (size_t i = 0; i < request->exempt_count; i++) {
        const arcp_span name = request->exempt[i];
        const bool is_prefix = name.size > 0 && name.data[name.size - 1] == '.';
        if (is_prefix ? arcp_span_starts_with(capability, name)
                      : arcp_span_equal(capability, name)) {
            return true;
        }
    }
    return false;
}

/* The order of enforce.min. */
static int rank(arcp__sandbox_verdict verdict)
{
    switch (verdict) {
    case ARCP__SANDBOX_VERDICT_EXACT:
        return 0;
    case ARCP__SANDBOX_VERDICT_UNDER:
    case ARCP__SANDBOX_VERDICT_REFUSED:
        return 1;
    case ARCP__SANDBOX_VERDICT_ADVISORY:
    case ARCP__SANDBOX_VERDICT_COUNT:
        break;
    }
    return 2;
}

static void decide(arcp__sandbox_compile *compile)
{
    arcp__sandbox_plan *draft = &compile->draft;
    if (draft->level == ARCP__SANDBOX_LEVEL_NONE) {
        draft->refusal = ARCP__SANDBOX_REFUSAL_LEVEL;
        return;
    }
    for (size_t i = 0; i < draft->lease_line_count; i++) {
        const arcp__sandbox_line *line = &compile->lines[i];
        if (rank(line->verdict) > rank(draft->min) &&
            !arcp_span_equal_cstr(line->capability, "credential") &&
            !is_exempt(compile->request, line->capability)) {
            draft->refusal = ARCP__SANDBOX_REFUSAL_LINE;
            draft->refused_line = i;
            return;
        }
    }
}

static void compile_plan(arcp__sandbox_compile *compile)
{
    choose_places(compile);
    arcp__sandbox_read_lines(compile);
    if (compile->has_failed) {
        return;
    }
    if (compile->draft.level != ARCP__SANDBOX_LEVEL_NONE) {
        add_wished_places(compile);
        add_places(compile);
        for (size_t i = 0; i < compile->request->base_count; i++) {
            note_system(compile, compile->request->bases[i]);
        }
        if (compile->has_failed) {
            return;
        }
        arcp__sandbox_lay_out(compile);
        settle_private(compile);
    }
    arcp__sandbox_add_network(compile);
    arcp__sandbox_judge_lines(compile);
    if (compile->has_failed) {
        return;
    }
    for (size_t i = 0; i < compile->wish_count; i++) {
        const arcp__sandbox_wish *wish = &compile->wishes[i];
        if (wish->kind != ARCP__SANDBOX_WISH_DEAD &&
            compile->lines[wish->line].verdict != ARCP__SANDBOX_VERDICT_REFUSED) {
            arcp__sandbox_add_pattern(compile, wish->capability, wish->pattern);
        }
    }
    decide(compile);
}

/* A command that is only watched needs nothing of the host but the broker. */
static arcp__sandbox_level level_of(const arcp__sandbox_request *request)
{
    const arcp__sandbox_level level = arcp__sandbox_level_of(&request->abilities);
    return request->origin == ARCP__SANDBOX_ORIGIN_LEARN && level == ARCP__SANDBOX_LEVEL_NONE &&
                   arcp__sandbox_has_broker(&request->abilities)
               ? ARCP__SANDBOX_LEVEL_LANDLOCK
               : level;
}

/* The plan, of a lease that comes late or not; NULL: out of memory. Without a refusal *is_fit says
 * whether it may be late. */
static arcp__sandbox_plan *make_plan(const arcp__sandbox_request *request, bool is_late,
                                     bool *is_fit)
{
    arcp__sandbox_compile compile = {
        .request = request,
        .work = {WORK_STEPS_MAX},
        .draft = {.origin = request->origin,
                  .level = level_of(request),
                  .abilities = request->abilities,
                  .min = request->min,
                  .own = request->own,
                  .own_count = request->own_count,
                  .own_files = request->own_files,
                  .own_file_count = request->own_file_count,
                  .has_broker = arcp__sandbox_has_broker(&request->abilities),
                  .is_late = is_late,
                  .hides = request->hides,
                  .is_silent = request->is_silent,
                  .protect = request->protect,
                  .limits = request->limits,
                  .has_terminal = request->has_terminal}};
    compile_plan(&compile);
    arcp__sandbox_plan *plan = NULL;
    if (!compile.has_failed) {
        arcp__sandbox_plan *draft = &compile.draft;
        draft->lines = compile.lines;
        draft->line_count = compile.line_count;
        draft->mounts = compile.mounts;
        draft->mount_count = compile.mount_count;
        draft->rules = compile.rules;
        draft->rule_count = compile.rule_count;
        draft->reads = compile.reads;
        draft->read_count = compile.read_count;
        draft->writes = compile.writes;
        draft->write_count = compile.write_count;
        draft->ports = compile.ports;
        draft->port_count = compile.port_count;
        plan = arcp__sandbox_plan_pack(draft);
        *is_fit = draft->refusal == ARCP__SANDBOX_REFUSAL_NONE &&
                  (!is_late || arcp__sandbox_can_be_late(&compile));
    }
    arcp__sandbox_compile_fini(&compile);
    return plan;
}

arcp_status arcp__sandbox_plan_new(const arcp__sandbox_request *request, arcp__sandbox_plan **out,
                                   arcp_error *err)
{
    const arcp_status status = check_request(request, err);
    bool is_fit = false;
    if (status != ARCP_OK) {
        return status;
    }
    arcp__sandbox_plan *plan = NULL;
    if (request->may_be_late) {
        plan = make_plan(request, true, &is_fit);
    }
    if (plan == NULL || !is_fit) {
        arcp__sandbox_plan_free(plan);
        plan = make_plan(request, false, &is_fit);
    }
    if (plan == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = plan;
    return ARCP_OK;
}

void arcp__sandbox_plan_free(arcp__sandbox_plan *plan)
{
    arcp__free(plan);
}
