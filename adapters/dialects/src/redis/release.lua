-- Free the lock KEYS[1] if it is the nonce ARGV[1]'s, and wake who waits on the channel ARGV[2].
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then return value end
if not value or string.sub(value, 1, 33) ~= ARGV[1] .. ':' then return 'gone' end
local freed = redis.pcall('DEL', KEYS[1])
if type(freed) == 'table' then return freed end
-- Only a hint: a user without a right to the channel has released all the same.
redis.pcall('PUBLISH', ARGV[2], KEYS[1])
return 'released'
