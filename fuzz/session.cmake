# The rig of tests/story fails by cmocka's fail_msg, which ends the program where no test runs.
include(${PROJECT_SOURCE_DIR}/tests/story/engine_rig.cmake)
set(engine_rig ${engine_rig_sources})
foreach(part watch disk play play_agent play_check play_client play_hooks play_host play_purse play_queue play_upstream play_watch upstream)
  list(APPEND engine_rig ${PROJECT_SOURCE_DIR}/tests/engine/${part}.c)
endforeach()
if(NOT TARGET PkgConfig::CMOCKA)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
arcp_fuzz(session_fuzz SOURCES session_fuzz.c ${engine_rig}
  NEEDS arcp_engine arcp_store PkgConfig::CMOCKA)
arcp_fuzz(agent_line_fuzz SOURCES agent_line_fuzz.c ${engine_rig}
  NEEDS arcp_engine arcp_store PkgConfig::CMOCKA)
