#include "sandbox/sandbox_uses.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "sandbox/sandbox_parts.h"

#define BIT(use) (1U << ARCP__SANDBOX_USE_##use)

/* Besides the bits of uses. */
enum {
    IS_MADE = 1 << 20,      /* by the command: it was absent */
    IS_MADE_HERE = 1 << 21, /* ... as a directory */
    NEEDS_TREE = 1 << 22,   /* of a directory: with all below it */
    HOLDS_USED = 1 << 23,   /* of a directory: a name in it is needed */
    IS_REPLACED = 1 << 25,  /* it is removed, or another file gets its name */
    IS_DIRECTORY = 1 << 27,
    IS_TEMPORARY = 1 << 26, /* it was made in a private directory, and is absent at the end */
    LEADS = 1 << 24, /* of a directory: something below it is needed, so it is there inside */
};

/* Uses that need no file to be there are not among them. */
#define OF_PRESENT                                                                                 \
    (BIT(READ) | BIT(WRITE) | BIT(LIST) | BIT(ENTER) | BIT(LOOK) | BIT(EXECUTE) | BIT(REMOVE) |    \
     BIT(CHECK) | BIT(OWNER) | BIT(CONNECT))

typedef struct used_name {
    arcp_span text; /* in the arena, with a NUL */
    uint32_t bits;
    arcp__sandbox_outcome outcome;
    UT_hash_handle hh;
} used_name;

struct arcp__sandbox_uses {
    arcp__arena arena;
    arcp__sandbox_paths *paths;
    arcp_span cwd;
    bool cwd_is_shared;
    used_name *table;
    used_name **names; /* sorted, after the end */
    size_t count;
    uint64_t lost;
    bool (*is_there)(const char *path);
    arcp__sandbox_learn *learn;
    arcp_status status; /* of finish */
    arcp_error *err;
};

