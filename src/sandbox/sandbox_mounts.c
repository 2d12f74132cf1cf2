/* From places to mounts and rules.
 *
 * A place is a path at which something begins: a tree of the lease, a base, a private place, a file
 * of the runtime's. They are visited parents first, and each begins with what holds at the place
 * above it. So the deepest place decides, as the deepest mount does in the kernel.
 *
 * Rules of Landlock are different: the rights of a directory hold for all below it, and nothing
 * below takes one away. What must not be written although a directory above it may be is read-only
 * by its mount; what must not be read although a directory above it may be is covered, or is not
 * granted. */
#include <stdlib.h>

#include "sandbox/sandbox_parts.h"

static int compare_spots(const void *left, const void *right)
{
    const arcp__sandbox_spot *a = left;
    const arcp__sandbox_spot *b = right;
    return arcp__sandbox_compare_paths(a->path, b->path);
}

/* Sorts the places, makes one of those with the same path, and finds the place above each. */
static void merge_spots(arcp__sandbox_compile *compile)
{
    if (compile->spot_count == 0) {
        return;
    }
    qsort(compile->spots, compile->spot_count, sizeof *compile->spots, compare_spots);
    size_t count = 0;
    for (size_t i = 0; i < compile->spot_count; i++) {
        const arcp__sandbox_spot *spot = &compile->spots[i];
        const uint32_t wish = spot->wish;
        if (count > 0 && arcp_span_equal(compile->spots[count - 1].path, spot->path)) {
            compile->spots[count - 1].flags |= spot->flags;
        } else {
            uint32_t parent = count == 0 ? ARCP__PLACE_NONE : (uint32_t)count - 1;
            while (parent != ARCP__PLACE_NONE &&
                   !arcp__path_is_within(spot->path, compile->spots[parent].path)) {
                parent = compile->spots[parent].parent;
            }
            compile->spots[count] = *spot;
            compile->spots[count++].parent = parent;
        }
        if (wish != ARCP__PLACE_NONE) {
            compile->wishes[wish].place = (uint32_t)count - 1;
        }
    }
    compile->spot_count = count;
}

/* Tells every place what it holds. */
static void mark_holders(arcp__sandbox_compile *compile)
{
    for (size_t i = 0; i < compile->spot_count; i++) {
        const arcp__sandbox_spot *spot = &compile->spots[i];
        const bool is_own = (spot->flags & ARCP__PLACE_OWN) != 0;
        const bool is_base =
            (spot->flags & ARCP__PLACE_BASE) != 0 && (spot->flags & ARCP__PLACE_WRITE_TREE) == 0;
        for (uint32_t at = spot->parent; (is_own || is_base) && at != ARCP__PLACE_NONE;
             at = compile->spots[at].parent) {
            compile->spots[at].holds_own = compile->spots[at].holds_own || is_own;
            compile->spots[at].holds_base = compile->spots[at].holds_base || is_base;
        }
    }
    for (size_t i = 0; i < compile->spot_count; i++) {
        arcp__sandbox_spot *spot = &compile->spots[i];
        spot->holds_own_file =
            spot->holds_own && arcp__sandbox_holds_own_file(&compile->draft, spot->path);
    }
}

/* Binds each directory between the mount that the place is in and the place on itself: a directory
 * that is a mount point cannot be renamed, so the mount at the place cannot be moved away. */
static void pin_above(arcp__sandbox_compile *compile, const arcp__sandbox_context *context,
                      arcp_span path)
{
    const size_t root = compile->spots[context->mount_at].path.size;
    for (size_t i = root == 1 ? 1 : root + 1; i < path.size; i++) {
        if (path.data[i] == '/') {
            const arcp_span directory = arcp_span_first(path, i);
            arcp__sandbox_add_mount(compile, ARCP__SANDBOX_MOUNT_PIN, directory, directory, true);
        }
    }
}

static uint32_t rights_of(uint32_t flags, uint32_t read, uint32_t write)
{
    return ((flags & read) != 0 ? ARCP__SANDBOX_READ_RIGHTS : 0) |
           ((flags & write) != 0 ? ARCP__SANDBOX_WRITE : 0);
}

