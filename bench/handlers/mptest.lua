-- SPDX-License-Identifier: Apache-2.0
-- A greeting and 2^100: 43 bytes.
function handle(r)
    r.content_type = "text/plain"
    r:puts("Hello World!" .. string.format("%.0f", 2 ^ 100))
    return apache2.OK
end