arcp_status arcp__sandbox_uses_new(const arcp__sandbox_uses_options *options,
                                   arcp__sandbox_uses **out, arcp_error *err)
{
    arcp__sandbox_uses *uses = arcp__alloc(sizeof *uses);
    if (uses != NULL) {
        uses->cwd = arcp__arena_copy(&uses->arena, options->cwd);
        uses->cwd_is_shared = options->cwd_is_shared;
    }
    if (uses == NULL || uses->cwd.data == NULL ||
        arcp__sandbox_paths_new(options->plan, &uses->paths, err) != ARCP_OK) {
        arcp__sandbox_uses_free(uses);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = uses;
    return ARCP_OK;
}

void arcp__sandbox_uses_free(arcp__sandbox_uses *uses)
{
    if (uses != NULL) {
        HASH_CLEAR(hh, uses->table);
        arcp__free(uses->names);
        arcp__sandbox_paths_free(uses->paths);
        arcp__arena_fini(&uses->arena);
        arcp__free(uses);
    }
}

uint64_t arcp__sandbox_uses_lost(const arcp__sandbox_uses *uses)
{
    return uses->lost;
}

/* ---- what was seen ---- */

static used_name *find(const arcp__sandbox_uses *uses, arcp_span text)
{
    used_name *one = NULL;
    HASH_FIND(hh, uses->table, text.data, text.size, one);
    return one;
}

/* Adds bits to a name, which may be new. NULL: it cannot be kept. */
static used_name *note(arcp__sandbox_uses *uses, arcp_span text, uint32_t bits)
{
    used_name *one = find(uses, text);
    if (one == NULL && HASH_COUNT(uses->table) < ARCP__SANDBOX_USES_MAX &&
        uses->arena.used + text.size < ARCP__SANDBOX_USES_BYTES_MAX) {
        one = arcp__arena_take(&uses->arena, sizeof *one);
        const arcp_span copy = arcp__arena_copy(&uses->arena, text);
        if (one != NULL && copy.data != NULL) {
            *one = (used_name){.text = copy};
            HASH_ADD_KEYPTR(hh, uses->table, one->text.data, one->text.size, one);
            one = ARCP__HASH_ADDED(one) ? one : NULL;
        } else {
            one = NULL;
        }
    }
    if (one == NULL) {
        uses->lost++;
        return NULL;
    }
    one->bits |= bits;
    return one;
}

/* The deepest directory that holds both. */
static arcp_span common_of(arcp_span a, arcp_span b)
{
    arcp_span directory = arcp__path_parent(a);
    while (!arcp__path_is_within(b, directory)) {
        directory = arcp__path_parent(directory);
    }
    return directory;
}

static void note_creation(arcp__sandbox_uses *uses, arcp_span path, bool is_directory)
{
    const used_name *before = find(uses, path);
    const bool was_there = before != NULL && (before->bits & OF_PRESENT) != 0 &&
                           (before->bits & (uint32_t)IS_MADE) == 0;
    const uint32_t made = (uint32_t)IS_MADE | (is_directory ? (uint32_t)IS_MADE_HERE : 0U);
    (void)note(uses, path, was_there ? BIT(WRITE) | (uint32_t)IS_REPLACED : made);
    (void)note(uses, arcp__path_parent(path), 0);
}

static void note_rename(arcp__sandbox_uses *uses, const arcp__sandbox_seen *seen)
{
    (void)note(uses, seen->path, BIT(REMOVE) | (uint32_t)IS_REPLACED);
    if (seen->is_new) {
        note_creation(uses, seen->other, seen->is_directory);
    } else {
        (void)note(uses, seen->other, BIT(WRITE) | (uint32_t)IS_REPLACED);
    }
    if (seen->is_directory) {
        (void)note(uses, common_of(seen->path, seen->other), (uint32_t)NEEDS_TREE);
    }
}

static void note_making(arcp__sandbox_uses *uses, const arcp__sandbox_seen *seen)
{
    if (seen->is_directory) { /* a file without a name in it */
        (void)note(uses, seen->path, (uint32_t)NEEDS_TREE);
        return;
    }
    note_creation(uses, seen->path, false);
    (void)note(uses,
               seen->other.size == 0 ? arcp__path_parent(seen->path)
                                     : common_of(seen->path, seen->other),
               (uint32_t)NEEDS_TREE);
}

/* The name as it was given, or the real one. */
static void note_use(arcp__sandbox_uses *uses, const arcp__sandbox_seen *seen, arcp_span path)
{
    if (seen->use == ARCP__SANDBOX_USE_CREATE) {
        note_creation(uses, path, seen->is_directory);
    } else if (seen->use == ARCP__SANDBOX_USE_OWNER && seen->is_directory) {
        (void)note(uses, path, BIT(OWNER) | (uint32_t)NEEDS_TREE);
    } else if ((seen->use == ARCP__SANDBOX_USE_LOOK || seen->use == ARCP__SANDBOX_USE_CHECK) &&
               seen->is_directory) {
        (void)note(uses, path, BIT(LOOK) | (uint32_t)IS_DIRECTORY);
    } else if (seen->use == ARCP__SANDBOX_USE_REMOVE) {
        (void)note(uses, path, BIT(REMOVE) | (uint32_t)IS_REPLACED);
        (void)note(uses, arcp__path_parent(path), 0);
    } else {
        (void)note(uses, path, 1U << seen->use);
        (void)note(uses, arcp__path_parent(path), 0);
    }
}

static bool is_path(arcp_span text)
{
    return text.size > 0 && text.data[0] == '/';
}

void arcp__sandbox_uses_add(arcp__sandbox_uses *uses, const arcp__sandbox_seen *seen)
{
    if (seen->use == ARCP__SANDBOX_USE_UNKNOWN || seen->use == ARCP__SANDBOX_USE_PORT) {
        (void)note(uses, seen->path, 1U << seen->use);
        return;
    }
    if (!is_path(seen->path)) {
        return;
    }
    if (seen->use == ARCP__SANDBOX_USE_RENAME) {
        if (is_path(seen->other)) {
            note_rename(uses, seen);
        }
    } else if (seen->use == ARCP__SANDBOX_USE_MAKE) {
        note_making(uses, seen);
    } else {
        note_use(uses, seen, seen->path);
        if (is_path(seen->real)) {
            note_use(uses, seen, seen->real);
        }
    }
}

/* ---- what it needs ---- */

static void need(arcp__sandbox_uses *uses, arcp__capability capability, arcp_span path,
                 uint32_t needs)
{
    if (uses->status != ARCP_OK) {
        return;
    }
    const arcp_status status =
        arcp__sandbox_learn_add(uses->learn, capability, path, needs, uses->err);
    used_name *one = find(uses, path);
    if (status == ARCP_E_USAGE) {
        if (one != NULL) {
            one->outcome = ARCP__SANDBOX_OUTCOME_UNNAMED;
        }
        return;
    }
    uses->status = status;
    if (one != NULL && one->outcome != ARCP__SANDBOX_OUTCOME_UNNAMED) {
        const arcp__sandbox_outcome now = capability == ARCP__CAPABILITY_FS_READ
                                              ? ARCP__SANDBOX_OUTCOME_READ
                                              : ARCP__SANDBOX_OUTCOME_WRITE;
        const bool has_other =
            one->outcome != now && (one->outcome == ARCP__SANDBOX_OUTCOME_READ ||
                                    one->outcome == ARCP__SANDBOX_OUTCOME_WRITE ||
                                    one->outcome == ARCP__SANDBOX_OUTCOME_BOTH);
        one->outcome = has_other ? ARCP__SANDBOX_OUTCOME_BOTH : now;
    }
    uint32_t bits = (uint32_t)HOLDS_USED | (uint32_t)LEADS;
    for (arcp_span at = arcp__path_parent(path); at.size > 1; at = arcp__path_parent(at)) {
        used_name *above = find(uses, at);
        if (above != NULL) {
            above->bits |= bits;
        }
        bits = (uint32_t)LEADS;
    }
}

static void need_both(arcp__sandbox_uses *uses, arcp_span path, uint32_t needs)
{
    need(uses, ARCP__CAPABILITY_FS_WRITE, path, needs);
    need(uses, ARCP__CAPABILITY_FS_READ, path, needs);
}

/* Whether the /etc of sandboxes has the path: the prepared one, and that of the host, which a lease
 * brings that names a file there. */
static bool is_in_etc(arcp_span path)
{
    size_t count = 0;
    const arcp__sandbox_base_row *rows = arcp__sandbox_base_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const bool is_row =
            rows[i].kind == ARCP__SANDBOX_BASE_ETC || rows[i].kind == ARCP__SANDBOX_BASE_MADE;
        if (is_row && arcp__path_is_within(path, arcp_span_cstr(rows[i].path))) {
            return true;
        }
    }
    return arcp_span_equal_cstr(path, "/etc");
}

