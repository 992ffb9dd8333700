-- Answers with the status that the query says when a part of another answer has been sent.
function handle(r)
    r.content_type = "text/plain"
    r:puts("sent")
    r:flush()
    r:puts("held")
    return tonumber(r.args)
end
