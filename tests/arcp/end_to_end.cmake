# Starts the programs of this build.
if(TARGET arcp AND TARGET arcpd)
  arcp_test(arcp_end_to_end_test
    SOURCES end_to_end_test.c world.c temp_tree.c process.c cutting_proxy.c
    NEEDS arcp_base Threads::Threads util LABELS integration slow)
  add_dependencies(arcp_end_to_end_test arcp arcpd)
endif()
