arcp_fuzz(plan_text_fuzz SOURCES plan_text_fuzz.c ${PROJECT_SOURCE_DIR}/tests/sandbox/plan_model.c NEEDS arcp_sandbox)
