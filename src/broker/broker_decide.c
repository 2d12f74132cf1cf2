/* The decision about one call on a name.
 *
 * Three parties can carry out a call: the kernel (CONTINUE), which decides by the mounts and rules
 * of the plan whatever the program does to its memory meanwhile; the broker (SERVE), on real names
 * that it holds descriptors of; or none. What the kernel refuses is decided here too, only to
 * report it and to answer alike at both levels: an error of this file can hide a denial, never
 * allow one. */
#include <errno.h>

#include "base/path.h"
#include "broker/broker_parts.h"

typedef struct question {
    const arcp__broker_classes *classes;
    const arcp__broker_call *call;
    const arcp__broker_facts *facts;
    arcp__broker_class class; /* of call->path */
    uint32_t need;            /* ARCP__SANDBOX_READ and WRITE */
    bool is_full, hides;
} question;

static arcp__broker_answer go_on(void)
{
    return (arcp__broker_answer){.kind = ARCP__BROKER_CONTINUE};
}

static arcp__broker_answer fail(int error)
{
    return (arcp__broker_answer){.kind = ARCP__BROKER_FAIL, .error = error};
}

static arcp__broker_answer deny(int error, bool is_write, arcp_span target)
{
    return (arcp__broker_answer){.kind = ARCP__BROKER_FAIL,
                                 .error = error,
                                 .is_denial = true,
                                 .is_write = is_write,
                                 .target = target};
}

static arcp__broker_answer look_at(arcp__broker_look look)
{
    return (arcp__broker_answer){.kind = ARCP__BROKER_LOOK, .look = look};
}

static arcp__broker_answer serve(void)
{
    return (arcp__broker_answer){.kind = ARCP__BROKER_SERVE};
}

static const arcp__broker_fact *fact_of(const question *q, arcp__broker_look look)
{
    return &q->facts->looks[look];
}

static bool has_flag(const question *q, uint32_t flag)
{
    return (q->call->flags & flag) != 0;
}

/* An error of a look, as the program would get it; what says more than that is EACCES. */
static arcp__broker_answer fail_as_looked(const arcp__broker_fact *fact)
{
    const int error = fact->error;
    const bool is_plain =
        error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
    return fail(is_plain ? error : EACCES);
}

/* What is there on the host and not granted. Optional configuration below HOME and in /etc is
 * simply absent: programs take another answer for a fault. */
static int hidden_error(const question *q)
{
    const bool is_absent = q->class.place == ARCP__BROKER_PLACE_PRIVATE ||
                           arcp__path_is_within(q->call->path, ARCP_SPAN_LITERAL("/etc"));
    return is_absent && (q->hides || !q->class.is_secret) ? ENOENT : EACCES;
}

/* ---- open, truncate: what the broker opens ---- */

/* A directory is never given to the program: only a listing of what the lease has in it. */
static arcp__broker_answer decide_directory(const question *q, const arcp__broker_fact *found)
{
    if ((q->need & ARCP__SANDBOX_WRITE) != 0 || has_flag(q, ARCP__BROKER_CREATE)) {
        return fail(EISDIR);
    }
    if (arcp__broker_leads_to_reading(q->classes, q->call->path) &&
        arcp__broker_leads_to_reading(q->classes, found->real)) {
        return (arcp__broker_answer){.kind = ARCP__BROKER_LIST};
    }
    return deny(EACCES, false, found->real);
}

static arcp__broker_answer decide_creation(const question *q)
{
    if ((q->class.lease & ARCP__SANDBOX_WRITE) == 0) {
        return deny(EACCES, true, q->call->path);
    }
    if (has_flag(q, ARCP__BROKER_DIRECTORY)) {
        return fail(EISDIR);
    }
    const arcp__broker_fact *parent = fact_of(q, ARCP__BROKER_LOOK_PARENT);
    if (!parent->is_known) {
        return look_at(ARCP__BROKER_LOOK_PARENT);
    }
    if (parent->error != 0) {
        return fail_as_looked(parent);
    }
    const uint32_t need = q->need | ARCP__SANDBOX_WRITE;
    const arcp__broker_class real = arcp__broker_classify(q->classes, parent->real);
    return (real.lease & need) == need ? serve() : deny(EACCES, true, parent->real);
}

