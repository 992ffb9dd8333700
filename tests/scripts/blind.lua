-- Reads the body and does not look whether that worked.
function handle(r)
    local body = r:requestbody()
    r:puts(#body)
    return apache2.OK
end
