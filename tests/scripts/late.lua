-- Answers with the status that the query says when a part of another answer has been sent: "404", or
-- when many bytes have been written, without a flush: "404+100000".
function handle(r)
    r.content_type = "text/plain"
    local status, bytes = r.args:match("^(-?%d+)%+?(%d*)$")
    if bytes ~= "" then
        r:write(("x"):rep(tonumber(bytes)))
    else
        r:puts("sent")
        r:flush()
        r:puts("held")
    end
    return tonumber(status)
end