/* The lease admits the name as given. */
static arcp__broker_answer decide_served_open(const question *q)
{
    const arcp__broker_fact *found = fact_of(q, ARCP__BROKER_LOOK_HOST);
    if (!found->is_known) {
        return look_at(ARCP__BROKER_LOOK_HOST);
    }
    if (found->error == ENOENT && has_flag(q, ARCP__BROKER_CREATE)) {
        return decide_creation(q);
    }
    if (found->error != 0) {
        return fail_as_looked(found);
    }
    if (has_flag(q, ARCP__BROKER_TEMPORARY)) {
        return deny(EACCES, true, q->call->path);
    }
    if (has_flag(q, ARCP__BROKER_CREATE) && has_flag(q, ARCP__BROKER_EXCLUSIVE)) {
        return fail(EEXIST);
    }
    if (found->type == ARCP__BROKER_A_LINK) {
        return fail(ELOOP);
    }
    if (found->type == ARCP__BROKER_A_DIRECTORY) {
        return decide_directory(q, found);
    }
    const arcp__broker_class real = arcp__broker_classify(q->classes, found->real);
    const uint32_t missing = q->need & ~real.lease;
    if (missing != 0 || found->type == ARCP__BROKER_SPECIAL) {
        return deny(EACCES, ((missing == 0 ? q->need : missing) & ARCP__SANDBOX_WRITE) != 0,
                    found->real);
    }
    return has_flag(q, ARCP__BROKER_DIRECTORY) ? fail(ENOTDIR) : serve();
}

/* ---- open, truncate: what the kernel opens or refuses ---- */

static bool is_lease_enough(const question *q, arcp_span real)
{
    const arcp__broker_class class = arcp__broker_classify(q->classes, real);
    return q->need != 0 && (q->class.lease & class.lease & q->need) == q->need;
}

/* What the user could not write anyway is no denial of the sandbox's. */
static bool is_system(arcp__broker_place place)
{
    return place == ARCP__BROKER_PLACE_BASE || place == ARCP__BROKER_PLACE_ETC;
}

/* The name is there inside: does a link of it lead to what is not granted? */
static arcp__broker_answer decide_present(const question *q, const arcp__broker_fact *inside)
{
    const bool is_same = arcp_span_equal(inside->real, q->call->path);
    const arcp__broker_class real =
        is_same ? q->class : arcp__broker_classify(q->classes, inside->real);
    const uint32_t missing = q->need & ~real.kernel;
    const bool is_write = (missing & ARCP__SANDBOX_WRITE) != 0;
    if (missing == 0 || inside->type == ARCP__BROKER_A_LINK ||
        (has_flag(q, ARCP__BROKER_CREATE) && has_flag(q, ARCP__BROKER_EXCLUSIVE)) ||
        (is_write && inside->type == ARCP__BROKER_A_DIRECTORY)) {
        return go_on();
    }
    if (is_lease_enough(q, inside->real)) {
        return decide_served_open(q);
    }
    if (is_write && is_system(real.place) && !inside->is_writable) {
        return go_on();
    }
    return deny(EACCES, is_write, inside->real);
}

