-- suggest adds keywords to those that are completed from their beginnings.
--
-- KEYS: 1 epoch, 2 keywords.
-- ARGV: the keywords.
-- Returns: OK; NOTREADY.
local epoch, keywords = KEYS[1], KEYS[2]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
for _, word in ipairs(ARGV) do redis.call('ZADD', keywords, 0, word) end
return {'OK'}
