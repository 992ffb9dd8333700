-- How often this script has run where its globals are kept.
function handle(r)
    calls = (calls or 0) + 1
    r:puts(calls)
    return apache2.OK
end
