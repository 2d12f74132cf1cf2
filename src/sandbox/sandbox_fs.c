/* The lines of fs.read and fs.write: what each asks for, and how well it is granted. */
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/target.h"
#include "sandbox/sandbox_parts.h"

/* Writes the pattern with every run of stars replaced by one letter: a target that it matches, if
 * that is a target at all. */
static arcp_span fill_stars(arcp_span pattern, char *bytes)
{
    size_t size = 0;
    for (size_t i = 0; i < pattern.size; i++) {
        if (pattern.data[i] != '*') {
            bytes[size++] = pattern.data[i];
        } else if (i == 0 || pattern.data[i - 1] != '*') {
            bytes[size++] = 'x';
        }
    }
    return arcp_span_make(bytes, size);
}

bool arcp__sandbox_is_dead(arcp__sandbox_compile *compile, arcp__capability capability,
                           arcp_span pattern)
{
    char filled[ARCP__GLOB_PATTERN_BYTES_MAX];
    arcp_target_scratch scratch;
    arcp_span canonical = {NULL, 0};
    if (pattern.size > sizeof filled) {
        return false;
    }
    const arcp_span target = fill_stars(pattern, filled);
    if (arcp__target_canonicalise(capability, ARCP_SPAN_LITERAL("/x"), target, &scratch,
                                  &canonical) == ARCP_DENY_NONE &&
        arcp_span_equal(canonical, target)) {
        return false;
    }
    bool is_dead = false;
    const arcp_status status =
        arcp__glob_is_dead(capability, pattern, &compile->work, &is_dead, NULL);
    compile->has_failed = compile->has_failed || status == ARCP_E_NO_MEMORY;
    return status == ARCP_OK && is_dead;
}

/* The directory of a pattern that ends with '/' and two stars or more, once or several times; the
 * whole pattern if it does not. */
static arcp_span strip_tail(arcp_span pattern)
{
    for (;;) {
        size_t size = pattern.size;
        while (size > 0 && pattern.data[size - 1] == '*') {
            size--;
        }
        if (pattern.size - size < 2 || size == 0 || pattern.data[size - 1] != '/') {
            return pattern;
        }
        pattern = arcp_span_first(pattern, size - 1);
    }
}

bool arcp__sandbox_is_root(arcp_span pattern)
{
    /* Two stars at the beginning match absolute paths, too. */
    const arcp_span directory = strip_tail(pattern);
    if (directory.size == 0) {
        return true;
    }
    size_t stars = 0;
    while (stars < directory.size && directory.data[stars] == '*') {
        stars++;
    }
    return stars >= 2 && stars == directory.size;
}

/* The pattern as one of absolute paths; empty when there is none. What two stars at the beginning
 * match below the directory of relative paths is among the absolute paths that they match. */
static arcp_span make_absolute(arcp__sandbox_compile *compile, arcp_span pattern)
{
    if (pattern.data[0] == '/') {
        return pattern;
    }
    const bool is_anywhere = pattern.size >= 2 && memcmp(pattern.data, "**", 2) == 0;
    const arcp_span cwd = is_anywhere ? ARCP_SPAN_LITERAL("/") : compile->draft.cwd;
    const size_t slash = cwd.size == 1 ? 0 : 1;
    if (memchr(cwd.data, '*', cwd.size) != NULL ||
        cwd.size + slash + pattern.size > ARCP__GLOB_PATTERN_BYTES_MAX) {
        return arcp_span_make(NULL, 0);
    }
    char *bytes = arcp__arena_take(&compile->arena, cwd.size + slash + pattern.size);
    if (bytes == NULL) {
        compile->has_failed = true;
        return arcp_span_make(NULL, 0);
    }
    memcpy(bytes, cwd.data, cwd.size);
    bytes[cwd.size] = '/';
    memcpy(bytes + cwd.size + slash, pattern.data, pattern.size);
    return arcp_span_make(bytes, cwd.size + slash + pattern.size);
}

static void classify(const arcp__sandbox_compile *compile, arcp__sandbox_wish *wish)
{
    const arcp_span directory = strip_tail(wish->pattern);
    if (directory.size == 0) {
        wish->kind = ARCP__SANDBOX_WISH_TREE;
        wish->path = ARCP_SPAN_LITERAL("/");
        return;
    }
    if (wish->pattern.size == 1 || !arcp__glob_is_literal(directory)) {
        wish->kind = ARCP__SANDBOX_WISH_PATTERN;
        wish->path = arcp__glob_literal_directory(wish->pattern);
    } else {
        wish->kind =
            directory.size < wish->pattern.size ? ARCP__SANDBOX_WISH_TREE : ARCP__SANDBOX_WISH_FILE;
        wish->path = directory;
    }
    const bool is_fresh =
        compile->draft.fresh.size != 0 && arcp__path_is_within(wish->path, compile->draft.fresh);
    if (!is_fresh && arcp__sandbox_is_system(wish->path)) {
        wish->kind = ARCP__SANDBOX_WISH_SYSTEM;
    }
}

