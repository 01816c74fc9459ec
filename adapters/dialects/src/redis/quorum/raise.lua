-- If the lock KEYS[1] is the nonce ARGV[2]'s and the token ARGV[4] is above the counter ARGV[3], raise the counter to it.
-- KEYS[2] is what makes this server the node ARGV[1] of a quorum, and has the counters.
local node = redis.pcall('HMGET', KEYS[2], 'node', 'floor', ARGV[3])
if node.err then return node end
if node[1] ~= ARGV[1] then return redis.error_reply('TENURENODE ' .. KEYS[2]) end
local counter = node[3] or node[2]
if counter and not (string.find(counter, '^[1-9]%d*$') and #counter <= 19) then
    return redis.error_reply('TENURECOUNTER ' .. KEYS[2])
end
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then return value end
if not value or string.sub(value, 1, 33) ~= ARGV[2] .. ':' then return 'gone' end
-- Above, never equal: two holders must not both get a token accepted. As strings of digits, since a Lua number is exact
-- only up to 2^53.
if counter and (#counter > #ARGV[4] or (#counter == #ARGV[4] and counter >= ARGV[4])) then
    return 'higher ' .. counter
end
local raised = redis.pcall('HSET', KEYS[2], ARGV[3], ARGV[4])
if type(raised) == 'table' then return raised end
return 'raised'
