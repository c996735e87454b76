-- expired lists claims and reservations whose time is over.
--
-- KEYS: 1 epoch, 2 wip, 3 claims.
-- ARGV: 1 how many.
-- Returns: OK, then item and claim (JSON) of each; NOTREADY.
local epoch, wip, claims = KEYS[1], KEYS[2], KEYS[3]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
local reply = {'OK'}
for _, item in ipairs(redis.call('ZRANGEBYSCORE', wip, '-inf', whole(clock()), 'LIMIT', 0, ARGV[1])) do
  local claim = redis.call('HGET', claims, item)
  if claim then
    reply[#reply + 1] = item
    reply[#reply + 1] = claim
  else
    redis.call('ZREM', wip, item)
  end
end
return reply
