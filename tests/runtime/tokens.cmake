# Who may come in: verifiers of tokens, and the desk that asks them.
arcp_test(runtime_jwt_test SOURCES jwt_test.c jwt_maker.c NEEDS arcp_runtime PkgConfig::CRYPTO)
arcp_test(runtime_token_verifiers_test SOURCES token_verifiers_test.c jwt_maker.c
  NEEDS arcp_runtime arcp_test_support PkgConfig::CRYPTO)
arcp_test(runtime_token_desk_test SOURCES token_desk_test.c NEEDS arcp_runtime)
