#include "sandbox/sandbox_learn.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "core/glob_set.h"
#include "sandbox/sandbox_parts.h"

/* More than so many are folded. */
enum { FOLDED_NAMES = 4, FOLDED_DIRECTORIES = 2, USED_DIRECTORIES = 4 };
enum { PATTERN_BYTES_MAX = 4096 - 3 }; /* of a lease, with a wildcard at its end */

typedef struct seen_target {
    arcp_span text;
    uint32_t needs;
    UT_hash_handle hh;
} seen_target;

typedef struct target_list {
    arcp__capability capability;
    seen_target *table;    /* the elements are in the arena */
    seen_target **targets; /* the same, sorted by text */
    size_t count;
} target_list;

/* What is needed of a target itself. */
enum {
    OWN_NAME = ARCP__SANDBOX_LEARN_ONE | ARCP__SANDBOX_LEARN_KEEP | ARCP__SANDBOX_LEARN_LOOSE,
    NAMED = OWN_NAME | ARCP__SANDBOX_LEARN_HOST
};

enum { LIST_READ, LIST_WRITE, LIST_FETCH, LISTS };

struct arcp__sandbox_learn {
    arcp__arena arena; /* of texts */
    arcp_span home, cwd;
    bool is_exact;
    bool has_failed; /* out of memory, or a pattern was longer than one may be */
    target_list lists[LISTS];
    arcp_span *patterns; /* of the capability that is being folded */
    size_t pattern_count, pattern_capacity;
};

