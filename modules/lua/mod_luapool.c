/* SPDX-License-Identifier: Apache-2.0
 * mod_luapool: the module record, the hooks and the handler. */
#include <httpd.h>
#include <http_config.h>

AP_DECLARE_MODULE(luapool) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, NULL, 0};
