arcp_fuzz(json_fuzz SOURCES json_fuzz.c ${PROJECT_SOURCE_DIR}/tests/support/slow_json.c
  NEEDS arcp_json)
arcp_fuzz(base_fuzz SOURCES base_fuzz.c NEEDS arcp_base)