arcp_status arcp__sandbox_learn_new(const arcp__sandbox_learn_options *options,
                                    arcp__sandbox_learn **out, arcp_error *err)
{
    arcp__sandbox_learn *learn = arcp__alloc(sizeof *learn);
    if (learn != NULL) {
        learn->is_exact = options->is_exact;
        learn->home = arcp__arena_copy(&learn->arena, options->home);
        learn->cwd = arcp__arena_copy(&learn->arena, options->cwd);
        learn->lists[LIST_READ].capability = ARCP__CAPABILITY_FS_READ;
        learn->lists[LIST_WRITE].capability = ARCP__CAPABILITY_FS_WRITE;
        learn->lists[LIST_FETCH].capability = ARCP__CAPABILITY_NET_FETCH;
    }
    if (learn == NULL || learn->home.data == NULL || learn->cwd.data == NULL) {
        arcp__sandbox_learn_free(learn);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = learn;
    return ARCP_OK;
}

void arcp__sandbox_learn_free(arcp__sandbox_learn *learn)
{
    if (learn == NULL) {
        return;
    }
    for (size_t i = 0; i < LISTS; i++) {
        HASH_CLEAR(hh, learn->lists[i].table);
        arcp__free(learn->lists[i].targets);
    }
    arcp__free(learn->patterns);
    arcp__arena_fini(&learn->arena);
    arcp__free(learn);
}

/* ---- what was seen ---- */

static target_list *list_of(arcp__sandbox_learn *learn, arcp__capability capability)
{
    size_t i = 0;
    while (i + 1 < LISTS && learn->lists[i].capability != capability) {
        i++;
    }
    assert(learn->lists[i].capability == capability);
    return &learn->lists[i];
}

arcp_status arcp__sandbox_learn_add(arcp__sandbox_learn *learn, arcp__capability capability,
                                    arcp_span target, uint32_t needs, arcp_error *err)
{
    target_list *list = list_of(learn, capability);
    seen_target *one = NULL;
    if (target.size > PATTERN_BYTES_MAX || memchr(target.data, '*', target.size) != NULL ||
        !arcp__utf8_is_valid(target)) {
        return arcp_error_set(err, ARCP_E_USAGE, "no pattern names this target alone");
    }
    HASH_FIND(hh, list->table, target.data, target.size, one);
    if (one != NULL) {
        one->needs |= needs;
        return ARCP_OK;
    }
    if (HASH_COUNT(list->table) >= ARCP__SANDBOX_LEARN_MAX ||
        learn->arena.used + target.size >= ARCP__SANDBOX_LEARN_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_LIMIT, "too many different targets of %s",
                              arcp__capability_name(capability));
    }
    one = arcp__arena_take(&learn->arena, sizeof *one);
    const arcp_span text = arcp__arena_copy(&learn->arena, target);
    if (one != NULL && text.data != NULL) {
        *one = (seen_target){.text = text, .needs = needs};
        HASH_ADD_KEYPTR(hh, list->table, one->text.data, one->text.size, one);
    }
    return one != NULL && text.data != NULL && ARCP__HASH_ADDED(one)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

static int compare_targets(const void *a, const void *b)
{
    const seen_target *const *left = a;
    const seen_target *const *right = b;
    return arcp__sandbox_compare_paths((*left)->text, (*right)->text);
}

static bool sort(target_list *list)
{
    arcp__free(list->targets);
    list->count = 0;
    list->targets = arcp__alloc_array(HASH_COUNT(list->table) + 1, sizeof *list->targets);
    if (list->targets == NULL) {
        return false;
    }
    for (seen_target *one = list->table; one != NULL; one = one->hh.next) {
        list->targets[list->count++] = one;
    }
    qsort(list->targets, list->count, sizeof *list->targets, compare_targets);
    return true;
}

/* ---- patterns ---- */

/* Adds a pattern: `text` and a wildcard, such as "/" and two stars. */
static void emit(arcp__sandbox_learn *learn, arcp_span text, const char *wildcard, arcp_span suffix)
{
    arcp_buf pattern = arcp_buf_init();
    arcp_span *grown = arcp__make_room(learn->patterns, learn->pattern_count,
                                       &learn->pattern_capacity, sizeof *grown);
    learn->patterns = grown == NULL ? learn->patterns : grown;
    arcp_buf_append(&pattern, text);
    arcp_buf_append_cstr(&pattern, wildcard);
    arcp_buf_append(&pattern, suffix);
    const arcp_span copy = pattern.failed
                               ? (arcp_span){NULL, 0}
                               : arcp__arena_copy(&learn->arena, arcp_buf_span(&pattern));
    arcp_buf_fini(&pattern);
    if (grown == NULL || copy.data == NULL) {
        learn->has_failed = true;
        return;
    }
    learn->patterns[learn->pattern_count++] = copy;
}

/* In a directory whose names may not be folded a wildcard behind a name would grant other files,
 * too: `id*` in ~/.ssh is every key that begins with `id`. */
static void emit_whole(arcp__sandbox_learn *learn, const seen_target *target)
{
    const bool is_loose = (target->needs & ARCP__SANDBOX_LEARN_LOOSE) != 0 &&
                          (target->needs & ARCP__SANDBOX_LEARN_KEEP) == 0 &&
                          arcp__sandbox_learn_can_fold(learn, arcp__path_parent(target->text));
    emit(learn, target->text, is_loose ? "*" : "", (arcp_span){"", 0});
}

/* Whether the path is NAME below HOME or lies below that, or holds it. */
static bool meets(arcp_span home, arcp_span path, const char *name)
{
    char text[ARCP_TARGET_BYTES_MAX + 1];
    const int size = snprintf(text, sizeof text, "%.*s/%s", (int)home.size, home.data, name);
    if (size < 0 || size >= (int)sizeof text) {
        return false;
    }
    const arcp_span place = arcp_span_make(text, (size_t)size);
    return arcp__path_is_within(path, place) || arcp__path_is_within(place, path);
}

static bool is_name_in(arcp_span path, arcp_span home, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (path.size == home.size + 1 + strlen(names[i]) && arcp_span_starts_with(path, home) &&
            path.data[home.size] == '/' &&
            arcp_span_equal_cstr(arcp_span_from(path, home.size + 1), names[i])) {
            return true;
        }
    }
    return false;
}

/* Directories that programs of all kinds keep their files in. */
static bool is_shared(arcp_span home, arcp_span path)
{
    static const char *const shared[] = {".cache",     ".config",      ".local",       ".local/bin",
                                         ".local/lib", ".local/share", ".local/state", "Desktop",
                                         "Documents",  "Downloads"};
    static const char *const secrets[] = {
#define ARCP_SANDBOX_SECRET(name) name,
#include "sandbox/sandbox_secret.def"
#undef ARCP_SANDBOX_SECRET
    };
    static const char *const temporary[] = {"tmp", "lib", "log", "cache", "run"};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        if (meets(home, path, secrets[i])) {
            return true;
        }
    }
    return is_name_in(path, home, shared, sizeof shared / sizeof *shared) ||
           is_name_in(path, ARCP_SPAN_LITERAL("/var"), temporary,
                      sizeof temporary / sizeof *temporary);
}