void arcp__sandbox_read_wish(arcp__sandbox_compile *compile, arcp__capability capability,
                             arcp_span pattern, uint32_t line)
{
    arcp__sandbox_wish wish = {.capability = capability, .line = line, .place = ARCP__PLACE_NONE};
    if (arcp__sandbox_is_dead(compile, capability, pattern)) {
        wish.kind = ARCP__SANDBOX_WISH_DEAD;
    } else {
        wish.pattern = make_absolute(compile, pattern);
        wish.kind = ARCP__SANDBOX_WISH_CWD;
        if (wish.pattern.size != 0) {
            classify(compile, &wish);
        }
    }
    arcp__sandbox_add_wish(compile, &wish);
}

/* ---- verdicts ---- */

/* Whether the pattern can match something at or below one of the paths. */
static bool meets_any(arcp_span pattern, const arcp_span *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (arcp__sandbox_pattern_meets(pattern, paths[i])) {
            return true;
        }
    }
    return false;
}

static arcp__sandbox_line judge_pattern(const arcp__sandbox_compile *compile,
                                        const arcp__sandbox_wish *wish)
{
    const arcp__sandbox_request *request = compile->request;
    const bool is_write = wish->capability == ARCP__CAPABILITY_FS_WRITE;
    if (compile->draft.fresh.size != 0 && arcp__path_is_within(wish->path, compile->draft.fresh)) {
        return ARCP__SANDBOX_EXACT(DIRECTORY, NONE);
    }
    if (arcp__sandbox_is_own(&compile->draft, wish->path)) {
        return ARCP__SANDBOX_REFUSED(OWN);
    }
    if (!compile->draft.has_broker) {
        return ARCP__SANDBOX_REFUSED(NO_BROKER);
    }
    if (is_write && arcp__path_is_within_any(wish->path, request->bases, request->base_count)) {
        return ARCP__SANDBOX_REFUSED(BASE);
    }
    if (arcp__sandbox_pattern_meets_own(&compile->draft, wish->pattern)) {
        return ARCP__SANDBOX_UNDER(BROKER, OWN_INSIDE);
    }
    if (is_write && meets_any(wish->pattern, request->bases, request->base_count)) {
        return ARCP__SANDBOX_UNDER(BROKER, BASE_INSIDE);
    }
    return ARCP__SANDBOX_EXACT(BROKER, BROKER);
}

/* A directory that cannot be mounted, because a file in it must be left out. */
static arcp__sandbox_line judge_around_own(const arcp__sandbox_compile *compile,
                                           const arcp__sandbox_wish *wish)
{
    const arcp__sandbox_request *request = compile->request;
    if (!compile->draft.has_broker) {
        return ARCP__SANDBOX_REFUSED(OWN_FILE_WITHOUT_BROKER);
    }
    if (wish->capability == ARCP__CAPABILITY_FS_WRITE &&
        arcp__path_is_within_any(wish->path, request->bases, request->base_count)) {
        return ARCP__SANDBOX_REFUSED(BASE);
    }
    return ARCP__SANDBOX_UNDER(BROKER, OWN_FILE_INSIDE);
}

static arcp__sandbox_line judge_tree(const arcp__sandbox_compile *compile,
                                     const arcp__sandbox_wish *wish)
{
    const arcp__sandbox_spot *spot = &compile->spots[wish->place];
    const bool is_full = compile->draft.level == ARCP__SANDBOX_LEVEL_FULL;
    const bool is_write = wish->capability == ARCP__CAPABILITY_FS_WRITE;
    const bool is_protected = compile->request->protect != ARCP__SANDBOX_PROTECT_NONE;
    const uint32_t landlock = compile->request->abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK];
    if (spot->now.is_own) {
        return ARCP__SANDBOX_REFUSED(OWN);
    }
    if (spot->now.is_fresh) {
        return ARCP__SANDBOX_EXACT(DIRECTORY, NONE);
    }
    if (spot->is_refused) {
        return wish->path.size == 1 ? ARCP__SANDBOX_REFUSED(ROOT_WITHOUT_VIEW)
                                    : ARCP__SANDBOX_REFUSED(OWN_WITHOUT_VIEW);
    }
    if (spot->holds_own_file && is_full) {
        return judge_around_own(compile, wish);
    }
    if (spot->is_brokered) {
        return compile->draft.has_broker ? judge_pattern(compile, wish)
                                         : ARCP__SANDBOX_REFUSED(WRITE_ONLY);
    }
    if (spot->holds_own) {
        return ARCP__SANDBOX_UNDER(DIRECTORY, OWN_INSIDE);
    }
    if (is_write && is_full && spot->holds_base) {
        return ARCP__SANDBOX_UNDER(DIRECTORY, BASE_INSIDE);
    }
    if (is_write && is_full && landlock < 2) {
        return ARCP__SANDBOX_UNDER(DIRECTORY, NO_REFER);
    }
    if (is_write && !is_full && !compile->draft.has_broker) {
        return ARCP__SANDBOX_UNDER(DIRECTORY, NO_ATTRIBUTES);
    }
    if (wish->path.size == 1) {
        return ARCP__SANDBOX_EXACT(DIRECTORY, SYSTEM_OURS);
    }
    if (is_write && !is_full && spot->holds_base) {
        return ARCP__SANDBOX_EXACT(DIRECTORY, BASE_WRITABLE);
    }
    if (is_write && is_protected) {
        return is_full ? ARCP__SANDBOX_EXACT(DIRECTORY, GIT)
                       : ARCP__SANDBOX_EXACT(DIRECTORY, GIT_OPEN);
    }
    return ARCP__SANDBOX_EXACT(DIRECTORY, NONE);
}

