-- Mark KEYS[1] as the node ARGV[1] of a quorum that is being formed, unless it is one already. It does not vote yet.
local known = redis.pcall('EXISTS', KEYS[1])
if type(known) == 'table' then return known end
if known == 1 then return 'other' end
local set = redis.pcall('HSET', KEYS[1], 'forming', ARGV[1])
if type(set) == 'table' then return set end
return 'done'
