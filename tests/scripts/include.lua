-- A page whose server-side include asks for another script.
function handle(r)
    r.content_type = "text/html"
    r:puts('before <!--#include virtual="' .. r.args .. '" --> after')
    return apache2.OK
end
