function handle(r)
    r.content_type = "text/plain"
    r:puts("Hello World!")
    return apache2.OK
end
