# Unit tests (cmocka), lint, and the tests that drive a private httpd (pytest)
include tests/unit/local.mk
