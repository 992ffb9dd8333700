-- Fails after a part of the answer; ?flush sends that part first.
function handle(r)
    r.content_type = "text/plain"
    r.headers_out["X-Partial"] = "yes"
    r:puts('{"partial":')
    if r.args == "flush" then
        r:flush()
    end
    error("secret words")
end
