# The three installed libraries, shared and static:
#
#   libarcp           base json core sandbox; libc only
#   libarcp-runtime   context log credential job calendar schedule hook session engine door stream web egress hosting gateway transport store file launch process worker identity runtime
#   libarcp-client    context log credential job calendar schedule hook session engine stream web transport client
#
# The upper two stand on the code of libarcp. A static one takes it from libarcp.a. A shared one has a
# copy of its own, with nothing of it to be seen, and imports one symbol of libarcp: the guard that
# names the exact release (docs/decisions/0019). The programs link the modules directly and need none
# of these at run time.
include(CMakePackageConfigHelpers)

# arcp_library(NAME MODULES base json ... [NEEDS libraries] [LIBARCP])
#   Targets NAME_shared and NAME_static. NEEDS: what the modules link outside the tree, as
#   imported targets. LIBARCP: stands on libarcp. What the shared one exports is in
#   cmake/libNAME.map.in.
function(arcp_library name)
  cmake_parse_arguments(L "LIBARCP" "EXPORT_NAME" "MODULES;NEEDS;SYSTEM_LIBRARIES" ${ARGN})
  set(objects)
  foreach(module ${L_MODULES})
    list(APPEND objects $<TARGET_OBJECTS:arcp_${module}>)
  endforeach()
  set(map ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/lib${name}.map.in ${map} @ONLY)

  if(L_LIBARCP)
    list(APPEND objects ${PROJECT_SOURCE_DIR}/src/base/release_guard.c)
  else()
    list(APPEND objects ${PROJECT_SOURCE_DIR}/src/base/release.c)
  endif()

  add_library(${name}_shared SHARED ${objects})
  add_library(${name}_static STATIC ${objects})
  set_target_properties(${name}_shared ${name}_static PROPERTIES
    OUTPUT_NAME ${name} LINKER_LANGUAGE C)
  set_target_properties(${name}_shared PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${map} EXPORT_NAME ${L_EXPORT_NAME})
  set_target_properties(${name}_static PROPERTIES EXPORT_NAME ${L_EXPORT_NAME}_static
    ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
  target_include_directories(${name}_shared INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${name}_static INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_options(${name}_shared PRIVATE
    LINKER:--version-script=${map} LINKER:-Bsymbolic-functions)
  if(NOT ARCP_SANITIZE AND NOT ARCP_BUILD_FUZZERS)
    # Every symbol has a home; a sanitizer's own come with the program.
    target_link_options(${name}_shared PRIVATE LINKER:-z,defs)
  endif()
  foreach(target ${name}_shared ${name}_static)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(${target} PRIVATE ARCP_VERSION_STRING="${PROJECT_VERSION}")
  endforeach()
  target_compile_options(${name}_static PRIVATE $<TARGET_PROPERTY:arcp_flags,INTERFACE_COMPILE_OPTIONS>)
  if(L_LIBARCP)
    # Before libarcp.so: what these have is not looked for there.
    target_link_libraries(${name}_shared PRIVATE arcp_sandbox arcp_core arcp_json arcp_base)
  endif()
  target_link_libraries(${name}_shared PRIVATE ${L_NEEDS} arcp_flags)
  arcp_optimise_whole(${name}_shared)
  if(ARCP_WHOLE_FLAGS)
    # What another release of the compiler could not read is not for others.
    add_custom_command(TARGET ${name}_static POST_BUILD VERBATIM
      COMMAND ${CMAKE_STRIP} --enable-deterministic-archives -R .gnu.lto_* -R .gnu.debuglto_*
              -N __gnu_lto_v1 $<TARGET_FILE:${name}_static>)
  endif()
  target_link_libraries(${name}_static INTERFACE $<INSTALL_INTERFACE:${L_SYSTEM_LIBRARIES}>)
  if(L_LIBARCP)
    target_link_libraries(${name}_shared PUBLIC arcp_shared)
    target_link_libraries(${name}_static INTERFACE arcp_static)
  endif()

  configure_file(${PROJECT_SOURCE_DIR}/cmake/lib${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  install(TARGETS ${name}_shared ${name}_static EXPORT arcpTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# A pkg-config file finds its own prefix, so that an installed tree may be moved.
file(RELATIVE_PATH ARCP_PC_PREFIX
  /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" ARCP_PC_PREFIX "${ARCP_PC_PREFIX}")

arcp_library(arcp MODULES base json core sandbox EXPORT_NAME arcp)
arcp_library(arcp-runtime MODULES context log credential job calendar schedule hook session engine door record stream web egress hosting gateway transport store file launch process worker identity runtime
  EXPORT_NAME runtime LIBARCP
  NEEDS PkgConfig::UV PkgConfig::SSL PkgConfig::CRYPTO PkgConfig::SQLITE arcp_wslay arcp_http_parser
        Threads::Threads
  SYSTEM_LIBRARIES uv ssl crypto sqlite3 wslay http_parser pthread)
arcp_library(arcp-client MODULES context log credential job calendar schedule hook session engine stream web transport client
  EXPORT_NAME client LIBARCP
  NEEDS PkgConfig::UV PkgConfig::SSL PkgConfig::CRYPTO arcp_wslay arcp_http_parser Threads::Threads
  SYSTEM_LIBRARIES uv ssl crypto wslay http_parser pthread)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/arcp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/arcp)
install(EXPORT arcpTargets NAMESPACE arcp:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/arcpConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/arcpConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor release may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/arcpConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/arcpConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/arcpConfigVersion.cmake DESTINATION ${package_dir})
