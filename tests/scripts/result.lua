-- Returns the number that the query says: httpd makes the answer.
function handle(r)
    r.err_headers_out["X-Kept"] = "yes"
    return tonumber(r.args)
end