static arcp__broker_answer decide_absent(const question *q, const arcp__broker_fact *inside)
{
    if (has_flag(q, ARCP__BROKER_CREATE)) {
        if ((q->class.kernel & ARCP__SANDBOX_WRITE) != 0 ||
            (is_system(q->class.place) && !inside->is_writable)) {
            return go_on();
        }
        if ((q->class.lease & ARCP__SANDBOX_WRITE) != 0) {
            return decide_served_open(q);
        }
        return deny(EACCES, true, q->call->path);
    }
    if (!q->is_full) {
        return go_on(); /* inside is the host */
    }
    const arcp__broker_fact *host = fact_of(q, ARCP__BROKER_LOOK_HOST);
    if (!host->is_known) {
        return look_at(ARCP__BROKER_LOOK_HOST);
    }
    if (host->error != 0) {
        return go_on();
    }
    if (is_lease_enough(q, host->real)) {
        return decide_served_open(q);
    }
    const bool is_tree = q->class.place == ARCP__BROKER_PLACE_TREE;
    return deny(hidden_error(q), q->need == ARCP__SANDBOX_WRITE,
                is_tree ? host->real : q->call->path);
}

static arcp__broker_answer decide_kernel_open(const question *q)
{
    const bool may_write = (q->need & ARCP__SANDBOX_WRITE) != 0 || has_flag(q, ARCP__BROKER_CREATE);
    if (q->class.place == ARCP__BROKER_PLACE_BASE && !may_write) {
        return go_on();
    }
    const arcp__broker_fact *inside = fact_of(q, ARCP__BROKER_LOOK_INSIDE);
    if (!inside->is_known) {
        return look_at(ARCP__BROKER_LOOK_INSIDE);
    }
    if (inside->error == 0) {
        return decide_present(q, inside);
    }
    return inside->error == ENOENT ? decide_absent(q, inside) : go_on();
}

/* ---- open, truncate: outside all that is granted ---- */

static arcp__broker_answer decide_outside(const question *q)
{
    const bool may_write = (q->need & ARCP__SANDBOX_WRITE) != 0 || has_flag(q, ARCP__BROKER_CREATE);
    const bool leads = arcp__broker_leads_to_pattern(q->classes, q->call->path);
    const bool is_way =
        !may_write && !leads && arcp__broker_leads_to_mount(q->classes, q->call->path);
    if (is_way && q->is_full) {
        return go_on(); /* a directory that was made for what is mounted below it */
    }
    const arcp__broker_fact *host = fact_of(q, ARCP__BROKER_LOOK_HOST);
    if (!host->is_known) {
        return look_at(ARCP__BROKER_LOOK_HOST);
    }
    if (host->error == 0) {
        const bool is_directory = host->type == ARCP__BROKER_A_DIRECTORY;
        if (is_directory && is_way) {
            return go_on();
        }
        if (is_directory && leads && !has_flag(q, ARCP__BROKER_TEMPORARY)) {
            return decide_directory(q, host);
        }
        return deny(hidden_error(q), may_write, q->call->path);
    }
    if (host->error != ENOENT || !has_flag(q, ARCP__BROKER_CREATE)) {
        return fail_as_looked(host);
    }
    const arcp__broker_fact *parent = fact_of(q, ARCP__BROKER_LOOK_PARENT);
    if (!parent->is_known) {
        return look_at(ARCP__BROKER_LOOK_PARENT);
    }
    return parent->error != 0 ? fail_as_looked(parent) : deny(EACCES, true, q->call->path);
}

static arcp__broker_answer decide_open(const question *q)
{
    if (q->class.place == ARCP__BROKER_PLACE_OWN) {
        return deny(EACCES, (q->need & ARCP__SANDBOX_WRITE) != 0, q->call->path);
    }
    if (q->class.place == ARCP__BROKER_PLACE_KERNEL) {
        return go_on();
    }
    if (q->class.place == ARCP__BROKER_PLACE_PRIVATE && q->need == ARCP__SANDBOX_READ &&
        !has_flag(q, ARCP__BROKER_CREATE) &&
        arcp__broker_leads_in_private(q->classes, q->call->path)) {
        /* What the host has there is listed together with what is private. */
        const arcp__broker_fact *host = fact_of(q, ARCP__BROKER_LOOK_HOST);
        if (!host->is_known) {
            return look_at(ARCP__BROKER_LOOK_HOST);
        }
        if (host->error == 0 && host->type == ARCP__BROKER_A_DIRECTORY &&
            arcp__broker_leads_to_reading(q->classes, host->real)) {
            return decide_directory(q, host);
        }
    }
    if ((q->class.kernel & q->need) == q->need && q->class.kernel != 0) {
        return decide_kernel_open(q);
    }
    if ((q->class.lease & q->need) == q->need && q->class.lease != 0) {
        return decide_served_open(q);
    }
    return q->class.place == ARCP__BROKER_PLACE_OUTSIDE ? decide_outside(q) : decide_kernel_open(q);
}