static bool is_of_system(arcp_span path)
{
    static const char *const names[] = {
        "bin", "boot", "dev",  "etc",  "home", "lib",  "lib32", "lib64", "libx32", "media", "mnt",
        "nix", "opt",  "proc", "root", "run",  "sbin", "srv",   "sys",   "tmp",    "usr",   "var"};
    return is_name_in(path, ARCP_SPAN_LITERAL(""), names, sizeof names / sizeof *names);
}

bool arcp__sandbox_learn_can_fold(const arcp__sandbox_learn *learn, arcp_span directory)
{
    const bool is_path = directory.size == 0 || directory.data[0] == '/';
    if (learn->is_exact || !is_path) {
        return !learn->is_exact;
    }
    if (directory.size <= 1 || arcp__path_is_within(learn->home, directory) ||
        is_shared(learn->home, directory)) {
        return false;
    }
    return memchr(directory.data + 1, '/', directory.size - 1) != NULL ||
           (arcp_span_equal(directory, learn->cwd) && !is_of_system(directory));
}

/* ".txt" of a name; empty: it has none. */
static arcp_span suffix_of(arcp_span path)
{
    for (size_t i = path.size; i > 1 && path.data[i - 1] != '/'; i--) {
        if (path.data[i - 1] == '.' && path.data[i - 2] != '/') {
            return arcp_span_from(path, i - 1);
        }
    }
    return (arcp_span){"", 0};
}

static int compare_suffixes(const void *a, const void *b)
{
    const seen_target *const *left = a;
    const seen_target *const *right = b;
    const arcp_span of_left = suffix_of((*left)->text);
    const arcp_span of_right = suffix_of((*right)->text);
    const size_t shared = of_left.size < of_right.size ? of_left.size : of_right.size;
    const int order = memcmp(of_left.data, of_right.data, shared);
    return order != 0                      ? order
           : of_left.size != of_right.size ? (of_left.size < of_right.size ? -1 : 1)
                                           : compare_targets(a, b);
}

/* Adds the names of programs among names that were folded. */
static void emit_kept(arcp__sandbox_learn *learn, seen_target *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((names[i]->needs & ARCP__SANDBOX_LEARN_KEEP) != 0) {
            emit_whole(learn, names[i]);
        }
    }
}

/* Adds the patterns for names of one directory; returns whether they were folded. `is_whole`: all
 * names of the directory are granted. */
static bool fold_names(arcp__sandbox_learn *learn, arcp_span directory, seen_target **names,
                       size_t count, bool is_whole)
{
    const size_t mark = learn->pattern_count;
    const bool can_fold = arcp__sandbox_learn_can_fold(learn, directory);
    size_t rest = 0; /* names that are granted one by one: moved to the beginning */
    bool is_folded = false;
    if (is_whole && can_fold) {
        emit(learn, directory, "/*", (arcp_span){"", 0});
        emit_kept(learn, names, count);
        return true;
    }
    qsort(names, count, sizeof *names, compare_suffixes);
    for (size_t i = 0; i < count;) {
        const arcp_span suffix = suffix_of(names[i]->text);
        size_t end = i + 1;
        while (end < count && arcp_span_equal(suffix_of(names[end]->text), suffix)) {
            end++;
        }
        if (suffix.size != 0 && end - i > FOLDED_NAMES && can_fold) {
            emit(learn, directory, "/*", suffix);
            emit_kept(learn, &names[i], end - i);
            is_folded = true;
            i = end;
        }
        for (; i < end; i++) {
            seen_target *const one = names[i]; /* all names stay in the array */
            names[i] = names[rest];
            names[rest++] = one;
        }
    }
    if (rest > FOLDED_NAMES && can_fold) {
        learn->pattern_count = mark;
        return fold_names(learn, directory, names, count, true);
    }
    for (size_t i = 0; i < rest; i++) {
        emit_whole(learn, names[i]);
    }
    return is_folded;
}

