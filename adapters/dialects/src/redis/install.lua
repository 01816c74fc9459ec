-- Raise the fence KEYS[1] to the token ARGV[1].
local highest = redis.pcall('GET', KEYS[1])
if type(highest) == 'table' then return highest end
if highest then
    if not string.find(highest, '^[1-9]%d*$') then return redis.error_reply('TENUREFENCE ' .. KEYS[1]) end
    -- As strings of digits, since a Lua number is exact only up to 2^53.
    if #highest > #ARGV[1] or (#highest == #ARGV[1] and highest > ARGV[1]) then return 'stale ' .. highest end
    if highest == ARGV[1] then return 'installed' end
end
local set = redis.pcall('SET', KEYS[1], ARGV[1])
if set.err then return set end
return 'installed'
