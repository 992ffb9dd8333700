-- Works on all five tables: answers with what it found, and sets headers that the client can see.
function handle(r)
    r.content_type = "text/plain"
    local first = r.headers_in["X-In"]
    if first then
        r.headers_out["X-Echo"] = first
    end
    r:puts("X-In=", tostring(first), "\n")
    r:puts("case=", tostring(r.headers_in["x-iN"] == first), "\n")
    r:puts("absent=", tostring(r.headers_in["X-Absent"]), "\n")
    r.headers_in["X-In"] = "changed"
    r:puts("changed=", r.headers_in["X-In"], "\n")
    r.headers_in["X-In"] = nil
    r:puts("removed=", tostring(r.headers_in["X-In"]), "\n")
    r.headers_out["X-Out"] = "one"
    r.headers_out["X-Out"] = "two"
    r.headers_out["X-Gone"] = "x"
    r.headers_out["X-Gone"] = nil
    r.err_headers_out["X-Err"] = "always"
    r.notes["remember"] = "a note"
    r:puts("note=", r.notes["remember"], "\n")
    r.subprocess_env["VARIABLE"] = "value"
    r:puts("env=", r.subprocess_env["VARIABLE"], "\n")
    return apache2.OK
end