/* ---- changes of names ---- */

typedef enum party { PARTY_NONE, PARTY_KERNEL, PARTY_BROKER } party;

/* Who may change the name. */
static party writer_of(const arcp__broker_class *class)
{
    if ((class->kernel & ARCP__SANDBOX_WRITE) != 0) {
        return PARTY_KERNEL;
    }
    return (class->lease & ARCP__SANDBOX_WRITE) != 0 ? PARTY_BROKER : PARTY_NONE;
}

static bool is_creation(arcp__broker_operation operation)
{
    return operation == ARCP__BROKER_MKDIR || operation == ARCP__BROKER_MKNOD ||
           operation == ARCP__BROKER_SYMLINK;
}

/* Neither changes call->path: the error that the program would get, or a denial. */
static arcp__broker_answer refuse_change(const question *q)
{
    if (q->class.place == ARCP__BROKER_PLACE_OWN) {
        return deny(EACCES, true, q->call->path);
    }
    const arcp__broker_fact *host = fact_of(q, ARCP__BROKER_LOOK_HOST);
    if (!host->is_known) {
        return look_at(ARCP__BROKER_LOOK_HOST);
    }
    if (host->error == 0 && is_creation(q->call->operation)) {
        return fail(EEXIST);
    }
    if (host->error == ENOENT && is_creation(q->call->operation)) {
        const arcp__broker_fact *parent = fact_of(q, ARCP__BROKER_LOOK_PARENT);
        if (!parent->is_known) {
            return look_at(ARCP__BROKER_LOOK_PARENT);
        }
        if (parent->error != 0) {
            return fail_as_looked(parent);
        }
    } else if (host->error != 0) {
        return fail_as_looked(host);
    }
    if (is_system(q->class.place) && !host->is_writable) {
        return fail(EACCES);
    }
    return deny(EACCES, true, q->call->path);
}

/* Whether the lease lets the broker change the name at its real place; false: *answer says what to
 * do instead. */
static bool may_change(const question *q, arcp__broker_look look, arcp__broker_answer *answer)
{
    const arcp__broker_fact *fact = fact_of(q, look);
    if (!fact->is_known) {
        *answer = look_at(look);
        return false;
    }
    if (fact->error != 0) {
        *answer = fail_as_looked(fact);
        return false;
    }
    const arcp__broker_class real = arcp__broker_classify(q->classes, fact->real);
    *answer = deny(EACCES, true, fact->real);
    return (real.lease & ARCP__SANDBOX_WRITE) != 0;
}

static arcp__broker_answer decide_change(const question *q)
{
    const party writer = writer_of(&q->class);
    if (writer == PARTY_KERNEL) {
        return go_on();
    }
    if (writer == PARTY_NONE) {
        return refuse_change(q);
    }
    const arcp__broker_operation operation = q->call->operation;
    if (operation == ARCP__BROKER_SYMLINK || operation == ARCP__BROKER_MKNOD) {
        return deny(EACCES, true, q->call->path); /* the broker makes neither */
    }
    arcp__broker_answer answer;
    if (!may_change(q, ARCP__BROKER_LOOK_PARENT, &answer)) {
        return answer;
    }
    return serve();
}

