-- Leaves the request's body unread.
function handle(r)
    r:puts("done")
    return apache2.OK
end