/* A mount of something of the host's, at its own path. */
static void bind_host(arcp__sandbox_compile *compile, arcp__sandbox_mount_kind kind, uint32_t at,
                      bool is_writable, arcp__sandbox_context *now)
{
    const arcp_span path = compile->spots[at].path;
    arcp__sandbox_add_mount(compile, kind, path, path, is_writable);
    now->ground = ARCP__GROUND_HOST;
    now->is_writable = is_writable;
    now->mount_at = at;
}

static void lay_tree(arcp__sandbox_compile *compile, uint32_t at, uint32_t rights,
                     arcp__sandbox_context *now)
{
    const arcp_span path = compile->spots[at].path;
    const uint32_t before = now->lease;
    now->lease |= rights;
    const bool is_writable = (now->lease & ARCP__SANDBOX_WRITE) != 0;
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_FULL) {
        if (now->ground != ARCP__GROUND_HOST || now->is_writable != is_writable) {
            bind_host(compile, path.size == 1 ? ARCP__SANDBOX_MOUNT_ROOT : ARCP__SANDBOX_MOUNT_TREE,
                      at, is_writable, now);
        }
        if ((rights & ARCP__SANDBOX_WRITE) != 0 && path.size > 1 &&
            compile->request->protect != ARCP__SANDBOX_PROTECT_NONE) {
            if (now->mount_at != at) {
                pin_above(compile, now, path);
                arcp__sandbox_add_mount(compile, ARCP__SANDBOX_MOUNT_PIN, path, path, true);
            }
            arcp__sandbox_add_mount(compile, ARCP__SANDBOX_MOUNT_GIT, path, path, false);
        }
    }
    arcp__sandbox_add_rule(compile, path, rights & ~before, ARCP__SANDBOX_CLASS_LEASE);
}

static void lay_base(arcp__sandbox_compile *compile, uint32_t at, arcp__sandbox_context *now)
{
    const arcp__sandbox_spot *spot = &compile->spots[at];
    const bool is_given = (spot->flags & ARCP__PLACE_BASE) != 0;
    const bool is_tree =
        (spot->flags & (ARCP__PLACE_READ_TREE | ARCP__PLACE_WRITE_TREE)) != 0 && !spot->is_brokered;
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_FULL && !is_tree) {
        if (now->ground != ARCP__GROUND_HOST) {
            bind_host(compile, ARCP__SANDBOX_MOUNT_BASE, at, false, now);
        } else if (now->is_writable && is_given) {
            pin_above(compile, now, spot->path);
            bind_host(compile, ARCP__SANDBOX_MOUNT_BASE, at, false, now);
            now->lease &= ~(uint32_t)ARCP__SANDBOX_WRITE;
        }
    }
    /* The rules of the table's rows are added at the end. */
    if (is_given) {
        arcp__sandbox_add_rule(compile, spot->path, ARCP__SANDBOX_READ_RIGHTS,
                               ARCP__SANDBOX_CLASS_BASE);
    }
    now->is_base = true;
}

/* Whether something of the host's that may be written, but not read, would be read by the rule of
 * the private place that it is mounted in. */
static bool shows_too_much(const arcp__sandbox_context *now, uint32_t rights)
{
    return now->is_private && !now->is_base && ((rights | now->lease) & ARCP__SANDBOX_READ) == 0;
}

static void lay_file(arcp__sandbox_compile *compile, uint32_t at, uint32_t rights,
                     arcp__sandbox_context *now)
{
    arcp__sandbox_spot *spot = &compile->spots[at];
    const bool is_full = compile->draft.level == ARCP__SANDBOX_LEVEL_FULL;
    const bool is_written = (rights & ARCP__SANDBOX_WRITE) != 0;
    if (is_full && shows_too_much(now, rights)) {
        spot->is_brokered = true;
        return;
    }
    if (is_full && (now->ground != ARCP__GROUND_HOST || (is_written && !now->is_writable))) {
        arcp__sandbox_add_mount(compile, ARCP__SANDBOX_MOUNT_FILE, spot->path, spot->path,
                                is_written);
    }
    arcp__sandbox_add_rule(compile, spot->path, rights, ARCP__SANDBOX_CLASS_LEASE);
    if (!compile->has_failed) {
        compile->rules[compile->rule_count - 1].is_file = true;
    }
}

