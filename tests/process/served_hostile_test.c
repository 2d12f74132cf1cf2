/* Hostile served processes: nothing that one writes or does reaches a job of another. */
#include "process/served_rig.h"

typedef struct attack {
    const char *name, *script;
} attack;

static const attack attacks[] = {
#define SERVED_ATTACK(name, script) {#name, script},
#include "process/served_hostile.def"
#undef SERVED_ATTACK
};

#define ATTACKS (sizeof attacks / sizeof attacks[0])

static void an_attack_reaches_no_other_job(void **state)
{
    const attack *row = *state;
    char line[512];
    served_job *victim = &jobs[0];
    served_job *hostile = &jobs[1];
    rig.options.processes = 2;
    served_open();
    served_hold(victim, "victim");
    served_hold(hostile, "h");
    assert_string_not_equal(victim->pid, hostile->pid);
    const size_t had = victim->lines.size;
    (void)snprintf(line, sizeof line, SERVED_RUN("%s; printf '{\"job_id\":\"h\",\"done\":1}\\n'"),
                   row->script);
    served_write(hostile, line);
    served_until(hostile->ends != 0 || served_job_has(hostile, "\"done\""));
    assert_int_equal(victim->ends, 0);
    assert_int_equal(victim->lines.size, had);
    served_end(victim);
}

int main(void)
{
    struct CMUnitTest tests[ATTACKS];
    for (size_t i = 0; i < ATTACKS; i++) {
        tests[i] = (struct CMUnitTest){.name = attacks[i].name,
                                       .test_func = an_attack_reaches_no_other_job,
                                       .setup_func = served_set_up,
                                       .teardown_func = served_tear_down,
                                       .initial_state = (void *)&attacks[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
