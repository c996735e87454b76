-- add counts items that an import brought, as far as they are not counted yet. It is given how many they are by now, so that it can be
-- told again, and after a rebuild has counted some of them.
--
-- KEYS: 1 epoch, 2 imports, 3 metadata, 4 queue, 5 events.
-- ARGV: 1 import, 2 items it has brought, 3 user, 4 events to keep.
-- Returns: OK and whether any were added (1 or 0); NOTREADY.
local epoch, imports, metadata, queue, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
local more = tonumber(ARGV[2]) - tonumber(redis.call('HGET', imports, ARGV[1]) or '0')
if more <= 0 then return {'OK', 0} end
redis.call('HSET', imports, ARGV[1], ARGV[2])
for _, name in ipairs({'total-items', 'remaining-items', 'new-items'}) do redis.call('HINCRBY', metadata, name, whole(more)) end
tell(events, metadata, queue, ARGV[4], {cause = 'IMPORTED', user = ARGV[3], at = whole(clock())})
return {'OK', 1}