static void lay_private(arcp__sandbox_compile *compile, uint32_t at, arcp__sandbox_context *now)
{
    const arcp__sandbox_spot *spot = &compile->spots[at];
    const bool is_fresh = (spot->flags & ARCP__PLACE_FRESH) != 0;
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_FULL) {
        arcp__sandbox_add_mount(
            compile, is_fresh ? ARCP__SANDBOX_MOUNT_FRESH : ARCP__SANDBOX_MOUNT_PRIVATE,
            is_fresh ? compile->request->cwd : (arcp_span){"", 0}, spot->path, true);
    }
    arcp__sandbox_add_rule(compile, spot->path, ARCP__SANDBOX_ALL_RIGHTS,
                           ARCP__SANDBOX_CLASS_PRIVATE);
    *now = (arcp__sandbox_context){.is_private = true,
                                   .is_fresh = is_fresh,
                                   .is_base = now->is_base,
                                   .is_writable = true,
                                   .mount_at = at,
                                   .ground = ARCP__GROUND_OURS};
}

/* A file or directory of the runtime's: nothing below it is granted. */
static void lay_own(arcp__sandbox_compile *compile, uint32_t at, arcp__sandbox_context *now)
{
    const arcp_span path = compile->spots[at].path;
    now->is_own = true;
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_FULL && now->ground == ARCP__GROUND_HOST) {
        if (now->is_writable) {
            pin_above(compile, now, path);
        }
        arcp__sandbox_add_mount(compile, ARCP__SANDBOX_MOUNT_COVER, (arcp_span){"", 0}, path,
                                false);
        now->ground = ARCP__GROUND_SEALED;
    }
}

/* /etc, /sys below a whole tree, and what the base hides. */
static void lay_system(arcp__sandbox_compile *compile, uint32_t at, arcp__sandbox_context *now)
{
    const arcp__sandbox_spot *spot = &compile->spots[at];
    if (compile->draft.level != ARCP__SANDBOX_LEVEL_FULL) {
        return;
    }
    if ((spot->flags & ARCP__PLACE_ETC) != 0 && now->ground != ARCP__GROUND_HOST) {
        if (compile->has_etc) {
            bind_host(compile, ARCP__SANDBOX_MOUNT_BASE, at, false, now);
        } else {
            arcp__sandbox_add_mount(compile, ARCP__SANDBOX_MOUNT_ETC, (arcp_span){"", 0},
                                    spot->path, false);
            now->ground = ARCP__GROUND_SEALED;
        }
    }
    if ((spot->flags & ARCP__PLACE_HIDDEN) != 0) {
        const bool is_covered = now->lease == 0 && !compile->has_hidden;
        now->is_base = false;
        compile->is_hidden = is_covered || (now->lease & ARCP__SANDBOX_READ) != 0;
        if (is_covered) {
            arcp__sandbox_add_mount(compile, ARCP__SANDBOX_MOUNT_COVER, (arcp_span){"", 0},
                                    spot->path, false);
            now->ground = ARCP__GROUND_SEALED;
        }
    }
    if ((spot->flags & ARCP__PLACE_COVER) != 0) {
        arcp__sandbox_add_mount(compile, ARCP__SANDBOX_MOUNT_COVER, (arcp_span){"", 0}, spot->path,
                                false);
        now->ground = ARCP__GROUND_SEALED;
    }
}

/* Refuses at level landlock what only a mount could keep apart from the rest of its tree. */
static bool is_too_wide(const arcp__sandbox_compile *compile, const arcp__sandbox_spot *spot)
{
    return compile->draft.level != ARCP__SANDBOX_LEVEL_FULL &&
           (spot->holds_own || spot->path.size == 1);
}