/* Whether every sandbox of the command can read it. */
static bool is_given(const arcp__sandbox_uses *uses, arcp_span path,
                     const arcp__sandbox_place *place)
{
    if (arcp__path_is_within(path, ARCP_SPAN_LITERAL("/etc"))) {
        return is_in_etc(path);
    }
    if (place->class == ARCP__SANDBOX_CLASS_PRIVATE) {
        /* The private directory itself is there, with nothing of the host's in it. */
        const arcp__sandbox_place above =
            arcp__sandbox_paths_find(uses->paths, arcp__path_parent(path));
        return above.class != ARCP__SANDBOX_CLASS_PRIVATE;
    }
    return place->class == ARCP__SANDBOX_CLASS_SYSTEM ||
           (place->class == ARCP__SANDBOX_CLASS_BASE && (place->rights & ARCP__SANDBOX_READ) != 0);
}

/* The highest directory that the command made, of the path and those that it is in; empty: none. */
static arcp_span made_above(const arcp__sandbox_uses *uses, arcp_span path)
{
    arcp_span top = {NULL, 0};
    for (arcp_span at = path; at.size > 1; at = arcp__path_parent(at)) {
        const used_name *one = find(uses, at);
        if (one != NULL && (one->bits & (uint32_t)IS_MADE_HERE) != 0) {
            top = at;
        }
    }
    return top;
}

static bool is_there(const arcp__sandbox_uses *uses, arcp_span path)
{
    const used_name *one = find(uses, path);
    return one != NULL && uses->is_there(one->text.data);
}

/* What a name needs that the command made, or that is in a directory that it made (`top`). */
static void need_made(arcp__sandbox_uses *uses, const used_name *one, arcp_span top, bool is_left)
{
    const arcp_span directory = arcp__path_parent(top.size != 0 ? top : one->text);
    const bool can_fold = arcp__sandbox_learn_can_fold(uses->learn, directory);
    const bool is_plain = (one->bits & (BIT(EXECUTE) | BIT(OWNER) | BIT(CONNECT))) == 0;
    const bool is_read = (one->bits & (BIT(READ) | BIT(EXECUTE) | BIT(LOOK) | BIT(CHECK))) != 0;
    if (can_fold && (top.size != 0 || !is_plain)) {
        need_both(uses, directory, ARCP__SANDBOX_LEARN_TREE);
    } else if (can_fold && !is_left) {
        need(uses, ARCP__CAPABILITY_FS_WRITE, directory, ARCP__SANDBOX_LEARN_NAMES);
        if (is_read) {
            need(uses, ARCP__CAPABILITY_FS_READ, directory, ARCP__SANDBOX_LEARN_NAMES);
        }
    }
    need(uses, ARCP__CAPABILITY_FS_WRITE, one->text, ARCP__SANDBOX_LEARN_LOOSE);
    if ((one->bits & (uint32_t)IS_MADE_HERE) != 0) {
        need_both(uses, one->text, ARCP__SANDBOX_LEARN_NAMES);
    } else if (is_read) {
        need(uses, ARCP__CAPABILITY_FS_READ, one->text, ARCP__SANDBOX_LEARN_LOOSE);
    }
}

