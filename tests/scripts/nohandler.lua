-- Has no function handle.
function another(r)
end
