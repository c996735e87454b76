-- reviews reads how many efforts await a review.
--
-- KEYS: 1 epoch, 2 efforts to review.
-- ARGV: what to count, as toReview writes it.
-- Returns: OK, then a number for each; NOTREADY.
if redis.call('EXISTS', KEYS[1]) == 0 then return {'NOTREADY'} end
local reply = {'OK'}
for i, n in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV))) do reply[i + 1] = n or '0' end
return reply
