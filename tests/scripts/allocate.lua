-- Takes and frees memory for ever.
function handle(r)
    r:puts("begun")
    r:flush()
    while true do
        local held = {}
        for i = 1, 1000 do
            held[i] = {i, i, i, i, i, i, i, i}
        end
    end
end