/* The size of the path of targets[0] up to the end of its segment after `directory` bytes. */
static size_t child_size(const seen_target *target, size_t directory)
{
    size_t size = directory + 1;
    while (size < target->text.size && target->text.data[size] != '/') {
        size++;
    }
    return size;
}

/* How many targets, from the first one, have its first `size` bytes followed by nothing or a slash.
 */
static size_t child_count(seen_target *const *targets, size_t count, size_t size)
{
    const arcp_span child = arcp_span_first(targets[0]->text, size);
    size_t end = 1;
    while (end < count && arcp__path_is_within(targets[end]->text, child)) {
        end++;
    }
    return end;
}

/* Whether the first of `held` targets is a name in the directory, and not a directory itself. */
static bool is_name(const seen_target *target, size_t held, size_t child)
{
    const uint32_t of_directory = ARCP__SANDBOX_LEARN_NAMES | ARCP__SANDBOX_LEARN_TREE;
    return held == 1 && target->text.size == child && (target->needs & of_directory) == 0;
}

/* The names among the targets of a directory. */
static bool fold_names_of(arcp__sandbox_learn *learn, seen_target *const *targets, size_t count,
                          arcp_span directory, bool is_whole)
{
    seen_target **names = arcp__alloc_array(count + 1, sizeof *names);
    size_t found = 0;
    if (names == NULL) {
        learn->has_failed = true;
        return false;
    }
    for (size_t i = 0; i < count;) {
        const size_t child = child_size(targets[i], directory.size);
        const size_t held = child_count(&targets[i], count - i, child);
        if (is_name(targets[i], held, child)) {
            names[found++] = targets[i];
        }
        i += held;
    }
    const bool is_folded =
        (found != 0 || is_whole) && fold_names(learn, directory, names, found, is_whole);
    arcp__free(names);
    return is_folded;
}

/* Adds the patterns for targets that begin with the same `size` bytes, of a directory; returns
 * whether names or directories in it were folded. */
static bool fold(arcp__sandbox_learn *learn, seen_target *const *targets, size_t count, size_t size)
{
    const size_t mark = learn->pattern_count;
    const arcp_span directory = arcp_span_first(targets[0]->text, size);
    const size_t first = targets[0]->text.size == size ? 1 : 0; /* the directory itself */
    const uint32_t needs = first == 1 ? targets[0]->needs : 0;
    const bool can_fold = arcp__sandbox_learn_can_fold(learn, directory);
    size_t folded = 0;
    size_t used = 0;
    if ((needs & ARCP__SANDBOX_LEARN_TREE) != 0 && can_fold) {
        emit(learn, directory, "/**", (arcp_span){"", 0});
        return true;
    }
    if ((needs & OWN_NAME) != 0) {
        emit_whole(learn, targets[0]);
    }
    for (size_t i = first; i < count;) {
        const size_t child = child_size(targets[i], size);
        const size_t held = child_count(&targets[i], count - i, child);
        if (!is_name(targets[i], held, child)) {
            folded += fold(learn, &targets[i], held, child);
            used++;
        }
        i += held;
    }
    const bool is_folded = fold_names_of(learn, targets + first, count - first, directory,
                                         (needs & ARCP__SANDBOX_LEARN_NAMES) != 0);
    if ((folded > FOLDED_DIRECTORIES || used > USED_DIRECTORIES) && can_fold) {
        learn->pattern_count = mark;
        emit(learn, directory, "/**", (arcp_span){"", 0});
        return true;
    }
    return is_folded;
}

/* The bytes of "scheme://host:port". */
static size_t authority_size(arcp_span url)
{
    size_t slashes = 0;
    size_t size = 0;
    for (; size < url.size; size++) {
        slashes += url.data[size] == '/';
        if (slashes == 3) {
            break;
        }
    }
    return size;
}

static void fold_list(arcp__sandbox_learn *learn, const target_list *list)
{
    for (size_t i = 0; i < list->count;) {
        const bool is_url = list->capability == ARCP__CAPABILITY_NET_FETCH;
        const size_t size = is_url ? authority_size(list->targets[i]->text) : 0;
        const size_t held =
            is_url ? child_count(&list->targets[i], list->count - i, size) : list->count;
        size_t whole = i;
        while (whole < i + held && (list->targets[whole]->needs & ARCP__SANDBOX_LEARN_HOST) == 0) {
            whole++;
        }
        if (whole < i + held) {
            emit(learn, arcp_span_first(list->targets[i]->text, size), "/**", (arcp_span){"", 0});
        } else {
            (void)fold(learn, &list->targets[i], held, size);
        }
        i += held;
    }
}

