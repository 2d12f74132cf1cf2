/* `arcp doctor`: what this host can enforce, and which agents of a configuration could run. */
#include "arcp/run_rows.h"

static const run_row rows[] = {
    {"doctor says none",
     "ARCP_SANDBOX_WITHOUT=landlock $ARCP doctor | tail -1; exit ${PIPESTATUS[0]}", 4,
     .out = "level none: nothing can be started confined\n", ""},
    {"doctor says what is lost, and what to do",
     "ARCP_SANDBOX_WITHOUT=notify $ARCP doctor | grep -A1 ^notify", 0,
     .out = "notify       no  patterns with wildcards inside grant nothing, and denials are not "
            "reported\n                 needs: Linux 5.19 (seccomp user notification with "
            "WAIT_KILLABLE_RECV)\n",
     ""},
    {"doctor as JSON",
     "ARCP_SANDBOX_WITHOUT=landlock,notify $ARCP doctor --json | grep -o "
     "'\"level\":\"none\"\\|{\"name\":\"landlock\",\"value\":0,\"lost\":\\|{\"name\":\"notify\","
     "\"value\":false,'",
     0,
     .out =
         "\"level\":\"none\"\n{\"name\":\"landlock\",\"value\":0,\"lost\":\n{\"name\":\"notify\","
         "\"value\":false,\n",
     ""},
    {"doctor reports which agents could run",
     "printf 'other: {x: 1}\nagents:\n- {name: a, command: [cat], warm: 2}\n- {name: gone, "
     "command: "
     "[/opt/none/x]}\n- {name: c, command: [cat], cwd: /srv}\n- {name: d, command: "
     "[cat]}\npolicy:\n- "
     "{agent: a, max_lease: {fs.read: [/srv/**], net.fetch: [\"https://**\"]}}\n- {agent: \"*\", "
     "max_budget: [\"USD:1\"]}\n- {agent: c, max_lease: {fs.raed: [/x]}}\n' >agents.yaml; $ARCP "
     "doctor "
     "--config agents.yaml | grep ^agent",
     0,
     /* Its processes wait: nothing of the lease is mounted. */
     .out = "agent a, policy[0]: runs: 2 under\n"
            "agent gone: does not run: /opt/none/x: No such file or directory\n"
            "agent c, policy[2]: does not run: unknown capability \"fs.raed\": it is neither "
            "reserved nor "
            "of the form x-vendor.<vendor>.<cap>\n"
            "agent d: runs; no policy has a max_lease for it\n",
     ""},
    {"as JSON",
     "$ARCP --config agents.yaml doctor --json | grep -o '^{\"agent\":\"[^,]*,\\|\"runs\":[a-z]*' "
     "| "
     "tail -2",
     0, .out = "{\"agent\":\"d\",\n\"runs\":true\n", ""},
    {"doctor names lines that are not exact, and a minimum that is not reached",
     "printf 'agents:\n- {name: a, command: [cat]}\n- {name: b, command: [cat], min: exact}\n"
     "policy:\n- {max_lease: {net.fetch: [\"https://**\"], tool.call: [\"*\"]}}\n' >lines.yaml; "
     "$ARCP doctor --config lines.yaml | grep -A3 ^agent",
     0,
     .out = "agent a, policy[0]: runs: 1 under, 1 advisory\n"
            "  under net.fetch https://**: without a proxy setting only ports 80, 443 and those "
            "that the lease names can be reached\n"
            "  advisory tool.call *: only calls that the program asks about are decided\n"
            "agent b, policy[0]: does not run: a line is below the minimum (exact)\n"
            "  under net.fetch https://**: without a proxy setting only ports 80, 443 and those "
            "that the lease names can be reached\n"
            "  advisory tool.call *: only calls that the program asks about are decided\n",
     ""},
    {"doctor tells the lease of served processes from those of their jobs",
     "printf 'agents:\n- {name: a, command: [cat], mode: serve, lease: {fs.read: [/srv/**]}}\n"
     "- {name: b, command: [cat], mode: serve, min: advisory}\n"
     "policy:\n- {max_lease: {fs.read: [/srv/x]}}\n' >serve.yaml; "
     "$ARCP doctor --config serve.yaml | grep -A1 ^agent; "
     "$ARCP doctor --config serve.yaml --json | grep -o '\"processes\":true'",
     0,
     .out = "agent a, its processes: runs: 1 exact\n"
            "agent a, policy[0]: does not run: a line is below the minimum (under)\n"
            "  advisory fs.read /srv/x: the program runs other jobs in the same process, so only "
            "operations that it asks about are decided\n"
            "agent b, its processes: run; their lease is empty\n"
            "agent b, policy[0]: runs: 1 advisory\n"
            "  advisory fs.read /srv/x: the program runs other jobs in the same process, so only "
            "operations that it asks about are decided\n"
            "\"processes\":true\n\"processes\":true\n",
     ""},
    {"doctor reads what becomes of TLS",
     "printf 'enforce: {tls: terminate}\nagents:\n- {name: a, command: [cat]}\n"
     "- {name: b, command: [cat], tls: tunnel}\n"
     "policy:\n- {max_lease: {net.fetch: [\"https://h/v1/*\"]}}\n' >tls.yaml; "
     "$ARCP doctor --config tls.yaml | grep ^agent",
     0, .out = "agent a, policy[0]: runs: 1 exact\nagent b, policy[0]: runs: 1 refused\n", ""},
    {"doctor reads the group enforce",
     "printf 'enforce: {min: exact, may_be_advisory: [x-vendor.]}\nagents:\n"
     "- {name: a, command: [cat]}\n- {name: b, command: [cat], min: advisory}\n"
     "- {name: c, command: [cat], confine: false}\n"
     "policy:\n- {max_lease: {tool.call: [\"*\"]}}\n' >min.yaml; "
     "$ARCP doctor --config min.yaml | grep ^agent; sed -i 's/min: exact/mode: off/' min.yaml; "
     "$ARCP doctor --config min.yaml | grep ^agent",
     0,
     .out = "agent a, policy[0]: does not run: a line is below the minimum (exact)\n"
            "agent b, policy[0]: runs: 1 advisory\n"
            "agent c, policy[0]: runs, and is not confined\n"
            "agent a, policy[0]: runs, and is not confined\n"
            "agent b, policy[0]: runs, and is not confined\n"
            "agent c, policy[0]: runs, and is not confined\n",
     ""},
    {"doctor warns of a base that an agent can write to",
     "mkdir -p ../tools/x ../tools/y; printf '#!/bin/sh\n' >../tools/x/run; "
     "chmod +x ../tools/x/run; printf \"enforce: {base: [$ROOT/tools/y]}\nagents:\n"
     "- {name: a, command: [$ROOT/tools/x/run]}\npolicy:\n"
     "- {max_lease: {fs.write: [$ROOT/tools/x/**]}}\n- {max_lease: {fs.write: "
     "[$ROOT/tools/x/**, $ROOT/tools/**]}}\n- {max_lease: {fs.write: [$ROOT/tools/xy/**]}}\n\" "
     ">base.yaml; "
     "$ARCP doctor --config base.yaml | grep -c 'warning:'; "
     "$ARCP doctor --config base.yaml | grep warning: | head -1; "
     "$ARCP doctor --config base.yaml --json | grep -o '\"writes_base.*]'",
     0,
     .out = "3\n  warning: fs.write $ROOT/tools/x/**: the directory holds what the agent's "
            "command needs\n\"writes_base\":[\"$ROOT/tools/x/**\"]\n"
            "\"writes_base\":[\"$ROOT/tools/x/**\",\"$ROOT/tools/**\"]\n"
            "\"writes_base\":[]\n",
     ""},
    {"on a host that cannot confine none does",
     "ARCP_SANDBOX_WITHOUT=landlock $ARCP doctor --config agents.yaml | grep -c 'does not run'", 0,
     .out = "4\n", ""},
    {"a configuration that is not there", "$ARCP doctor --config none.yaml", 2, .out = "",
     "~--config none.yaml: No such file"},
    {"a configuration that is no YAML", "printf '[' >bad.yaml; $ARCP doctor --config bad.yaml", 2,
     .out = "", "~bad.yaml:"},
    {"an argument of doctor", "$ARCP doctor x", 2, .out = "", "~unexpected argument 'x'"},
};

static void doctor_is_as_written(void **state)
{
    run_rows_check(*state, rows, sizeof rows / sizeof rows[0], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doctor_is_as_written),
    };
    return cmocka_run_group_tests(tests, run_fixture_begin, run_fixture_end);
}
