-- SPDX-License-Identifier: Apache-2.0
-- Twelve bytes. Runs unchanged under mod_lua and mod_luapool.
function handle(r)
    r.content_type = "text/plain"
    r:puts("Hello World!")
    return apache2.OK
end
