# The driver, and the rig that compares httpd's handlers with it
include bench/httpdrive/local.mk
EXTRA_DIST += bench/rig bench/experiments bench/handlers
