-- Who has the lock KEYS[1], and for how many ms.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then return value end
if not value then return 'free' end
local nonce, token = string.match(value, '^([0-9a-f]+):([1-9]%d*)$')
if not nonce or #nonce ~= 32 or #token > 19 then token = '-' end
return 'held ' .. string.format('%.0f', redis.call('PTTL', KEYS[1])) .. ' ' .. token
