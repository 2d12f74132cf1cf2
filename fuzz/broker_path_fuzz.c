/* A program's path under a plan: what is decided of any name, and that a grant is of the lease.
 * Input: flags of the call, then a path; the plan has trees, patterns, a literal file, and private
 * places. */
#include <arcp/gate.h>

#include "broker/broker_parts.h"
#include "core/glob_pattern.h"
#include "core/target.h"

static arcp_span text(const char *bytes)
{
    return arcp_span_cstr(bytes);
}

static const arcp__broker_classes *classes_of(void)
{
    static arcp_span reads[6];
    static arcp_span writes[3];
    static arcp__sandbox_rule rules[4];
    static arcp__sandbox_mount mounts[4];
    static arcp__sandbox_plan plan;
    static arcp__broker_classes *classes;
    if (classes != NULL) {
        return classes;
    }
    const uint32_t read = ARCP__SANDBOX_READ | ARCP__SANDBOX_EXECUTE;
    reads[0] = text("/d/*.c");
    reads[1] = text("/d/**/x");
    reads[2] = text("/t/**");
    reads[3] = text("/f");
    reads[4] = text("/p/q/*");
    reads[5] = text("/**/z");
    writes[0] = text("/d/*.o");
    writes[1] = text("/t/w/**");
    writes[2] = text("/p/q/*");
    rules[0] = (arcp__sandbox_rule){text("/f"), read, true, ARCP__SANDBOX_CLASS_LEASE};
    rules[1] = (arcp__sandbox_rule){text("/p"), read | ARCP__SANDBOX_WRITE, false,
                                    ARCP__SANDBOX_CLASS_PRIVATE};
    rules[2] = (arcp__sandbox_rule){text("/t"), read, false, ARCP__SANDBOX_CLASS_LEASE};
    rules[3] = (arcp__sandbox_rule){text("/t/w"), read | ARCP__SANDBOX_WRITE, false,
                                    ARCP__SANDBOX_CLASS_LEASE};
    mounts[0] = (arcp__sandbox_mount){ARCP__SANDBOX_MOUNT_FILE, text("/f"), text("/f"), false};
    mounts[1] = (arcp__sandbox_mount){ARCP__SANDBOX_MOUNT_PRIVATE, text(""), text("/p"), true};
    mounts[2] = (arcp__sandbox_mount){ARCP__SANDBOX_MOUNT_TREE, text("/t"), text("/t"), false};
    mounts[3] = (arcp__sandbox_mount){ARCP__SANDBOX_MOUNT_TREE, text("/t/w"), text("/t/w"), true};
    plan = (arcp__sandbox_plan){.level = ARCP__SANDBOX_LEVEL_FULL,
                                .has_broker = true,
                                .mounts = mounts,
                                .mount_count = 4,
                                .rules = rules,
                                .rule_count = 4,
                                .reads = reads,
                                .read_count = 6,
                                .writes = writes,
                                .write_count = 3,
                                .home = text("/p")};
    require(arcp__broker_classes_new(&plan, &classes, NULL) == ARCP_OK);
    return classes;
}

static bool admits(const arcp_span *patterns, size_t count, arcp_span path)
{
    for (size_t i = 0; i < count; i++) {
        if (arcp__glob_matches_alone(ARCP__TARGET_PATH, patterns[i], path)) {
            return true;
        }
    }
    return false;
}

/* Everything is a file of its own name, so each answer must agree with the lease. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 1000) {
        return 0;
    }
    static arcp_target_scratch scratch;
    const arcp__broker_classes *classes = classes_of();
    const arcp__sandbox_plan *plan = arcp__broker_classes_plan(classes);
    arcp__broker_call call = {.operation = (arcp__broker_operation)(data[0] % ARCP__BROKER_OWNER),
                              .flags = data[1] & 0x7fU,
                              .other = text("/d/other.o")};
    if (arcp__target_canonicalise(ARCP__CAPABILITY_FS_READ, arcp_span_make(NULL, 0),
                                  arcp_span_make((const char *)data + 2, size - 2), &scratch,
                                  &call.path) != ARCP_DENY_NONE) {
        return 0;
    }
    arcp__broker_facts facts = {.looks = {{.is_known = false}}};
    arcp__broker_answer answer = arcp__broker_decide(classes, &call, &facts);
    for (size_t i = 0; answer.kind == ARCP__BROKER_LOOK; i++) {
        require(i < ARCP__BROKER_LOOK_COUNT && !facts.looks[answer.look].is_known);
        facts.looks[answer.look] = (arcp__broker_fact){
            .is_known = true,
            .type = ARCP__BROKER_REGULAR,
            .real = answer.look == ARCP__BROKER_LOOK_OTHER ? call.other : call.path};
        answer = arcp__broker_decide(classes, &call, &facts);
    }
    const bool may_read = admits(plan->reads, plan->read_count, call.path);
    const bool may_write = admits(plan->writes, plan->write_count, call.path);
    if (answer.kind == ARCP__BROKER_SERVE) {
        const bool is_open = call.operation == ARCP__BROKER_OPEN;
        require(may_read || may_write);
        require(!is_open || (call.flags & ARCP__BROKER_TO_READ) == 0 || may_read);
        require(!is_open || (call.flags & ARCP__BROKER_TO_WRITE) == 0 || may_write);
        require(is_open || call.operation >= ARCP__BROKER_STAT || may_write);
    }
    require(answer.kind != ARCP__BROKER_LIST); /* there is no directory */
    require(!answer.is_denial || answer.kind == ARCP__BROKER_FAIL);
    return 0;
}