static arcp__broker_answer decide_rename(const question *q)
{
    const arcp__broker_class to = arcp__broker_classify(q->classes, q->call->other);
    const party from_writer = writer_of(&q->class);
    const party to_writer = writer_of(&to);
    if (from_writer == PARTY_NONE) {
        return refuse_change(q);
    }
    if (to_writer == PARTY_NONE) {
        return deny(EACCES, true, q->call->other);
    }
    if (from_writer != to_writer) {
        return fail(EXDEV); /* as between file systems: mv copies then */
    }
    if (from_writer == PARTY_KERNEL) {
        return go_on();
    }
    arcp__broker_answer answer;
    if (!may_change(q, ARCP__BROKER_LOOK_PARENT, &answer) ||
        !may_change(q, ARCP__BROKER_LOOK_OTHER, &answer)) {
        return answer;
    }
    return serve();
}

static arcp__broker_answer decide_link(const question *q)
{
    const arcp__broker_class to = arcp__broker_classify(q->classes, q->call->other);
    const party writer = writer_of(&to);
    if (writer != PARTY_KERNEL) {
        return deny(EACCES, true, q->call->other);
    }
    if (q->class.kernel != 0) {
        return go_on();
    }
    if (q->class.lease != 0) {
        return fail(EXDEV);
    }
    const arcp__broker_fact *host = fact_of(q, ARCP__BROKER_LOOK_HOST);
    if (!host->is_known) {
        return look_at(ARCP__BROKER_LOOK_HOST);
    }
    return host->error != 0 ? fail_as_looked(host) : deny(EACCES, false, q->call->path);
}

/* ---- stat and its like: passed on only when the plan has patterns ---- */

/* The lease grants the name, or the name leads to one that it grants. */
static arcp__broker_answer decide_known_name(const question *q, bool leads)
{
    const arcp__broker_fact *host = fact_of(q, ARCP__BROKER_LOOK_HOST);
    if (!host->is_known) {
        return look_at(ARCP__BROKER_LOOK_HOST);
    }
    if (host->error != 0) {
        return fail_as_looked(host);
    }
    const arcp__broker_class real = arcp__broker_classify(q->classes, host->real);
    const uint32_t lease = q->class.lease & real.lease;
    const bool is_way = leads && host->type == ARCP__BROKER_A_DIRECTORY &&
                        arcp__broker_leads_to_pattern(q->classes, host->real);
    if (lease == 0 && !is_way) {
        return deny(EACCES, false, host->real);
    }
    if (q->call->operation == ARCP__BROKER_READLINK) {
        return host->type == ARCP__BROKER_A_LINK ? serve() : fail(EINVAL);
    }
    if (q->call->operation == ARCP__BROKER_XATTR) {
        return fail(ENOTSUP);
    }
    if (q->call->operation == ARCP__BROKER_ACCESS) {
        const bool may_read = (lease & ARCP__SANDBOX_READ) != 0 || is_way;
        const bool may_write = (lease & ARCP__SANDBOX_WRITE) != 0;
        if (has_flag(q, ARCP__BROKER_TO_EXECUTE) && may_read && q->class.is_file) {
            return go_on(); /* to the file that is mounted there, which is what would be executed */
        }
        if ((has_flag(q, ARCP__BROKER_TO_READ) && !may_read) ||
            (has_flag(q, ARCP__BROKER_TO_WRITE) && !may_write) ||
            (has_flag(q, ARCP__BROKER_TO_EXECUTE) && !is_way)) {
            return fail(EACCES);
        }
    }
    return serve();
}

