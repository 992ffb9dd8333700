-- Returns nothing and writes nothing.
function handle(r)
end
