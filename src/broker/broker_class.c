#include "broker/broker_class.h"

#include "base/alloc.h"
#include "base/path.h"
#include "broker/broker.h"
#include "core/glob_pattern.h"

enum { PREFIX_MAX = ARCP_TARGET_BYTES_MAX + 1 };

struct arcp__broker_classes {
    const arcp__sandbox_plan *plan;
    arcp__sandbox_paths *paths; /* owned */
    arcp_span *patterns;        /* owned array: of the reads and writes that the broker serves */
    size_t pattern_count;
    size_t read_count; /* of these, the first ones are reads */
};

typedef bool is_asked(arcp_span pattern);

/* Whether a pattern that the broker serves is one that is asked about. */
static bool serves(const arcp__sandbox_plan *plan, is_asked *is)
{
    for (size_t i = 0; i < plan->read_count; i++) {
        if (is(plan->reads[i]) &&
            !arcp__sandbox_is_kernels(plan, ARCP__CAPABILITY_FS_READ, plan->reads[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < plan->write_count; i++) {
        if (is(plan->writes[i]) &&
            !arcp__sandbox_is_kernels(plan, ARCP__CAPABILITY_FS_WRITE, plan->writes[i])) {
            return true;
        }
    }
    return false;
}

static bool is_any(arcp_span pattern)
{
    (void)pattern;
    return true;
}

static bool has_wildcard(arcp_span pattern)
{
    return !arcp__glob_is_literal(pattern);
}

bool arcp__broker_traps_names(const arcp__sandbox_plan *plan)
{
    return plan->has_broker && (plan->is_late || serves(plan, has_wildcard));
}

bool arcp__broker_serves_lease(const arcp__sandbox_plan *plan)
{
    return plan->has_broker && (plan->is_late || serves(plan, is_any));
}

bool arcp__broker_traps_files(const arcp__sandbox_plan *plan)
{
    return plan->has_broker &&
           (!plan->is_silent || plan->is_late ||
            (plan->hides && plan->level != ARCP__SANDBOX_LEVEL_FULL) || serves(plan, is_any));
}

static void add_patterns(arcp__broker_classes *classes, arcp__capability capability,
                         const arcp_span *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!arcp__sandbox_is_kernels(classes->plan, capability, patterns[i])) {
            classes->patterns[classes->pattern_count++] = patterns[i];
        }
    }
}

arcp_status arcp__broker_classes_new(const arcp__sandbox_plan *plan, arcp__broker_classes **out,
                                     arcp_error *err)
{
    arcp__broker_classes *classes = arcp__alloc(sizeof *classes);
    if (classes == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the classes of paths");
    }
    classes->plan = plan;
    const arcp_status status = arcp__sandbox_paths_new(plan, &classes->paths, err);
    if (status != ARCP_OK) {
        arcp__broker_classes_free(classes);
        return status;
    }
    classes->patterns =
        arcp__alloc_array(plan->read_count + plan->write_count + 1, sizeof *classes->patterns);
    if (classes->patterns == NULL) {
        arcp__broker_classes_free(classes);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the classes of paths");
    }
    add_patterns(classes, ARCP__CAPABILITY_FS_READ, plan->reads, plan->read_count);
    classes->read_count = classes->pattern_count;
    add_patterns(classes, ARCP__CAPABILITY_FS_WRITE, plan->writes, plan->write_count);
    *out = classes;
    return ARCP_OK;
}

void arcp__broker_classes_free(arcp__broker_classes *classes)
{
    if (classes != NULL) {
        arcp__sandbox_paths_free(classes->paths);
        arcp__free(classes->patterns);
        arcp__free(classes);
    }
}

const arcp__sandbox_plan *arcp__broker_classes_plan(const arcp__broker_classes *classes)
{
    return classes->plan;
}

/* ---- one path ---- */

static bool is_secret(const arcp__sandbox_plan *plan, arcp_span path)
{
    static const char *const secrets[] = {
#define ARCP_SANDBOX_SECRET(name) name,
#include "sandbox/sandbox_secret.def"
#undef ARCP_SANDBOX_SECRET
    };
    if (plan->home.size < 2 || !arcp__path_is_within(path, plan->home)) {
        return false;
    }
    const arcp_span below = arcp_span_from(path, plan->home.size + 1);
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        if (below.size != 0 && arcp__path_is_within(below, arcp_span_cstr(secrets[i]))) {
            return true;
        }
    }
    return false;
}

static arcp__broker_place place_of(const arcp__sandbox_plan *plan, arcp_span path,
                                   const arcp__sandbox_place *found)
{
    const bool is_etc = plan->level == ARCP__SANDBOX_LEVEL_FULL &&
                        arcp__path_is_within(path, ARCP_SPAN_LITERAL("/etc"));
    switch (found->class) {
    case ARCP__SANDBOX_CLASS_OWN:
        return ARCP__BROKER_PLACE_OWN;
    case ARCP__SANDBOX_CLASS_SYSTEM:
        return ARCP__BROKER_PLACE_KERNEL;
    case ARCP__SANDBOX_CLASS_PRIVATE:
        return ARCP__BROKER_PLACE_PRIVATE;
    case ARCP__SANDBOX_CLASS_LEASE:
        return ARCP__BROKER_PLACE_TREE;
    case ARCP__SANDBOX_CLASS_BASE:
        if (found->rights == 0) {
            return ARCP__BROKER_PLACE_OUTSIDE; /* what the base hides */
        }
        return is_etc ? ARCP__BROKER_PLACE_ETC : ARCP__BROKER_PLACE_BASE;
    case ARCP__SANDBOX_CLASS_OUTSIDE:
    case ARCP__SANDBOX_CLASS_COUNT:
        break;
    }
    return ARCP__BROKER_PLACE_OUTSIDE;
}

