-- Takes no notice of what happens while the body is read, and answers by a status.
function handle(r)
    pcall(r.requestbody, r)
    return 404
end
