# Everything comes from Debian packages (tools/install-deps.sh names them).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv>=1.44)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.40)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto>=3)
pkg_check_modules(SSL REQUIRED IMPORTED_TARGET libssl>=3)
# In a module of its own, loaded only when it is configured.
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.85)
# The store in PostgreSQL is such a module; without libpq it is left out.
pkg_check_modules(PQ IMPORTED_TARGET libpq>=14)
set(ARCP_HAS_POSTGRES ${PQ_FOUND})
if(NOT ARCP_HAS_POSTGRES)
  message(STATUS "No libpq (libpq-dev): the module arcp-store-postgres is left out, store: postgres://... cannot be used")
endif()
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
if(ARCP_BUILD_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

# Two libraries come without a pkg-config file. uthash is headers only.
find_library(WSLAY_LIBRARY wslay REQUIRED)
find_path(WSLAY_INCLUDE wslay/wslay.h REQUIRED)
add_library(arcp_wslay INTERFACE)
target_link_libraries(arcp_wslay INTERFACE ${WSLAY_LIBRARY})
target_include_directories(arcp_wslay SYSTEM INTERFACE ${WSLAY_INCLUDE})
add_library(PkgConfig::WSLAY ALIAS arcp_wslay)

find_library(HTTP_PARSER_LIBRARY http_parser REQUIRED)
find_path(HTTP_PARSER_INCLUDE http_parser.h REQUIRED)
add_library(arcp_http_parser INTERFACE)
target_link_libraries(arcp_http_parser INTERFACE ${HTTP_PARSER_LIBRARY})
target_include_directories(arcp_http_parser SYSTEM INTERFACE ${HTTP_PARSER_INCLUDE})

find_path(UTHASH_INCLUDE uthash.h REQUIRED)
