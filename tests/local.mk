# Unit tests (cmocka), lint, and the tests that drive a private httpd (pytest)
include tests/unit/local.mk
include tests/lint/local.mk
include tests/fuzz/local.mk
include tests/common/local.mk

# The servers' tests run the staged files, under each MPM (or those in MPMS), side by side. With PYTEST_FLAGS
# they are one run of pytest, for example
#   make check-servers PYTEST_FLAGS="--mpm=event -k hello"
pytest_env = PYTHONDONTWRITEBYTECODE=1 INTERPOOL_STAGE=$(abs_builddir)/stage \
  INTERPOOL_MODULEDIR=$(abs_builddir)/stage$(moduledir) INTERPOOL_HTTPD=$(HTTPD) \
  INTERPOOL_APXS=$(APXS) $(SANITIZE_ENV)
check-servers: stage.stamp $(check_LTLIBRARIES)
	@runner=; test -n "$(PYTEST_FLAGS)" || runner=$(srcdir)/tests/run-servers; \
	$(pytest_env) MPMS="$(MPMS)" $$runner $(PYTHON) -m pytest -q -p no:cacheprovider $(PYTEST_FLAGS) $(srcdir)/tests
check-local: check-servers
.PHONY: check-servers

EXTRA_DIST += tests/run-servers conf tests/harness tests/scripts tests/pyscripts tests/conftest.py $(wildcard $(srcdir)/tests/test_*.py)