/* Whether a rule is of the file itself. */
static bool has_file_rule(const arcp__sandbox_plan *plan, arcp_span path)
{
    for (size_t i = 0; i < plan->rule_count; i++) {
        if (plan->rules[i].is_file && arcp_span_equal(plan->rules[i].path, path)) {
            return true;
        }
    }
    return false;
}

/* Whether the pattern's literal beginning lies below a private directory that holds the path. */
static bool is_of_private(const arcp__sandbox_plan *plan, arcp_span pattern, arcp_span path)
{
    const arcp_span prefix = arcp__glob_literal_prefix(pattern);
    if (plan->fresh.size != 0 && arcp__path_is_within(path, plan->fresh)) {
        return false; /* the job's own directory is not the host's of that name */
    }
    for (size_t i = 0; i < plan->rule_count; i++) {
        const arcp__sandbox_rule *rule = &plan->rules[i];
        if (rule->class == ARCP__SANDBOX_CLASS_PRIVATE && prefix.size > rule->path.size &&
            arcp__path_is_within(path, rule->path) && arcp__path_is_within(prefix, rule->path)) {
            return true;
        }
    }
    return false;
}

static bool is_named_in_private(const arcp__broker_classes *classes, arcp_span path)
{
    for (size_t i = 0; i < classes->pattern_count; i++) {
        if (is_of_private(classes->plan, classes->patterns[i], path) &&
            arcp__glob_matches_alone(ARCP__TARGET_PATH, classes->patterns[i], path)) {
            return true;
        }
    }
    return false;
}

arcp__broker_class arcp__broker_classify(const arcp__broker_classes *classes, arcp_span path)
{
    const arcp__sandbox_plan *plan = classes->plan;
    const bool is_file = has_file_rule(plan, path);
    const arcp__sandbox_place found =
        arcp__sandbox_paths_find(classes->paths, is_file ? arcp__path_parent(path) : path);
    arcp__broker_class class = {.place = place_of(plan, path, &found),
                                .is_file = is_file,
                                .is_secret = is_secret(plan, path)};
    if (class.place == ARCP__BROKER_PLACE_OWN) {
        return class;
    }
    class.kernel = found.rights;
    if (class.place == ARCP__BROKER_PLACE_KERNEL) {
        class.kernel = ARCP__SANDBOX_READ | ARCP__SANDBOX_WRITE | ARCP__SANDBOX_EXECUTE;
        return class;
    }
    if (arcp__sandbox_paths_grant(classes->paths, ARCP__CAPABILITY_FS_READ, path)) {
        class.lease |= ARCP__SANDBOX_READ;
    }
    if (arcp__sandbox_paths_grant(classes->paths, ARCP__CAPABILITY_FS_WRITE, path)) {
        class.lease |= ARCP__SANDBOX_WRITE;
    }
    if (class.place == ARCP__BROKER_PLACE_PRIVATE && class.lease != 0 &&
        is_named_in_private(classes, path)) {
        class.place = ARCP__BROKER_PLACE_OUTSIDE;
        class.kernel = 0;
    }
    return class;
}

/* ---- what lies below ---- */

bool arcp__broker_leads_to_mount(const arcp__broker_classes *classes, arcp_span directory)
{
    const arcp__sandbox_plan *plan = classes->plan;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp__sandbox_mount *mount = &plan->mounts[i];
        if (mount->kind != ARCP__SANDBOX_MOUNT_COVER && mount->target.size > directory.size &&
            arcp__path_is_within(mount->target, directory)) {
            return true;
        }
    }
    for (size_t i = 0; i < plan->rule_count; i++) {
        if (plan->rules[i].path.size > directory.size &&
            arcp__path_is_within(plan->rules[i].path, directory)) {
            return true;
        }
    }
    return false;
}

/* Whether one of the first `count` patterns may grant a name below the directory. */
static bool leads(const arcp__broker_classes *classes, size_t count, arcp_span directory,
                  bool is_private)
{
    char prefix[PREFIX_MAX];
    if (directory.size >= sizeof prefix) {
        return false;
    }
    memcpy(prefix, directory.data, directory.size);
    size_t size = directory.size;
    if (size > 1) {
        prefix[size++] = '/';
    }
    for (size_t i = 0; i < count; i++) {
        if ((!is_private || is_of_private(classes->plan, classes->patterns[i], directory)) &&
            arcp__glob_reaches(ARCP__TARGET_PATH, classes->patterns[i],
                               arcp_span_make(prefix, size))) {
            return true;
        }
    }
    return false;
}

bool arcp__broker_leads_to_pattern(const arcp__broker_classes *classes, arcp_span directory)
{
    return leads(classes, classes->pattern_count, directory, false);
}

bool arcp__broker_leads_to_reading(const arcp__broker_classes *classes, arcp_span directory)
{
    return leads(classes, classes->read_count, directory, false);
}

bool arcp__broker_leads_in_private(const arcp__broker_classes *classes, arcp_span directory)
{
    return leads(classes, classes->read_count, directory, true);
}
