-- cancel undoes a reservation. It does the same to a claim that turned out not to be in the truth, and tells that it has expired if the item goes
-- back; if it does not, it has gone on, and the transition that ended the claim is told when it is followed.
--
-- KEYS: 1 epoch, 2 metadata, 3 queue, 4 queued, 5 wip, 6 claims, 7 held, 8 events, 9 user queue, 10 user returned, 11 user later.
-- ARGV: 1 item, 2 token, 3 whether the item goes back to where it came from (1 or 0), 4 ms to hold what came back, 5 events to keep, 6 ids a queue may
--   hold at most.
-- Returns: OK and whether there was such a claim (1 or 0); NOTREADY.
local epoch, metadata, queue, queued, wip, claims, held = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local events, mine, returned, later = KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local item = ARGV[1]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
local claim = claimOf(claims, item)
if not claim or claim.token ~= ARGV[2] then return {'OK', 0} end
local now = clock()
redis.call('HDEL', claims, item)
redis.call('ZREM', wip, item)
redis.call('ZREM', mine, item)
if ARGV[3] == '1' then
  if claim.from == 'returned' then
    redis.call('LPUSH', returned, item)
    redis.call('ZADD', held, whole(now + tonumber(ARGV[4])), item)
  else
    if claim.from == 'later' then redis.call('ZADD', later, whole(now), item) end
    giveBack(metadata, queue, queued, item, true, ARGV[6])
  end
end
if claim.counted then
  move(metadata, 'CLAIMED', 'NEW')
  if ARGV[3] == '1' then
    tell(events, metadata, queue, ARGV[5], {cause = 'EXPIRED', item = item, user = claim.user, status = 'NEW', at = whole(now)})
  end
end
return {'OK', 1}