/* ---- the lease ---- */

/* Adds the targets that no pattern grants. */
static arcp_status complete(arcp__sandbox_learn *learn, const target_list *list, arcp_error *err)
{
    arcp__glob_set *set = NULL;
    const arcp_status status =
        arcp__glob_set_compile(list->capability, learn->patterns, learn->pattern_count, &set, err);
    for (size_t i = 0; status == ARCP_OK && i < list->count; i++) {
        const seen_target *target = list->targets[i];
        if ((target->needs & NAMED) != 0 && !arcp__glob_set_match(set, target->text, NULL)) {
            emit_whole(learn, target);
        }
    }
    arcp__glob_set_free(set);
    return status;
}

static int compare_patterns(const void *a, const void *b)
{
    const arcp_span *left = a;
    const arcp_span *right = b;
    return arcp__sandbox_compare_paths(*left, *right);
}

/* Asks the gate for every target. */
static arcp_status prove(const arcp__sandbox_learn *learn, const arcp_lease *lease, arcp_error *err)
{
    const arcp_authority_options options = arcp_authority_options_init();
    arcp_authority *authority = NULL;
    arcp_target_scratch *scratch = arcp__alloc(sizeof *scratch);
    arcp_status status = scratch == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                         : arcp_authority_new(lease, &options, &authority, err);
    for (size_t i = 0; status == ARCP_OK && i < LISTS; i++) {
        const target_list *list = &learn->lists[i];
        const arcp_span name = arcp_span_cstr(arcp__capability_name(list->capability));
        for (size_t j = 0; status == ARCP_OK && j < list->count; j++) {
            const seen_target *target = list->targets[j];
            arcp_decision decision;
            if ((target->needs & NAMED) != 0 && !arcp_authorize(authority, (arcp_time){0}, name,
                                                                target->text, scratch, &decision)) {
                status = arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                                        "the lease that was learnt does not grant %.*s %.200s",
                                        (int)name.size, name.data, target->text.data);
            }
        }
    }
    arcp_authority_unref(authority);
    arcp__free(scratch);
    return status;
}

/* Adds the patterns of a list to the lease, each once. */
static void allow(arcp__sandbox_learn *learn, const target_list *list, arcp_lease_builder *builder)
{
    if (learn->pattern_count != 0) {
        qsort(learn->patterns, learn->pattern_count, sizeof *learn->patterns, compare_patterns);
    }
    for (size_t i = 0; i < learn->pattern_count; i++) {
        if (i == 0 || !arcp_span_equal(learn->patterns[i], learn->patterns[i - 1])) {
            arcp_lease_allow(builder, arcp__capability_name(list->capability),
                             learn->patterns[i].data);
        }
    }
}

arcp_status arcp__sandbox_learn_lease(arcp__sandbox_learn *learn, arcp_lease **out, arcp_error *err)
{
    arcp_lease_builder *builder = arcp_lease_builder_new();
    arcp_lease *lease = NULL;
    arcp_status status = builder == NULL ? ARCP_E_NO_MEMORY : ARCP_OK;
    for (size_t i = 0; status == ARCP_OK && i < LISTS; i++) {
        target_list *list = &learn->lists[i];
        learn->pattern_count = 0;
        status = sort(list) ? ARCP_OK : ARCP_E_NO_MEMORY;
        if (status == ARCP_OK) {
            fold_list(learn, list);
            status = learn->has_failed ? ARCP_E_NO_MEMORY : complete(learn, list, err);
        }
        if (status == ARCP_OK) {
            allow(learn, list, builder);
        }
    }
    if (status != ARCP_OK || learn->has_failed) {
        arcp_lease_builder_free(builder);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    status = arcp_lease_build(builder, &lease, err);
    if (status == ARCP_OK) {
        status = prove(learn, lease, err);
    }
    if (status != ARCP_OK) {
        arcp_lease_unref(lease);
        return status;
    }
    *out = lease;
    return ARCP_OK;
}
