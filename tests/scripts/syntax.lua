function handle(r)
    r:puts("secret words")
    this is not a program
end
