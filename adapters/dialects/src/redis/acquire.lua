-- Take the lock KEYS[1] for the nonce ARGV[1] and ARGV[2] ms, with a token from the counter KEYS[2].
-- Errors are passed on by pcall: Redis before 7 would wrap a raised one, and hide its code.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then return value end
if value then
    local nonce, token = string.match(value, '^([0-9a-f]+):([1-9]%d*)$')
    if nonce == ARGV[1] then return 'granted ' .. token end
    if not nonce or #nonce ~= 32 or #token > 19 then token = '-' end
    return 'busy ' .. string.format('%.0f', redis.call('PTTL', KEYS[1])) .. ' ' .. token
end
-- The counter first: a script is not rolled back, and a lock without a token must not be left behind.
local raised = redis.pcall('INCR', KEYS[2])
if type(raised) == 'table' then
    for _, fault in ipairs({'WRONGTYPE', 'not an integer', 'overflow'}) do
        if string.find(raised.err, fault, 1, true) then return redis.error_reply('TENURECOUNTER ' .. KEYS[2]) end
    end
    return raised
end
-- A Lua number is exact only up to 2^53, so the token is read as a string.
local token = redis.call('GET', KEYS[2])
if not string.find(token, '^[1-9]%d*$') then return redis.error_reply('TENURECOUNTER ' .. KEYS[2]) end
local set = redis.pcall('SET', KEYS[1], ARGV[1] .. ':' .. token, 'PX', ARGV[2])
if set.err then return set end
return 'granted ' .. token
