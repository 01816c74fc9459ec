-- Let the node ARGV[1], which was marked by the forming of a quorum, vote in the quorum ARGV[2] of ARGV[3] nodes. None of
-- its counters is below ARGV[4] (- for none).
local forming = redis.pcall('HGET', KEYS[1], 'forming')
if type(forming) == 'table' then return forming end
if forming ~= ARGV[1] then return 'other' end
local gone = redis.pcall('DEL', KEYS[1])
if type(gone) == 'table' then return gone end
local fields = {'node', ARGV[1], 'quorum', ARGV[2], 'nodes', ARGV[3]}
if ARGV[4] ~= '-' then fields[7], fields[8] = 'floor', ARGV[4] end
local set = redis.pcall('HSET', KEYS[1], unpack(fields))
if type(set) == 'table' then return set end
return 'done'
