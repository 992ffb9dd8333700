-- Answers with the status that the query says, and a body of its own.
function handle(r)
    r.content_type = "text/plain"
    r.status = tonumber(r.args)
    r:puts("my own ", r.args)
    return apache2.OK
end
