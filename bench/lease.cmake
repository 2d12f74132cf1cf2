# Beside PCRE2, where it is there.
pkg_check_modules(PCRE2 QUIET IMPORTED_TARGET libpcre2-8)
if(PCRE2_FOUND)
  arcp_bench(lease_bench SOURCES lease_bench.c lease_bench_pcre2.c NEEDS arcp_core PkgConfig::PCRE2)
else()
  arcp_bench(lease_bench SOURCES lease_bench.c lease_bench_no_pcre2.c NEEDS arcp_core)
endif()
