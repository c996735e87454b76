-- extend moves the end of a claim.
--
-- KEYS: 1 epoch, 2 metadata, 3 queue, 4 wip, 5 claims, 6 events, 7 user queue.
-- ARGV: 1 item, 2 token, 3 until (ms), 4 events to keep, 5 user, 6 team.
-- Returns: OK and whether there is such a claim (1 or 0); NOTREADY.
local epoch, metadata, queue, wip, claims, events, mine = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local item, ends = ARGV[1], ARGV[3]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
local claim = claimOf(claims, item)
if not claim or claim.token ~= ARGV[2] or claim.user ~= ARGV[5] or not claim.counted then return {'OK', 0} end
if claim['until'] == ends then return {'OK', 1} end
claim['until'] = ends
redis.call('HSET', claims, item, cjson.encode(claim))
redis.call('ZADD', wip, ends, item)
redis.call('ZADD', mine, claim.since, item)
redis.call('PERSIST', mine)
tell(events, metadata, queue, ARGV[4],
  {cause = 'EXTENDED', item = item, user = claim.user, team = ARGV[6], status = 'CLAIMED', at = whole(clock())})
return {'OK', 1}