/* A name that the command made, or that is in a directory that it made (`top`). In a private
 * directory it can do so without a lease; what is left there is lost, and is granted unless that
 * would take a directory that all programs share. */
static void judge_made(arcp__sandbox_uses *uses, used_name *one, arcp_span top, bool is_private)
{
    const arcp_span made = top.size != 0 ? top : one->text;
    const bool is_left = is_there(uses, made);
    if (is_private && !is_left) {
        one->bits |= (uint32_t)IS_TEMPORARY;
    } else if (is_private && !arcp__sandbox_learn_can_fold(uses->learn, arcp__path_parent(made))) {
        one->outcome = ARCP__SANDBOX_OUTCOME_PRIVATE;
    } else {
        need_made(uses, one, top, is_left);
    }
}

/* A temporary name in a private directory: only where the lease has names of that directory, which
 * is then the host's. */
static void judge_temporary(arcp__sandbox_uses *uses, const used_name *one)
{
    const arcp_span top = made_above(uses, one->text);
    const used_name *directory = find(uses, arcp__path_parent(top.size != 0 ? top : one->text));
    if (directory != NULL && (directory->bits & (uint32_t)LEADS) != 0 &&
        arcp__sandbox_learn_can_fold(uses->learn, directory->text)) {
        need_made(uses, one, top, false);
    }
}

/* Directories for temporary files: what else is in them is no concern of a command that lists them.
 */
static bool is_for_temporary(const arcp__sandbox_uses *uses, arcp_span path)
{
    static const char *const places[] = {"/tmp", "/var/tmp", "/run", "/var/run"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (arcp__path_is_within(path, arcp_span_cstr(places[i]))) {
            return !arcp__path_is_within(path, uses->cwd);
        }
    }
    return false;
}

static void judge_present(arcp__sandbox_uses *uses, const used_name *one,
                          const arcp__sandbox_place *place)
{
    const arcp_span path = one->text;
    const uint32_t bits = one->bits;
    const uint32_t by_name =
        (bits & (uint32_t)IS_REPLACED) != 0 ? ARCP__SANDBOX_LEARN_LOOSE : ARCP__SANDBOX_LEARN_ONE;
    if (!is_given(uses, path, place)) {
        if ((bits & BIT(EXECUTE)) != 0) {
            need(uses, ARCP__CAPABILITY_FS_READ, path, ARCP__SANDBOX_LEARN_KEEP);
        }
        if ((bits & BIT(READ)) != 0) {
            need(uses, ARCP__CAPABILITY_FS_READ, path, by_name);
        }
        if ((bits & BIT(LIST)) != 0 && !is_for_temporary(uses, path)) {
            need(uses, ARCP__CAPABILITY_FS_READ, path, ARCP__SANDBOX_LEARN_NAMES);
        }
    }
    if ((bits & (uint32_t)NEEDS_TREE) != 0) {
        need_both(uses, path, ARCP__SANDBOX_LEARN_TREE);
    }
    if ((bits & (BIT(WRITE) | BIT(REMOVE))) != 0) {
        need(uses, ARCP__CAPABILITY_FS_WRITE, path, by_name);
    }
    if ((bits & BIT(CONNECT)) != 0 ||
        ((bits & BIT(OWNER)) != 0 && (bits & (uint32_t)NEEDS_TREE) == 0)) {
        need(uses, ARCP__CAPABILITY_FS_WRITE, path, ARCP__SANDBOX_LEARN_KEEP);
    }
}

