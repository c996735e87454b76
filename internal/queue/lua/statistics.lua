-- statistics reads what the members of teams did.
--
-- KEYS: 1 epoch, 2... statistics of teams.
-- ARGV: none.
-- Returns: OK, then a list of name and value for each team; NOTREADY.
if redis.call('EXISTS', KEYS[1]) == 0 then return {'NOTREADY'} end
local reply = {'OK'}
for i = 2, #KEYS do reply[i] = redis.call('HGETALL', KEYS[i]) end
return reply
