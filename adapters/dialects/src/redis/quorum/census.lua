-- Which node of which quorum KEYS[1] makes this server, and the highest of its counters.
local fields = redis.pcall('HGETALL', KEYS[1])
if fields.err then return fields end
local node, forming, quorum, nodes, highest = nil, nil, '-', '-', '-'
for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if name == 'node' then node = value
    elseif name == 'forming' then forming = value
    elseif name == 'quorum' then quorum = value
    elseif name == 'nodes' then nodes = value
    elseif not (string.find(value, '^[1-9]%d*$') and #value <= 19) then
        return redis.error_reply('TENURECOUNTER ' .. KEYS[1])
    elseif highest == '-' or #value > #highest or (#value == #highest and value > highest) then
        highest = value
    end
end
if node then return table.concat({'seated', node, quorum, nodes, highest}, ' ') end
if forming then return 'forming ' .. forming end
return 'vacant'
