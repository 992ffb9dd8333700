-- Tries to end the process.
function handle(r)
    os.exit(3)
end
