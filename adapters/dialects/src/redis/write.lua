-- SET KEYS[2] to ARGV[2] under the token ARGV[1], unless the fence KEYS[1] has seen a higher one.
local highest = redis.pcall('GET', KEYS[1])
if type(highest) == 'table' then return highest end
if highest then
    if not string.find(highest, '^[1-9]%d*$') then return redis.error_reply('TENUREFENCE ' .. KEYS[1]) end
    -- As strings of digits, since a Lua number is exact only up to 2^53.
    if #highest > #ARGV[1] or (#highest == #ARGV[1] and highest > ARGV[1]) then return 'stale ' .. highest end
end
-- The fence first: if the second write fails, the bar is up and nothing was written under it.
if highest ~= ARGV[1] then
    local set = redis.pcall('SET', KEYS[1], ARGV[1])
    if set.err then return set end
end
local set = redis.pcall('SET', KEYS[2], ARGV[2])
if set.err then return set end
return 'written'