static void judge(arcp__sandbox_uses *uses, used_name *one)
{
    if ((one->bits & BIT(UNKNOWN)) != 0 || (one->bits & BIT(PORT)) != 0) {
        one->outcome = (one->bits & BIT(PORT)) != 0 ? ARCP__SANDBOX_OUTCOME_PORT
                                                    : ARCP__SANDBOX_OUTCOME_UNNAMED;
        return;
    }
    const arcp__sandbox_place place = arcp__sandbox_paths_find(uses->paths, one->text);
    if (place.class == ARCP__SANDBOX_CLASS_OWN) {
        one->outcome = ARCP__SANDBOX_OUTCOME_OWN;
        return;
    }
    const arcp_span top = made_above(uses, one->text);
    if (arcp__sandbox_is_system(one->text)) {
        return;
    }
    if (top.size != 0 || (one->bits & (uint32_t)IS_MADE) != 0) {
        judge_made(uses, one, top, place.class == ARCP__SANDBOX_CLASS_PRIVATE);
    } else {
        judge_present(uses, one, &place);
    }
}

/* A name that was asked for, or a directory that was only opened or changed to. A question is no
 * need but where the command works: in the directory that it was started in, and for files beside
 * those that it uses. A directory is there inside when something below it is needed. */
static void judge_question(arcp__sandbox_uses *uses, used_name *one)
{
    const uint32_t asks = BIT(LOOK) | BIT(CHECK) | BIT(ENTER);
    const bool is_directory = (one->bits & (BIT(ENTER) | (uint32_t)IS_DIRECTORY)) != 0;
    const arcp__sandbox_place place = arcp__sandbox_paths_find(uses->paths, one->text);
    if (one->outcome != ARCP__SANDBOX_OUTCOME_NONE || (one->bits & asks) == 0 ||
        (one->bits & (uint32_t)IS_MADE) != 0 || made_above(uses, one->text).size != 0 ||
        is_given(uses, one->text, &place) || (is_directory && (one->bits & (uint32_t)LEADS) != 0)) {
        return;
    }
    const used_name *parent = find(uses, arcp__path_parent(one->text));
    const bool is_here = !uses->cwd_is_shared && arcp__path_is_within(one->text, uses->cwd);
    const bool is_entered =
        (one->bits & BIT(ENTER)) != 0 && arcp__sandbox_learn_can_fold(uses->learn, one->text);
    const bool is_beside = !is_directory && parent != NULL &&
                           (parent->bits & ((uint32_t)HOLDS_USED | BIT(LIST))) != 0 &&
                           arcp__sandbox_learn_can_fold(uses->learn, parent->text);
    if (!is_here && (is_for_temporary(uses, one->text) || (!is_entered && !is_beside))) {
        one->outcome = ARCP__SANDBOX_OUTCOME_LOOKED_AT;
        return;
    }
    need(uses, ARCP__CAPABILITY_FS_READ, one->text,
         is_directory                    ? ARCP__SANDBOX_LEARN_NAMES
         : (one->bits & BIT(CHECK)) != 0 ? ARCP__SANDBOX_LEARN_KEEP
                                         : ARCP__SANDBOX_LEARN_ONE);
}

static int compare_names(const void *a, const void *b)
{
    const used_name *const *left = a;
    const used_name *const *right = b;
    return arcp__sandbox_compare_paths((*left)->text, (*right)->text);
}

arcp_status arcp__sandbox_uses_finish(arcp__sandbox_uses *uses, bool (*there)(const char *path),
                                      arcp__sandbox_learn *learn, arcp_error *err)
{
    uses->names = arcp__alloc_array(HASH_COUNT(uses->table) + 1, sizeof *uses->names);
    if (uses->names == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (used_name *one = uses->table; one != NULL; one = one->hh.next) {
        uses->names[uses->count++] = one;
    }
    qsort(uses->names, uses->count, sizeof *uses->names, compare_names);
    uses->is_there = there;
    uses->learn = learn;
    uses->err = err;
    for (size_t i = 0; i < uses->count; i++) {
        judge(uses, uses->names[i]);
    }
    /* Deepest first: a directory in which a name is needed needs nothing itself. */
    for (size_t i = uses->count; i > 0; i--) {
        if ((uses->names[i - 1]->bits & (uint32_t)IS_TEMPORARY) != 0) {
            judge_temporary(uses, uses->names[i - 1]);
        } else {
            judge_question(uses, uses->names[i - 1]);
        }
    }
    return uses->status;
}

void arcp__sandbox_uses_each(const arcp__sandbox_uses *uses,
                             void (*each)(void *user, arcp_span name,
                                          arcp__sandbox_outcome outcome),
                             void *user)
{
    for (size_t i = 0; i < uses->count; i++) {
        each(user, uses->names[i]->text, uses->names[i]->outcome);
    }
}
