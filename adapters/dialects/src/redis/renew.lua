-- Keep the lock KEYS[1] of the nonce ARGV[1] for another ARGV[2] ms. Never creates it.
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then return value end
if not value or string.sub(value, 1, 33) ~= ARGV[1] .. ':' then return 'gone' end
local set = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
if type(set) == 'table' then return set end
return 'renewed'
