-- As many bytes as the query says, in pieces of 64 KiB.
function handle(r)
    r.content_type = "application/octet-stream"
    local left = tonumber(r.args)
    local piece = ("0123456789abcdef"):rep(4096)
    while left > 0 do
        r:write(left < #piece and piece:sub(1, left) or piece)
        left = left - #piece
    end
    return apache2.OK
end