static void lay_spot(arcp__sandbox_compile *compile, uint32_t at)
{
    arcp__sandbox_spot *spot = &compile->spots[at];
    arcp__sandbox_context *now = &spot->now;
    /* Made for this sandbox alone, even where all else is the runtime's own. */
    if ((spot->flags & ARCP__PLACE_FRESH) != 0 ||
        (now->is_own && (spot->flags & ARCP__PLACE_PRIVATE) != 0 &&
         compile->draft.level != ARCP__SANDBOX_LEVEL_FULL)) {
        lay_private(compile, at, now);
        return;
    }
    if (now->is_own || now->is_fresh) {
        return;
    }
    if ((spot->flags & ARCP__PLACE_OWN) == 0 && arcp__sandbox_is_own(&compile->draft, spot->path)) {
        now->is_own = true; /* by the name of a file beside it */
        return;
    }
    if ((spot->flags & ARCP__PLACE_OWN) != 0) {
        lay_own(compile, at, now);
        return;
    }
    uint32_t tree = rights_of(spot->flags, ARCP__PLACE_READ_TREE, ARCP__PLACE_WRITE_TREE);
    const uint32_t base = spot->flags & (ARCP__PLACE_BASE | ARCP__PLACE_SYSTEM_BASE);
    spot->is_refused = is_too_wide(compile, spot) && (tree != 0 || base != 0);
    if (spot->is_refused) {
        return;
    }
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_FULL && tree != 0 &&
        (spot->holds_own_file || (base == 0 && shows_too_much(now, tree)))) {
        spot->is_brokered = true;
        tree = 0;
    }
    if ((spot->flags & ARCP__PLACE_PRIVATE) != 0 &&
        ((tree | now->lease | base) == 0 || arcp__sandbox_is_system(spot->path))) {
        lay_private(compile, at, now);
    }
    if (tree != 0) {
        lay_tree(compile, at, tree, now);
    }
    if (base != 0) {
        lay_base(compile, at, now);
    }
    lay_system(compile, at, now);
    const uint32_t file =
        rights_of(spot->flags, ARCP__PLACE_READ_FILE, ARCP__PLACE_WRITE_FILE) & ~now->lease;
    if (file != 0) {
        lay_file(compile, at, file, now);
    }
}

/* Whether a row of the base may be granted: at level landlock nothing can be covered in it. */
static bool is_row_clear(const arcp__sandbox_compile *compile, arcp_span path)
{
    const arcp__sandbox_request *request = compile->request;
    for (size_t i = 0; i < request->own_count; i++) {
        if (arcp__path_is_within(path, request->own[i]) ||
            (compile->draft.level != ARCP__SANDBOX_LEVEL_FULL &&
             arcp__path_is_within(request->own[i], path))) {
            return false;
        }
    }
    return true;
}

/* Whether the rule of a row of the table is needed. */
static bool has_rule(const arcp__sandbox_compile *compile, const arcp__sandbox_base_row *row)
{
    const bool is_full = compile->draft.level == ARCP__SANDBOX_LEVEL_FULL;
    const bool is_whole = is_full && compile->is_hidden;
    const bool is_etc_ours = is_full && !compile->has_etc;
    switch (row->kind) {
    case ARCP__SANDBOX_BASE_MOUNT:
        return is_whole || strcmp(row->path, "/usr") != 0;
    case ARCP__SANDBOX_BASE_PART:
        return !is_whole;
    case ARCP__SANDBOX_BASE_ETC:
    case ARCP__SANDBOX_BASE_MADE:
        return !is_etc_ours;
    case ARCP__SANDBOX_BASE_DEVICE:
        return !is_full;
    case ARCP__SANDBOX_BASE_HIDDEN:
    case ARCP__SANDBOX_BASE_SECRET:
    case ARCP__SANDBOX_BASE_KIND_COUNT:
        break;
    }
    return false;
}

