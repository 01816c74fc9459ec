-- Take the lock KEYS[1] on one node of a quorum, for the nonce ARGV[2] and ARGV[3] ms. If the token ARGV[5] is above the
-- counter ARGV[4], raise the counter to it. KEYS[2] is what makes this server the node ARGV[1], and has the counters.
local node = redis.pcall('HMGET', KEYS[2], 'node', 'floor', ARGV[4])
if node.err then return node end
if node[1] ~= ARGV[1] then return redis.error_reply('TENURENODE ' .. KEYS[2]) end
local counter = node[3] or node[2]
if counter and not (string.find(counter, '^[1-9]%d*$') and #counter <= 19) then
    return redis.error_reply('TENURECOUNTER ' .. KEYS[2])
end
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then return value end
local mine = value and string.sub(value, 1, 33) == ARGV[2] .. ':'
if value and not mine then
    return 'busy ' .. string.format('%.0f', redis.call('PTTL', KEYS[1])) .. ' ' .. (counter or '-')
end
-- As strings of digits, since a Lua number is exact only up to 2^53.
local above = not counter or #ARGV[5] > #counter or (#ARGV[5] == #counter and ARGV[5] > counter)
-- The counter first: a script is not rolled back, and a counter that is too high does no harm.
if above then
    local raised = redis.pcall('HSET', KEYS[2], ARGV[4], ARGV[5])
    if type(raised) == 'table' then return raised end
    counter = ARGV[5]
end
-- The same nonce again keeps the time to live of the first time.
if not mine then
    local set = redis.pcall('SET', KEYS[1], ARGV[2] .. ':-', 'PX', ARGV[3])
    if set.err then return set end
end
return (above and 'accepted ' or 'locked ') .. counter
