-- The node ARGV[1] votes no more, and what it counted is forgotten.
local node = redis.pcall('HMGET', KEYS[1], 'node', 'forming')
if node.err then return node end
if node[1] ~= ARGV[1] and node[2] ~= ARGV[1] then return 'other' end
local gone = redis.pcall('DEL', KEYS[1])
if type(gone) == 'table' then return gone end
return 'done'