static void add_base_rules(arcp__sandbox_compile *compile)
{
    size_t count = 0;
    const arcp__sandbox_base_row *rows = arcp__sandbox_base_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const arcp_span path = arcp_span_cstr(rows[i].path);
        if (has_rule(compile, &rows[i]) && is_row_clear(compile, path)) {
            const bool is_device = rows[i].kind == ARCP__SANDBOX_BASE_DEVICE;
            arcp__sandbox_add_rule(
                compile, path,
                is_device ? ARCP__SANDBOX_READ | ARCP__SANDBOX_WRITE : ARCP__SANDBOX_READ_RIGHTS,
                is_device ? ARCP__SANDBOX_CLASS_SYSTEM : ARCP__SANDBOX_CLASS_BASE);
        }
    }
    const bool is_full = compile->draft.level == ARCP__SANDBOX_LEVEL_FULL;
    if (is_full && !compile->has_etc) {
        arcp__sandbox_add_rule(compile, ARCP_SPAN_LITERAL("/etc"), ARCP__SANDBOX_READ,
                               ARCP__SANDBOX_CLASS_BASE);
    }
    arcp__sandbox_add_rule(compile, ARCP_SPAN_LITERAL("/proc"), ARCP__SANDBOX_READ,
                           ARCP__SANDBOX_CLASS_SYSTEM);
    if (is_full) {
        arcp__sandbox_add_rule(compile, ARCP_SPAN_LITERAL("/dev"),
                               ARCP__SANDBOX_READ | ARCP__SANDBOX_WRITE,
                               ARCP__SANDBOX_CLASS_SYSTEM);
    } else if (compile->request->has_terminal) {
        arcp__sandbox_add_rule(compile, ARCP_SPAN_LITERAL("/dev/tty"),
                               ARCP__SANDBOX_READ | ARCP__SANDBOX_WRITE,
                               ARCP__SANDBOX_CLASS_SYSTEM);
    }
}

int arcp__sandbox_compare_mounts(const void *left, const void *right)
{
    const arcp__sandbox_mount *a = left;
    const arcp__sandbox_mount *b = right;
    const int order = arcp__sandbox_compare_paths(a->target, b->target);
    return order != 0 ? order : (int)a->kind - (int)b->kind;
}

/* Parents first. A directory that is a mount point already needs no pin, and one pin is enough. */
static void sort_mounts(arcp__sandbox_compile *compile)
{
    if (compile->mount_count == 0) {
        return;
    }
    qsort(compile->mounts, compile->mount_count, sizeof *compile->mounts,
          arcp__sandbox_compare_mounts);
    size_t count = 0;
    for (size_t i = 0; i < compile->mount_count; i++) {
        const arcp__sandbox_mount *mount = &compile->mounts[i];
        if (mount->kind == ARCP__SANDBOX_MOUNT_PIN && count > 0 &&
            arcp_span_equal(compile->mounts[count - 1].target, mount->target)) {
            continue;
        }
        compile->mounts[count++] = *mount;
    }
    compile->mount_count = count;
}

int arcp__sandbox_compare_rules(const void *left, const void *right)
{
    const arcp__sandbox_rule *a = left;
    const arcp__sandbox_rule *b = right;
    const int order = arcp__sandbox_compare_paths(a->path, b->path);
    if (order != 0) {
        return order;
    }
    return a->is_file != b->is_file ? (int)a->is_file - (int)b->is_file
                                    : (int)a->class - (int)b->class;
}

/* One rule for what the same class gives at the same path. */
static void sort_rules(arcp__sandbox_compile *compile)
{
    if (compile->rule_count == 0) {
        return;
    }
    qsort(compile->rules, compile->rule_count, sizeof *compile->rules, arcp__sandbox_compare_rules);
    size_t count = 0;
    for (size_t i = 0; i < compile->rule_count; i++) {
        const arcp__sandbox_rule *rule = &compile->rules[i];
        if (count > 0 && arcp__sandbox_compare_rules(&compile->rules[count - 1], rule) == 0) {
            compile->rules[count - 1].rights |= rule->rights;
        } else {
            compile->rules[count++] = *rule;
        }
    }
    compile->rule_count = count;
}

void arcp__sandbox_lay_out(arcp__sandbox_compile *compile)
{
    merge_spots(compile);
    mark_holders(compile);
    for (uint32_t i = 0; i < compile->spot_count; i++) {
        arcp__sandbox_spot *spot = &compile->spots[i];
        if (spot->parent != ARCP__PLACE_NONE) {
            spot->now = compile->spots[spot->parent].now;
        }
        lay_spot(compile, i);
    }
    add_base_rules(compile);
    sort_mounts(compile);
    sort_rules(compile);
}