static arcp__broker_answer decide_name(const question *q)
{
    if (q->class.place == ARCP__BROKER_PLACE_OWN || q->class.kernel != 0) {
        return go_on();
    }
    const bool leads = arcp__broker_leads_to_pattern(q->classes, q->call->path);
    if (q->class.lease == 0 && !leads) {
        return go_on();
    }
    if (q->call->operation != ARCP__BROKER_CHDIR) {
        return decide_known_name(q, leads);
    }
    /* The kernel changes the directory where the sandbox has one of this name; the broker cannot.
     */
    const arcp__broker_fact *inside = fact_of(q, ARCP__BROKER_LOOK_INSIDE);
    if (!inside->is_known) {
        return look_at(ARCP__BROKER_LOOK_INSIDE);
    }
    if (inside->error == 0) {
        return go_on();
    }
    const arcp__broker_fact *host = fact_of(q, ARCP__BROKER_LOOK_HOST);
    if (!host->is_known) {
        return look_at(ARCP__BROKER_LOOK_HOST);
    }
    return host->error != 0 ? fail_as_looked(host) : deny(EACCES, false, q->call->path);
}

/* Replaces an error that says that something is there, about a name that is neither granted nor on
 * the way to one that is. A name that is too long is so for every program. */
static arcp__broker_answer hide(const question *q, arcp__broker_answer answer)
{
    if (!q->hides || answer.kind != ARCP__BROKER_FAIL || answer.error == ENAMETOOLONG) {
        return answer;
    }
    const arcp_span name = answer.is_denial ? answer.target : q->call->path;
    const arcp__broker_class class = arcp__broker_classify(q->classes, name);
    if ((class.kernel | class.lease) == 0 && !arcp__broker_leads_to_pattern(q->classes, name) &&
        !arcp__broker_leads_to_mount(q->classes, name)) {
        answer.error = ENOENT;
    }
    return answer;
}

static arcp__broker_answer decide(const question *q)
{
    switch (q->call->operation) {
    case ARCP__BROKER_OPEN:
    case ARCP__BROKER_TRUNCATE:
        return decide_open(q);
    case ARCP__BROKER_UNLINK:
    case ARCP__BROKER_RMDIR:
    case ARCP__BROKER_MKDIR:
    case ARCP__BROKER_SYMLINK:
    case ARCP__BROKER_MKNOD:
        return decide_change(q);
    case ARCP__BROKER_RENAME:
        return decide_rename(q);
    case ARCP__BROKER_LINK:
        return decide_link(q);
    case ARCP__BROKER_STAT:
    case ARCP__BROKER_ACCESS:
    case ARCP__BROKER_READLINK:
    case ARCP__BROKER_CHDIR:
    case ARCP__BROKER_XATTR:
        return decide_name(q);
    case ARCP__BROKER_OWNER:
    case ARCP__BROKER_CONNECT:
    case ARCP__BROKER_EXECUTE:
    case ARCP__BROKER_OPERATION_COUNT:
        break;
    }
    return fail(EPERM);
}

arcp__broker_answer arcp__broker_decide(const arcp__broker_classes *classes,
                                        const arcp__broker_call *call,
                                        const arcp__broker_facts *facts)
{
    const arcp__sandbox_plan *plan = arcp__broker_classes_plan(classes);
    question q = {.classes = classes,
                  .call = call,
                  .facts = facts,
                  .class = arcp__broker_classify(classes, call->path),
                  .is_full = plan->level == ARCP__SANDBOX_LEVEL_FULL,
                  .hides = plan->hides};
    q.need |= (call->flags & ARCP__BROKER_TO_READ) != 0 ? ARCP__SANDBOX_READ : 0U;
    q.need |= (call->flags & ARCP__BROKER_TO_WRITE) != 0 ? ARCP__SANDBOX_WRITE : 0U;
    if (call->operation == ARCP__BROKER_TRUNCATE) {
        q.need |= ARCP__SANDBOX_WRITE; /* whatever the reader of the call says */
    } else if (q.need == 0) {
        q.need = ARCP__SANDBOX_READ; /* an open that needs nothing would be granted by any line */
    }
    return hide(&q, decide(&q));
}
