-- Every byte value, NUL included, through both ways of writing.
function handle(r)
    r.content_type = "application/octet-stream"
    local bytes = {}
    for i = 0, 255 do
        bytes[#bytes + 1] = string.char(i)
    end
    local all = table.concat(bytes)
    r:puts(all)
    r:write(all)
    return apache2.OK
end
