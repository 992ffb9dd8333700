-- Sends the request's body back; with ?length its length; an error in reading as text and as a log entry.
function handle(r)
    r.content_type = "application/octet-stream"
    local body, problem = r:requestbody()
    if not body and problem then
        r:err("cannot read: " .. problem)
        r.status = 400
        r:puts("error: " .. problem)
    elseif r.args == "length" then
        r:puts(tostring(#(body or "")))
    else
        r:write(body or "")
    end
    return apache2.OK
end
