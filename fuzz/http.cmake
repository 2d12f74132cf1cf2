arcp_fuzz(http_template_fuzz SOURCES http_template_fuzz.c
    ${PROJECT_SOURCE_DIR}/src/http/http_template.c
  NEEDS arcp_core)
