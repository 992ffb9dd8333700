-- The id of the process that serves the request.
function handle(r)
    r:puts(io.open("/proc/self/stat"):read("n"))
    return apache2.OK
end
