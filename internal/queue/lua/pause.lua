-- pause stops or resumes the handing out of items.
--
-- KEYS: 1 epoch, 2 metadata, 3 queue, 4 events.
-- ARGV: 1 whether to pause (1 or 0), 2 user, 3 events to keep.
-- Returns: OK and whether that changed anything (1 or 0); NOTREADY.
local epoch, metadata, queue, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
if (redis.call('HGET', metadata, 'paused') or '0') == ARGV[1] then return {'OK', 0} end
redis.call('HSET', metadata, 'paused', ARGV[1])
tell(events, metadata, queue, ARGV[3], {cause = ARGV[1] == '1' and 'PAUSED' or 'RESUMED', user = ARGV[2], at = whole(clock())})
return {'OK', 1}