static arcp__sandbox_line judge_file(const arcp__sandbox_compile *compile,
                                     const arcp__sandbox_wish *wish)
{
    const arcp__sandbox_spot *spot = &compile->spots[wish->place];
    const bool is_write = wish->capability == ARCP__CAPABILITY_FS_WRITE;
    const uint32_t wanted = is_write ? ARCP__SANDBOX_WRITE : ARCP__SANDBOX_READ;
    if (spot->now.is_own) {
        return ARCP__SANDBOX_REFUSED(OWN);
    }
    if (spot->now.is_fresh || (spot->now.lease & wanted) != 0) {
        return ARCP__SANDBOX_EXACT(DIRECTORY, NONE);
    }
    if (spot->is_brokered) {
        return compile->draft.has_broker ? ARCP__SANDBOX_EXACT(BROKER, BROKER)
                                         : ARCP__SANDBOX_REFUSED(WRITE_ONLY);
    }
    const bool is_in_base = spot->now.is_base && (spot->now.ground == ARCP__GROUND_HOST ||
                                                  compile->draft.level != ARCP__SANDBOX_LEVEL_FULL);
    if (compile->draft.has_broker || (!is_write && is_in_base)) {
        return ARCP__SANDBOX_EXACT(FILE, NONE);
    }
    return ARCP__SANDBOX_UNDER(FILE, LITERAL);
}

/* A directory or a file of a lease that comes when the program runs. */
static arcp__sandbox_line judge_late(const arcp__sandbox_compile *compile,
                                     const arcp__sandbox_wish *wish)
{
    const arcp__sandbox_line pattern = judge_pattern(compile, wish);
    if (pattern.mechanism != ARCP__SANDBOX_MECHANISM_BROKER) {
        return pattern;
    }
    return compile->draft.level == ARCP__SANDBOX_LEVEL_FULL
               ? ARCP__SANDBOX_UNDER(BROKER, LATE)
               : ARCP__SANDBOX_UNDER(BROKER, LATE_WITHOUT_VIEW);
}

static arcp__sandbox_line judge(const arcp__sandbox_compile *compile,
                                const arcp__sandbox_wish *wish)
{
    if (wish->kind == ARCP__SANDBOX_WISH_DEAD) {
        return ARCP__SANDBOX_EXACT(NONE, DEAD);
    }
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_NONE) {
        return ARCP__SANDBOX_REFUSED(LEVEL);
    }
    switch (wish->kind) {
    case ARCP__SANDBOX_WISH_SYSTEM:
        return ARCP__SANDBOX_REFUSED(SYSTEM);
    case ARCP__SANDBOX_WISH_CWD:
        return ARCP__SANDBOX_REFUSED(CWD);
    case ARCP__SANDBOX_WISH_TREE:
        return compile->draft.is_late ? judge_late(compile, wish) : judge_tree(compile, wish);
    case ARCP__SANDBOX_WISH_FILE:
        return compile->draft.is_late ? judge_late(compile, wish) : judge_file(compile, wish);
    case ARCP__SANDBOX_WISH_PATTERN:
    case ARCP__SANDBOX_WISH_DEAD:
        break;
    }
    return judge_pattern(compile, wish);
}

/* Whether the program keeps what is granted when its lease has expired: what is mounted cannot be
 * taken away. The directory of the job is its own. */
static bool outlasts(const arcp__sandbox_compile *compile, const arcp__sandbox_wish *wish,
                     const arcp__sandbox_line *verdict)
{
    const arcp_span fresh = compile->draft.fresh;
    return compile->request->outlasts_expiry && arcp_lease_has_expiry(compile->request->lease) &&
           (verdict->mechanism == ARCP__SANDBOX_MECHANISM_DIRECTORY ||
            verdict->mechanism == ARCP__SANDBOX_MECHANISM_FILE) &&
           (fresh.size == 0 || !arcp__path_is_within(wish->path, fresh));
}

void arcp__sandbox_judge_wish(arcp__sandbox_compile *compile, const arcp__sandbox_wish *wish)
{
    arcp__sandbox_line verdict = judge(compile, wish);
    if (outlasts(compile, wish, &verdict)) {
        verdict.verdict = ARCP__SANDBOX_VERDICT_ADVISORY;
        verdict.note = ARCP__SANDBOX_NOTE_OUTLASTS;
    }
    arcp__sandbox_line *line = &compile->lines[wish->line];
    line->verdict = verdict.verdict;
    line->mechanism = verdict.mechanism;
    line->note = verdict.note;
}
